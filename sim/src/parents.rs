//! The simulated parents and rooms: what they truly received, by key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::ids::{DebriefId, PostId};
use homing_core::refs::ParentRef;

/// One delivery as the parent has it.
#[derive(Debug, Clone, Default)]
pub struct Received {
    pub copies: u32,
    pub answered: bool,
    pub order: u64,
}

/// One parent with turns of its own.
#[derive(Debug, Clone, Default)]
pub struct Parent {
    pub deleted: bool,
    /// The turn it is in.
    pub turn: Option<Arc<str>>,
    /// The turn that was reported and taken by the engine.
    pub told: Option<Arc<str>>,
    pub turns: u32,
    pub received: BTreeMap<DebriefId, Received>,
    pub person_waits: u32,
}

/// All parents, and the room.
#[derive(Debug, Default)]
pub struct Parents {
    pub all: BTreeMap<ParentRef, Parent>,
    /// Copies per key, as the room deduplicates them: always one message a key.
    pub posts: BTreeMap<PostId, (u64, String)>,
    pub telemetry: BTreeSet<(homing_core::ids::TaskId, u32)>,
    pub order: u64,
    pub leased: Vec<DebriefId>,
}

impl Parents {
    pub fn get(&mut self, who: &ParentRef) -> &mut Parent {
        self.all.entry(who.clone()).or_default()
    }

    pub fn receive(&mut self, who: &ParentRef, key: DebriefId) {
        self.order += 1;
        let order = self.order;
        let entry = self.get(who).received.entry(key).or_default();
        if entry.copies == 0 {
            entry.order = order;
        }
        // The key is the identity: a second send of it is the same message.
        entry.copies = 1;
    }
}

impl Parents {
    /// What the engine has been told of a parent's turns.
    pub fn taken(&mut self, input: &homing_core::input::Input) {
        use homing_core::input::{Input, ParentFact};
        let Input::Parent { parent, fact } = input else {
            return;
        };
        match fact {
            ParentFact::TurnBegan { turn } => self.get(parent).told = Some(turn.clone()),
            ParentFact::TurnEnded { .. } | ParentFact::Between => self.get(parent).told = None,
            ParentFact::PersonWaits { .. } | ParentFact::Unreachable | ParentFact::Deleted => {}
        }
    }

    /// A restart knows nothing of turns.
    pub fn forget_told(&mut self) {
        for parent in self.all.values_mut() {
            parent.told = None;
        }
    }
}
