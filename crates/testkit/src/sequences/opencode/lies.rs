//! OpenCode, "What lies": idle, absence, and records read by themselves.

use homing_core::fact::{ErrorClass, Fact, Finish};
use homing_core::words::{Cause, State};

use super::super::facts::{
    absent, active, busy, ends, error_word, failed, idle, look_failed, made, odd, open, permission,
    provider_waits, said, shows, taken, tool, tool_end, unreadable,
};
use super::super::{Sequence, sequence};

use State::{Completed, Failed, Running, Starting, Stopping, TimedOut, WaitingAsk};

const MINUTE: u64 = 60_000;

/// "What lies": `session.idle`, and absence from the status.
pub(super) fn idle_lies() -> Vec<Sequence> {
    vec![
        sequence("opencode: idle comes early on an error", "51 to 237 ms before the record")
            .begun()
            .see(idle(), Running)
            .see(open().seen(), Running)
            .see(idle(), Running)
            .see(shows(failed(ErrorClass::Auth, "")).seen(), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::Auth),
        sequence(
            "opencode: idle comes early on somebody's abort",
            "51 to 237 ms before the record",
        )
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
        sequence(
            "opencode: one idle for two prompts",
            "once for two prompts: each has its own record",
        )
        .begun()
        .see(idle(), Running)
        .see(shows(said("ours")).seen(), Completed)
        .see_of(1, 2, idle(), Completed)
        .cause(Cause::Answered)
        .result("ours"),
    ]
}

/// "What lies": absence from the status, and odd words.
pub(super) fn absence_lies() -> Vec<Sequence> {
    vec![
        sequence("opencode: absent from the status, ended", "absence means ended, among others")
            .begun()
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence(
            "opencode: absent from the status, not started",
            "absence means never started, among others",
        )
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
pub(super) fn record_lies() -> Vec<Sequence> {
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
        sequence(
            "opencode: completed by an abort during a retry",
            "time.completed, no finish, no error",
        )
        .begun()
        .see(provider_waits(ErrorClass::RateLimited, 2_000), Running)
        .see(idle(), Running)
        .see(shows(ends(Finish::Unknown, "")).seen(), Running)
        .see(shows(ends(Finish::Cancelled, "")).seen(), Failed)
        .cause(Cause::Interrupted),
        sequence(
            "opencode: a message that stays open after a kill",
            "an open message does not mean running",
        )
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
    ]
}

/// "What lies": `busy`, tool parts, and messages that cannot be read.
pub(super) fn busy_lies() -> Vec<Sequence> {
    vec![
        sequence(
            "opencode: an aborted command says completed",
            "its tool part lies; the message does not",
        )
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
