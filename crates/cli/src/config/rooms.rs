//! `[rooms.NAME]` of homing.toml: where people read. A room is a webhook that is set up, or an account on a Matrix
//! homeserver. What is secret is in a file or a variable, and only its place is said here.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use homing_core::span;
use homing_rooms::http::Place;
use homing_rooms::matrix::Matrix;
use toml::{Table, Value};

use super::receivers::TIMEOUT_MS;
use super::{Config, Wrong, milliseconds, not_known, plain, words};
use crate::expected::Expected;
use crate::home::Home;
use crate::token::Given;

const KINDS: [&str; 2] = ["matrix", "webhook"];
const WEBHOOK: [&str; 2] = ["kind", "webhook"];
const MATRIX: [&str; 6] = ["kind", "homeserver", "token_file", "token_env", "private", "timeout"];

/// One room as it is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room {
    /// The webhook that its messages go to.
    Webhook(String),
    Matrix(Box<Homeserver>),
}

/// A homeserver, and who speaks there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Homeserver {
    pub url: String,
    /// Addresses and networks that are not everybody's and may be called.
    pub private: Vec<String>,
    pub token: Given,
    pub timeout_ms: u64,
    /// What the first two come to.
    pub place: Place,
}

impl Room {
    pub(super) fn read(at: &str, inside: &Table) -> Result<Self, Wrong> {
        let kind = inside
            .get("kind")
            .map_or(Ok(String::new()), |kind| plain(&format!("{at}.kind"), kind))?;
        match kind.as_str() {
            "webhook" => read_webhook(at, inside).map(Self::Webhook),
            "matrix" => Homeserver::read(at, inside).map(|all| Self::Matrix(Box::new(all))),
            "" => Err((format!("{at}: it has no kind"), "kind = \"matrix\" or \"webhook\"".into())),
            other => {
                let (_, hint) = not_known("kind", other, KINDS.to_vec());
                Err((format!("{at}: {other:?} is no kind of room"), hint))
            }
        }
    }

    /// Once all of it is read.
    pub(super) fn check(&self, at: &str, webhooks: Vec<&str>) -> Result<(), Wrong> {
        match self {
            Self::Webhook(name) if !webhooks.contains(&name.as_str()) => {
                let (what, hint) = not_known("webhook", name, webhooks);
                Err((format!("{at}.webhook: {what}"), hint))
            }
            Self::Webhook(_) | Self::Matrix(_) => Ok(()),
        }
    }

    /// As a file says the same.
    pub(super) fn told(&self, text: &mut String) -> std::fmt::Result {
        match self {
            Self::Webhook(name) => writeln!(text, "kind = \"webhook\"\nwebhook = {name:?}"),
            Self::Matrix(homeserver) => homeserver.told(text),
        }
    }
}

fn read_webhook(at: &str, inside: &Table) -> Result<String, Wrong> {
    known(at, inside, &WEBHOOK)?;
    let webhook = inside.get("webhook");
    webhook.map_or(Ok(String::new()), |name| plain(&format!("{at}.webhook"), name))
}

fn known(at: &str, inside: &Table, keys: &[&str]) -> Result<(), Wrong> {
    match inside.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(odd) => Err(not_known("key", &format!("{at}.{odd}"), keys.to_vec())),
        None => Ok(()),
    }
}

impl Homeserver {
    fn read(at: &str, inside: &Table) -> Result<Self, Wrong> {
        known(at, inside, &MATRIX)?;
        let full = |key: &str| format!("{at}.{key}");
        let value = |key: &str| inside.get(key);
        let text = |key: &str| value(key).map(|value| plain(&full(key), value)).transpose();
        let url = text("homeserver")?.unwrap_or_default();
        let private = value("private").map(|value| words(&full("private"), value)).transpose()?;
        let private = private.unwrap_or_default();
        let timeout = |value: &Value| milliseconds(&full("timeout"), value);
        let timeout_ms = value("timeout").map_or(Ok(TIMEOUT_MS), timeout)?;
        let hint = "homeserver = \"https://matrix.example.org\"; private = [\"127.0.0.1\"] to call this machine";
        let place = Place::base(&url, &private)
            .map_err(|why| (format!("{at}.homeserver: {why}"), hint.to_owned()))?;
        let token = match (text("token_file")?, text("token_env")?) {
            (Some(path), None) if !path.is_empty() => Given::File(path.into()),
            (None, Some(name)) if !name.is_empty() => Given::Env(name),
            (Some(_), Some(_)) => {
                let what = format!("{at}: it has a token_file and a token_env");
                return Err((what, "one of the two".to_owned()));
            }
            _ => {
                let what = format!("{at}: nothing says where its token is");
                return Err((
                    what,
                    "token_file = \"PATH\", a file that its owner alone can read".into(),
                ));
            }
        };
        Ok(Self { url, private, token, timeout_ms, place })
    }

    /// What speaks there, if its token can be used.
    pub fn room(&self, home: &Home, name: &str) -> Result<Matrix, Expected> {
        let token = self.token.of(home);
        token.check().map_err(|(why, hint)| Expected::Config {
            path: Config::path(home).display().to_string(),
            what: format!("rooms.{name}.token_file: {why}"),
            hint,
        })?;
        Ok(Matrix {
            homeserver: self.place.clone(),
            token: Arc::new(token),
            within: Duration::from_millis(self.timeout_ms),
        })
    }

    fn told(&self, text: &mut String) -> std::fmt::Result {
        let timeout = span::words(Duration::from_millis(self.timeout_ms));
        writeln!(text, "kind = \"matrix\"")?;
        writeln!(text, "homeserver = {:?}", self.url)?;
        let (key, at) = match &self.token {
            Given::File(path) => ("token_file", path.display().to_string()),
            Given::Env(name) => ("token_env", name.clone()),
        };
        writeln!(
            text,
            "{:34} # where the token is; it is read for each request",
            format!("{key} = {at:?}")
        )?;
        let private = format!("private = {:?}", self.private);
        writeln!(text, "{private:34} # addresses of one's own that may be called")?;
        writeln!(text, "{:34} # for one request", format!("timeout = {timeout:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_homeserver_is_read_and_shown_as_it_was_said() {
        let text = "[rooms.team]\nkind = \"matrix\"\nhomeserver = \"https://matrix.example.org\"\n\
                    token_file = \"/etc/a b/token\"\ntimeout = \"5s\"\n\
                    [rooms.here]\nkind = \"matrix\"\nhomeserver = \"http://127.0.0.1:8008\"\n\
                    token_env = \"BOT_TOKEN\"\nprivate = [\"127.0.0.1\"]\n";
        let config = Config::parse(text).unwrap();
        let Room::Matrix(team) = &config.receivers.rooms["team"] else {
            panic!("it is not on Matrix");
        };
        assert_eq!(team.token, Given::File("/etc/a b/token".into()));
        assert_eq!(team.timeout_ms, 5_000);
        let told = config.told().unwrap();
        assert_eq!(Config::parse(&told).unwrap().receivers, config.receivers, "{told}");
    }

    #[test]
    fn what_cannot_be_a_room_is_refused_with_what_to_try() {
        let matrix = |rest: &str| {
            format!("[rooms.a]\nkind = \"matrix\"\nhomeserver = \"https://a\"\n{rest}\n")
        };
        for (text, says, hint) in [
            ("[rooms.a]\n".into(), "rooms.a: it has no kind", "\"matrix\""),
            ("[rooms.a]\nkind = \"irc\"\n".into(), "\"irc\" is no kind of room", "webhook"),
            ("[rooms.a]\nkind = \"matrx\"\n".into(), "\"matrx\" is no kind", "mean \"matrix\"?"),
            (
                "[rooms.a]\nkind = \"webhook\"\nwebhook = \"b\"\n".into(),
                "no webhook \"b\"",
                "known",
            ),
            ("[rooms.a]\nkind = \"webhook\"\ntoken_env = \"B\"\n".into(), "no key", "known"),
            (matrix("token_fil = \"b\""), "no key \"rooms.a.token_fil\"", "mean \"token_file\"?"),
            (matrix(""), "where its token is", "token_file"),
            (matrix("token_env = \"\""), "where its token is", "token_file"),
            (matrix("token_env = \"B\"\ntoken_file = \"b\""), "a token_file and", "one of the two"),
            (matrix("token = \"syt_x\""), "no key \"rooms.a.token\"", "token_"),
            (matrix("token_env = \"B\"\nprivate = [\"x\"]"), "no network", "127.0.0.1"),
            (matrix("token_env = \"B\"\ntimeout = 5"), "not a time", "\"30s\""),
            ("[rooms.a]\nkind = \"matrix\"\ntoken_env = \"B\"\n".into(), "no address", "https://"),
        ] {
            let (what, try_this) = Config::parse(&text).unwrap_err();
            assert!(what.contains(says), "{text}: {what}");
            assert!(try_this.contains(hint), "{text}: {try_this}");
            assert!(!what.contains("syt_x") && !try_this.contains("syt_x"), "{what} {try_this}");
        }
    }
}
