//! Who calls: the process at the other end of the socket, as the kernel names it.

use std::sync::{Arc, OnceLock};

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::IncomingStream;
use homing_core::ids::TaskId;
use homing_core::reason::Caller;
use homing_ports::door::Calling;
use homing_runtime::Homing;
use tokio::net::UnixListener;

use crate::arms;
use crate::codes::Own;
use crate::door::Door;
use crate::problem::Problem;

/// User and process, as they were when the connection was made.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    uid: Option<u32>,
    pid: Option<i32>,
    /// Found out once: who is inside a task stays so, and later the pid may be another's.
    calling: Arc<OnceLock<Calling>>,
}

impl Peer {
    fn new(uid: Option<u32>, pid: Option<i32>) -> Self {
        Self { uid, pid, calling: Arc::default() }
    }

    pub(crate) fn pid(&self) -> Option<i32> {
        self.pid
    }

    pub(crate) fn calling(&self, door: &Door) -> Calling {
        if let Some(known) = self.calling.get() {
            return *known;
        }
        let found = self.pid.map_or(Calling::Unknown, |pid| door.callers.calling(pid));
        match found {
            Calling::Inside(_) | Calling::Serving | Calling::Outside => {
                *self.calling.get_or_init(|| found)
            }
            Calling::Unknown => found,
        }
    }
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        match stream.io().peer_cred() {
            Ok(cred) => Self::new(Some(cred.uid()), cred.pid()),
            Err(_) => Self::new(None, None),
        }
    }
}

/// On whose behalf a request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct By(pub Option<TaskId>);

impl By {
    /// The runtime's handle for this caller.
    pub(crate) fn homing(self, door: &Door) -> Homing {
        match self.0 {
            Some(task) => door.homing.on_behalf_of(Caller::Task(task)),
            None => door.homing.clone(),
        }
    }
}

/// Refuses whoever is not to call, and finds out on whose behalf the others do.
pub(crate) async fn admit(
    State(door): State<Door>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let who = door.identity.uid;
    if peer.uid != Some(who) {
        let why = format!("this socket serves the user with uid {who} alone");
        return Problem::forbidden(Own::OtherUser, &why).into_response();
    }
    let by = match peer.calling(&door) {
        Calling::Inside(task) => By(Some(task)),
        Calling::Outside => By(None),
        // Its plugin says at every call for which session it is made.
        Calling::Serving if request.uri().path().starts_with(arms::PATH) => {
            return next.run(request).await;
        }
        Calling::Serving | Calling::Unknown => return Problem::nobody().into_response(),
    };
    request.extensions_mut().insert(by);
    next.run(request).await
}
