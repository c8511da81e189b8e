//! A terminal of a test's own, and what a person at it would be given.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::scene::{Said, Scene, finish};

impl Scene {
    /// Runs it at a terminal: what that is given, errors among it; the ends of lines as they were written.
    pub fn at_terminal(&self, words: &[&str]) -> (Said, String) {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let far = OsString::from_vec(ptsname(&near, Vec::new()).unwrap().into_bytes());
        let far = File::options().read(true).write(true).open(far).unwrap();
        let mut command = self.command(words);
        // Colours of our own are not what is looked for.
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command.stdout(far.try_clone().unwrap()).stderr(far);
        let child = command.spawn().unwrap();
        // The far end is the command's alone, so that its end is seen.
        drop(command);
        let reading = std::thread::spawn(move || {
            let (mut near, mut all, mut some) = (File::from(near), Vec::new(), [0; 4096]);
            // The end of a terminal reads as an error.
            while let Ok(count) = near.read(&mut some) {
                all.extend_from_slice(&some[..count]);
            }
            all
        });
        let said = finish(child);
        let shown = String::from_utf8(reading.join().unwrap()).unwrap();
        (said, shown.replace("\r\n", "\n"))
    }
}
