//! Arms: programs that run sessions and do requests there for us, through the plugin inside of them. One arm is one process. A
//! session is prompted only by the process that runs it: this says which that is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::ids::DebriefId;
use homing_core::payload::Digest;
use homing_core::refs::ParentRef;
use homing_ports::door::{Offer, Order, Orders};
use homing_ports::host::Flight;
use homing_shim::processes::Process;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tracing::debug;

use super::http::Trouble;
use super::{KNOWN, LOG, NAME};
use crate::system;

/// Orders that wait to be taken.
const AHEAD: usize = 64;
/// One that is not answered within this is not known to be done.
const WITHIN: Duration = Duration::from_secs(20);
/// What an arm says to an order that does not fit now.
const NOT_NOW: u16 = 409;

/// What came of an order: a status, and a body.
type Came = (u16, Vec<u8>);

/// One arm.
#[derive(Debug)]
pub(super) struct Arm {
    pub name: String,
    pub process: Process,
    /// Of the data that it works on.
    pub instance: Option<Arc<str>>,
    directories: Mutex<BTreeSet<String>>,
    /// Nobody sits in front of it: what people left is not its to go on with.
    ours: bool,
    orders: mpsc::Sender<Order>,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Came>>>,
    number: AtomicU64,
}

impl Arm {
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        self.read(order("GET", path)).await
    }

    /// As `get`, and after it more, for one answer: each order costs a way there and back.
    pub(super) async fn get_all<T: DeserializeOwned>(
        &self,
        path: &str,
        next: [&str; 2],
    ) -> Result<T, Trouble> {
        let next = next.map(str::to_owned).into();
        self.read(Order { next, ..order("GET", path) }).await
    }

    async fn read<T: DeserializeOwned>(&self, order: Order) -> Result<T, Trouble> {
        let body = self.ask(order).await?;
        serde_json::from_slice(&body).map_err(|why| Trouble::Odd { why: why.to_string() })
    }

    /// Prompts a session unless a turn of it runs or begins; done when the prompt is stored. False: not now.
    pub(super) async fn prompt(
        &self,
        path: &str,
        body: &Value,
        session: &str,
        message: &str,
    ) -> Result<bool, Trouble> {
        let asked = self.ask(Order {
            body: Some(body.to_string()),
            between: Some(session.to_owned()),
            stores: Some(message.to_owned()),
            ..order("POST", path)
        });
        match asked.await {
            Ok(_) => Ok(true),
            Err(Trouble::Refused { status: NOT_NOW, .. }) => Ok(false),
            Err(why) => Err(why),
        }
    }

    pub(super) fn works_in(&self, directory: &str) -> bool {
        lock(&self.directories).contains(directory)
    }

    pub(super) fn also_in(&self, directory: &str) {
        let mut all = lock(&self.directories);
        if all.len() < KNOWN {
            all.insert(directory.to_owned());
        }
    }

    async fn ask(&self, order: Order) -> Result<Vec<u8>, Trouble> {
        let gone = |why: &str| Trouble::CutOff { why: why.to_owned() };
        let (id, from) = (self.number.fetch_add(1, Ordering::Relaxed), system::mono_us());
        let path = order.path.clone();
        let (tell, told) = oneshot::channel();
        lock(&self.waiting).insert(id, tell);
        let whole = async {
            let sent = self.orders.send(Order { id, ..order }).await;
            sent.map_err(|_| gone("its plugin is not connected any more"))?;
            told.await.map_err(|_| gone("its plugin is not connected any more"))
        };
        let came = tokio::time::timeout(WITHIN, whole).await;
        lock(&self.waiting).remove(&id);
        debug!(target: LOG, path, from, until = system::mono_us(), "asked");
        let (status, body) = came.unwrap_or_else(|_| Err(gone("its plugin did not answer")))?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let said = String::from_utf8_lossy(&body).chars().take(500).collect();
        Err(Trouble::Refused { status, said })
    }
}

fn order(method: &'static str, path: &str) -> Order {
    let path = path.to_owned();
    Order { id: 0, method, path, next: Vec::new(), body: None, between: None, stores: None }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of a session's turns.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// Who ran the last one.
    pub by: Process,
    pub turn: String,
    /// Who runs one now, as far as that was told.
    pub now: BTreeSet<Process>,
}

/// All arms, and what they told.
#[derive(Debug, Default)]
pub(super) struct Arms {
    known: Mutex<Known>,
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
    /// One of these, if it works in the session's directory.
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
        let number = system::random().map_err(|why| why.to_string())?;
        let (orders, taken) = mpsc::channel(AHEAD);
        let arm = Arc::new(Arm {
            name: format!("arm_{number:016x}"),
            process: process.clone(),
            instance: instance(&offer.data),
            directories: Mutex::new(offer.directories.into_iter().collect()),
            ours: offer.ours,
            orders,
            waiting: Mutex::default(),
            number: AtomicU64::new(1),
        });
        let mut known = lock(&self.known);
        // One process is one arm: what it was before was cut off.
        known.arms.retain(|_, other| other.process != process);
        for session in offer.sessions {
            let free = known.ran.get(&session).is_none_or(|ran| !ran.by.runs().unwrap_or(false));
            if free {
                let turn = String::new();
                known.keep(session, Ran { by: process.clone(), turn, now: BTreeSet::new() });
            }
        }
        known.arms.insert(arm.name.clone(), Arc::clone(&arm));
        Ok(Box::new(AtWork { arm, taken, arms: Arc::clone(self) }))
    }

    pub(super) fn named(&self, arm: &str) -> Option<Arc<Arm>> {
        lock(&self.known).arms.get(arm).cloned()
    }

    pub(super) fn answer(&self, arm: &str, order: u64, came: Came) -> bool {
        let waits = self.named(arm).and_then(|arm| lock(&arm.waiting).remove(&order));
        waits.is_some_and(|waits| waits.send(came).is_ok())
    }

    pub(super) fn began(&self, arm: &Arm, session: &str, turn: &str) {
        let mut known = lock(&self.known);
        let mut now = known.ran.get(session).map(|ran| ran.now.clone()).unwrap_or_default();
        now.retain(|other| other.runs().unwrap_or(false));
        now.insert(arm.process.clone());
        let ran = Ran { by: arm.process.clone(), turn: turn.to_owned(), now };
        known.keep(session.to_owned(), ran);
    }

    /// The turn that ended, by the name that it was told under.
    pub(super) fn ended(&self, arm: &Arm, session: &str) -> String {
        let mut known = lock(&self.known);
        let ran = known.ran.get_mut(session);
        ran.map(|ran| {
            ran.now.remove(&arm.process);
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
            let at_it =
                known.arms.values().filter(same).filter(|arm| ran.now.contains(&arm.process));
            let pids: Vec<String> = at_it.map(|arm| arm.process.pid.to_string()).collect();
            if pids.len() > 1 {
                return Runs::Two(pids.join(" and "));
            }
            let by = known.arms.values().filter(same).find(|arm| arm.process == ran.by);
            if let Some(arm) = by {
                return Runs::This(Arc::clone(arm));
            }
            // It lives, and will be back.
            if ran.by.runs().unwrap_or(true) {
                return Runs::Nobody;
            }
        }
        let others = known.arms.values().filter(same).filter(|arm| !arm.ours);
        let all: Vec<Arc<Arm>> = others.cloned().collect();
        if all.is_empty() { Runs::Nobody } else { Runs::Perhaps(all) }
    }

    pub(super) fn missed(&self, parent: &ParentRef) {
        let mut known = lock(&self.known);
        if known.missed.len() < KNOWN {
            known.missed.insert(parent.clone());
        }
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
    /// Of too many, those whose program is gone go; then any.
    fn keep(&mut self, session: String, ran: Ran) {
        if self.ran.len() >= KNOWN && !self.ran.contains_key(&session) {
            self.ran.retain(|_, ran| ran.by.runs().unwrap_or(false));
            while self.ran.len() >= KNOWN {
                self.ran.pop_first();
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

/// The name of a data directory: none for the one that OpenCode of this user has unless it is told otherwise.
fn instance(data: &str) -> Option<Arc<str>> {
    let set = |name: &str| std::env::var(name).ok().filter(|at| !at.is_empty());
    let usual = set("XDG_DATA_HOME").or_else(|| Some(format!("{}/.local/share", set("HOME")?)));
    if usual.is_some_and(|usual| format!("{usual}/opencode") == data) {
        return None;
    }
    let digest = format!("{:?}", Digest::of(data.as_bytes()));
    Some(digest.chars().take(8).collect::<String>().into())
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
        // Whoever waits for it hears so at once.
        lock(&self.arm.waiting).clear();
    }
}
