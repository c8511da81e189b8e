//! OpenCode, "What is true" and "Sequences": turns, errors, waits and asks.

use homing_core::fact::{End, ErrorClass, Fact, Finish};
use homing_core::task::Answer;
use homing_core::words::{Cause, State};

use super::super::facts::{
    active, ask_over, asks, busy, ends, error_word, failed, idle, interrupted, look_failed, made,
    only_tools, open, permission, provider_waits, question, quota_until, refused, said, shows,
    taken, tool, tool_end, unsure,
};
use super::super::{Sequence, sequence};

use State::{Completed, Failed, Paused, Running, Starting, Stopping, WaitingAsk};

/// "What is true".
pub(super) fn truths() -> Vec<Sequence> {
    vec![
        sequence(
            "opencode: a turn that ended well",
            "completed, no error, finish stop, parentID ours",
        )
        .begun()
        .see(busy(), Running)
        .see(active(), Running)
        .see(idle(), Running)
        .see(shows(said("4")).seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
        sequence("opencode: finish length", "length is not success")
            .begun()
            .see(idle(), Running)
            .see(shows(ends(Finish::Length, "half of a sent")).seen(), Failed)
            .cause(Cause::Truncated)
            .result("half of a sent"),
        sequence("opencode: finish content-filter", "content-filter is not success")
            .begun()
            .see(idle(), Running)
            .see(shows(ends(Finish::Refusal, "")).seen(), Failed)
            .cause(Cause::Refused),
        sequence("opencode: no text at all", "no text is empty")
            .begun()
            .see(idle(), Running)
            .see(shows(said("")).seen(), Failed)
            .cause(Cause::Empty),
        sequence("opencode: white space alone", "no text is empty")
            .begun()
            .see(idle(), Running)
            .see(shows(said(" \n")).seen(), Failed)
            .cause(Cause::Empty)
            .result(" \n"),
    ]
}

/// "What is true": turns that said little, and to-dos.
pub(super) fn quiet_truths() -> Vec<Sequence> {
    vec![
        sequence("opencode: tools ran and no word was said", "a clean end without text, flagged")
            .begun()
            .see(tool(1), Running)
            .see(tool_end(1), Running)
            .see(idle(), Running)
            .see(shows(only_tools()).seen(), Completed)
            .cause(Cause::NoText)
            .flagged(),
        sequence("opencode: the last answer is to another prompt", "parentID is not our prompt")
            .begun()
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: a to-do left open", "/todo: completed after its time, flagged")
            .begun()
            .see(idle(), Running)
            .see(shows(said("done, mostly")).todos(1).seen(), Running)
            .later(30_000, Completed)
            .cause(Cause::Answered)
            .result("done, mostly")
            .flagged(),
    ]
}

/// "Sequences": turns that go their way.
pub(super) fn turns() -> Vec<Sequence> {
    vec![
        sequence(
            "opencode: a normal turn",
            "parts, done, idle, and up to 100 ms later more updates",
        )
        .begun()
        .see(active(), Running)
        .see(active(), Running)
        .see(idle(), Running)
        .see(shows(said("4")).seen(), Completed)
        .see_of(1, 1, active(), Completed)
        .see_of(1, 1, idle(), Completed)
        .see_of(1, 1, shows(said("4")).seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
        sequence("opencode: a turn with tools", "one message per model call, the last with stop")
            .begun()
            .see(tool(1), Running)
            .see(shows(ends(Finish::ToolCalls, "")).busy().call(1).seen(), Running)
            .see(tool_end(1), Running)
            .see(tool(2), Running)
            .see(shows(ends(Finish::ToolCalls, "")).busy().call(2).seen(), Running)
            .see(tool_end(2), Running)
            .see(active(), Running)
            .see(idle(), Running)
            .see(shows(said("both read")).seen(), Completed)
            .cause(Cause::Answered)
            .result("both read"),
        sequence("opencode: a tool call with finish stop", "tool parts: the turn still goes on")
            .begun()
            .see(tool(1), Running)
            .see(idle(), Running)
            .see(open().busy().call(1).seen(), Running)
            .see(tool_end(1), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// "Sequences": a second prompt.
pub(super) fn second_prompts() -> Vec<Sequence> {
    vec![
        sequence("opencode: a second prompt while busy", "both are answered, one idle")
            .begun()
            .see(busy(), Running)
            .see(idle(), Running)
            .see(shows(said("ours")).busy().seen(), Running)
            .see(shows(said("ours")).seen(), Completed)
            .cause(Cause::Answered)
            .result("ours"),
        sequence("opencode: a second prompt during a tool", "the first never gets its own answer")
            .begun()
            .see(tool(1), Running)
            .see(tool_end(1), Running)
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(interrupted(), Failed)
            .cause(Cause::Interrupted),
    ]
}

/// "Sequences": what providers answer.
pub(super) fn errors() -> Vec<Sequence> {
    let no_answer = |name, renders, class| {
        sequence(name, renders)
            .begun()
            .see(error_word(class), Running)
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(idle(), Running)
            .see(shows(failed(class, "")).seen(), Failed)
            .cause(Cause::Error)
            .error(class)
    };
    vec![
        no_answer(
            "opencode: 401",
            "error, idle, then 57 to 111 ms later the record",
            ErrorClass::Auth,
        ),
        no_answer(
            "opencode: 400",
            "error, idle, then 57 to 111 ms later the record",
            ErrorClass::BadRequest,
        ),
        sequence("opencode: 401 with another model left", "not again on the same model")
            .models(2)
            .begun()
            .see(error_word(ErrorClass::Auth), Running)
            .see(shows(failed(ErrorClass::Auth, "")).seen(), Stopping)
            .see(Fact::Stopped, Starting)
            .see(made(), Starting)
            .see(taken(), Running)
            .see_of(1, 1, shows(failed(ErrorClass::Auth, "")).seen(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// Errors in the middle, and such that have no record.
pub(super) fn odd_errors() -> Vec<Sequence> {
    vec![
        sequence("opencode: an error after partial text", "failed, what was said is kept")
            .begun()
            .see(active(), Running)
            .see(error_word(ErrorClass::Other), Running)
            .see(shows(failed(ErrorClass::Other, "the first ha")).seen(), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::Other)
            .result("the first ha"),
        sequence(
            "opencode: an error from which it recovers",
            "the session lives and answers later",
        )
        .begun()
        .see(error_word(ErrorClass::Transient), Running)
        .see(open().busy().seen(), Running)
        .see(active(), Running)
        .see(shows(said("4")).seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
        sequence("opencode: a bad agent", "204, an error event, no idle, no message")
            .see(made(), Starting)
            .see(unsure(), Starting)
            .see(refused(ErrorClass::BadRequest), Stopping)
            .see(Fact::Stopped, Failed)
            .cause(Cause::Error)
            .error(ErrorClass::BadRequest),
        sequence("opencode: a bad model", "204, and the failure is only an error event")
            .see(made(), Starting)
            .see(unsure(), Starting)
            .see(error_word(ErrorClass::UnknownModel), Starting)
            .see(refused(ErrorClass::UnknownModel), Stopping)
            .see(Fact::Stopped, Failed)
            .cause(Cause::Error)
            .error(ErrorClass::UnknownModel),
    ]
}

/// "Sequences": 429 and quotas.
pub(super) fn waits() -> Vec<Sequence> {
    let wait = || provider_waits(ErrorClass::RateLimited, 2_000);
    vec![
        sequence("opencode: 429 until it gives up", "five retries, about 70 s, then as 401")
            .begun()
            .see(wait(), Running)
            .see(wait(), Running)
            .see(wait(), Running)
            .see(wait(), Running)
            .see(wait(), Running)
            .see(open().busy().seen(), Running)
            .see(error_word(ErrorClass::RateLimited), Running)
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(shows(failed(ErrorClass::RateLimited, "")).seen(), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::RateLimited),
        sequence("opencode: 429, then an answer", "retry-after is obeyed by the host")
            .begun()
            .see(wait(), Running)
            .see(active(), Running)
            .see(idle(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: 429 with another model left", "the chain goes on at once")
            .models(2)
            .begun()
            .see(wait(), Stopping)
            .see(idle(), Stopping)
            .see(Fact::Stopped, Starting)
            .see(made(), Starting)
            .see(taken(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: a quota used up until a time", "paused, the same session goes on then")
            .begun()
            .see(quota_until(2_000_000_000_000), Stopping)
            .see(shows(ends(Finish::Cancelled, "")).seen(), Stopping)
            .see(Fact::Stopped, Paused),
    ]
}

/// Permissions and questions.
pub(super) fn people() -> Vec<Sequence> {
    vec![
        sequence("opencode: a permission is given", "the turn goes on")
            .begun()
            .see(asks(permission("per_1")), WaitingAsk)
            .see(open().busy().call(1).ask(permission("per_1")).seen(), WaitingAsk)
            .answer(Answer::Allow, Running)
            .see(ask_over("per_1"), Running)
            .see(tool_end(1), Running)
            .see(idle(), Running)
            .see(shows(said("ran it")).seen(), Completed)
            .cause(Cause::Answered)
            .result("ran it"),
        sequence("opencode: a permission is rejected", "done with tool-calls, idle, no answer")
            .begun()
            .see(asks(permission("per_1")), WaitingAsk)
            .answer(Answer::Deny, Running)
            .see(ask_over("per_1"), Running)
            .see(idle(), Running)
            .see(shows(ends(Finish::ToolCalls, "")).seen(), Running)
            .see(
                shows(End { finish: Finish::ToolCalls, ..failed(ErrorClass::Permission, "") })
                    .seen(),
                Failed,
            )
            .cause(Cause::Error)
            .error(ErrorClass::Permission),
        sequence("opencode: a question is answered at the host", "somebody else was quicker")
            .begun()
            .see(asks(question("que_1")), WaitingAsk)
            .see(open().busy().seen(), Running)
            .see(idle(), Running)
            .see(shows(said("A it is")).seen(), Completed)
            .cause(Cause::Answered)
            .result("A it is"),
        sequence("opencode: an ask that the stream lost", "a look opens it")
            .begun()
            .see(look_failed(), Running)
            .see(open().busy().ask(question("que_1")).seen(), WaitingAsk)
            .answer(Answer::Text("B".into()), Running)
            .see(ask_over("que_1"), Running)
            .see(shows(said("B it is")).seen(), Completed)
            .cause(Cause::Answered)
            .result("B it is"),
    ]
}
