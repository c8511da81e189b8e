//! The door on TCP, when `homing.toml` or the command line asks for it: where it may listen, and for whom.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use homing_server::Guard;
use tokio::net::TcpListener;

use crate::config::Http;
use crate::expected::Expected;
use crate::home::Home;
use crate::token::TokenFile;

/// A door that is open, and who may come through it.
pub struct Open {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub guard: Guard,
}

/// Listens, if anybody wants it to.
pub async fn open(home: &Home, http: &Http) -> Result<Option<Open>, Expected> {
    if http.listen.is_empty() {
        return Ok(None);
    }
    let address = place(http)?;
    let token = TokenFile::of(home);
    // Made now: whoever starts the daemon can read it at once.
    token.get()?;
    let unusable = |why: std::io::Error| Expected::Daemon {
        code: 6,
        what: format!("cannot listen at {address}: {why}"),
        hint: "another port in [http] listen of homing.toml; port 0 takes any that is free".into(),
    };
    let guard = Guard {
        token: Arc::new(token),
        hosts: http.hosts.iter().map(|each| each.to_ascii_lowercase()).collect(),
        origins: http.origins.iter().map(|each| origin(each)).collect::<Result<_, _>>()?,
    };
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    Ok(Some(Open { listener, address, guard }))
}

fn wrong(what: String, hint: &'static str) -> Expected {
    Expected::Usage { what, hint }
}

/// Other machines reach it only if somebody said so.
fn place(http: &Http) -> Result<SocketAddr, Expected> {
    let said = &http.listen;
    let hint = "an address and a port: 127.0.0.1:7117";
    let found = said.to_socket_addrs().ok().and_then(|mut all| all.next());
    let address = found.ok_or_else(|| wrong(format!("{said:?} is no place to listen at"), hint))?;
    if !address.ip().is_loopback() && !http.beyond_loopback {
        return Err(wrong(
            format!("{address} can be reached from other machines, and nobody said that it may"),
            "127.0.0.1, or beyond_loopback = true in [http] of homing.toml (--beyond-loopback); what is sent there \
             can be read on its way, the token, too",
        ));
    }
    Ok(address)
}

/// As browsers write it.
fn origin(said: &str) -> Result<String, Expected> {
    let said = said.trim_end_matches('/').to_ascii_lowercase();
    let host = said.strip_prefix("https://").or_else(|| said.strip_prefix("http://"));
    if host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*'])) {
        return Ok(said);
    }
    let hint = "as a browser says it: https://example.org, without a path";
    Err(wrong(format!("[http] origins: {said:?} is no web page's origin"), hint))
}
