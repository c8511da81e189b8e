//! What a door asks of those who run tasks: who is calling, to keep what must not be stored, and to work through the
//! programs that come to it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use homing_core::ids::{DebriefId, TaskId};
use homing_core::input::{DeliveryFact, ParentFact};
use homing_core::refs::ParentRef;
use serde::Deserialize;

use crate::host::Flight;

/// Where a caller stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calling {
    /// Within the process tree of this task, or it has the mark of one: it acts as that task.
    Inside(TaskId),
    /// It is the program that sessions of many tasks run in: for which of them it calls, it has to say.
    Serving,
    /// In none of them.
    Outside,
    /// It is not there any more, or cannot be seen: nobody can tell.
    Unknown,
}

/// Tells which task a process is inside of.
pub trait Callers: Send + Sync {
    fn calling(&self, pid: i32) -> Calling;

    /// The same of the process at the other end of a TCP connection of this machine. One that comes from elsewhere is
    /// inside of none.
    fn calling_over(&self, here: SocketAddr, there: SocketAddr) -> Calling;
}

/// What a caller must know who does not come through the socket.
pub trait Token: Send + Sync {
    /// As it is now: it can be changed at any time.
    fn token(&self) -> io::Result<String>;
}

/// Variables and their values.
pub type Vars = BTreeMap<String, String>;

/// Keeps the values of a task's variables, apart from store and journal, until the task ends.
pub trait Keeps: Send + Sync {
    /// Called before the launch is decided.
    fn keep_env(&self, task: TaskId, vars: &Vars) -> io::Result<()>;

    /// Nothing kept is as good.
    fn drop_env(&self, task: TaskId) -> io::Result<()>;
}

/// The last turn of a session, as the program that ran it says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LastTurn {
    pub session: String,
    pub turn: String,
    /// When it began, by the wall clock.
    pub at: i64,
    /// The last prompt in it, whoever said that.
    pub last: String,
    pub runs: bool,
}

/// A program that runs sessions offers to do requests there: its plugin is the daemon's arm inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub pid: i32,
    /// Where it keeps what it knows. Programs with the same one know the same sessions.
    pub data: String,
    /// The directories that it works in.
    pub directories: Vec<String>,
    /// Sessions whose turns it ran.
    pub sessions: Vec<LastTurn>,
    /// It was started for tasks: nobody sits in front of it.
    pub ours: bool,
}

/// One request that an arm is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub id: u64,
    pub method: &'static str,
    pub path: String,
    /// What is got after it, all at once; the answer is a list then, with the first one's before theirs.
    pub next: Vec<String>,
    /// JSON.
    pub body: Option<String>,
    /// Not while a turn of this session runs, or begins.
    pub between: Option<String>,
    /// It is done when the message of this name is stored.
    pub stores: Option<String>,
}

/// What an arm says by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Word {
    /// A turn begins that is none of ours.
    Began {
        session: String,
        turn: String,
    },
    /// Nothing seems to run in it any more.
    Ended {
        session: String,
    },
    Deleted {
        session: String,
    },
    /// It works in this directory, too.
    Works {
        directory: String,
    },
    /// The answer to a call of a tool of ours is stored.
    Stored {
        session: String,
        message: String,
        call: String,
    },
}

/// What follows for the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Parent(ParentRef, ParentFact),
    Debrief(DebriefId, DeliveryFact),
    /// A call's answer has arrived where it was to.
    Arrived {
        message: String,
        call: String,
    },
}

/// An arm at work. Let go of, it is gone.
pub trait Orders: Send {
    /// Its own name, for all that it says.
    fn arm(&self) -> &str;

    /// None when another one has taken its place.
    fn next(&mut self) -> Flight<'_, Option<Order>>;
}

/// Those who work through arms.
pub trait Arms: Send + Sync {
    /// The host whose sessions they run.
    fn host(&self) -> &str;

    fn offer(&self, offer: Offer) -> Result<Box<dyn Orders>, String>;

    /// What is to be known once an arm is there: of sessions that wait for it, and of those that it ran.
    fn greet<'a>(&'a self, arm: &'a str) -> Flight<'a, Vec<News>>;

    /// It goes. What is to be known of its sessions once its program has ended, too: another arm may have them from then on.
    fn left(&self, arm: &str) -> Flight<'_, Vec<News>>;

    /// What came of an order; false when nobody waits for it.
    fn answer(&self, arm: &str, order: u64, status: u16, body: Vec<u8>) -> bool;

    /// None when there is no such arm.
    fn hear<'a>(&'a self, arm: &'a str, word: Word) -> Flight<'a, Option<Vec<News>>>;

    /// A session and those above it, itself first.
    fn lineage<'a>(
        &'a self,
        arm: &'a str,
        session: &'a str,
    ) -> Flight<'a, Result<Vec<String>, String>>;

    /// What a session of this arm is called as a parent; none when there is no such arm.
    fn parent(&self, arm: &str, session: &str) -> Option<ParentRef>;

    /// A variable by which what runs below a session is known to be of its task.
    fn mark(&self, task: TaskId) -> io::Result<(String, String)>;
}
