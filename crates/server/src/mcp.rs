//! `/mcp`: the tools over streamable HTTP. Each call becomes requests to the other routes, made within this process on
//! behalf of whoever made the call: a tool can do no more than its caller could.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::Extension;
use homing_client::Client;
use homing_core::refs::ParentRef;
use homing_mcp::{Coming, Daemon, OverHttp, Request, Seat, over_http};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;

use crate::door::Door;
use crate::peer::By;

/// What a connection within this process holds before the other end takes it.
const PIPE: usize = 64 << 10;
const SESSION: &str = "mcp-session-id";

/// The routes that tools use, and who may be at them.
struct Within {
    door: Door,
    routes: Router,
}

impl Daemon for Within {
    fn client<'a>(&'a self, request: Option<&'a Request>) -> Coming<'a> {
        let by = request.and_then(|parts| parts.extensions.get::<By>()).copied();
        let client = by.map(|by| {
            let routes = self.routes.clone().layer(Extension(by));
            Client::within(move || {
                let (near, far) = tokio::io::duplex(PIPE);
                let service = TowerToHyperService::new(routes.clone());
                let connection = http1::Builder::new().serve_connection(TokioIo::new(far), service);
                // Ends with its client.
                tokio::spawn(connection);
                near
            })
        });
        Box::pin(async move { client.ok_or_else(|| "nobody knows who calls".to_owned()) })
    }

    fn seat(&self, request: Option<&Request>) -> Seat {
        let session = request.and_then(|parts| parts.headers.get(SESSION));
        let session = session.and_then(|session| session.to_str().ok()).unwrap_or_default();
        let by = request.and_then(|parts| parts.extensions.get::<By>());
        Seat {
            session: by.and_then(|by| by.0).map(ParentRef::Task),
            inbox: Seat::of_connection(session),
            cwd: None,
            around: BTreeMap::new(),
            turn: None,
            key: None,
        }
    }

    fn fresh_key(&self) -> String {
        format!("mcp:{}", self.door.homing.mint())
    }
}

/// How tools reach the routes.
pub(crate) fn within(door: &Door, routes: Router) -> Arc<dyn Daemon> {
    Arc::new(Within { door: door.clone(), routes })
}

/// The service for one listener. Who may call, by which name and from which page was found out before.
pub(crate) fn service(door: &Door, routes: Router) -> OverHttp {
    let mut closing = door.stops.closing();
    over_http(within(door, routes), async move {
        drop(closing.wait_for(|closing| *closing).await);
    })
}
