//! One arm: a program with our plugin in it, which does requests for us and answers them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use homing_core::payload::Digest;
use homing_ports::door::{Offer, Order};
use homing_shim::processes::Process;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tracing::debug;

use crate::opencode::http::Trouble;
use crate::opencode::{KNOWN, LOG};
use crate::system;

/// Orders that wait to be taken.
const AHEAD: usize = 64;
/// One that is not answered within this is not known to be done.
const WITHIN: Duration = Duration::from_secs(20);
/// What an arm says to an order that does not fit now.
const NOT_NOW: u16 = 409;

/// What came of an order: a status, and a body.
pub(super) type Came = (u16, Vec<u8>);

/// See the module.
#[derive(Debug)]
pub(in crate::opencode) struct Arm {
    pub name: String,
    pub process: Process,
    pub(super) came: Instant,
    /// Of the data that it works on.
    pub instance: Option<Arc<str>>,
    directories: Mutex<BTreeSet<String>>,
    /// Nobody sits in front of it: what people left is not its to go on with.
    pub(super) ours: bool,
    orders: mpsc::Sender<Order>,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Came>>>,
    number: AtomicU64,
}

impl Arm {
    /// With what it is to do.
    pub(super) fn of(
        process: Process,
        offer: &Offer,
    ) -> Result<(Arc<Self>, mpsc::Receiver<Order>), String> {
        let number = system::random().map_err(|why| why.to_string())?;
        let (orders, taken) = mpsc::channel(AHEAD);
        let arm = Self {
            name: format!("arm_{number:016x}"),
            process,
            came: Instant::now(),
            instance: instance(&offer.data),
            directories: Mutex::new(offer.directories.iter().cloned().collect()),
            ours: offer.ours,
            orders,
            waiting: Mutex::default(),
            number: AtomicU64::new(1),
        };
        Ok((Arc::new(arm), taken))
    }

    /// The name of its process, which no other of this boot has.
    pub(in crate::opencode) fn program(&self) -> String {
        format!("{}-{}", self.process.pid, self.process.start)
    }

    /// Whether somebody waited for it.
    pub(super) fn answered(&self, order: u64, came: Came) -> bool {
        let waits = lock(&self.waiting).remove(&order);
        waits.is_some_and(|waits| waits.send(came).is_ok())
    }

    /// Whoever waits for it hears so at once.
    pub(super) fn left(&self) {
        lock(&self.waiting).clear();
    }

    pub(in crate::opencode) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, Trouble> {
        self.read(order("GET", path)).await
    }

    /// As `get`, and after it more, for one answer: each order costs a way there and back.
    pub(in crate::opencode) async fn get_all<T: DeserializeOwned>(
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
    pub(in crate::opencode) async fn prompt(
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

    /// Shows a word for a moment, where there is a terminal.
    pub(in crate::opencode) async fn toast(
        &self,
        message: &str,
        variant: &str,
    ) -> Result<(), Trouble> {
        let body = Some(json!({"message": message, "variant": variant}).to_string());
        self.ask(Order { body, ..order("POST", "/tui/show-toast") }).await.map(drop)
    }

    pub(in crate::opencode) fn works_in(&self, directory: &str) -> bool {
        lock(&self.directories).contains(directory)
    }

    pub(in crate::opencode) fn also_in(&self, directory: &str) {
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
        debug!(target: LOG, pid = self.process.pid, path, from, until = system::mono_us(), "asked");
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

pub(super) fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a data directory: none for the one that OpenCode of this user has unless it is told otherwise.
pub(super) fn instance(data: &str) -> Option<Arc<str>> {
    let set = |name: &str| std::env::var(name).ok().filter(|at| !at.is_empty());
    let usual = set("XDG_DATA_HOME").or_else(|| Some(format!("{}/.local/share", set("HOME")?)));
    if usual.is_some_and(|usual| format!("{usual}/opencode") == data) {
        return None;
    }
    let digest = format!("{:?}", Digest::of(data.as_bytes()));
    Some(digest.chars().take(8).collect::<String>().into())
}
