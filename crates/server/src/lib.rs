//! The door: HTTP/JSON and server-sent events over the runtime, on a unix socket that only its owner can use.
//!
//! - `Door` is what every route works on: the runtime's handle, who tells callers apart, who keeps variables.
//! - `peer` knows who calls through the socket. Another user is refused; a caller inside a child's process tree acts
//!   as that task.
//! - `tcp` is the same door for programs that cannot use the socket, and `guard` says who may: the token, the name it
//!   is called by, the web page it is called from.
//! - `routes` has one file per verb. A body is one of `homing_core::wire`; a task is `homing_core::view`.
//! - `mcp` is the same as tools for agents.
//! - `problem` is how everything is refused: a code, what, why, and what to try; `codes` are the door's own.
//! - `openapi` tells of all this in a document for programs, made of what each route says beside its code.
//! - `metrics` are the daemon's figures as a page for Prometheus; `counts` are the door's own.
//! - `feed` reads what the journal gains once, for all who follow it.
//! - `stream` writes events to readers of any speed. One who is behind pulls from the ledger by a cursor, so a slow
//!   reader costs a few pages of memory and never delays a decision; one that does not read at all is let go of,
//!   and told where to go on.
//!
//! Decides nothing and stores nothing.

#![forbid(unsafe_code)]

mod arms;
mod asked;
mod codes;
mod counts;
mod door;
mod feed;
mod guard;
mod mcp;
mod metrics;
mod openapi;
mod peer;
mod problem;
mod request_id;
mod routes;
mod stream;
mod tcp;

use std::io;
use std::time::Duration;

use axum::Router;
use tokio::net::UnixListener;

pub use counts::Counts;
pub use door::{Door, Identity, Stops};
pub use guard::Guard;
use peer::Peer;
pub use tcp::serve as serve_tcp;

/// Connections that are busy get this long to finish once the door closes.
const CLOSING: Duration = Duration::from_secs(5);

/// Serves until the door is told to stop; then lets what is under way finish, for a bounded time. Children of
/// the runtime are left alone, and so is the runtime.
pub async fn serve(listener: UnixListener, door: Door) -> io::Result<()> {
    let mut stops = door.stops.closing();
    let mut over = door.stops.closing();
    let routes: Router = routes::over_socket(door);
    let routes = routes.into_make_service_with_connect_info::<Peer>();
    let graceful = axum::serve(listener, routes).with_graceful_shutdown(async move {
        // The one who says when is gone: then it is time, too.
        drop(stops.wait_for(|stops| *stops).await);
    });
    let late = async {
        drop(over.wait_for(|stops| *stops).await);
        tokio::time::sleep(CLOSING).await;
    };
    tokio::select! {
        served = async { graceful.await } => served,
        () = late => Ok(()),
    }
}
