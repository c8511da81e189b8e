//! OpenCode: lost streams, kills, deleted sessions, and cancelling.

use homing_core::fact::{Fact, Finish};
use homing_core::words::{Cause, State};

use super::super::facts::{
    absent, active, ends, idle, look_failed, made, open, said, shows, taken, tool, tool_end, unsure,
};
use super::super::{Sequence, sequence};

use State::{Cancelled, Completed, Failed, Lost, Running, Starting, Stopping};

const MINUTE: u64 = 60_000;

/// Lost streams, kills, deleted sessions.
pub(super) fn losses() -> Vec<Sequence> {
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
        sequence(
            "opencode: what the stream lost comes later",
            "/sync/history holds it, after the look",
        )
        .begun()
        .see(look_failed(), Running)
        .see(open().busy().seen(), Running)
        .see(tool(1), Running)
        .see(tool_end(1), Running)
        .see(shows(said("4")).seen(), Completed)
        .see_of(1, 1, tool(2), Completed)
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
        sequence(
            "opencode: not in the status, identity unknown",
            "interrupted only if the server is known",
        )
        .begun()
        .see(open().program_unknown().seen(), Running)
        .see(shows(said("4")).program_unknown().seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
    ]
}

/// What a kill leaves of an answer or a prompt.
pub(super) fn prompt_losses() -> Vec<Sequence> {
    vec![
        sequence(
            "opencode: killed after the answer was stored",
            "the record counts, not the restart",
        )
        .begun()
        .see(look_failed(), Running)
        .see(shows(said("4")).other_program().seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
        sequence(
            "opencode: a prompt lost by a kill",
            "204 is not stored: confirm, then send again",
        )
        .see(made(), Starting)
        .see(unsure(), Starting)
        .see(absent().other_program().seen(), Starting)
        .see(taken(), Running)
        .see(shows(said("4")).seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
        sequence(
            "opencode: a prompt whose reply was cut off",
            "it is there: neither failed nor sent twice",
        )
        .see(made(), Starting)
        .see(unsure(), Starting)
        .see(open().busy().seen(), Running)
        .see(shows(said("4")).seen(), Completed)
        .cause(Cause::Answered)
        .result("4"),
    ]
}

/// Sessions that are not there any more.
pub(super) fn session_losses() -> Vec<Sequence> {
    vec![
        sequence(
            "opencode: the session is deleted",
            "deleting does not stop a turn, but nothing can be read",
        )
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
pub(super) fn stops() -> Vec<Sequence> {
    vec![
        sequence(
            "opencode: cancelled mid-tool",
            "idle early, the tool part says completed, then it closes",
        )
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
        sequence(
            "opencode: the answer comes while it is aborted",
            "one terminal state, the answer kept",
        )
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
