//! `[log]` of homing.toml: how much the daemon says of its work, and in which form.

use tracing::level_filters::LevelFilter;

use super::{Wrong, not_known};

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
const FORMATS: [&str; 2] = ["text", "json"];
/// Whom events are of.
const TARGETS: [&str; 6] = ["daemon", "delivery", "http", "opencode", "store", "task"];

/// As it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub level: String,
    pub format: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: "text".to_owned() }
    }
}

impl Log {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        Levels::parse(&self.level).map_err(|(what, hint)| (format!("log.level: {what}"), hint))?;
        known("format", &self.format, &FORMATS)
            .map_err(|(what, hint)| (format!("log.format: {what}"), hint))
    }

    pub fn is_json(&self) -> bool {
        self.format == "json"
    }
}

/// One level for all, and others for some: `info,delivery=debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    all: LevelFilter,
    some: Vec<(&'static str, LevelFilter)>,
}

impl Levels {
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let mut levels = Self { all: LevelFilter::INFO, some: Vec::new() };
        for part in text.split(',').map(str::trim) {
            match part.split_once('=') {
                None => levels.all = level(part)?,
                Some((target, word)) => {
                    known("target", target, &TARGETS)?;
                    let target = TARGETS.into_iter().find(|known| *known == target);
                    levels.some.push((target.unwrap_or_default(), level(word)?));
                }
            }
        }
        Ok(levels)
    }

    /// What is said of one of ours; nothing of anybody else: others' events may hold what children wrote.
    pub fn of(&self, target: &str) -> LevelFilter {
        let Some(target) = target.strip_prefix("homing::") else {
            return LevelFilter::OFF;
        };
        let own = self.some.iter().rev().find(|(name, _)| *name == target);
        own.map_or(self.all, |(_, level)| *level)
    }

    pub fn most(&self) -> LevelFilter {
        self.some.iter().map(|(_, level)| *level).fold(self.all, Ord::max)
    }
}

fn level(word: &str) -> Result<LevelFilter, Wrong> {
    known("level", word, &LEVELS)?;
    Ok(match word {
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => LevelFilter::INFO,
    })
}

fn known(what: &str, word: &str, all: &[&str]) -> Result<(), Wrong> {
    if all.contains(&word) { Ok(()) } else { Err(not_known(what, word, all.to_vec())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_for_all_or_for_one_target() {
        let levels = Levels::parse("warn,delivery=debug, task=trace").unwrap();
        assert_eq!(levels.of("homing::http"), LevelFilter::WARN);
        assert_eq!(levels.of("homing::delivery"), LevelFilter::DEBUG);
        assert_eq!(levels.of("homing::task"), LevelFilter::TRACE);
        assert_eq!(levels.of("rmcp::service"), LevelFilter::OFF);
        assert_eq!(levels.most(), LevelFilter::TRACE);
        assert_eq!(Levels::parse("error").unwrap().most(), LevelFilter::ERROR);
        for (text, says, hint) in [
            ("inf", "no level \"inf\"", "\"info\""),
            ("", "no level \"\"", "error, warn"),
            ("info,delivry=debug", "no target \"delivry\"", "\"delivery\""),
            ("info,task=", "no level \"\"", "known"),
        ] {
            let (what, try_this) = Levels::parse(text).unwrap_err();
            assert!(what.contains(says) && try_this.contains(hint), "{text}: {what}; {try_this}");
        }
    }
}
