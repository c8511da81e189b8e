//! `[webhooks.NAME]` of homing.toml: who is told by a request; and, with `rooms`, where people read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use homing_core::refs::ParentRef;
use homing_core::span;
use homing_rooms::http::Place;
use toml::{Table, Value};

use super::rooms::Room;
use super::{Wrong, milliseconds, not_known, plain, words};

/// For one request, its answer included.
pub(super) const TIMEOUT_MS: u64 = 30_000;
const WEBHOOK: [&str; 4] = ["url", "private", "redirects", "timeout"];

/// All of them, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receivers {
    pub webhooks: BTreeMap<String, Receiver>,
    pub rooms: BTreeMap<String, Room>,
}

/// One webhook as it is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    pub url: String,
    /// Addresses and networks that are not everybody's and may be called.
    pub private: Vec<String>,
    /// Hosts that it may send us to.
    pub redirects: Vec<String>,
    pub timeout_ms: u64,
    /// What the first three come to.
    pub place: Place,
}

fn table(at: &str, value: Value) -> Result<Table, Wrong> {
    let Value::Table(inside) = value else {
        return Err((format!("{at}: it is not a table"), format!("[{at}], then KEY = VALUE")));
    };
    Ok(inside)
}

fn named(at: &str, name: &str) -> Result<(), Wrong> {
    let whole: Result<ParentRef, _> = format!("webhook:{name}").parse();
    whole.map(drop).map_err(|why| (format!("{at}: {why}"), "another name".to_owned()))
}

impl Receivers {
    pub(super) fn take_webhooks(&mut self, inside: Table) -> Result<(), Wrong> {
        for (name, value) in inside {
            let at = format!("webhooks.{name}");
            named(&at, &name)?;
            let (mut url, mut timeout_ms) = (String::new(), TIMEOUT_MS);
            let (mut private, mut redirects) = (Vec::new(), Vec::new());
            for (key, value) in table(&at, value)? {
                let full = format!("{at}.{key}");
                match key.as_str() {
                    "url" => url = plain(&full, &value)?,
                    "private" => private = words(&full, &value)?,
                    "redirects" => redirects = words(&full, &value)?,
                    "timeout" => timeout_ms = milliseconds(&full, &value)?,
                    _ => return Err(not_known("key", &full, WEBHOOK.to_vec())),
                }
            }
            let hint = "url = \"https://hooks.example.org/homing\"; private = [\"127.0.0.1\"] to call this machine";
            let place = Place::new(&url, &private, &redirects)
                .map_err(|why| (format!("{at}: {why}"), hint.to_owned()))?;
            let receiver = Receiver { url, private, redirects, timeout_ms, place };
            self.webhooks.insert(name, receiver);
        }
        Ok(())
    }

    pub(super) fn take_rooms(&mut self, inside: Table) -> Result<(), Wrong> {
        for (name, value) in inside {
            let at = format!("rooms.{name}");
            named(&at, &name)?;
            let room = Room::read(&at, &table(&at, value)?)?;
            self.rooms.insert(name, room);
        }
        Ok(())
    }

    /// Once all of it is read.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for (name, room) in &self.rooms {
            let known = self.webhooks.keys().map(String::as_str).collect();
            room.check(&format!("rooms.{name}"), known)?;
        }
        Ok(())
    }

    /// As a file says the same.
    pub(super) fn told(&self, text: &mut String) -> std::fmt::Result {
        for (name, receiver) in &self.webhooks {
            let timeout = span::words(Duration::from_millis(receiver.timeout_ms));
            writeln!(text, "\n[webhooks.{name:?}]")?;
            writeln!(text, "{:34} # told as webhook:{name}", format!("url = {:?}", receiver.url))?;
            let private = format!("private = {:?}", receiver.private);
            writeln!(text, "{private:34} # addresses of one's own that may be called")?;
            let redirects = format!("redirects = {:?}", receiver.redirects);
            writeln!(text, "{redirects:34} # hosts that it may redirect to")?;
            writeln!(text, "{:34} # for one request", format!("timeout = {timeout:?}"))?;
        }
        for (name, room) in &self.rooms {
            writeln!(text, "\n[rooms.{name:?}]")?;
            room.told(text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Room};

    #[test]
    fn receivers_are_read_and_shown_as_they_were_said() {
        let text = "[webhooks.ops]\nurl = \"https://hooks.example.org/x?y=1\"\ntimeout = \"5s\"\n\
                    [webhooks.here]\nurl = \"http://127.0.0.1:9/\"\nprivate = [\"127.0.0.1\"]\n\
                    redirects = [\"localhost\"]\n[rooms.team]\nkind = \"webhook\"\nwebhook = \"ops\"\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.receivers.webhooks["ops"].timeout_ms, 5_000);
        assert_eq!(config.receivers.webhooks["here"].timeout_ms, 30_000);
        assert_eq!(config.receivers.rooms["team"], Room::Webhook("ops".to_owned()));
        let again = Config::parse(&config.told().unwrap()).unwrap();
        assert_eq!(again.receivers, config.receivers);
    }

    #[test]
    fn what_cannot_be_a_receiver_is_refused_with_what_to_try() {
        for (text, says, hint) in [
            ("[webhooks]\nops = 1\n", "webhooks.ops: it is not a table", "[webhooks.ops]"),
            ("[webhooks.\"a b\"]\nurl = \"https://a/\"\n", "1 to 128", "another name"),
            ("[webhooks.a]\n", "webhooks.a: \"\" is no address", "https://"),
            ("[webhooks.a]\nurl = \"ftp://a\"\n", "is no address", "https://"),
            ("[webhooks.a]\nurll = \"x\"\n", "no key \"webhooks.a.urll\"", "\"url\""),
            ("[webhooks.a]\nurl = \"https://a/\"\nprivate = [\"x\"]\n", "no network", "127.0.0.1"),
            ("[webhooks.a]\nurl = \"https://a/\"\ntimeout = 5\n", "not a time", "\"30s\""),
        ] {
            let (what, try_this) = Config::parse(text).unwrap_err();
            assert!(what.contains(says), "{text}: {what}");
            assert!(try_this.contains(hint), "{text}: {try_this}");
        }
    }
}
