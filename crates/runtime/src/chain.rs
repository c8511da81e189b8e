//! The lines of a task's journal in words, for `why`. Says what was written down, nothing else.

use homing_core::fact::{Fact, HostError};
use homing_core::payload::TextRef;
use homing_core::record::TaskRecord;

/// None for lines that tell a person nothing.
pub fn words(record: &TaskRecord) -> Option<String> {
    use TaskRecord as R;
    Some(match record {
        R::Accepted { brief, parent, .. } => {
            format!("accepted for {parent}, to run on {}", brief.host)
        }
        R::DependencyMet { on } => format!("{on}, which it runs after, completed"),
        R::AttemptOpened { attempt, after, .. } => match after {
            Some(error) => format!("attempt {attempt}, after {}: {}", error.name, error.message),
            None => format!("attempt {attempt}"),
        },
        R::GenerationOpened { generation, .. } => format!("generation {generation}"),
        R::TurnOpened { turn, kind, .. } => format!("turn {turn}, {kind}"),
        R::Moved { to, cause, reason, .. } => match cause {
            Some(cause) => format!("{to} ({cause}): {reason}"),
            None => format!("{to}: {reason}"),
        },
        R::StopTurned { stop } => format!("the stop leads to {} now: {}", stop.target, stop.reason),
        R::Seen { fact, .. } => format!("seen: {}", fact_words(fact)),
        R::Stale { fact, .. } => format!("too late, without effect: {}", fact_words(fact)),
        R::Late { text } => format!("an answer after the end, kept: {} bytes", text.bytes),
        R::Result { text, error } => result_words(*text, error.as_deref()),
        R::AskOpened { ask, seen } => format!("{ask}: it asks: {}", seen.text),
        R::AskMoved { ask, to, .. } => format!("{ask}: {to}"),
        R::SendTaken { n, text } => format!("words number {n} for it: {} bytes", text.bytes),
        R::NoticeMoved { to, code, .. } => match code {
            Some(code) => format!("its notice is {to} [{code}]"),
            None => format!("its notice is {to}"),
        },
        R::NoticeRouted { to, .. } => format!("its notice goes to {to} instead"),
        R::ParentMoved { to, .. } => format!("its parent is {to} from now on"),
        R::OrphanSeen { attempt, session } => {
            format!("{session} of attempt {attempt} is still to be ended")
        }
        R::OrphanGone { attempt, confirmed } => {
            let how = if *confirmed { "is ended" } else { "may still run" };
            format!("what was left of attempt {attempt} {how}")
        }
        R::AskDone { .. }
        | R::Reserved { .. }
        | R::Refunded { .. }
        | R::Charged { .. }
        | R::TelemetryTaken { .. } => return None,
    })
}

fn result_words(text: Option<TextRef>, error: Option<&HostError>) -> String {
    let kept = text.map_or("no result".to_owned(), |text| format!("result: {} bytes", text.bytes));
    match error {
        Some(error) => format!("{kept}; {}: {}", error.name, error.message),
        None => kept,
    }
}

fn fact_words(fact: &Fact) -> String {
    match fact {
        Fact::SessionMade { session } => format!("session {session} was made"),
        Fact::StartFailed { error } | Fact::PromptRefused { error } => {
            format!("{}: {}: {}", fact.word(), error.name, error.message)
        }
        Fact::ErrorHint { error } | Fact::ProviderWait { error } => {
            format!("{}: {} ({})", fact.word(), error.message, error.class)
        }
        Fact::StartUnsure { why }
        | Fact::PromptUnsure { why }
        | Fact::LookFailed { why }
        | Fact::Interrupted { why }
        | Fact::HostGone { why }
        | Fact::StopRefused { why } => format!("{}: {why}", fact.word()),
        Fact::PromptTaken => "the host has the prompt".to_owned(),
        Fact::ToolBegan { call } => format!("{} was called", call.tool),
        Fact::Todos { open } => format!("{open} to-dos are open"),
        Fact::Ended { end } => format!("the host's record of the end, finish {}", end.finish),
        Fact::OddWord { word } => format!("a status word that is not known: {word}"),
        Fact::Exited { exit, .. } => match (exit.code, exit.signal) {
            (Some(code), _) => format!("the process ended with exit code {code}"),
            (None, Some(signal)) => format!("the process was ended by signal {signal}"),
            (None, None) => "the process ended".to_owned(),
        },
        Fact::AskOpened { ask } => format!("it asks: {}", ask.text),
        Fact::Stopped => "the stop is confirmed".to_owned(),
        Fact::Active
        | Fact::ToolEnded { .. }
        | Fact::Spent { .. }
        | Fact::AskClosed { .. }
        | Fact::EndHint
        | Fact::Busy
        | Fact::Compacted
        | Fact::Looked { .. }
        | Fact::SessionDeleted => fact.word().replace('_', " "),
    }
}
