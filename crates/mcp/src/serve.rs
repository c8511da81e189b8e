//! Where the tools are served: on standard input and output for one agent program, and over streamable HTTP for
//! many. Nothing outside of this crate speaks the protocol.

use std::future::Future;
use std::io;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::Daemon;
use crate::handler::Tools;
use crate::lines::Lines;

/// The tools at a path of a router.
pub type OverHttp = StreamableHttpService<Tools, LocalSessionManager>;

/// Serves whoever is at the other end of standard input, until it goes.
pub async fn on_stdio(daemon: Arc<dyn Daemon>) -> io::Result<()> {
    let (read, write) = stdio();
    on_streams(daemon, read, write).await
}

/// Serves whoever is at the other end of two streams, until it goes.
pub async fn on_streams(
    daemon: Arc<dyn Daemon>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let serving = match Tools::new(daemon).serve(Lines::new(read, write)).await {
        Ok(serving) => serving,
        // One that goes before it said hello is gone.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            return Err(io::Error::other("the client did not begin with the request initialize"));
        }
        Err(why) => return Err(io::Error::other(why)),
    };
    serving.waiting().await?;
    Ok(())
}

/// A service for one listener, until it closes. Who may call, by which name and from which page is for the listener to
/// find out before.
pub fn over_http(
    daemon: Arc<dyn Daemon>,
    closing: impl Future<Output = ()> + Send + 'static,
) -> OverHttp {
    let closed = CancellationToken::new();
    let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    config.cancellation_token = closed.clone();
    tokio::spawn(async move {
        closing.await;
        closed.cancel();
    });
    StreamableHttpService::new(
        move || Ok(Tools::new(Arc::clone(&daemon))),
        Arc::new(LocalSessionManager::default()),
        config,
    )
}
