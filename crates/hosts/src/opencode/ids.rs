//! Names that OpenCode is given by us: the same for one turn however often it is sent, and never reused in another session.

use homing_core::fact::Fence;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::payload::Digest;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name of a turn's prompt.
pub(super) fn message(task: TaskId, fence: Fence) -> String {
    format!("msg_{}", of(&turn(task, fence)))
}

/// The name of its only part.
pub(super) fn part(task: TaskId, fence: Fence) -> String {
    format!("prt_{}", of(&turn(task, fence)))
}

/// The name of a debrief as a message.
pub(super) fn of_debrief(key: DebriefId) -> String {
    format!("msg_{}", of(&key.to_string()))
}

/// And of its parts.
pub(super) fn part_of_debrief(key: DebriefId, n: u32) -> String {
    // Shown in the order of their names.
    format!("prt_{}{n}", &of(&key.to_string())[..25])
}

/// What a session of this attempt has in its title, so that it can be searched for.
pub(super) fn marker(task: TaskId, attempt: u32) -> String {
    format!("{task}.{attempt}")
}

fn turn(task: TaskId, fence: Fence) -> String {
    format!("{task}.{}.{}", fence.attempt, fence.turn)
}

/// Twelve hexadecimal digits and fourteen letters, as OpenCode's own have.
fn of(what: &str) -> String {
    let digest = Digest::of(what.as_bytes()).0;
    let mut out: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let mut rest = digest[6..].iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    for _ in 0..14 {
        out.push(char::from(LETTERS[(rest % 62) as usize]));
        rest /= 62;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_one_name_and_no_other_has_it() {
        let task = TaskId::from_bits(7);
        let name = |attempt, turn| message(task, Fence { attempt, turn });
        assert_eq!(name(1, 1), name(1, 1));
        assert_eq!(name(1, 1).len(), 30);
        assert!(name(1, 1).bytes().skip(4).all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(name(1, 2), name(2, 1));
        assert_ne!(name(1, 1), message(TaskId::from_bits(8), Fence { attempt: 1, turn: 1 }));
        assert_ne!(name(1, 1)[4..16], name(1, 2)[4..16]);
    }
}
