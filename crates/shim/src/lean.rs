//! A program that runs for long lets go of the code and the tables that only its start needed.

use std::ffi::c_void;
use std::io;

use rustix::mm::{Advice, madvise};

/// Unmaps this program's code and its file's head. What runs again is mapped again as it is needed, from the file, which stays in memory as
/// long as there is room: nothing is lost but the pages of what was run once.
pub fn let_go_of_code() -> io::Result<()> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let program = program.to_string_lossy();
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    for line in maps.lines().filter(|line| line.ends_with(&*program)) {
        let mut words = line.split_ascii_whitespace();
        let (range, may, offset) = (words.next(), words.next(), words.next());
        // The code; and the head of the file, with the tables that the start worked off. What lies behind the code was
        // written to by the start, and is not the file's any more.
        let head =
            may == Some("r--p") && offset.is_some_and(|at| at.bytes().all(|each| each == b'0'));
        if (may == Some("r-xp") || head)
            && let Some(range) = range
            && let Some((start, end)) = range.split_once('-')
            && let (Ok(start), Ok(end)) =
                (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16))
        {
            unmap(start, end.saturating_sub(start))?;
        }
    }
    Ok(())
}

#[expect(
    unsafe_code,
    reason = "code is never written to: its pages are the file's, and come back as they were"
)]
fn unmap(start: usize, length: usize) -> io::Result<()> {
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(start);
    // SAFETY: a private mapping of a file without write permission, as the kernel's own table says; unmapped pages are
    // read from the file again when they are touched.
    Ok(unsafe { madvise(start, length, Advice::LinuxDontNeed) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kilobytes of this program's code that are mapped now.
    fn mapped() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut code = false;
        let mut sum = 0;
        for line in maps.lines() {
            if line.contains(" r-xp ") {
                code = line.contains("/homing_shim-");
            } else if code && let Some(size) = line.strip_prefix("Rss:") {
                sum += size.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
                code = false;
            }
        }
        sum
    }

    #[test]
    fn a_program_goes_on_without_the_code_that_it_let_go_of() {
        // Other tests may map more in between; by itself nothing is unmapped.
        let shrank = (0..100).any(|_| {
            let before = mapped();
            let_go_of_code().unwrap();
            mapped() < before
        });
        assert!(shrank, "{} kB are mapped", mapped());
    }
}
