//! `homing.toml` in the home: every default, in one table. What is not known is refused with the nearest.

mod log;
mod opencode;
mod receivers;
mod rooms;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use homing_core::limits::Limits;
use homing_core::nearest::nearest;
use homing_core::policy::{BadName, Named};
use homing_core::span;
use homing_core::wire::{self, Budget, Fields, Launch};
use toml::{Table, Value};

use crate::expected::Expected;
use crate::home::Home;
pub use log::{Levels, Log};
pub use opencode::Opencode;
pub use receivers::Receivers;
pub use rooms::{Homeserver, Room};

const NAME: &str = "homing.toml";
/// Both streams of an attempt together.
const SPOOL: usize = 256 << 20;
const RESULT: usize = 1 << 20;
/// Less than this holds no result and no line that says what is left out.
const RESULT_LEAST: usize = 1 << 10;

/// What the home says, over the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub limits: Limits,
    /// Bytes kept of an attempt's output, both streams together.
    pub spool: usize,
    /// Bytes stored of a result.
    pub result: usize,
    pub http: Http,
    pub opencode: Opencode,
    pub hooks: Hooks,
    pub log: Log,
    pub receivers: Receivers,
    pub presets: BTreeMap<String, Launch>,
    /// The keys that the file names, as `section.key`.
    named: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        let (presets, named) = (BTreeMap::new(), Vec::new());
        let (limits, http) = (Limits::default(), Http::default());
        let (receivers, log, opencode) =
            (Receivers::default(), Log::default(), Opencode::default());
        let hooks = Hooks::default();
        let (spool, result) = (SPOOL, RESULT);
        Self { limits, spool, result, http, opencode, hooks, log, receivers, presets, named }
    }
}

/// The door on TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http {
    /// Address and port; empty: not on TCP.
    pub listen: String,
    /// Whether it may be an address that other machines can reach.
    pub beyond_loopback: bool,
    /// Names beside this machine's own that a request may be for.
    pub hosts: Vec<String>,
    /// Web pages that may call.
    pub origins: Vec<String>,
}

/// Commands of the user's that are run when something happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    /// For each task that has ended, unless another task sent it out.
    pub ended: Vec<String>,
}

/// Where a key's value lies.
enum Place {
    Count(fn(&mut Config) -> &mut u32),
    /// Milliseconds.
    Span(fn(&mut Config) -> &mut u64),
    /// Bytes.
    Size(fn(&mut Config) -> &mut usize),
    Text(fn(&mut Config) -> &mut String),
    Yes(fn(&mut Config) -> &mut bool),
    Words(fn(&mut Config) -> &mut Vec<String>),
    Parents(fn(&mut Config) -> &mut Vec<Named>),
}

struct Key {
    section: &'static str,
    name: &'static str,
    place: Place,
    means: &'static str,
}

macro_rules! keys {
    ($($section:literal { $($name:literal: $kind:ident $($field:ident).+, $means:literal;)+ })+) => {
        &[$($(Key {
            section: $section,
            name: $name,
            place: Place::$kind(|config| &mut config.$($field).+),
            means: $means,
        },)+)+]
    };
}

/// In the order they are shown.
const KEYS: &[Key] = keys! {
    "concurrency" {
        "default": Count limits.default, "turns at once per model or agent; 0: no limit";
    }
    "limits" {
        "depth": Count limits.depth_max, "how deep tasks may delegate";
        "living": Count limits.living_max, "living descendants per root";
        "start": Span limits.start_ms, "a session must start within this";
        "stale": Span limits.quiet_ms, "no activity; a running tool is activity";
        "never_active": Span limits.never_active_ms, "no activity from the start";
        "gone": Span limits.gone_ms, "until a session that is gone is given up on";
        "stopping": Span limits.stop_ms, "until an abort that is not confirmed is given up on";
        "ask": Span limits.ask_ms, "an ask that nobody answers is denied then";
        "todos": Span limits.todos_ms, "open to-dos after a final answer";
        "identical_calls": Count limits.same_calls, "identical calls in a row end a task";
        "calls": Count limits.all_calls, "calls that end a task";
        "attempts": Count limits.attempts, "attempts per generation";
        "retry_interrupted": Count limits.retry_interrupted, "how often an interrupted turn is tried again";
        "pause": Span limits.pause_most_ms, "the longest wait after an error that a provider is granted; the time at which a quota is free again is kept as it is";
    }
    "delivery" {
        "backoff_first": Span limits.backoff_first_ms, "between a send that failed and the next";
        "backoff_most": Span limits.backoff_most_ms, "the same, at most";
        "handshake": Span limits.handshake_ms, "no sign of a parent: said with a code, still owed";
        "lease": Span limits.lease_ms, "a consumer acknowledges within this";
        "wake": Span limits.wake_ms, "a parent that does not answer is woken again";
        "batch": Span limits.batch_ms, "a debrief waits no longer for the rest of its batch";
    }
    "policy" {
        "permissions": Parents limits.permissions, "parents whose agents may give their tasks permissions";
    }
    "reading" {
        "fresh": Span limits.fresh_ms, "what is younger is told without asking the host";
        "probe": Span limits.probe_ms, "a host that is asked and says nothing";
        "reprobe": Span limits.reprobe_ms, "between two looks while something is unsure";
        "activity": Span limits.activity_ms, "activity is written down at most this often";
    }
    "storage" {
        "retention": Span limits.retention_ms, "of tasks that have ended";
        "inline": Size limits.inline_max, "of a result inside a debrief; more is by reference";
        "debrief": Size limits.debrief_max, "of a whole debrief";
        "spool": Size spool, "kept of an attempt's output; the middle of more is counted";
        "result": Size result, "stored of a result; the middle of more is left out";
    }
    "http" {
        "listen": Text http.listen, "ADDRESS:PORT for HTTP with a token; empty: the socket alone";
        "beyond_loopback": Yes http.beyond_loopback, "whether other machines may reach it";
        "hosts": Words http.hosts, "names beside localhost that a request may be for";
        "origins": Words http.origins, "web pages that may call: https://example.org";
    }
    "opencode" {
        "url": Text opencode.url, "a server that runs already, on this machine; empty: one is started";
        "password_env": Text opencode.password_env, "the variable of the daemon that holds that one's password";
        "command": Words opencode.command, "how one is started; empty: opencode";
        "env": Words opencode.env, "variables of the daemon that it has, beside those that OpenCode is known to read";
        "pane": Words opencode.pane, "run for each child when its session is made, with its id for {task}: a place to look at it";
    }
    "hooks" {
        "ended": Words hooks.ended, "run when a task has ended that no other task sent out, with its {name}, {task}, {state} and how long it {took}";
    }
    "log" {
        "level": Text log.level, "error, warn, info, debug or trace; for one target: info,delivery=debug";
        "format": Text log.format, "text or json, a line an event";
    }
};

/// Sections of tables, each with a name of its own.
const NAMED: [&str; 3] = ["presets", "rooms", "webhooks"];
/// Tables of their own.
const PER: [&str; 2] = ["providers", "models"];

impl Config {
    pub fn path(home: &Home) -> PathBuf {
        home.folder(NAME)
    }

    /// The file of the home, over the defaults; there need not be one.
    pub fn read(home: &Home) -> Result<Self, Expected> {
        let path = Self::path(home);
        let wrong = |(what, hint): (String, String)| Expected::Config {
            path: path.display().to_string(),
            what,
            hint,
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map_err(wrong),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(why) => {
                Err(wrong((why.to_string(), "a file that can be read, or none".to_owned())))
            }
        }
    }

    fn parse(text: &str) -> Result<Self, Wrong> {
        let table: Table = text.parse().map_err(|why: toml::de::Error| {
            let line = why.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            (format!("{line}{}", why.message()), "TOML: [section], then key = value".to_owned())
        })?;
        let mut config = Self::default();
        for (section, value) in table {
            let Value::Table(inside) = value else {
                return Err(not_known("section", &section, sections()));
            };
            match section.as_str() {
                "presets" => config.take_presets(inside)?,
                "webhooks" => config.receivers.take_webhooks(inside)?,
                "rooms" => config.receivers.take_rooms(inside)?,
                known if sections().contains(&known) => config.take(known, inside)?,
                other => return Err(not_known("section", other, sections())),
            }
        }
        config.receivers.check()?;
        config.log.check()?;
        Ok(config)
    }

    fn take(&mut self, section: &str, inside: Table) -> Result<(), Wrong> {
        for (name, value) in inside {
            let full = format!("{section}.{name}");
            if section == "concurrency" && PER.contains(&name.as_str()) {
                self.take_per(&name, value)?;
                continue;
            }
            let key = KEYS.iter().find(|key| key.section == section && key.name == name);
            let Some(key) = key else {
                let own = KEYS.iter().filter(|key| key.section == section).map(|key| key.name);
                let per = PER.into_iter().filter(|_| section == "concurrency");
                return Err(not_known("key", &full, own.chain(per).collect()));
            };
            match key.place {
                Place::Count(place) => *place(self) = count(&full, &value)?,
                Place::Span(place) => *place(self) = milliseconds(&full, &value)?,
                Place::Size(place) => *place(self) = size(&full, &value)?,
                Place::Text(place) => *place(self) = plain(&full, &value)?,
                Place::Yes(place) => *place(self) = yes(&full, &value)?,
                Place::Words(place) => *place(self) = words(&full, &value)?,
                Place::Parents(place) => *place(self) = parents(&full, &value)?,
            }
            self.named.push(full);
        }
        if self.result < RESULT_LEAST {
            let least = size_words(RESULT_LEAST);
            return Err((format!("storage.result: it is less than {least}"), format!("{least:?}")));
        }
        Ok(())
    }

    fn take_per(&mut self, what: &str, value: Value) -> Result<(), Wrong> {
        let Value::Table(inside) = value else {
            let hint = format!("[concurrency.{what}], then NAME = NUMBER");
            return Err((format!("concurrency.{what}: it is not a table"), hint));
        };
        for (name, value) in inside {
            let limit = count(&format!("concurrency.{what}.{name}"), &value)?;
            let all = match what {
                "providers" => &mut self.limits.providers,
                _ => &mut self.limits.models,
            };
            all.insert(name.into(), limit);
        }
        Ok(())
    }

    fn take_presets(&mut self, inside: Table) -> Result<(), Wrong> {
        for (name, value) in inside {
            let at = format!("presets.{name}");
            let as_table = |value: &Value| value.as_table().cloned();
            let fields = as_table(&value).unwrap_or_default();
            if let Some(odd) = fields.keys().find(|field| !Launch::FIELDS.contains(&field.as_str()))
            {
                return Err(not_known("key", &format!("{at}.{odd}"), Launch::FIELDS.to_vec()));
            }
            for (inner, known) in [("budget", Budget::FIELDS), ("limits", wire::Limits::FIELDS)] {
                let given = fields.get(inner).and_then(as_table).unwrap_or_default();
                if let Some(odd) = given.keys().find(|field| !known.contains(&field.as_str())) {
                    return Err(not_known("key", &format!("{at}.{inner}.{odd}"), known.to_vec()));
                }
            }
            let preset: Launch = value.try_into().map_err(|why: toml::de::Error| {
                (format!("{at}: {}", why.message()), "what a launch takes".to_owned())
            })?;
            let limits = &preset.limits;
            for (name, span) in [
                ("timeout", &preset.timeout),
                ("limits.start", &limits.start),
                ("limits.stale", &limits.stale),
                ("limits.never_active", &limits.never_active),
                ("limits.stopping", &limits.stopping),
                ("limits.ask", &limits.ask),
                ("budget.wall", &preset.budget.wall),
            ] {
                if let Some(span) = span {
                    milliseconds(&format!("{at}.{name}"), &Value::String(span.clone()))?;
                }
            }
            self.presets.insert(name, preset);
        }
        Ok(())
    }

    /// All values as they are in effect, as a file that says the same.
    pub fn told(&self) -> Result<String, std::fmt::Error> {
        let mut config = self.clone();
        let mut text = String::new();
        let mut section = "";
        for each in sections() {
            for key in KEYS.iter().filter(|key| key.section == each) {
                if each != section {
                    section = each;
                    let gap = if text.is_empty() { "" } else { "\n" };
                    writeln!(text, "{gap}[{section}]")?;
                }
                let value = match key.place {
                    Place::Count(place) => place(&mut config).to_string(),
                    Place::Span(place) => {
                        format!("{:?}", span::words(Duration::from_millis(*place(&mut config))))
                    }
                    Place::Size(place) => format!("{:?}", size_words(*place(&mut config))),
                    Place::Text(place) => format!("{:?}", place(&mut config)),
                    Place::Yes(place) => place(&mut config).to_string(),
                    Place::Words(place) => format!("{:?}", place(&mut config)),
                    Place::Parents(place) => {
                        let all: Vec<String> =
                            place(&mut config).iter().map(ToString::to_string).collect();
                        format!("{all:?}")
                    }
                };
                let full = format!("{each}.{}", key.name);
                let set = if self.named.contains(&full) { "set here: " } else { "" };
                writeln!(text, "{:34} # {set}{}", format!("{} = {value}", key.name), key.means)?;
            }
            if each == "concurrency" {
                per(&mut text, "providers", &self.limits.providers)?;
                per(&mut text, "models", &self.limits.models)?;
            }
        }
        self.receivers.told(&mut text)?;
        for (name, preset) in &self.presets {
            writeln!(text, "\n[presets.{name:?}]")?;
            let fields = serde_json::to_value(preset).unwrap_or_default();
            for (field, value) in fields.as_object().into_iter().flatten() {
                writeln!(text, "{field} = {}", as_toml(value))?;
            }
        }
        Ok(text)
    }

    /// The same for programs: sections of keys, with which of them the file names.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        let told: Table = self.told()?.parse()?;
        let mut all = serde_json::to_value(told)?;
        all["set"] = serde_json::to_value(&self.named)?;
        Ok(all)
    }
}

/// What is wrong, and what to try.
type Wrong = (String, String);

fn sections() -> Vec<&'static str> {
    let mut all: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
    all.dedup();
    all.extend(NAMED);
    all.sort_unstable();
    all.dedup();
    all
}

fn not_known(kind: &str, full: &str, known: Vec<&str>) -> Wrong {
    let last = full.rsplit('.').next().unwrap_or_default();
    let hint = match nearest(last, known.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("known: {}", known.join(", ")),
    };
    (format!("there is no {kind} {full:?}"), hint)
}

fn count(full: &str, value: &Value) -> Result<u32, Wrong> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| (format!("{full}: it is not a number"), "a whole number".to_owned()))
}

fn milliseconds(full: &str, value: &Value) -> Result<u64, Wrong> {
    let hint = || "a time with its unit, in quotes: \"30s\", \"5m\"".to_owned();
    let Some(text) = value.as_str() else {
        return Err((format!("{full}: it is not a time"), hint()));
    };
    let span = span::parse(text).map_err(|why| (format!("{full}: {why}"), hint()))?;
    Ok(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

fn plain(full: &str, value: &Value) -> Result<String, Wrong> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| (format!("{full}: it is not a text"), "a text, in quotes".to_owned()))
}

fn yes(full: &str, value: &Value) -> Result<bool, Wrong> {
    let yes = value.as_bool();
    yes.ok_or_else(|| (format!("{full}: it is neither true nor false"), "true or false".to_owned()))
}

fn words(full: &str, value: &Value) -> Result<Vec<String>, Wrong> {
    let all = value.as_array().map(|all| all.iter().map(|each| plain(full, each)).collect());
    all.unwrap_or_else(|| {
        Err((format!("{full}: it is not a list"), "a list of texts: [\"…\"]".to_owned()))
    })
}

fn parents(full: &str, value: &Value) -> Result<Vec<Named>, Wrong> {
    let read = |text: String| {
        let wrong = |why: BadName| (format!("{full}: {why}"), BadName::HINT.to_owned());
        text.parse().map_err(wrong)
    };
    words(full, value)?.into_iter().map(read).collect()
}

const SIZES: [(&str, usize); 3] = [("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

fn size(full: &str, value: &Value) -> Result<usize, Wrong> {
    let read = value.as_str().and_then(|text| {
        let (unit, each) = SIZES.iter().find(|(unit, _)| text.ends_with(unit))?;
        text.strip_suffix(unit)?.trim_end().parse::<usize>().ok()?.checked_mul(*each)
    });
    read.ok_or_else(|| {
        let hint = "a size with its unit, in quotes: \"4KiB\", \"256MiB\"".to_owned();
        (format!("{full}: it is not a size"), hint)
    })
}

fn size_words(bytes: usize) -> String {
    let whole = SIZES.iter().find(|(_, each)| bytes >= *each && bytes.is_multiple_of(*each));
    let (unit, each) = whole.copied().unwrap_or(("B", 1));
    format!("{}{unit}", bytes / each)
}

fn per(
    text: &mut String,
    what: &str,
    all: &BTreeMap<std::sync::Arc<str>, u32>,
) -> std::fmt::Result {
    if all.is_empty() {
        return writeln!(text, "{:34} # none", format!("{what} = {{}}"));
    }
    let each: Vec<String> = all.iter().map(|(name, limit)| format!("{name:?} = {limit}")).collect();
    writeln!(text, "{what} = {{ {} }}", each.join(", "))
}

/// JSON reads as TOML but for objects.
fn as_toml(value: &serde_json::Value) -> String {
    let Some(fields) = value.as_object() else {
        return value.to_string();
    };
    let each = fields.iter().map(|(name, value)| format!("{name} = {}", as_toml(value)));
    format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
