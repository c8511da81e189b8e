//! What a door asks of those who run tasks: who is calling, and to keep what must not be stored.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use homing_core::ids::TaskId;

/// Where a caller stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calling {
    /// Within the process tree of this task: it acts as that task.
    Inside(TaskId),
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
