//! The same door on TCP, for programs that cannot use the socket. Who may call is `guard`'s to say; this accepts
//! connections, bounds how many there are and how long they may take to say what they want, and lets go of them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use homing_ports::door::Calling;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::door::Door;
use crate::guard::Guard;
use crate::{CLOSING, routes};

/// Connections at once; the next one waits to be accepted.
const MANY: usize = 1_024;
/// A request's head comes within this, and so does the next request of a connection that is kept.
const HEAD: Duration = Duration::from_secs(60);
/// When no connection can be accepted, as when this process has too many files open.
const PAUSE: Duration = Duration::from_millis(100);

/// Both ends of a connection, and who is at the other one once somebody asked.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    pub here: SocketAddr,
    pub there: SocketAddr,
    calling: Arc<OnceLock<Calling>>,
}

impl Ends {
    /// Looked for once: who is inside a task stays so.
    pub(crate) async fn calling(&self, door: &Door) -> Calling {
        if let Some(known) = self.calling.get() {
            return *known;
        }
        let (callers, here, there) = (Arc::clone(&door.callers), self.here, self.there);
        let found = tokio::task::spawn_blocking(move || callers.calling_over(here, there)).await;
        match found.unwrap_or(Calling::Unknown) {
            found @ (Calling::Inside(_) | Calling::Serving | Calling::Outside) => {
                *self.calling.get_or_init(|| found)
            }
            Calling::Unknown => Calling::Unknown,
        }
    }
}

/// Serves until the door is told to stop; then lets what is under way finish, for a bounded time.
pub async fn serve(listener: TcpListener, guard: Guard, door: Door) -> io::Result<()> {
    let mut closing = door.stops.closing();
    let routes = routes::over_tcp(door.clone(), guard);
    let places = Arc::new(Semaphore::new(MANY));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            _ = closing.wait_for(|closing| *closing) => break,
            Some(_) = open.join_next() => continue,
        };
        let Some((place, stream, there)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(here) = stream.local_addr() else {
            continue;
        };
        let ends = Ends { here, there, calling: Arc::default() };
        let (routes, closing) = (routes.clone().layer(Extension(ends)), closing.clone());
        open.spawn(async move {
            let _place = place;
            converse(stream, routes, closing).await;
        });
    }
    let rest = async { while open.join_next().await.is_some() {} };
    // What takes longer is let go of.
    drop(tokio::time::timeout(CLOSING, rest).await);
    Ok(())
}

type Accepted = (tokio::sync::OwnedSemaphorePermit, TcpStream, SocketAddr);

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    let (stream, there) = listener.accept().await.ok()?;
    // Answers are small, and waited for.
    drop(stream.set_nodelay(true));
    Some((place, stream, there))
}

async fn converse(stream: TcpStream, routes: Router, mut closing: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    tokio::pin!(connection);
    // How a connection ends is its other end's affair.
    tokio::select! {
        ended = connection.as_mut() => return drop(ended),
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}
