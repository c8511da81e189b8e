//! Where a program of ours listens that serves many tasks, as its run's directory says, and which process does.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use homing_shim::run_dir::RunDir;

use crate::system::connections;

/// In the run's directory: the port, and the password.
pub(crate) const DOOR: &str = "door";

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listens {
    pub port: u16,
    pub password: String,
}

impl Listens {
    pub(crate) fn write(&self, run: &RunDir) -> io::Result<()> {
        run.put(DOOR, format!("{} {}", self.port, self.password).as_bytes())
    }

    /// None when nothing is said, or nothing that can be read.
    pub(crate) fn read(run: &RunDir) -> io::Result<Option<Self>> {
        let text = run.get(DOOR)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let Some((port, password)) = text.split_once(' ') else {
            return Ok(None);
        };
        Ok(port.parse().ok().map(|port| Self { port, password: password.to_owned() }))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }
}

/// Who listens at an address: the program itself, and none of what it started.
pub(crate) fn listeners(address: SocketAddr) -> Vec<i32> {
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
    let holders = |at| connections::holders(at, nobody).ok().flatten().unwrap_or_default();
    match holders(address) {
        none if none.is_empty() => holders(any),
        some => some,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_written_reads_back_and_garbage_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::at(dir.path());
        assert_eq!(Listens::read(&run).unwrap(), None);
        let listens = Listens { port: 4_096, password: "a b".to_owned() };
        listens.write(&run).unwrap();
        assert_eq!(Listens::read(&run).unwrap(), Some(listens));
        for odd in ["", "4096", "x y", "99999 y"] {
            run.put(DOOR, odd.as_bytes()).unwrap();
            assert_eq!(Listens::read(&run).unwrap(), None, "{odd}");
        }
    }

    #[test]
    fn who_listens_is_found() {
        let own = i32::try_from(std::process::id()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(listeners(address), [own]);
        drop(listener);
        assert_eq!(listeners(address), [0; 0]);
    }
}
