//! ACP v1: the response or error to `session/prompt` is the only end of a turn. What it means differs by
//! agent; the driver tells by structure, never by the text.

use homing_core::fact::{End, ErrorClass, Fact, Finish};
use homing_core::task::Answer;
use homing_core::words::{Cause, State};

use super::facts::{
    active, ask_over, asks, busy, ended, ends, failed, idle, interrupted, look_failed, made, odd,
    of, open, permission, said, shows, stop_refused, taken, tool, tool_end,
};
use super::{Sequence, sequence};

use State::{Cancelled, Completed, Failed, Lost, Paused, Running, Starting, Stopping, WaitingAsk};

const HOUR: u64 = 3_600_000;

pub fn sequences() -> Vec<Sequence> {
    let groups = [
        reasons(),
        provider_400(),
        second_prompt(),
        cancels(),
        ends_of_process(),
        signals(),
        others(),
    ];
    groups.into_iter().flatten().collect()
}

/// Stop reasons.
fn reasons() -> Vec<Sequence> {
    let reason = |name, finish, cause| {
        sequence(name, "a stop reason that is not success")
            .begun()
            .see(active(), Running)
            .see(ended(ends(finish, "half")), Failed)
            .cause(cause)
            .result("half")
    };
    vec![
        sequence("acp v1: end_turn", "the response ends the turn")
            .begun()
            .see(active(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("acp v1: end_turn without a word", "an empty turn")
            .begun()
            .see(ended(said("")), Failed)
            .cause(Cause::Empty),
        reason("acp v1: max_tokens", Finish::Length, Cause::Truncated),
        reason("acp v1: max_turn_requests", Finish::Length, Cause::Truncated),
        reason("acp v1: refusal", Finish::Refusal, Cause::Refused),
        reason("acp v1: cancelled by somebody", Finish::Cancelled, Cause::Interrupted),
        sequence(
            "acp v1: a stop reason never seen before",
            "the turn ended, how is not known: not success",
        )
        .begun()
        .see(ended(ends(Finish::Unknown, "half")), Running)
        .see(ended(failed(ErrorClass::Other, "half")), Failed)
        .cause(Cause::Error)
        .error(ErrorClass::Other)
        .result("half"),
        sequence("acp v1: an unknown update", "logged, and never the end")
            .begun()
            .see(odd("quantum_update"), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// The table: provider 400.
fn provider_400() -> Vec<Sequence> {
    let error = |name, text| {
        sequence(name, "provider 400: an error to session/prompt")
            .begun()
            .see(ended(failed(ErrorClass::BadRequest, text)), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::BadRequest)
    };
    vec![
        error("acp v1, opencode: error -32603", ""),
        error("acp v1, claude: error -32603", ""),
        error("acp v1, gemini: error 400", ""),
        sequence(
            "acp v1, codex: end_turn on a 400",
            "usage null and systemError: a failure, only its text says so",
        )
        .begun()
        .see(active(), Running)
        .see(
            ended(End { error: Some(of(ErrorClass::BadRequest)), ..said("stream error: 400") }),
            Failed,
        )
        .cause(Cause::Error)
        .error(ErrorClass::BadRequest)
        .result("stream error: 400"),
    ]
}

/// The table: a second prompt while busy. One in flight is ours to keep; a person may still send one.
fn second_prompt() -> Vec<Sequence> {
    let queued = |name| {
        sequence(name, "second prompt while busy: queued behind ours")
            .begun()
            .see(ended(said("ours")), Completed)
            .see_of(1, 2, ended(said("theirs")), Completed)
            .cause(Cause::Answered)
            .result("ours")
    };
    vec![
        sequence(
            "acp v1, opencode: both prompts merged",
            "second prompt while busy: one answer to both",
        )
        .begun()
        .see(active(), Running)
        .see(ended(said("to both")), Completed)
        .cause(Cause::Answered)
        .result("to both"),
        queued("acp v1, claude: the second is queued"),
        queued("acp v1, codex: the second is queued"),
        sequence("acp v1, gemini: the first gets cancelled", "second prompt while busy")
            .begun()
            .see(active(), Running)
            .see(ended(ends(Finish::Cancelled, "half")), Failed)
            .cause(Cause::Interrupted)
            .result("half"),
    ]
}

/// The table: cancel a running tool.
fn cancels() -> Vec<Sequence> {
    let dies = |name| {
        sequence(name, "cancel a running tool: it dies")
            .begun()
            .see(tool(1), Running)
            .cancel(Stopping)
            .see(tool_end(1), Stopping)
            .see(ended(ends(Finish::Cancelled, "")), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked)
    };
    vec![
        dies("acp v1, opencode: cancelled mid-tool"),
        dies("acp v1, claude: cancelled mid-tool"),
        dies("acp v1, gemini: cancelled mid-tool"),
        sequence(
            "acp v1, codex: cancelled, and the tool lives",
            "not stopped before the whole tree is",
        )
        .begun()
        .see(tool(1), Running)
        .cancel(Stopping)
        .see(ended(ends(Finish::Cancelled, "")), Stopping)
        .see(stop_refused(), Stopping)
        .see(shows(ends(Finish::Cancelled, "")).call(1).seen(), Stopping)
        .see(tool_end(1), Stopping)
        .see(Fact::Stopped, Cancelled)
        .cause(Cause::Asked),
        sequence("acp v1: cancelled while a permission is open", "it is answered with cancelled")
            .begun()
            .see(asks(permission("call_1")), WaitingAsk)
            .cancel(Stopping)
            .see(ask_over("call_1"), Stopping)
            .see(ended(ends(Finish::Cancelled, "")), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked),
    ]
}

/// The table: stdin EOF.
fn ends_of_process() -> Vec<Sequence> {
    let gone = |name, renders| {
        sequence(name, renders)
            .begun()
            .see(tool(1), Running)
            .see(interrupted(), Failed)
            .cause(Cause::Interrupted)
    };
    vec![
        gone("acp v1, opencode: stdin EOF mid-tool", "it exits"),
        gone("acp v1, claude: stdin EOF mid-tool", "it exits"),
        gone("acp v1, codex: stdin EOF mid-tool", "it exits in 2 s"),
        sequence(
            "acp v1, gemini: stdin EOF mid-tool",
            "it stays and the tool lives: nothing can be read",
        )
        .begun()
        .see(tool(1), Running)
        .see(look_failed(), Running)
        .cancel(Stopping)
        .see(stop_refused(), Stopping)
        .see(Fact::Stopped, Cancelled)
        .cause(Cause::Asked),
    ]
}

/// The table: signals, and kill -9 and load.
fn signals() -> Vec<Sequence> {
    let cancelled =
        |name, renders| sequence(name, renders).begun().see(tool(1), Running).cancel(Stopping);
    let orphaned = |name| {
        cancelled(name, "not stopped before what it left behind is")
            .see(stop_refused(), Stopping)
            .later(30_000, Lost)
            .cause(Cause::AbortUnconfirmed)
    };
    let clean = |name| {
        cancelled(name, "nothing of it is left: stopped")
            .see(interrupted(), Cancelled)
            .cause(Cause::Asked)
    };
    let loaded = |name| {
        sequence(name, "kill -9, then load: works, and a replay never marks the interrupted turn")
            .retry_interrupted(1)
            .begun()
            .see(active(), Running)
            .see(open().other_program().seen(), Starting)
            .see(taken(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4")
    };
    vec![
        orphaned("acp v1, opencode: its group is killed, the tool orphaned"),
        orphaned("acp v1, claude: its group is killed, its child orphaned"),
        clean("acp v1, codex: its group is killed, cleanly"),
        clean("acp v1, gemini: its group is killed, cleanly"),
        loaded("acp v1, opencode: kill -9, then load"),
        loaded("acp v1, claude: kill -9, then load"),
        loaded("acp v1, codex: kill -9, then load"),
        sequence("acp v1, gemini: kill -9, then load fails", "though it says it can load")
            .begun()
            .see(active(), Running)
            .see(Fact::HostGone { why: "load failed".into() }, Lost)
            .cause(Cause::HostGone),
    ]
}

fn others() -> Vec<Sequence> {
    vec![
        sequence(
            "acp v1, claude: end_turn while a background shell runs",
            "end_turn is not idleness: it wakes by itself",
        )
        .begun()
        .see(tool(1), Running)
        .see(ended(said("started it")), Running)
        .see(shows(said("started it")).call(1).seen(), Running)
        .see(busy(), Running)
        .see(active(), Running)
        .see(ended(said("it passed")), Running)
        .see(tool_end(1), Completed)
        .cause(Cause::Answered)
        .result("it passed"),
        sequence("acp v1: a permission is given", "the turn goes on")
            .begun()
            .see(asks(permission("call_1")), WaitingAsk)
            .answer(Answer::Allow, Running)
            .see(ask_over("call_1"), Running)
            .see(ended(said("ran it")), Completed)
            .cause(Cause::Answered)
            .result("ran it"),
        sequence(
            "acp v1: a permission that nobody answers",
            "it would block for ever: denied after its time",
        )
        .begun()
        .see(asks(permission("call_1")), WaitingAsk)
        .later(23 * HOUR, WaitingAsk)
        .later(HOUR, Running)
        .see(ask_over("call_1"), Running)
        .see(ended(said("then not")), Completed)
        .cause(Cause::Answered)
        .result("then not"),
        sequence("acp v1: overloaded", "tried again later")
            .begun()
            .see(ended(failed(ErrorClass::Transient, "")), Paused),
        sequence("acp v1: idle word without a response", "only the response ends a turn")
            .see(made(), Starting)
            .see(taken(), Running)
            .see(idle(), Running)
            .see(open().busy().seen(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}
