//! Owns the names of tasks, conversations, asks and debriefs: a prefix and 12 base32 characters (60 bits).
//! Never mints one: the bits come in from outside.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const CHARS: usize = 12;
const MASK: u64 = (1 << 60) - 1;

/// Why a piece of text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not {wanted} id: it needs the prefix {prefix:?} and 12 base32 characters")]
pub struct BadId {
    given: String,
    wanted: &'static str,
    prefix: &'static str,
}

fn encode(bits: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    for place in (0..CHARS).rev() {
        let five = (bits >> (place * 5)) & 31;
        fmt::Write::write_char(out, ALPHABET[five as usize] as char)?;
    }
    Ok(())
}

fn decode(text: &str) -> Option<u64> {
    if text.len() != CHARS {
        return None;
    }
    let mut bits = 0_u64;
    for byte in text.bytes() {
        let five = FIVE[usize::from(byte)];
        if five == NONE {
            return None;
        }
        bits = (bits << 5) | u64::from(five);
    }
    Some(bits)
}

const NONE: u8 = u8::MAX;

/// What each character stands for.
const FIVE: [u8; 256] = {
    let mut five = [NONE; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        five[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    five
};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $wanted:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The prefix every such id is written with.
            pub const PREFIX: &'static str = $prefix;

            /// Takes the low 60 bits.
            pub const fn from_bits(bits: u64) -> Self {
                Self(bits & MASK)
            }

            /// The 60 bits.
            pub const fn bits(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str($prefix)?;
                encode(self.0, out)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, out)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($prefix).and_then(decode).map(Self).ok_or_else(|| BadId {
                    given: text.chars().take(64).collect(),
                    wanted: $wanted,
                    prefix: $prefix,
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                crate::text::parsed(from, str::parse)
            }
        }
    };
}

id!(
    /// One piece of delegated work.
    TaskId, "bg_", "a task"
);
id!(
    /// A parent session that homing owns the door of. It is carried by a task, whose generations are its turns and whose
    /// bits are its own.
    ConversationId, "cv_", "a conversation"
);
id!(
    /// A permission or a question that a child waits on.
    AskId, "ask_", "an ask"
);
id!(
    /// One delivery of a batch's notices to its parent; also its idempotency key.
    DebriefId, "db_", "a debrief"
);
id!(
    /// One message to a room; also its idempotency key.
    PostId, "po_", "a post"
);

impl ConversationId {
    /// The task that carries it.
    pub const fn task(self) -> TaskId {
        TaskId(self.0)
    }
}

impl TaskId {
    /// The conversation that it carries, if it is one that does.
    pub const fn conversation(self) -> ConversationId {
        ConversationId(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        for bits in [0, 1, 31, 32, MASK, 0x0123_4567_89ab_cdef & MASK] {
            let id = TaskId::from_bits(bits);
            assert_eq!(id.to_string().parse::<TaskId>().unwrap(), id);
            assert_eq!(id.to_string().len(), 15);
        }
    }

    #[test]
    fn what_is_not_an_id_is_refused_by_name() {
        for text in
            ["", "bg_", "bg_short", "db_000000000000", "bg_00000000000u", "bg_0000000000000"]
        {
            let why = text.parse::<TaskId>().unwrap_err().to_string();
            assert!(why.contains("a task id"), "{why}");
        }
    }
}
