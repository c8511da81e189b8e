//! Tools for agents: what homing does, over the Model Context Protocol. Everything a tool does is a request to the
//! daemon through its typed client, so a tool can do no more than a program at the door.
//!
//! - `tools`: which there are, with their words for the agent.
//! - `args`: what each takes. `answers`: what each tells, as data and in words. `schema`: a task's JSON, declared.
//! - `serve`: where they are served: on standard input and output, line by line (`lines`), and over streamable HTTP.
//! - `handler`: speaks the protocol: lists the tools, calls them, waits within bounds, tells progress.
//! - `parent`: on whose behalf a call is made, and so who is told of the outcome.
//! - `tasks` and `sessions`: the tools themselves.
//!
//! Launching answers at once. Waiting is bounded. A call that is given up changes nothing: the task goes on.

#![forbid(unsafe_code)]

mod answers;
mod args;
mod handler;
mod lines;
mod parent;
#[cfg_attr(not(test), expect(dead_code, reason = "declared for its shape alone"))]
mod schema;
mod serve;
mod sessions;
mod tasks;
mod tools;

use std::future::Future;
use std::pin::Pin;

use homing_client::Client;

pub use handler::{Answer, Ended, by_plugin};
pub use parent::Seat;
pub use serve::{OverHttp, on_stdio, on_streams, over_http};
pub use tools::for_plugins;

/// The head of the HTTP request that a call came with.
pub type Request = http::request::Parts;

/// A client on its way, or why there is none.
pub type Coming<'a> = Pin<Box<dyn Future<Output = Result<Client, String>> + Send + 'a>>;

/// How a tool reaches the daemon. A call on standard input comes without a request.
pub trait Daemon: Send + Sync + 'static {
    /// For the one who made this request. Asked anew when the daemon went away.
    fn client<'a>(&'a self, request: Option<&'a Request>) -> Coming<'a>;

    /// Where the one who made this request sits.
    fn seat(&self, request: Option<&Request>) -> Seat;

    /// A key that nobody else has: a launch that is repeated under it is the same task.
    fn fresh_key(&self) -> String;
}
