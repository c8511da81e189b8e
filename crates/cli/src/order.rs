//! What is to be done, as `launch` and `run` take it: one set of options, and the request that comes of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use homing_core::nearest::unknown;
use homing_core::refs::{Origin, ParentRef};
use homing_core::span;
use homing_core::wire::{Budget, Launch, Limits, Words};
use homing_core::words::Notify;
use homing_runtime::Model;

use crate::caller;
use crate::expected::Expected;
use crate::out;

const NAME_MAX: usize = 60;
/// Digits after the point of an amount of money.
const COST_DIGITS: usize = 6;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// The host that runs it: process, opencode, acp or claude [default: process for a command]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// The agent that does it, by its name on the host
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// A launch of homing.toml; what is said here goes over it
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,

    /// The model it is to use; again for fallbacks, in order
    #[arg(long = "model", value_name = "PROVIDER/MODEL")]
    models: Vec<Model>,

    /// The variant of the model
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,

    /// What the agent is told before everything else
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// The tools it may use, with commas between
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tools: Vec<String>,

    /// What it may do without asking, with commas between
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    permissions: Vec<String>,

    /// It may send out tasks of its own
    #[arg(long)]
    delegate: bool,

    /// Who is told of its end [default: the calling task, else HOMING_PARENT, else inbox:cli]
    #[arg(long, value_name = "REF")]
    parent: Option<ParentRef>,

    /// Where the request came from, as KIND:ROOM/ADDRESS[#THREAD]
    #[arg(long, value_name = "ORIGIN")]
    origin: Option<Origin>,

    /// How its parent is told: debrief, each, inbox or silent
    #[arg(long, value_name = "HOW", value_parser = notify)]
    notify: Option<Notify>,

    /// Told of together with the others of this name
    #[arg(long, value_name = "NAME")]
    batch: Option<String>,

    /// The same key again means the same task
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// What to call the task [default: the command, or the beginning of the prompt]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Where to run it [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// What becomes of a command's standard input: eof ends it after the prompt, open keeps it for homing send
    #[arg(long, value_name = "eof|open", value_parser = ["eof", "open"])]
    stdin: Option<String>,

    /// A variable of yours that it gets, too; again for more
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,

    /// End it when it takes longer, as 300ms, 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<Duration>,

    /// What it and all below it may use: calls=100,tokens=50000,cost=1.50,wall=30m
    #[arg(long, value_name = "LIST", value_parser = budget)]
    budget: Option<Budget>,

    /// Before others that wait for the same slot; the higher, the sooner
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// Begin once this task has completed; again for more
    #[arg(long = "after", value_name = "ID")]
    after: Vec<String>,

    /// What an agent is to do
    #[arg(
        value_name = "PROMPT",
        conflicts_with = "command",
        required_unless_present_any = ["command", "preset"]
    )]
    prompt: Option<String>,

    /// A command and its arguments
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Options {
    /// The request, with what the caller's environment adds.
    pub fn launch(self) -> Result<Launch, Expected> {
        if self.prompt.as_deref().is_some_and(|prompt| prompt.trim().is_empty()) {
            let what = "PROMPT: it is empty".to_owned();
            return Err(Expected::Usage { what, hint: "say what is to be done" });
        }
        let words = self.command.into_iter().map(|word| caller::plain("CMD", word));
        let words = words.collect::<Result<Vec<String>, _>>()?;
        let parent = match self.parent {
            Some(parent) => Some(parent),
            None => caller::named_parent()?,
        };
        Ok(Launch {
            host: self.host,
            agent: self.agent,
            preset: self.preset,
            name: self.name.or_else(|| called(&words, self.prompt.as_deref())),
            prompt: self.prompt,
            command: words,
            model: Words(self.models.iter().map(ToString::to_string).collect()),
            variant: self.variant,
            system: self.system,
            tools: self.tools,
            permissions: self.permissions,
            delegate: self.delegate,
            parent: parent.map(|parent| parent.to_string()),
            origin: self.origin.map(|origin| origin.to_string()),
            notify: self.notify.map(|notify| notify.word().to_owned()),
            batch: self.batch,
            key: self.key,
            cwd: caller::directory(self.cwd)?,
            stdin: self.stdin,
            env: caller::named(&self.env)?,
            caller_env: caller::around(),
            timeout: self.timeout.map(span::words),
            budget: self.budget.unwrap_or_default(),
            priority: self.priority,
            after: Words(self.after),
            // By preset, or over HTTP.
            limits: Limits::default(),
            retry_interrupted: None,
        })
    }
}

/// A command by its words, a prompt by its first line; a preset may name what has neither.
fn called(words: &[String], prompt: Option<&str>) -> Option<String> {
    let prompt = prompt.and_then(|prompt| prompt.trim().lines().next());
    match (words, prompt) {
        ([], None) => None,
        ([], Some(line)) => Some(out::plain(line, NAME_MAX)),
        (words, _) => Some(out::plain(&words.join(" "), NAME_MAX)),
    }
}

fn notify(text: &str) -> Result<Notify, String> {
    let known = Notify::ALL.iter().copied().find(|known| known.word() == text);
    known.ok_or_else(|| unknown("notify", text, Notify::ALL.iter().map(|known| known.word())))
}

/// `calls=100,tokens=50000,cost=1.50,wall=30m`, each once, none needed.
fn budget(text: &str) -> Result<Budget, String> {
    let mut budget = Budget::default();
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            format!("{pair:?} is no limit: write calls=…, tokens=…, cost=… or wall=…")
        })?;
        let count = || value.parse::<u64>().map_err(|_| format!("{name}: {value:?} is no count"));
        let before = match name {
            "calls" => budget.calls.replace(count()?).map(drop),
            "tokens" => budget.tokens.replace(count()?).map(drop),
            "cost" => budget.cost.replace(cost(value)?).map(drop),
            "wall" => {
                let wall = span::parse(value).map_err(|why| format!("wall: {why}"))?;
                budget.wall.replace(span::words(wall)).map(drop)
            }
            other => return Err(unknown("budget", other, ["calls", "tokens", "cost", "wall"])),
        };
        if before.is_some() {
            return Err(format!("{name}: it is given twice"));
        }
    }
    Ok(budget)
}

/// An amount with at most six digits after its point, in millionths.
fn cost(text: &str) -> Result<u64, String> {
    let wrong = || format!("cost: {text:?} is no amount: write 2 or 1.50");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > COST_DIGITS {
        return Err(wrong());
    }
    let millionths = format!("{whole}{part:0<COST_DIGITS$}");
    millionths.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_read_with_its_units() {
        let all = budget("calls=100,tokens=50000,cost=1.50,wall=90s").unwrap();
        assert_eq!((all.calls, all.tokens, all.cost), (Some(100), Some(50_000), Some(1_500_000)));
        assert_eq!(all.wall.as_deref(), Some("90s"));
        assert_eq!(budget("cost=2").unwrap().cost, Some(2_000_000));
        assert_eq!(budget("cost=0.000001").unwrap().cost, Some(1));
    }

    #[test]
    fn a_budget_that_makes_no_sense_is_refused_in_words() {
        for (text, says) in [
            ("", "is no limit"),
            ("calls", "is no limit"),
            ("calls=-1", "is no count"),
            ("calls=1,calls=2", "given twice"),
            ("call=1", "did you mean \"calls\"?"),
            ("wall=30", "it has no unit"),
            ("cost=1.1234567", "is no amount"),
            ("cost=.5", "is no amount"),
            ("cost=99999999999999999999", "is no amount"),
        ] {
            let why = budget(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
