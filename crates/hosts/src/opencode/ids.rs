//! Names that OpenCode is given by us: the same for one turn however often it is sent, and never reused in another session.

use homing_core::fact::Fence;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::payload::Digest;

/// Of a name, what goes by time.
const DIGITS: usize = 12;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name of a turn's prompt.
pub(super) fn message(task: TaskId, fence: Fence) -> String {
    format!("msg_{}", of(&turn(task, fence)))
}

/// The name of its only part.
pub(super) fn part(task: TaskId, fence: Fence) -> String {
    format!("prt_{}", of(&turn(task, fence)))
}

/// The name of a debrief as a message. What OpenCode's terminal does again goes by the order of names, and OpenCode's own are
/// in the order of time.
pub(super) fn of_debrief(key: DebriefId, sealed: Option<i64>) -> String {
    let name = of(&key.to_string());
    let (random, letters) = name.split_at(DIGITS);
    match sealed {
        Some(ms) => format!("msg_{:012x}{letters}", ms.cast_unsigned() << 12 & 0xffff_ffff_ffff),
        None => format!("msg_{random}{letters}"),
    }
}

/// Whether a message is this debrief, whenever that was sealed.
pub(super) fn is_debrief(name: &str, key: DebriefId) -> bool {
    let letters = &of(&key.to_string())[DIGITS..];
    name.strip_suffix(letters).is_some_and(|rest| rest.len() == "msg_".len() + DIGITS)
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

    #[test]
    fn a_debrief_stands_among_opencodes_own_names_where_it_was_sealed() {
        let key = DebriefId::from_bits(7);
        let name = |sealed| of_debrief(key, sealed);
        // A name that OpenCode 1.18.33 gave, and the millisecond in which it did.
        let (own, ms) = ("msg_1ed6af9b8001ekWZokh3NLjDSX", 1_794_984_573_368);
        assert!(name(Some(ms - 1)).as_str() < own);
        assert!(name(Some(ms + 1)).as_str() > own);
        for sealed in [None, Some(0), Some(ms), Some(i64::MAX), Some(-1)] {
            assert!(is_debrief(&name(sealed), key), "{sealed:?}");
            assert_eq!(name(sealed).len(), 30);
            assert!(!is_debrief(&name(sealed), DebriefId::from_bits(8)));
            assert!(!is_debrief(&name(sealed)[1..], key));
        }
        assert!(!is_debrief("", key));
    }
}
