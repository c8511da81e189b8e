//! Debriefs as they were composed, for the consumer that waits for them: what was just written need not be read again.
//! A few small ones, the latest; the ledger has them all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::ids::TaskId;
use homing_core::payload::{Digest, Payload};
use homing_core::refs::ParentRef;

/// Debriefs that nobody came for make room for later ones.
const MANY: usize = 16;
/// A larger one is read from the ledger.
const LARGE: usize = 16 << 10;

/// What was composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Composed {
    pub parent: ParentRef,
    pub notices: Vec<(TaskId, u32)>,
    pub text: Payload,
}

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Fresh(Arc<Mutex<VecDeque<Composed>>>);

impl Fresh {
    fn latest(&self) -> MutexGuard<'_, VecDeque<Composed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is worth anything is decided later: only what was sealed is asked for.
    pub(crate) fn put(&self, composed: Composed) {
        if composed.text.bytes.len() <= LARGE {
            let mut latest = self.latest();
            if latest.len() == MANY {
                latest.pop_front();
            }
            latest.push_back(composed);
        }
    }

    /// The same debrief may have been composed twice: what was sealed is told by its digest.
    pub(crate) fn take(&self, sealed: Digest) -> Option<Composed> {
        let mut latest = self.latest();
        let at = latest.iter().position(|composed| composed.text.text.digest == sealed)?;
        latest.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(text: &str) -> Composed {
        Composed { parent: ParentRef::None, notices: Vec::new(), text: Payload::from(text) }
    }

    #[test]
    fn the_latest_small_ones_are_there_once() {
        let fresh = Fresh::default();
        let many: Vec<Composed> = (0..=MANY).map(|n| composed(&n.to_string())).collect();
        for one in &many {
            fresh.put(one.clone());
        }
        let large = composed(&"x".repeat(LARGE + 1));
        fresh.put(large.clone());
        let take = |one: &Composed| fresh.take(one.text.text.digest);
        assert_eq!(take(&many[0]), None, "it made room");
        assert_eq!(take(&large), None);
        assert_eq!(take(&many[1]).as_ref(), Some(&many[1]));
        assert_eq!(take(&many[1]), None);
        assert_eq!(take(&many[MANY]).as_ref(), Some(&many[MANY]));
    }
}
