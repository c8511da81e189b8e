//! The lines of a task's journal in words, for `why`. Says what was written down, nothing else.

use homing_core::fact::{Exit, Fact, HostError, Picture, Presence, TurnRecord};
use homing_core::payload::TextRef;
use homing_core::record::TaskRecord;
use homing_core::task::{Answer, AskState};
use homing_core::words::{Code, DeliveryState, Tri, TurnKind};

/// None for lines that tell a person nothing.
pub fn words(record: &TaskRecord) -> Option<String> {
    use TaskRecord as R;
    Some(match record {
        R::Accepted { brief, parent, after, .. } => {
            let waits = if after.is_empty() { "" } else { ", after others" };
            format!("accepted for {parent}, to run on {}{waits}", brief.host)
        }
        R::DependencyMet { on } => format!("{on}, which it runs after, completed"),
        R::AttemptOpened { attempt, after, .. } => match after {
            Some(error) => format!("attempt {attempt}, after {}: {}", error.name, error.message),
            None => format!("attempt {attempt}"),
        },
        R::GenerationOpened { generation, .. } => format!("generation {generation}"),
        R::TurnAsked { turn, text, .. } => {
            format!("turn {turn} of the conversation is asked for: {}", count(text.bytes, "byte"))
        }
        R::Closed => "the conversation is closed".to_owned(),
        R::TurnOpened { turn, kind, .. } => format!("turn {turn}: {}", turn_words(*kind)),
        R::Moved { to, cause, reason, .. } => match cause {
            Some(cause) => format!("{to} ({cause}): {reason}"),
            None => format!("{to}: {reason}"),
        },
        R::StopTurned { stop } => format!("the stop leads to {} now: {}", stop.target, stop.reason),
        R::Seen { fact, .. } => format!("seen: {}", fact_words(fact)),
        R::Stale { fact, .. } => format!("too late, without effect: {}", fact_words(fact)),
        R::Late { text } => format!("an answer after the end, kept: {}", count(text.bytes, "byte")),
        R::Result { text, error } => result_words(*text, error.as_deref()),
        R::AskOpened { ask, seen } => format!("{ask} was opened: {}", seen.text),
        R::AskMoved { ask, to, answer, by } => {
            let by = by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            format!("{ask} was {}{by}", ask_words(*to, answer.as_ref()))
        }
        R::SendTaken { n, text, last } => {
            let last = if *last { ", and no more after them" } else { "" };
            format!("words number {n} for it: {}{last}", count(text.bytes, "byte"))
        }
        R::NoticeMoved { to, code, .. } => notice_words(*to, *code),
        R::NoticeRouted { to, code, .. } => {
            format!("its notice goes to {to} instead{}", coded(*code))
        }
        R::ParentMoved { to, .. } => format!("its parent is {to} from now on"),
        R::OrphanSeen { attempt, session } => {
            let session = session.as_deref().unwrap_or("what was started");
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
        R::Rerouted { origin, .. } => format!("an operator had it told at {origin}"),
    })
}

fn turn_words(kind: TurnKind) -> &'static str {
    match kind {
        TurnKind::First => "what it was launched with",
        TurnKind::GoOn => "it is told to go on",
        TurnKind::Resume => "the words of the resume",
        TurnKind::Send => "words that were sent to it",
        TurnKind::Debrief => "what its own tasks brought home",
        TurnKind::Foreign => "begun by someone else",
    }
}

fn ask_words(to: AskState, answer: Option<&Answer>) -> String {
    match (to, answer) {
        (AskState::Answered, Some(Answer::Allow)) => "allowed".to_owned(),
        (AskState::Answered, Some(Answer::Deny)) => "denied".to_owned(),
        (AskState::Answered, Some(Answer::Text(text))) => format!("answered with {text:?}"),
        (AskState::Open | AskState::Answered | AskState::Expired | AskState::Withdrawn, _) => {
            to.to_string()
        }
    }
}

fn notice_words(to: DeliveryState, code: Option<Code>) -> String {
    let words = match to {
        DeliveryState::Owed => "its notice is owed again",
        DeliveryState::Sealed => "its notice is sealed in a debrief",
        DeliveryState::Sent => "its notice is sent",
        DeliveryState::Accepted => "its notice is at the parent",
        DeliveryState::Settled => "its notice is settled: the receipt is here",
        DeliveryState::Withdrawn => "its notice is withdrawn",
        DeliveryState::Undeliverable => "its notice is undeliverable",
    };
    format!("{words}{}", coded(code))
}

fn coded(code: Option<Code>) -> String {
    code.map_or_else(String::new, |code| format!(" [{code}]"))
}

fn result_words(text: Option<TextRef>, error: Option<&HostError>) -> String {
    let kept = text
        .map_or("no result".to_owned(), |text| format!("result: {}", count(text.bytes, "byte")));
    match error {
        Some(error) => format!("{kept}; {}: {}", error.name, error.message),
        None => kept,
    }
}

fn fact_words(fact: &Fact) -> String {
    match fact {
        Fact::SessionMade { session } => format!("session {session} was made"),
        Fact::StartFailed { error } => format!("no session could be made: {}", error_words(error)),
        Fact::StartUnsure { why } => format!("whether a session was made is not known: {why}"),
        Fact::PromptTaken => "the host has the prompt".to_owned(),
        Fact::WordsTaken { n } => format!("it has what was sent as number {n}"),
        Fact::PromptRefused { error } => format!("the prompt was refused: {}", error_words(error)),
        Fact::PromptUnsure { why } => {
            format!("whether the host has the prompt is not known: {why}")
        }
        Fact::Active => "something moved".to_owned(),
        Fact::ToolBegan { call } => format!("{} was called", call.tool),
        Fact::ToolEnded { .. } => "a tool ended".to_owned(),
        Fact::Spent { total } => format!("{} tokens were used so far", total.tokens),
        Fact::AskOpened { ask } => format!("it asks: {}", ask.text),
        Fact::AskClosed { .. } => "it does not ask any more".to_owned(),
        Fact::Todos { open } => format!("open to-dos: {open}"),
        Fact::Ended { end } => format!("the host's record of the end, finish {}", end.finish),
        Fact::EndHint => "a word of the end without its record: a reason to look".to_owned(),
        Fact::ErrorHint { error } => {
            format!("an error that may not be the end: {}", error_words(error))
        }
        Fact::ProviderWait { error } => {
            format!("the host waits for its provider: {}", error_words(error))
        }
        Fact::OddWord { word } => format!("a status word that is not known here: {word}"),
        Fact::Busy => "the session is busy".to_owned(),
        Fact::Compacted => "its context was compacted; the turn goes on".to_owned(),
        Fact::Exited { exit, .. } => exit_words(*exit),
        Fact::Looked { picture } => picture_words(picture),
        Fact::LookFailed { why } => format!("the host could not be asked: {why}"),
        Fact::Interrupted { why } => format!("the turn was cut off: {why}"),
        Fact::SessionDeleted => "the session was deleted".to_owned(),
        Fact::HostGone { why } => format!("the host is gone: {why}"),
        Fact::Stopped => "the stop is confirmed: nothing of it runs".to_owned(),
        Fact::StopRefused { why } => format!("the host refused the stop: {why}"),
    }
}

fn error_words(error: &HostError) -> String {
    format!("{} ({}): {}", error.name, error.class, error.message)
}

fn exit_words(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("the process ended with exit code {code}"),
        (None, Some(signal)) => format!("the process was ended by signal {signal}"),
        (None, None) => "the process ended".to_owned(),
    }
}

/// `asked the host: the turn is open, the session is busy, 1 tool runs`.
fn picture_words(picture: &Picture) -> String {
    let mut parts = vec![match &picture.turn {
        TurnRecord::Absent => "it does not have the prompt".to_owned(),
        TurnRecord::Open => "the turn is open".to_owned(),
        TurnRecord::Ended(end) => format!("the turn ended, finish {}", end.finish),
        TurnRecord::Unreadable => "its messages cannot be read".to_owned(),
    }];
    match picture.session {
        Presence::Present => {}
        Presence::Missing => parts.push("the session is not there".to_owned()),
        Presence::Unsure => parts.push("whether the session is there is not known".to_owned()),
    }
    match picture.busy {
        Tri::Yes => parts.push("the session is busy".to_owned()),
        Tri::No => parts.push("the session is not busy".to_owned()),
        Tri::Unknown => {}
    }
    match picture.calls.len() {
        0 => {}
        1 => parts.push("1 tool runs".to_owned()),
        many => parts.push(format!("{many} tools run")),
    }
    format!("asked the host: {}", parts.join(", "))
}

/// `1 task`, `2 tasks`.
pub(crate) fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Whether the host itself said it: what a driver says of a host that it could not hear is no such word.
pub(crate) fn is_heard(record: &TaskRecord) -> bool {
    match record {
        TaskRecord::Seen { fact, .. } | TaskRecord::Stale { fact, .. } => !matches!(
            fact,
            Fact::LookFailed { .. } | Fact::StartUnsure { .. } | Fact::PromptUnsure { .. }
        ),
        TaskRecord::Accepted { .. }
        | TaskRecord::DependencyMet { .. }
        | TaskRecord::AttemptOpened { .. }
        | TaskRecord::GenerationOpened { .. }
        | TaskRecord::TurnAsked { .. }
        | TaskRecord::Closed
        | TaskRecord::TurnOpened { .. }
        | TaskRecord::Moved { .. }
        | TaskRecord::StopTurned { .. }
        | TaskRecord::Late { .. }
        | TaskRecord::Result { .. }
        | TaskRecord::AskOpened { .. }
        | TaskRecord::AskMoved { .. }
        | TaskRecord::AskDone { .. }
        | TaskRecord::SendTaken { .. }
        | TaskRecord::NoticeMoved { .. }
        | TaskRecord::NoticeRouted { .. }
        | TaskRecord::ParentMoved { .. }
        | TaskRecord::Reserved { .. }
        | TaskRecord::Refunded { .. }
        | TaskRecord::Charged { .. }
        | TaskRecord::TelemetryTaken { .. }
        | TaskRecord::Rerouted { .. }
        | TaskRecord::OrphanSeen { .. }
        | TaskRecord::OrphanGone { .. } => false,
    }
}
