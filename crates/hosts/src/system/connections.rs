//! Who holds the other end of a TCP connection of this machine, as the kernel's tables tell.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use super::processes::openers;

/// The processes that hold the connection from `local` to `remote`, as far as they can be seen; none when there is no
/// such connection, or it belongs to nobody any more.
pub fn holders(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<Vec<i32>>> {
    let Some(inode) = inode(local, remote)? else {
        return Ok(None);
    };
    openers(Path::new(&format!("socket:[{inode}]"))).map(Some)
}

fn inode(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u64>> {
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = match std::fs::read_to_string(table) {
            Ok(text) => text,
            // A machine without IPv6 has no such table.
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            Err(why) => return Err(why),
        };
        if let Some(inode) = text.lines().skip(1).find_map(|line| of_line(line, local, remote)) {
            return Ok(Some(inode));
        }
    }
    Ok(None)
}

/// A line: number, local, remote, state, queues, timer, retransmits, uid, timeout, inode.
fn of_line(line: &str, local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    let same = |word: Option<&str>, end: SocketAddr| {
        let read = word.and_then(address);
        read.is_some_and(|read| read == (end.ip().to_canonical(), end.port()))
    };
    if !same(words.nth(1), local) || !same(words.next(), remote) {
        return None;
    }
    words.nth(6)?.parse().ok().filter(|inode| *inode != 0)
}

/// `0100007F:1F90`: words of four bytes as this machine keeps them in memory, then the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..ip.len()).step_by(8) {
        let word = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some((ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_holder_of_the_other_end_is_found_while_it_holds_it() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(here) else {
                continue;
            };
            let there = listener.local_addr().unwrap();
            let client = TcpStream::connect(there).unwrap();
            let (_server, from) = listener.accept().unwrap();
            let own = std::process::id().cast_signed();
            assert_eq!(holders(from, there).unwrap(), Some(vec![own]), "{here}");
            drop(client);
            assert_eq!(holders(from, there).unwrap(), None, "{here}: it is closed");
        }
    }

    #[test]
    fn a_table_is_read_as_the_kernel_writes_it() {
        let four = "   1: 0100007F:1F90 0200007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4242 1";
        let (local, remote) = ("127.0.0.1:8080".parse().unwrap(), "127.0.0.2:80".parse().unwrap());
        if cfg!(target_endian = "little") {
            assert_eq!(of_line(four, local, remote), Some(4242));
            assert_eq!(of_line(four, remote, local), None);
            let mapped = four.replace("0100007F", "0000000000000000FFFF00000100007F");
            assert_eq!(of_line(&mapped, local, remote), Some(4242));
        }
        assert_eq!(of_line("  sl  local_address rem_address", local, remote), None);
        assert_eq!(of_line("", local, remote), None);
    }
}
