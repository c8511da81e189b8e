//! What a runtime counts about itself: plain numbers that many threads add to and a door prints. Nothing here waits,
//! allocates after the start, or decides.
//!
//! Counters are of this run. Gauges of tasks, asks, debriefs and posts are of the committed state: `tally` keeps them.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use homing_core::effect::Effect;
use homing_core::input::{DeliveryFact, PostFact};
use homing_core::words::{Cause, Code, DeliveryState, State};

/// One number.
#[derive(Debug, Default)]
pub struct Cell(AtomicU64);

impl Cell {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn take(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    pub fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A word of a short, fixed list: what a figure may be told apart by.
pub trait Word: Copy + 'static {
    const ALL: &'static [Self];
    fn word(self) -> &'static str;
    /// Its place in `ALL`.
    fn place(self) -> usize;
}

macro_rules! counted {
    ($($name:ident),+) => {$(
        impl Word for $name {
            const ALL: &'static [Self] = $name::ALL;
            fn word(self) -> &'static str {
                $name::word(self)
            }
            fn place(self) -> usize {
                self as usize
            }
        }
    )+};
}

counted!(State, Cause, Code, DeliveryState);

/// Own words, in the manner of the core's.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($variant),+ }

        impl Word for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
            fn place(self) -> usize {
                self as usize
            }
        }
    };
}

words! {
    /// Where something on its way out stands.
    Standing { Sealed = "sealed", Sent = "sent", Accepted = "accepted", Resting = "resting" }
}

words! {
    /// What happened to a debrief or a post, as the journal tells it.
    Step {
        Sealed = "sealed",
        Settled = "settled",
        Withdrawn = "withdrawn",
        Undeliverable = "undeliverable",
        Unanswered = "handshake_failed",
        Again = "redriven",
    }
}

words! {
    /// What one send of a debrief came to.
    Sent {
        Accepted = "accepted",
        Answered = "answered",
        Shared = "shared",
        Busy = "busy",
        Failed = "failed",
        Refused = "refused",
        Gone = "gone",
    }
}

impl From<&DeliveryFact> for Sent {
    fn from(fact: &DeliveryFact) -> Self {
        match fact {
            DeliveryFact::Accepted => Self::Accepted,
            DeliveryFact::Answered { .. } => Self::Answered,
            DeliveryFact::Shared => Self::Shared,
            DeliveryFact::Busy => Self::Busy,
            DeliveryFact::Failed { .. } => Self::Failed,
            DeliveryFact::Refused { .. } => Self::Refused,
            DeliveryFact::Gone => Self::Gone,
        }
    }
}

words! {
    /// What one try of a post came to.
    Posted { Posted = "posted", Failed = "failed", Refused = "refused" }
}

impl From<&PostFact> for Posted {
    fn from(fact: &PostFact) -> Self {
        match fact {
            PostFact::Posted => Self::Posted,
            PostFact::Failed { .. } => Self::Failed,
            PostFact::Closed { .. } => Self::Refused,
        }
    }
}

words! {
    /// What is done in the world.
    Kind {
        Open = "open",
        Prompt = "prompt",
        Watch = "watch",
        Unwatch = "unwatch",
        Look = "look",
        Abort = "abort",
        Answer = "answer",
        Say = "say",
        Compose = "compose",
        LookParent = "look_parent",
        Deliver = "deliver",
        Post = "post",
        Emit = "emit",
        Load = "load",
    }
}

impl From<&Effect> for Kind {
    fn from(effect: &Effect) -> Self {
        match effect {
            Effect::Open { .. } => Self::Open,
            Effect::Prompt { .. } => Self::Prompt,
            Effect::Watch { .. } => Self::Watch,
            Effect::Unwatch { .. } => Self::Unwatch,
            Effect::Look { .. } => Self::Look,
            Effect::Abort { .. } => Self::Abort,
            Effect::Answer { .. } => Self::Answer,
            Effect::Say { .. } => Self::Say,
            Effect::Compose { .. } => Self::Compose,
            Effect::LookParent { .. } => Self::LookParent,
            Effect::Deliver { .. } => Self::Deliver,
            Effect::Post { .. } => Self::Post,
            Effect::Emit { .. } => Self::Emit,
            Effect::Load { .. } => Self::Load,
        }
    }
}

/// A number for each word of a list.
#[derive(Debug)]
pub struct Per<W> {
    cells: Box<[Cell]>,
    words: PhantomData<W>,
}

impl<W: Word> Default for Per<W> {
    fn default() -> Self {
        Self { cells: W::ALL.iter().map(|_| Cell::default()).collect(), words: PhantomData }
    }
}

impl<W: Word> Per<W> {
    pub fn of(&self, word: W) -> &Cell {
        &self.cells[word.place()]
    }

    pub fn each(&self) -> impl Iterator<Item = (W, u64)> {
        W::ALL.iter().map(|word| (*word, self.of(*word).get()))
    }
}

/// How large, or how long, many things were: a number for each bound, and for all beyond.
#[derive(Debug)]
pub struct Spread {
    bounds: &'static [u64],
    cells: Box<[Cell]>,
    sum: Cell,
}

impl Spread {
    pub fn new(bounds: &'static [u64]) -> Self {
        let cells = (0..=bounds.len()).map(|_| Cell::default()).collect();
        Self { bounds, cells, sum: Cell::default() }
    }

    pub fn add(&self, value: u64) {
        let place = self.bounds.iter().position(|bound| value <= *bound);
        self.cells[place.unwrap_or(self.bounds.len())].add(1);
        self.sum.add(value);
    }

    /// Each bound with how many were at most that; the last, without one, is all of them.
    pub fn at_most(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        let mut all = 0;
        bounds.zip(&self.cells).map(move |(bound, cell)| {
            all += cell.get();
            (bound, all)
        })
    }

    pub fn sum(&self) -> u64 {
        self.sum.get()
    }
}

/// Microseconds.
pub fn micros(lasted: Duration) -> u64 {
    u64::try_from(lasted.as_micros()).unwrap_or(u64::MAX)
}

const COMMIT_MICROS: &[u64] =
    &[250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 2_500_000];
const GROUP_LINES: &[u64] = &[1, 4, 16, 64, 256, 1_024, 4_096, 16_384];

/// See the module.
#[derive(Debug)]
pub struct Figures {
    /// Inputs that were decided.
    pub decisions: Cell,
    pub commits: Cell,
    pub commits_failed: Cell,
    /// Microseconds, of those that were committed.
    pub commit_micros: Spread,
    /// Lines of a group that was committed.
    pub group_lines: Spread,
    /// How often memory was read anew from the store.
    pub rebuilds: Cell,
    /// Living tasks.
    pub tasks: Per<State>,
    /// Generations that ended, by how and why.
    pub ended: Box<[(State, Per<Cause>)]>,
    /// After a task's first.
    pub attempts: Cell,
    pub accepted: Cell,
    /// Launches whose key was known: the task of then was the answer.
    pub existing: Cell,
    pub refused: Per<Code>,
    pub asks_open: Cell,
    /// What parents are owed.
    pub notices: Per<DeliveryState>,
    pub debriefs: Per<Standing>,
    pub posts: Per<Standing>,
    pub debrief_steps: Per<Step>,
    pub post_steps: Per<Step>,
    pub sends: Per<Sent>,
    pub tries: Per<Posted>,
    pub effects: Per<Kind>,
    pub in_flight: Per<Kind>,
}

impl Default for Figures {
    fn default() -> Self {
        let ends = State::ALL.iter().filter(|state| state.is_terminal());
        Self {
            decisions: Cell::default(),
            commits: Cell::default(),
            commits_failed: Cell::default(),
            commit_micros: Spread::new(COMMIT_MICROS),
            group_lines: Spread::new(GROUP_LINES),
            rebuilds: Cell::default(),
            tasks: Per::default(),
            ended: ends.map(|state| (*state, Per::default())).collect(),
            attempts: Cell::default(),
            accepted: Cell::default(),
            existing: Cell::default(),
            refused: Per::default(),
            asks_open: Cell::default(),
            notices: Per::default(),
            debriefs: Per::default(),
            posts: Per::default(),
            debrief_steps: Per::default(),
            post_steps: Per::default(),
            sends: Per::default(),
            tries: Per::default(),
            effects: Per::default(),
            in_flight: Per::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_its_own_place() {
        fn places<W: Word>() {
            for (place, word) in W::ALL.iter().enumerate() {
                assert_eq!(word.place(), place, "{}", word.word());
            }
        }
        places::<State>();
        places::<Cause>();
        places::<Code>();
        places::<DeliveryState>();
        places::<Kind>();
        places::<Sent>();
        places::<Step>();
    }

    #[test]
    fn a_spread_counts_what_is_at_most_each_bound() {
        let spread = Spread::new(&[10, 100]);
        for value in [0, 10, 11, 100, 101, 5_000] {
            spread.add(value);
        }
        let told: Vec<_> = spread.at_most().collect();
        assert_eq!(told, [(Some(10), 2), (Some(100), 4), (None, 6)]);
        assert_eq!(spread.sum(), 5_222);
    }
}
