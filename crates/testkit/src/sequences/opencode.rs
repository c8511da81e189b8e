//! OpenCode: events wake the driver, the stored messages decide. A look's record of our turn has ended
//! when the last assistant message answers our prompt, is completed, has no tool parts, and its finish is
//! neither `tool-calls` nor `unknown`.

use homing_core::fact::{ErrorClass, Fact, Finish};
use homing_core::task::Answer;
use homing_core::words::{Cause, State};

use super::facts::{
    absent, active, ask_over, asks, busy, ends, error_word, failed, idle, interrupted, look_failed, made, odd,
    only_tools, open, permission, provider_waits, question, quota_until, refused, said, shows, taken, tool,
    tool_end, unreadable, unsure,
};
use super::{Sequence, sequence};

use State::{
    Cancelled, Completed, Failed, Lost, Paused, Running, Starting, Stopping, TimedOut, WaitingAsk,
};

const MINUTE: u64 = 60_000;

pub fn sequences() -> Vec<Sequence> {
    let groups =
        [truths(), idle_lies(), record_lies(), turns(), errors(), waits(), people(), losses(), stops()];
    groups.into_iter().flatten().collect()
}

/// "What is true".
fn truths() -> Vec<Sequence> {
    vec![
        sequence("opencode: a turn that ended well", "completed, no error, finish stop, parentID ours")
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

/// "What lies": `session.idle`, and absence from the status.
fn idle_lies() -> Vec<Sequence> {
    vec![
        sequence("opencode: idle comes early on an error", "51 to 237 ms before the record")
            .begun()
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(idle(), Running)
            .see(shows(failed(ErrorClass::Auth, "")).seen(), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::Auth),
        sequence("opencode: idle comes early on somebody's abort", "51 to 237 ms before the record")
            .begun()
            .see(active(), Running)
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(shows(ends(Finish::Cancelled, "half")).seen(), Failed)
            .cause(Cause::Interrupted)
            .result("half"),
        sequence("opencode: idle comes twice", "twice per turn: one completion")
            .begun()
            .see(idle(), Running)
            .see(idle(), Running)
            .see(shows(said("4")).seen(), Completed)
            .see_of(1, 1, idle(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: idle of a session that never ran", "also for sessions that never ran")
            .see(made(), Starting)
            .see(idle(), Starting)
            .see(absent().seen(), Starting)
            .see(taken(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: one idle for two prompts", "once for two prompts: each has its own record")
            .begun()
            .see(idle(), Running)
            .see(shows(said("ours")).seen(), Completed)
            .see_of(1, 2, idle(), Completed)
            .cause(Cause::Answered)
            .result("ours"),
        sequence("opencode: absent from the status, ended", "absence means ended, among others")
            .begun()
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: absent from the status, not started", "absence means never started, among others")
            .see(made(), Starting)
            .see(absent().seen(), Starting)
            .see(taken(), Running)
            .see(open().busy().seen(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: absent from the status while a tool runs", "one reply omits it")
            .begun()
            .see(tool(1), Running)
            .see(open().call(1).seen(), Running)
            .see(open().busy().call(1).seen(), Running)
            .see(tool_end(1), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: a status word never seen before", "not a success")
            .begun()
            .see(odd("dreaming"), Running)
            .see(open().busy_unknown().seen(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// "What lies": the records, read by themselves.
fn record_lies() -> Vec<Sequence> {
    vec![
        sequence("opencode: completed on a tool-calls step", "time.completed alone is no end")
            .begun()
            .see(tool(1), Running)
            .see(idle(), Running)
            .see(shows(ends(Finish::ToolCalls, "")).busy().call(1).seen(), Running)
            .see(tool_end(1), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: completed by an abort during a retry", "time.completed, no finish, no error")
            .begun()
            .see(provider_waits(ErrorClass::RateLimited, 2_000), Running)
            .see(idle(), Running)
            .see(shows(ends(Finish::Unknown, "")).seen(), Running)
            .see(shows(ends(Finish::Cancelled, "")).seen(), Failed)
            .cause(Cause::Interrupted),
        sequence("opencode: a message that stays open after a kill", "an open message does not mean running")
            .begun()
            .see(tool(1), Running)
            .see(look_failed(), Running)
            .see(open().call(1).other_program().seen(), Failed)
            .cause(Cause::Interrupted),
        sequence("opencode: session.error for an overflow", "compaction follows: not terminal")
            .begun()
            .see(error_word(ErrorClass::Overflow), Running)
            .see(open().busy().seen(), Running)
            .see(Fact::Compacted, Running)
            .see(active(), Running)
            .see(idle(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: an aborted command says completed", "its tool part lies; the message does not")
            .begun()
            .see(tool(1), Running)
            .see(tool_end(1), Running)
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(shows(ends(Finish::Cancelled, "")).seen(), Failed)
            .cause(Cause::Interrupted),
        sequence("opencode: busy while hung", "busy for ever is not progress")
            .begun()
            .see(busy(), Running)
            .see(open().busy().seen(), Running)
            .later(59 * MINUTE, Running)
            .later(2 * MINUTE, Running)
            .see(open().busy().seen(), Running)
            .later(1, Stopping)
            .see(Fact::Stopped, TimedOut)
            .cause(Cause::NeverActive),
        sequence("opencode: busy while a person is asked", "only /permission shows it")
            .begun()
            .see(busy(), Running)
            .see(open().busy().call(1).ask(permission("per_1")).seen(), WaitingAsk)
            .asks(1),
        sequence("opencode: the messages cannot be read", "nothing is completed by guess")
            .begun()
            .see(idle(), Running)
            .see(unreadable().seen(), Running)
            .see(look_failed(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// "Sequences": turns that go their way.
fn turns() -> Vec<Sequence> {
    vec![
        sequence("opencode: a normal turn", "parts, done, idle, and up to 100 ms later more updates")
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
fn errors() -> Vec<Sequence> {
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
        no_answer("opencode: 401", "error, idle, then 57 to 111 ms later the record", ErrorClass::Auth),
        no_answer("opencode: 400", "error, idle, then 57 to 111 ms later the record", ErrorClass::BadRequest),
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
        sequence("opencode: an error after partial text", "failed, what was said is kept")
            .begun()
            .see(active(), Running)
            .see(error_word(ErrorClass::Other), Running)
            .see(shows(failed(ErrorClass::Other, "the first ha")).seen(), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::Other)
            .result("the first ha"),
        sequence("opencode: an error from which it recovers", "the session lives and answers later")
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
            .begun()
            .see(error_word(ErrorClass::UnknownModel), Running)
            .see(refused(ErrorClass::UnknownModel), Stopping)
            .see(Fact::Stopped, Failed)
            .cause(Cause::Error)
            .error(ErrorClass::UnknownModel),
    ]
}

/// "Sequences": 429 and quotas.
fn waits() -> Vec<Sequence> {
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
fn people() -> Vec<Sequence> {
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
                shows(homing_core::fact::End {
                    finish: Finish::ToolCalls,
                    ..failed(ErrorClass::Permission, "")
                })
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

/// Lost streams, kills, deleted sessions.
fn losses() -> Vec<Sequence> {
    vec![
        sequence("opencode: the stream breaks mid-turn", "nothing is replayed: a look comes first")
            .begun()
            .see(tool(1), Running)
            .see(look_failed(), Running)
            .see(open().busy().seen(), Running)
            .see(active(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: the stream breaks and the end is missed", "the look shows it")
            .begun()
            .see(tool(1), Running)
            .see(look_failed(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: killed and restarted", "status empty, message open, tool part running")
            .begun()
            .see(tool(1), Running)
            .see(look_failed(), Running)
            .see(look_failed(), Running)
            .see(open().call(1).other_program().seen(), Failed)
            .cause(Cause::Interrupted),
        sequence("opencode: killed, restarted, retried", "goes on in the same session, by policy")
            .retry_interrupted(1)
            .begun()
            .see(open().call(1).other_program().seen(), Starting)
            .see(taken(), Running)
            .see_of(1, 1, open().call(1).other_program().seen(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: not in the status, identity unknown", "interrupted only if the server is known")
            .begun()
            .see(open().program_unknown().seen(), Running)
            .see(shows(said("4")).program_unknown().seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: killed after the answer was stored", "the record counts, not the restart")
            .begun()
            .see(look_failed(), Running)
            .see(shows(said("4")).other_program().seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: a prompt lost by a kill", "204 is not stored: confirm, then send again")
            .see(made(), Starting)
            .see(unsure(), Starting)
            .see(absent().other_program().seen(), Starting)
            .see(taken(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: a prompt whose reply was cut off", "it is there: neither failed nor sent twice")
            .see(made(), Starting)
            .see(unsure(), Starting)
            .see(open().busy().seen(), Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("opencode: the session is deleted", "deleting does not stop a turn, but nothing can be read")
            .begun()
            .see(Fact::SessionDeleted, Lost)
            .cause(Cause::SessionDeleted),
        sequence("opencode: the session is missing for good", "confirmed after a minute")
            .begun()
            .see(absent().missing().seen(), Running)
            .later(30_000, Running)
            .see(absent().missing().seen(), Running)
            .later(30_000, Running)
            .see(absent().missing().seen(), Lost)
            .cause(Cause::SessionDeleted),
        sequence("opencode: the session is missing once", "one reply proves nothing")
            .begun()
            .see(absent().missing().seen(), Running)
            .see(open().busy().seen(), Running)
            .later(2 * MINUTE, Running)
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// Cancel: abort, wait for the message to close.
fn stops() -> Vec<Sequence> {
    vec![
        sequence("opencode: cancelled mid-tool", "idle early, the tool part says completed, then it closes")
            .begun()
            .see(tool(1), Running)
            .cancel(Stopping)
            .see(idle(), Stopping)
            .see(open().call(1).seen(), Stopping)
            .see(tool_end(1), Stopping)
            .see(shows(ends(Finish::Cancelled, "half")).seen(), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked)
            .result("half"),
        sequence("opencode: the answer comes while it is aborted", "one terminal state, the answer kept")
            .begun()
            .cancel(Stopping)
            .see(shows(said("4")).seen(), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked)
            .result("4"),
        sequence("opencode: abort says true and nothing stops", "true even for an unknown id")
            .begun()
            .cancel(Stopping)
            .see(open().busy().seen(), Stopping)
            .later(30_000, Lost)
            .cause(Cause::AbortUnconfirmed),
    ]
}
