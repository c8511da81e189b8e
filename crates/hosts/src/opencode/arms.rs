//! Arms: programs that run sessions and do requests there for us, through the plugin inside of them. One arm is one process. A
//! session is prompted only by the process that runs it: this says which that is.

mod arm;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

pub(super) use arm::Arm;
use arm::{Came, lock};
use homing_core::ids::DebriefId;
use homing_core::refs::ParentRef;
use homing_ports::door::{LastTurn, Offer, Order, Orders};
use homing_ports::host::Flight;
use homing_shim::processes::Process;
use tokio::sync::mpsc;

use super::{KNOWN, NAME};
use crate::system;

/// After the first program came to a daemon, every other that lives has come within this.
const COME: Duration = Duration::from_secs(3);

/// What is known of a session's turns.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// Who ran the last one.
    pub by: Process,
    pub turn: String,
    /// When that began.
    at: i64,
    /// The last prompt in it.
    last: String,
    /// It is what a program said when it came, and another may have run one since that has not come yet.
    said: bool,
    /// Who runs one now, as far as that was told.
    pub now: BTreeSet<Process>,
}

/// All arms, and what they told.
#[derive(Debug, Default)]
pub(super) struct Arms {
    known: Mutex<Known>,
    /// When the first came.
    since: OnceLock<Instant>,
}

#[derive(Debug, Default)]
struct Known {
    arms: BTreeMap<String, Arc<Arm>>,
    ran: BTreeMap<String, Ran>,
    /// Parents that nobody who is connected runs.
    missed: BTreeSet<ParentRef>,
    /// Debriefs that are stored and not answered, by session.
    open: BTreeMap<String, BTreeSet<DebriefId>>,
    /// Programs that are not connected any more, and whose end is waited for.
    awaited: BTreeSet<Process>,
}

/// Who runs a session.
pub(super) enum Runs {
    This(Arc<Arm>),
    /// This, if the last prompt is of this name.
    Since(Arc<Arm>, String),
    /// The first of these that works in the session's directory.
    Perhaps(Vec<Arc<Arm>>),
    /// Somebody who is not connected, or nobody.
    Nobody,
    /// More than one.
    Two(String),
}

impl Arms {
    pub(super) fn offer(self: &Arc<Self>, offer: Offer) -> Result<Box<dyn Orders>, String> {
        let process =
            Process::of(offer.pid).map_err(|why| format!("process {}: {why}", offer.pid))?;
        let (arm, taken) = Arm::of(process.clone(), &offer)?;
        self.since.get_or_init(Instant::now);
        let mut known = lock(&self.known);
        // One process is one arm: what it was before was cut off.
        known.arms.retain(|_, other| other.process != process);
        for ran in known.ran.values_mut() {
            ran.now.remove(&process);
        }
        for last in offer.sessions {
            known.says(&process, last);
        }
        known.arms.insert(arm.name.clone(), Arc::clone(&arm));
        Ok(Box::new(AtWork { arm, taken, arms: Arc::clone(self) }))
    }

    pub(super) fn named(&self, arm: &str) -> Option<Arc<Arm>> {
        lock(&self.known).arms.get(arm).cloned()
    }

    pub(super) fn answer(&self, arm: &str, order: u64, came: Came) -> bool {
        self.named(arm).is_some_and(|arm| arm.answered(order, came))
    }

    pub(super) fn began(&self, arm: &Arm, session: &str, turn: &str) {
        let mut known = lock(&self.known);
        let mut now = known.ran.get(session).map(|ran| ran.now.clone()).unwrap_or_default();
        now.retain(|other| other.runs().unwrap_or(false));
        now.insert(arm.process.clone());
        let (by, turn, at) = (arm.process.clone(), turn.to_owned(), system::wall_ms());
        let ran = Ran { by, last: turn.clone(), turn, at, said: false, now };
        known.keep(session.to_owned(), ran);
    }

    /// The turn that ended, by the name that it was told under.
    pub(super) fn ended(&self, arm: &Arm, session: &str) -> String {
        let mut known = lock(&self.known);
        let ran = known.ran.get_mut(session);
        ran.map(|ran| {
            ran.now.remove(&arm.process);
            ran.said &= ran.by != arm.process;
            ran.turn.clone()
        })
        .unwrap_or_default()
    }

    /// A look found it in a turn of this name.
    pub(super) fn found_in(&self, session: &str, turn: &str) {
        if let Some(ran) = lock(&self.known).ran.get_mut(session) {
            turn.clone_into(&mut ran.turn);
        }
    }

    pub(super) fn who_runs(&self, session: &str, instance: Option<&str>) -> Runs {
        let known = lock(&self.known);
        let same = |arm: &&Arc<Arm>| arm.instance.as_deref() == instance;
        if let Some(ran) = known.ran.get(session) {
            // In a turn, as far as is known: also one that is not connected just now.
            let others = ran.now.iter().filter(|other| **other != ran.by);
            let others = others.filter(|other| other.runs().unwrap_or(true));
            let pids: Vec<String> =
                std::iter::once(&ran.by).chain(others).map(|one| one.pid.to_string()).collect();
            if pids.len() > 1 {
                return Runs::Two(pids.join(" and "));
            }
            let by = known.arms.values().filter(same).find(|arm| arm.process == ran.by);
            if let Some(arm) = by.cloned() {
                let unsure = ran.said && !self.to_come().is_zero();
                let last = ran.last.clone();
                return if unsure { Runs::Since(arm, last) } else { Runs::This(arm) };
            }
            // It lives, and will be back.
            if ran.by.runs().unwrap_or(true) {
                return Runs::Nobody;
            }
        }
        // Whoever ran it may not have come yet.
        if !self.to_come().is_zero() {
            return Runs::Nobody;
        }
        let others = known.arms.values().filter(same).filter(|arm| !arm.ours);
        let mut all: Vec<Arc<Arm>> = others.cloned().collect();
        all.sort_by_key(|arm| arm.came);
        if all.is_empty() { Runs::Nobody } else { Runs::Perhaps(all) }
    }

    pub(super) fn missed(&self, parent: &ParentRef) {
        let mut known = lock(&self.known);
        if known.missed.len() < KNOWN {
            known.missed.insert(parent.clone());
        }
    }

    /// How long programs that live may still take to come.
    fn to_come(&self) -> Duration {
        self.since.get().map_or(COME, |since| COME.saturating_sub(since.elapsed()))
    }

    /// How long this arm waits for others that may run what is missed of its data.
    pub(super) fn waits_for_others(&self, arm: &Arm) -> Duration {
        let known = lock(&self.known);
        let unclear = known.missed.iter().any(|parent| {
            matches!(parent, ParentRef::Session { instance, session, .. }
                if *instance == arm.instance && !known.ran.contains_key(&**session))
        });
        if unclear { self.to_come() } else { Duration::ZERO }
    }

    /// Those that were missed, of this arm's data; they are not any more.
    pub(super) fn take_missed(&self, arm: &Arm) -> Vec<Arc<str>> {
        let mut known = lock(&self.known);
        let mut taken = Vec::new();
        known.missed.retain(|parent| {
            if let ParentRef::Session { host, instance, session } = parent
                && **host == *NAME
                && *instance == arm.instance
            {
                taken.push(Arc::clone(session));
                return false;
            }
            true
        });
        taken
    }

    /// Takes it on to wait for the end of a program; false when somebody else did.
    pub(super) fn awaits(&self, process: &Process) -> bool {
        lock(&self.known).awaited.insert(process.clone())
    }

    /// A program has ended. What it had not told of its sessions is missed.
    pub(super) fn gone(&self, left: &Arm) {
        let mut known = lock(&self.known);
        known.awaited.remove(&left.process);
        let of = known.ran.iter().filter(|(_, ran)| ran.by == left.process);
        let parents: Vec<ParentRef> = of.map(|(session, _)| parent(left, session)).collect();
        known.missed.extend(parents);
    }

    /// The other arms on the same data.
    pub(super) fn beside(&self, left: &Arm) -> Vec<String> {
        let known = lock(&self.known);
        let same = |arm: &&Arc<Arm>| arm.instance == left.instance && arm.process != left.process;
        known.arms.values().filter(same).map(|arm| arm.name.clone()).collect()
    }

    pub(super) fn ran_by(&self, arm: &Arm) -> Vec<Arc<str>> {
        let known = lock(&self.known);
        let of = known.ran.iter().filter(|(_, ran)| ran.by == arm.process);
        of.map(|(session, _)| session.as_str().into()).collect()
    }

    pub(super) fn opened(&self, session: &str, key: DebriefId) {
        lock(&self.known).open.entry(session.to_owned()).or_default().insert(key);
    }

    pub(super) fn open(&self, session: &str) -> BTreeSet<DebriefId> {
        lock(&self.known).open.get(session).cloned().unwrap_or_default()
    }

    pub(super) fn closed(&self, session: &str, key: DebriefId) {
        let mut known = lock(&self.known);
        if let Some(all) = known.open.get_mut(session) {
            all.remove(&key);
            if all.is_empty() {
                known.open.remove(session);
            }
        }
    }

    pub(super) fn forget(&self, session: &str) {
        let mut known = lock(&self.known);
        known.ran.remove(session);
        known.open.remove(session);
    }
}

impl Known {
    /// What a program that came says of a session: of two that live, the one that ran it last has it.
    fn says(&mut self, process: &Process, last: LastTurn) {
        let LastTurn { session, turn, at, last, runs } = last;
        let known = self.ran.get(&session);
        let mut now = known.map(|ran| ran.now.clone()).unwrap_or_default();
        if runs {
            now.insert(process.clone());
        }
        let ran = match known {
            Some(ran) if ran.at >= at && ran.by.runs().unwrap_or(false) => {
                Ran { now, ..ran.clone() }
            }
            _ => Ran { by: process.clone(), turn, at, last, said: true, now },
        };
        self.keep(session, ran);
    }

    /// Of too many, those whose program is gone go; then the oldest: later ones have names that come before.
    fn keep(&mut self, session: String, ran: Ran) {
        if self.ran.len() >= KNOWN && !self.ran.contains_key(&session) {
            let mut lives = BTreeMap::new();
            self.ran.retain(|_, ran| {
                *lives.entry(ran.by.clone()).or_insert_with(|| ran.by.runs().unwrap_or(false))
            });
            while self.ran.len() >= KNOWN {
                self.ran.pop_last();
            }
        }
        self.ran.insert(session, ran);
    }
}

/// What a session of an arm is called as a parent.
pub(super) fn parent(arm: &Arm, session: &str) -> ParentRef {
    let instance = arm.instance.clone();
    ParentRef::Session { host: NAME.into(), instance, session: session.into() }
}

/// An arm that takes orders.
struct AtWork {
    arm: Arc<Arm>,
    taken: mpsc::Receiver<Order>,
    arms: Arc<Arms>,
}

impl Orders for AtWork {
    fn arm(&self) -> &str {
        &self.arm.name
    }

    fn next(&mut self) -> Flight<'_, Option<Order>> {
        Box::pin(async move { self.taken.recv().await })
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        lock(&self.arms.known).arms.remove(&self.arm.name);
        self.arm.left();
    }
}

#[cfg(test)]
mod tests {
    use super::arm::instance;
    use super::*;

    fn last(session: &str, at: i64, runs: bool) -> LastTurn {
        let (turn, last) = (format!("msg_{at}"), format!("msg_{at}"));
        LastTurn { session: session.to_owned(), turn, at, last, runs }
    }

    fn offered(since: Instant, sessions: &[&str]) -> (Arc<Arms>, Box<dyn Orders>) {
        let arms = Arc::new(Arms { since: since.into(), ..Arms::default() });
        let offer = Offer {
            pid: i32::try_from(std::process::id()).unwrap(),
            data: "/data".into(),
            directories: vec!["/work".into()],
            sessions: sessions.iter().map(|session| last(session, 1, false)).collect(),
            ours: false,
        };
        let at_work = arms.offer(offer).unwrap();
        (arms, at_work)
    }

    #[test]
    fn after_a_start_nobody_takes_over_what_somebody_may_run_who_has_not_come_yet() {
        let now = Instant::now();
        let data = instance("/data");
        // However long this test takes.
        let (arms, at_work) = offered(now + COME * 1_000, &["ses_1"]);
        let arm = arms.named(at_work.arm()).unwrap();
        let runs = |session| arms.who_runs(session, data.as_deref());
        let turn = "msg_1".to_owned();
        assert!(matches!(runs("ses_1"), Runs::Since(_, since) if since == turn));
        assert!(matches!(runs("ses_2"), Runs::Nobody));
        arms.began(&arm, "ses_1", "msg_2");
        assert!(matches!(runs("ses_1"), Runs::This(_)));
        assert!(arms.waits_for_others(&arm).is_zero());
        arms.missed(&parent(&arm, "ses_1"));
        assert!(arms.waits_for_others(&arm).is_zero(), "it is known who runs it");
        arms.missed(&parent(&arm, "ses_2"));
        assert!(!arms.waits_for_others(&arm).is_zero());
        let (arms, at_work) = offered(now.checked_sub(COME).unwrap(), &[]);
        assert!(matches!(arms.who_runs("ses_2", data.as_deref()), Runs::Perhaps(_)));
        drop(at_work);
        assert!(matches!(arms.who_runs("ses_2", data.as_deref()), Runs::Nobody));
    }

    #[test]
    fn of_two_that_ran_a_session_the_last_one_has_it_whoever_comes_first() {
        let own = Process::own().unwrap();
        let other =
            Process::of(rustix::process::getppid().unwrap().as_raw_nonzero().get()).unwrap();
        let heard = |said: &[(&Process, i64, bool)]| {
            let mut known = Known::default();
            said.iter().for_each(|(who, at, runs)| known.says(who, last("ses_1", *at, *runs)));
            known.ran.remove("ses_1").unwrap()
        };
        for said in [[(&own, 1, false), (&other, 2, false)], [(&other, 2, false), (&own, 1, false)]]
        {
            let ran = heard(&said);
            assert_eq!((&ran.by, ran.turn.as_str()), (&other, "msg_2"));
        }
        let ran = heard(&[(&own, 1, true), (&other, 2, true)]);
        assert_eq!(ran.now.len(), 2, "both run it");
        // It has gone on while it was not connected.
        assert_eq!(heard(&[(&own, 1, false), (&own, 3, false), (&other, 2, false)]).by, own);
    }

    #[test]
    fn one_that_is_in_a_turn_holds_what_another_ran_last() {
        let (arms, at_work) = offered(Instant::now(), &[]);
        let arm = arms.named(at_work.arm()).unwrap();
        let other =
            Process::of(rustix::process::getppid().unwrap().as_raw_nonzero().get()).unwrap();
        let mut known = lock(&arms.known);
        known.says(&other, last("ses_1", 1, true));
        drop(known);
        let data = instance("/data");
        let runs = || arms.who_runs("ses_1", data.as_deref());
        arms.began(&arm, "ses_1", "msg_2");
        assert!(matches!(runs(), Runs::Two(_)));
        // This one is done. The other is not, and nobody says that it is connected.
        arms.ended(&arm, "ses_1");
        assert!(matches!(runs(), Runs::Two(_)));
        lock(&arms.known).ran.get_mut("ses_1").unwrap().now.clear();
        assert!(matches!(runs(), Runs::This(_)));
    }
}
