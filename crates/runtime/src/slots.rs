//! The slots of every key, as memory has them: what a door shows of who runs and who waits. Decides nothing.

use std::sync::Arc;

use homing_core::world::{Key, World};

/// Keys that no setting names count as one: how many there are is up to whoever launches.
pub const OTHER: &str = "other";

/// The slots of one key that a setting names, or of all others together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySlots {
    pub key: Arc<str>,
    /// 0: no limit. Of the others: of each of them.
    pub limit: u32,
    pub held: u64,
    pub lent: u64,
    /// Tasks that wait for a slot.
    pub queued: u64,
}

impl KeySlots {
    fn new(key: Arc<str>, limit: u32) -> Self {
        Self { key, limit, ..Self::default() }
    }

    fn add(&mut self, key: &Key) {
        self.held += u64::from(key.held);
        self.lent += u64::from(key.lent);
        self.queued += (key.queue.len() + key.retake.len()) as u64;
    }
}

/// Those that settings name, then the others.
pub(crate) fn of(world: &World) -> Vec<KeySlots> {
    let limits = &world.limits;
    let models = limits.models.iter().map(|(name, limit)| (format!("model:{name}"), *limit));
    let providers =
        limits.providers.iter().map(|(name, limit)| (format!("provider:{name}"), *limit));
    let named = models.chain(providers).chain([(OTHER.to_owned(), limits.default)]);
    let mut all: Vec<KeySlots> =
        named.map(|(key, limit)| KeySlots::new(key.into(), limit)).collect();
    let last = all.len() - 1;
    for (name, key) in world.keys() {
        let place = all[..last].iter().position(|known| known.key == *name);
        all[place.unwrap_or(last)].add(key);
    }
    all
}
