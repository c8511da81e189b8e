//! Owns the one-token references: who is told (`ParentRef`) and where the request came from (`Origin`).

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{ConversationId, TaskId};

/// Who is told about a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParentRef {
    None,
    /// `inbox:NAME[/KEY]`
    Inbox {
        name: Arc<str>,
        key: Option<Arc<str>>,
    },
    /// `task:bg_…`
    Task(TaskId),
    /// `conv:cv_…`
    Conversation(ConversationId),
    /// `webhook:NAME`
    Webhook(Arc<str>),
    /// `HOST[@INSTANCE]:SESSION`
    Session {
        host: Arc<str>,
        instance: Option<Arc<str>>,
        session: Arc<str>,
    },
}

/// Why a reference was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRef {
    #[error(
        "{0:?} is not a parent: use none, inbox:NAME, task:ID, conv:ID, webhook:NAME or HOST:SESSION"
    )]
    Form(String),
    #[error(
        "{part:?} in {whole:?} must be 1 to 128 characters of letters, digits, '.', '_' and '-', and not only dots"
    )]
    Part { part: String, whole: String },
    #[error("{0:?} is not a host that can be a parent: use opencode, claude, codex or acp")]
    Host(String),
    #[error("{0:?} is not an origin: use KIND:ROOM/ADDRESS[#THREAD]")]
    Origin(String),
    #[error(transparent)]
    Id(#[from] crate::ids::BadId),
}

const PARENT_HOSTS: [&str; 4] = ["opencode", "claude", "codex", "acp"];

fn part(text: &str, whole: &str) -> Result<Arc<str>, BadRef> {
    let fine = (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && text.bytes().any(|b| b != b'.');
    if fine {
        return Ok(text.into());
    }
    let short = |text: &str| text.chars().take(160).collect();
    Err(BadRef::Part { part: short(text), whole: short(whole) })
}

impl FromStr for ParentRef {
    type Err = BadRef;

    fn from_str(text: &str) -> Result<Self, BadRef> {
        if text == "none" {
            return Ok(Self::None);
        }
        let Some((head, rest)) = text.split_once(':') else {
            return Err(BadRef::Form(text.chars().take(160).collect()));
        };
        match head {
            "inbox" => {
                let (name, key) = match rest.split_once('/') {
                    Some((name, key)) => (name, Some(part(key, text)?)),
                    None => (rest, None),
                };
                Ok(Self::Inbox { name: part(name, text)?, key })
            }
            "task" => Ok(Self::Task(rest.parse()?)),
            "conv" => Ok(Self::Conversation(rest.parse()?)),
            "webhook" => Ok(Self::Webhook(part(rest, text)?)),
            other => {
                let (host, instance) = match other.split_once('@') {
                    Some((host, instance)) => (host, Some(part(instance, text)?)),
                    None => (other, None),
                };
                if !PARENT_HOSTS.contains(&host) {
                    return Err(BadRef::Host(host.chars().take(64).collect()));
                }
                Ok(Self::Session { host: host.into(), instance, session: part(rest, text)? })
            }
        }
    }
}

impl fmt::Display for ParentRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("none"),
            Self::Inbox { name, key: None } => write!(out, "inbox:{name}"),
            Self::Inbox { name, key: Some(key) } => write!(out, "inbox:{name}/{key}"),
            Self::Task(id) => write!(out, "task:{id}"),
            Self::Conversation(id) => write!(out, "conv:{id}"),
            Self::Webhook(name) => write!(out, "webhook:{name}"),
            Self::Session { host, instance: None, session } => write!(out, "{host}:{session}"),
            Self::Session { host, instance: Some(instance), session } => {
                write!(out, "{host}@{instance}:{session}")
            }
        }
    }
}

impl ParentRef {
    /// Whether it is woken by a turn of its own, so that a debrief must wait for a gap between turns.
    pub fn has_turns(&self) -> bool {
        match self {
            Self::Task(_) | Self::Conversation(_) | Self::Session { .. } => true,
            Self::None | Self::Inbox { .. } | Self::Webhook(_) => false,
        }
    }

    /// Whether what it is owed is brought to it. A task and a conversation have it as a turn that the core itself opens.
    pub fn is_pushed_to(&self) -> bool {
        match self {
            Self::Session { .. } | Self::Webhook(_) => true,
            Self::None | Self::Inbox { .. } | Self::Task(_) | Self::Conversation(_) => false,
        }
    }

    /// Whether consumers fetch what it is owed.
    pub fn is_drained(&self) -> bool {
        matches!(self, Self::Inbox { .. })
    }
}

/// What kind of place a request came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OriginKind {
    Direct,
    Group,
    Channel,
    Thread,
    /// Kept as it came, never posted to.
    Other(Arc<str>),
}

impl OriginKind {
    pub fn word(&self) -> &str {
        match self {
            Self::Direct => "direct",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Thread => "thread",
            Self::Other(word) => word,
        }
    }
}

/// Where the parent's request came from; set at delegation, never changed. Shared: many tasks come from
/// one place, and most from none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(Arc<Place>);

impl Deref for Origin {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

impl From<Place> for Origin {
    fn from(place: Place) -> Self {
        Self(Arc::new(place))
    }
}

/// What an origin says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub kind: OriginKind,
    pub room: Arc<str>,
    pub address: Arc<str>,
    pub thread: Option<Arc<str>>,
}

impl FromStr for Origin {
    type Err = BadRef;

    fn from_str(text: &str) -> Result<Self, BadRef> {
        let bad = || BadRef::Origin(text.chars().take(160).collect());
        let (kind, rest) = text.split_once(':').ok_or_else(bad)?;
        let (room, place) = rest.split_once('/').ok_or_else(bad)?;
        let (address, thread) = match place.split_once('#') {
            Some((address, thread)) => (address, Some(thread)),
            None => (place, None),
        };
        let plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        if !plain(address) || thread.is_some_and(|thread| !plain(thread)) {
            return Err(bad());
        }
        let kind = match kind {
            "direct" => OriginKind::Direct,
            "group" => OriginKind::Group,
            "channel" => OriginKind::Channel,
            "thread" => OriginKind::Thread,
            other => OriginKind::Other(part(other, text)?),
        };
        let (room, address) = (part(room, text)?, address.into());
        Ok(Place { kind, room, address, thread: thread.map(Into::into) }.into())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}/{}", self.kind.word(), self.room, self.address)?;
        match &self.thread {
            Some(thread) => write!(out, "#{thread}"),
            None => Ok(()),
        }
    }
}

macro_rules! as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                crate::text::parsed(from, str::parse)
            }
        }
    };
}

as_text!(ParentRef);
as_text!(Origin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_parent_reads_back() {
        for text in [
            "none",
            "inbox:cli",
            "inbox:bot/room-7",
            "task:bg_0123456789ab",
            "conv:cv_000000000001",
            "webhook:ops",
            "opencode:ses_1",
            "claude@laptop:5b0c-1",
        ] {
            assert_eq!(text.parse::<ParentRef>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_parent_is_refused_with_what_is_wrong() {
        for (text, says) in [
            ("", "is not a parent"),
            ("inbox:", "1 to 128"),
            ("inbox:a b", "1 to 128"),
            ("task:bg_1", "a task id"),
            ("emacs:x", "not a host"),
            ("inbox:../etc", "1 to 128"),
        ] {
            let why = text.parse::<ParentRef>().unwrap_err().to_string();
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn an_origin_keeps_its_thread_and_an_unknown_kind() {
        for text in [
            "group:matrix/!room:server#$root",
            "thread:matrix/!4dehdcN2p4EILOf_D17HUZnI951U-KN8#$acR1l/raoZnm60+3F#x:server",
            "direct:tg/42",
            "pigeon:loft/7",
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), text);
        }
        assert!("group:matrix".parse::<Origin>().is_err());
        assert!("group:matrix/a\nb".parse::<Origin>().is_err());
    }
}
