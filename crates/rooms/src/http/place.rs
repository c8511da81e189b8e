//! Where requests may go: to addresses that everybody can reach, over TLS, and to others only if they are named. A name
//! is looked up for each request, and the address that was looked at is the one that is called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use hyper::Uri;

/// A receiver's address, and what else it may turn out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    target: Target,
    private: Vec<Net>,
    redirects: Vec<String>,
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPlace {
    #[error(
        "{0:?} is no address that can be called: https://HOST[:PORT]/PATH, without a user or a #"
    )]
    Url(String),
    #[error("{0:?} has a ?, and paths are put behind it: https://HOST[:PORT]")]
    Query(String),
    #[error("{0:?} is no address and no network: 127.0.0.1, 10.1.0.0/16, fd00::/8")]
    Net(String),
    #[error("{0:?} is no name of a host: hooks.example.org")]
    Host(String),
}

impl Place {
    /// `private`: addresses and networks that are not everybody's and may be called all the same. `redirects`: hosts
    /// that it may send us to.
    pub fn new(url: &str, private: &[String], redirects: &[String]) -> Result<Self, BadPlace> {
        let host = |each: &String| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
            let fine = !each.is_empty() && each.bytes().all(plain);
            fine.then(|| each.to_ascii_lowercase()).ok_or_else(|| BadPlace::Host(short(each)))
        };
        Ok(Self {
            target: url.parse()?,
            private: private.iter().map(|each| each.parse()).collect::<Result<_, _>>()?,
            redirects: redirects.iter().map(host).collect::<Result<_, _>>()?,
        })
    }

    /// One that paths are put behind.
    pub fn base(url: &str, private: &[String]) -> Result<Self, BadPlace> {
        if url.contains('?') {
            return Err(BadPlace::Query(short(url)));
        }
        Self::new(url, private, &[])
    }

    /// As people know it, without what may not be for a log.
    pub fn shown(&self) -> String {
        self.target.to_string()
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Where it is, of the addresses that its name has; else why it is not called.
    pub(crate) fn reachable(
        &self,
        target: &Target,
        found: &[SocketAddr],
    ) -> Result<Vec<SocketAddr>, String> {
        let named = |ip: IpAddr| self.private.iter().any(|net| net.has(ip));
        let fine = |at: &&SocketAddr| named(at.ip()) || (target.tls && is_everybodys(at.ip()));
        let fine: Vec<SocketAddr> = found.iter().filter(fine).copied().collect();
        let Some(first) = found.first().filter(|_| fine.is_empty()) else {
            return Ok(fine);
        };
        let (host, ip) = (&target.host, first.ip());
        Err(if is_everybodys(ip) {
            format!("{host}: without TLS only an address that `private` names is called")
        } else {
            format!("{host} is at {ip}, which is not everybody's, and `private` does not name it")
        })
    }

    /// Where a redirect leads, if it may.
    pub(crate) fn redirected(&self, from: &Target, to: &str) -> Result<Target, String> {
        let shown = short(to);
        let full = if to.starts_with('/') && !to.starts_with("//") {
            format!("{}://{}{to}", from.scheme(), from.authority())
        } else {
            to.to_owned()
        };
        let target: Target =
            full.parse().map_err(|_| format!("it redirects to {shown:?}, which is no address"))?;
        let same = target.host == from.host && target.port == from.port && target.tls == from.tls;
        let named = |each: &String| *each == target.host || *each == target.authority();
        if same || self.redirects.iter().any(named) {
            return Ok(target);
        }
        Err(format!("it redirects to {}, and `redirects` does not name it", target.authority()))
    }
}

/// One address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub tls: bool,
    /// Without brackets.
    pub host: String,
    pub port: u16,
    pub path: String,
}

impl Target {
    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// A path behind this one's.
    pub(crate) fn below(&self, path: &str) -> Self {
        Self { path: format!("{}{path}", self.path.trim_end_matches('/')), ..self.clone() }
    }

    /// As the header `Host` has it.
    pub(crate) fn authority(&self) -> String {
        let host = match self.host.parse::<Ipv6Addr>() {
            Ok(ip) => format!("[{ip}]"),
            Err(_) => self.host.clone(),
        };
        let usual = if self.tls { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its path and query may hold what is not for a log.
        write!(out, "{}://{}", self.scheme(), self.authority())
    }
}

impl FromStr for Target {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let bad = || BadPlace::Url(short(text));
        let uri: Uri = text.parse().map_err(|_| bad())?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(bad()),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        if authority.as_str().contains('@') || text.contains('#') {
            return Err(bad());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad());
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str() != authority.host() => return Err(bad()),
            None if tls => 443,
            None => 80,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { tls, host: host.to_ascii_lowercase(), port, path })
    }
}

/// An address, or all that begin like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Net {
    bits: u128,
    /// Of its first bits, as a v6 address.
    length: u32,
}

impl Net {
    fn has(self, ip: IpAddr) -> bool {
        let shift = 128 - self.length;
        let first = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
        first(as_bits(ip)) == first(self.bits)
    }
}

/// One space for both: a v4 address is the mapped v6 one.
fn as_bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

impl FromStr for Net {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let bad = || BadPlace::Net(short(text));
        let (ip, length) = match text.split_once('/') {
            Some((ip, length)) => (ip, Some(length.parse::<u32>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        let (most, before) = if ip.is_ipv4() { (32, 96) } else { (128, 0) };
        let length = length.unwrap_or(most);
        if length > most {
            return Err(bad());
        }
        Ok(Self { bits: as_bits(ip), length: length + before })
    }
}

/// Whether it means the same machine to everybody.
fn is_everybodys(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_everybodys_v4(ip),
        IpAddr::V6(ip) => match (ip.to_ipv4_mapped(), ip.segments()) {
            (Some(inner), _) => is_everybodys_v4(inner),
            // A way to a v4 address: 6to4 and NAT64.
            (None, [0x2002, high, low, ..]) => is_everybodys_v4(joined(high, low)),
            (None, [0x64, 0xff9b, 0, 0, 0, 0, high, low]) => is_everybodys_v4(joined(high, low)),
            // For examples, and tunnels.
            (None, [0x2001, 0xdb8 | 0, ..] | [0x3fff, 0..0x1000, ..]) => false,
            (None, [first, ..]) => (0x2000..0x4000).contains(&first),
        },
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

fn is_everybodys_v4(ip: Ipv4Addr) -> bool {
    let shared = |[a, b, c, _]: [u8; 4]| match (a, b, c) {
        // This network, carriers' networks, protocols, tests of networks, what is kept for later.
        (0 | 240..=255, _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) => true,
        _ => false,
    };
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || shared(ip.octets()))
}

fn short(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everybodys(text: &str) -> bool {
        is_everybodys(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_one_machine_or_network_are_nobody_elses() {
        for own in [
            "127.0.0.1",
            "127.8.8.8",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "fec0::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2001:db8::1",
            "2001::1",
            "::127.0.0.1",
        ] {
            assert!(!everybodys(own), "{own}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(everybodys(public), "{public}");
        }
    }

    #[test]
    fn an_address_is_taken_apart_or_refused() {
        let target: Target = "https://Hooks.Example.org/a/b?c=d".parse().unwrap();
        assert_eq!((target.tls, &*target.host, target.port), (true, "hooks.example.org", 443));
        assert_eq!((&*target.path, &*target.authority()), ("/a/b?c=d", "hooks.example.org"));
        assert_eq!(target.to_string(), "https://hooks.example.org");
        let target: Target = "http://[::1]:8080".parse().unwrap();
        assert_eq!(
            (&*target.host, &*target.authority(), &*target.path),
            ("::1", "[::1]:8080", "/")
        );
        for (base, whole) in [("https://a", "/x"), ("https://a/", "/x"), ("https://a/m/", "/m/x")] {
            assert_eq!(Place::base(base, &[]).unwrap().target().below("/x").path, whole);
        }
        assert!(Place::base("https://a/?b", &[]).is_err());
        for bad in [
            "",
            "ftp://a/",
            "https://",
            "https://a@b/",
            "https://a/#x",
            "/only/a/path",
            "https://a:99999/",
            "https://a:/",
        ] {
            assert!(bad.parse::<Target>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_named_may_be_called_and_nothing_beside_it() {
        let at = |text: &str| vec![SocketAddr::new(text.parse().unwrap(), 1)];
        let private = ["127.0.0.1".to_owned(), "10.1.0.0/16".to_owned(), "fd00::/8".to_owned()];
        let place = Place::new("https://a/", &private, &[]).unwrap();
        let may = |ip: &str| place.reachable(place.target(), &at(ip)).is_ok();
        for fine in ["127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "fd00::9", "1.1.1.1"] {
            assert!(may(fine), "{fine}");
        }
        for not in ["127.0.0.2", "10.2.0.1", "169.254.169.254", "fe80::1", "::1"] {
            assert!(!may(not), "{not}");
        }
        let all = Place::new("http://a/", &["0.0.0.0/0".to_owned()], &[]).unwrap();
        assert!(all.reachable(all.target(), &at("169.254.169.254")).is_ok());
        assert!(all.reachable(all.target(), &at("::1")).is_err());
        for bad in ["", "x", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0.0/"] {
            assert!(Place::new("https://a/", &[bad.to_owned()], &[]).is_err(), "{bad}");
        }
    }

    #[test]
    fn without_tls_only_what_is_named_is_called() {
        let place = Place::new("http://a/", &["127.0.0.1".to_owned()], &[]).unwrap();
        let at = |text: &str| vec![SocketAddr::new(text.parse().unwrap(), 1)];
        let why = place.reachable(place.target(), &at("1.1.1.1")).unwrap_err();
        assert!(why.contains("without TLS"), "{why}");
        assert!(place.reachable(place.target(), &at("127.0.0.1")).is_ok());
    }

    #[test]
    fn a_redirect_stays_where_it_is_or_goes_where_it_may() {
        let place = Place::new("https://a/x", &[], &["b.example.org".to_owned()]).unwrap();
        let to = |to: &str| place.redirected(place.target(), to).map(|target| target.to_string());
        assert_eq!(to("/y"), Ok("https://a".to_owned()));
        assert_eq!(to("https://b.example.org/z"), Ok("https://b.example.org".to_owned()));
        for bad in [
            "https://c/",
            "http://a/x",
            "https://a:444/",
            "//c/",
            "http://169.254.169.254/",
            "x",
            "",
            "file:///etc/passwd",
        ] {
            assert!(to(bad).is_err(), "{bad}");
        }
    }
}
