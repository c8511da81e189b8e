//! Owns whom policy names: parents whose agents may do what is otherwise a person's to do.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::nearest::nearest;
use crate::refs::ParentRef;

/// One parent, or all of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    One(ParentRef),
    /// `inbox:NAME/*`, `HOST:*`, `HOST@INSTANCE:*` or `task:*`, without the star.
    All(Arc<str>),
}

/// Why an entry was refused, and what was perhaps meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} names no parent{}", near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
pub struct BadName {
    given: String,
    near: Option<&'static str>,
}

impl BadName {
    pub const HINT: &'static str =
        "inbox:NAME, inbox:NAME/*, HOST:SESSION, HOST:* (opencode, claude, codex, acp), task:*";
}

const HEADS: [&str; 8] = ["inbox", "task", "conv", "webhook", "opencode", "claude", "codex", "acp"];

impl Named {
    pub fn names(&self, parent: &ParentRef) -> bool {
        match self {
            Self::One(one) => one == parent,
            Self::All(start) => parent.to_string().starts_with(&**start),
        }
    }
}

impl FromStr for Named {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let bad = || {
            let head = text.split([':', '@']).next().unwrap_or_default();
            let near = nearest(head, HEADS).filter(|near| *near != head);
            BadName { given: text.chars().take(160).collect(), near }
        };
        let Some(start) = text.strip_suffix('*') else {
            let one: ParentRef = text.parse().map_err(|_| bad())?;
            // Nobody is told, so nobody is there to answer.
            return if one == ParentRef::None { Err(bad()) } else { Ok(Self::One(one)) };
        };
        // One of the family stands for all: what it reads as says whether there is such a family.
        let family = match format!("{start}x").parse() {
            Ok(ParentRef::Inbox { key, .. }) => key.as_deref() == Some("x"),
            Ok(ParentRef::Session { session, .. }) => &*session == "x",
            Ok(ParentRef::None | ParentRef::Task(_)) => false,
            Ok(ParentRef::Conversation(_) | ParentRef::Webhook(_)) => false,
            Err(_) => start == "task:",
        };
        if family { Ok(Self::All(start.into())) } else { Err(bad()) }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(one) => one.fmt(out),
            Self::All(start) => write!(out, "{start}*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_named_or_all_of_a_family() {
        for (named, yes, no) in [
            ("inbox:bot", "inbox:bot", "inbox:bot/7"),
            ("inbox:bot/*", "inbox:bot/7", "inbox:bots/7"),
            ("opencode:*", "opencode:ses_1", "opencode@laptop:ses_1"),
            ("claude@laptop:*", "claude@laptop:5b", "claude:5b"),
            ("task:*", "task:bg_0123456789ab", "inbox:task"),
        ] {
            let read: Named = named.parse().unwrap();
            assert_eq!(read.to_string(), named);
            assert!(read.names(&yes.parse().unwrap()), "{named} names {yes}");
            assert!(!read.names(&no.parse().unwrap()), "{named} does not name {no}");
        }
    }

    #[test]
    fn what_names_nobody_is_refused_with_the_nearest() {
        for (text, says) in [
            ("none", "names no parent"),
            ("", "names no parent"),
            ("*", "names no parent"),
            ("inbox:*", "names no parent"),
            ("inbox:a*", "names no parent"),
            ("inbox:a/b*", "names no parent"),
            ("opencode:ses*", "names no parent"),
            ("opencod:*", "did you mean \"opencode\"?"),
            ("inbx:bot", "did you mean \"inbox\"?"),
        ] {
            let why = text.parse::<Named>().unwrap_err().to_string();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
