//! Owns what a conversation is besides the task that carries it: its turns, and those of people that wait.

use serde::{Deserialize, Serialize};

use crate::few::Few;
use crate::ids::DebriefId;
use crate::payload::Digest;

/// As many requests for a turn are remembered by their keys: all that can wait, and as many more.
const KEYS_MAX: usize = 512;

/// See the module. Turn N is generation N of the task: people's turns are numbered as they are asked for, and a debrief,
/// which never overtakes one of them, as it begins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Talk {
    /// Turns that were asked for so far.
    pub turns: u32,
    /// People's turns that wait, oldest first.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub waiting: Few<u32>,
    /// The debrief that the latest turn carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debrief: Option<DebriefId>,
    /// The last requests for a turn, their keys and words, so that none is taken twice.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub keys: Few<(Digest, Digest, u32)>,
    /// The session has the words of the latest turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub taken: bool,
    /// It takes no further turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

impl Talk {
    /// A person asks for a turn.
    pub(crate) fn asked(&mut self, turn: u32, text: Digest, key: Option<Digest>) {
        self.turns = turn;
        self.waiting.push(turn);
        if let Some(key) = key {
            if self.keys.len() == KEYS_MAX {
                self.keys.drop_first();
            }
            self.keys.push((key, text, turn));
        }
    }

    /// A turn begins: the first that waits, or a debrief's.
    pub(crate) fn began(&mut self, turn: u32, debrief: Option<DebriefId>) {
        self.turns = self.turns.max(turn);
        self.waiting.retain(|waits| *waits != turn);
        self.debrief = debrief;
        self.taken = false;
    }

    /// The turn that this key was given for, and what was said.
    pub fn known(&self, key: Digest) -> Option<(u32, Digest)> {
        let mut keys = self.keys.iter();
        keys.find(|(known, ..)| *known == key).map(|(_, text, turn)| (*turn, *text))
    }
}
