//! The lines of a task's journal in words, for `why`. Says what was written down, nothing else.

use homing_core::fact::Fact;
use homing_core::record::TaskRecord;

/// None for lines that tell a person nothing.
pub fn words(record: &TaskRecord) -> Option<String> {
    Some(match record {
        TaskRecord::Accepted { brief, parent, .. } => {
            format!("accepted for {parent}, to run on {}", brief.host)
        }
        TaskRecord::DependencyMet { on } => format!("{on}, which it runs after, completed"),
        TaskRecord::AttemptOpened {
            attempt,
            after: Some(error),
            ..
        } => {
            format!("attempt {attempt}, after {}: {}", error.name, error.message)
        }
        TaskRecord::AttemptOpened {
            attempt,
            after: None,
            ..
        } => format!("attempt {attempt}"),
        TaskRecord::GenerationOpened { generation, .. } => format!("generation {generation}"),
        TaskRecord::TurnOpened { turn, kind, .. } => format!("turn {turn}, {kind}"),
        TaskRecord::Moved {
            to,
            cause: Some(cause),
            reason,
            ..
        } => format!("{to} ({cause}): {reason}"),
        TaskRecord::Moved {
            to,
            cause: None,
            reason,
            ..
        } => format!("{to}: {reason}"),
        TaskRecord::StopTurned { stop } => {
            format!("the stop leads to {} now: {}", stop.target, stop.reason)
        }
        TaskRecord::Seen { fact, .. } => format!("seen: {}", fact_words(fact)),
        TaskRecord::Stale { fence, fact } => {
            let (attempt, turn) = (fence.attempt, fence.turn);
            format!(
                "too late, without effect: {} (attempt {attempt}, turn {turn})",
                fact_words(fact)
            )
        }
        TaskRecord::Late { text } => format!("an answer after the end, kept: {} bytes", text.bytes),
        TaskRecord::Result { text, error } => match (text, error) {
            (Some(text), None) => format!("result: {} bytes", text.bytes),
            (Some(text), Some(error)) => format!(
                "result: {} bytes, and {}: {}",
                text.bytes, error.name, error.message
            ),
            (None, Some(error)) => format!("no result: {}: {}", error.name, error.message),
            (None, None) => "no result".to_owned(),
        },
        TaskRecord::AskOpened { ask, seen } => format!("{ask}: it asks: {}", seen.text),
        TaskRecord::AskMoved {
            ask,
            to,
            by: Some(by),
            ..
        } => format!("{ask}: {to}, by {by}"),
        TaskRecord::AskMoved {
            ask, to, by: None, ..
        } => format!("{ask}: {to}"),
        TaskRecord::SendTaken { n, text } => {
            format!("words number {n} for it: {} bytes", text.bytes)
        }
        TaskRecord::NoticeMoved {
            to,
            code: Some(code),
            ..
        } => format!("its notice is {to} [{code}]"),
        TaskRecord::NoticeMoved { to, code: None, .. } => format!("its notice is {to}"),
        TaskRecord::NoticeRouted { to, .. } => format!("its notice goes to {to} instead"),
        TaskRecord::ParentMoved { to, .. } => format!("its parent is {to} from now on"),
        TaskRecord::OrphanSeen { attempt, session } => {
            format!("{session} of attempt {attempt} is still to be ended")
        }
        TaskRecord::OrphanGone {
            attempt,
            confirmed: true,
        } => format!("what was left of attempt {attempt} is ended"),
        TaskRecord::OrphanGone {
            attempt,
            confirmed: false,
        } => format!("what was left of attempt {attempt} may still run"),
        TaskRecord::AskDone { .. }
        | TaskRecord::Reserved { .. }
        | TaskRecord::Refunded { .. }
        | TaskRecord::Charged { .. }
        | TaskRecord::TelemetryTaken { .. } => return None,
    })
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
