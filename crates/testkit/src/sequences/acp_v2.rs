//! ACP v2: the prompt is answered when it is inserted; truth is `state_update`. Idle with a stop reason is
//! the end; idle without one is an interruption; a repeated snapshot is not a new completion.

use homing_core::fact::{ErrorClass, Fact, Finish};
use homing_core::task::Answer;
use homing_core::words::{Cause, State};

use super::facts::{
    absent, active, ask_over, asks, busy, ended, ends, failed, idle, interrupted, look_failed,
    made, open, permission, said, shows, taken, tool, tool_end,
};
use super::{Sequence, sequence};

use State::{Cancelled, Completed, Failed, Running, Starting, Stopping, WaitingAsk};

pub fn sequences() -> Vec<Sequence> {
    let groups = [states(), idle_words(), snapshots(), background()];
    groups.into_iter().flatten().collect()
}

fn states() -> Vec<Sequence> {
    vec![
        sequence("acp v2: running, then idle with end_turn", "the end")
            .begun()
            .see(busy(), Running)
            .see(active(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("acp v2: the prompt is inserted, nothing more", "inserted is not answered")
            .begun()
            .see(open().busy().seen(), Running),
        sequence("acp v2: requires_action", "the turn stands until somebody answers")
            .begun()
            .see(busy(), Running)
            .see(asks(permission("call_1")), WaitingAsk)
            .answer(Answer::Deny, Running)
            .see(ask_over("call_1"), Running)
            .see(busy(), Running)
            .see(ended(said("then not")), Completed)
            .cause(Cause::Answered)
            .result("then not"),
        sequence("acp v2: idle with error", "a stop reason that v1 does not have")
            .begun()
            .see(busy(), Running)
            .see(ended(failed(ErrorClass::BadRequest, "half")), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::BadRequest)
            .result("half"),
    ]
}

/// What idle says with its reason, and without one.
fn idle_words() -> Vec<Sequence> {
    vec![
        sequence("acp v2: idle with max_tokens", "not success")
            .begun()
            .see(ended(ends(Finish::Length, "half")), Failed)
            .cause(Cause::Truncated)
            .result("half"),
        sequence("acp v2: idle with cancelled, by us", "confirmed when nothing runs")
            .begun()
            .cancel(Stopping)
            .see(ended(ends(Finish::Cancelled, "")), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked),
        sequence("acp v2: idle without a stop reason", "interrupted, never done")
            .begun()
            .see(busy(), Running)
            .see(interrupted(), Failed)
            .cause(Cause::Interrupted),
        sequence("acp v2: idle before the prompt", "a fresh session is idle, and nothing ended")
            .see(made(), Starting)
            .see(idle(), Starting)
            .see(absent().seen(), Starting)
            .see(taken(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

fn snapshots() -> Vec<Sequence> {
    vec![
        sequence("acp v2: repeated snapshots", "one completion")
            .begun()
            .see(shows(said("4")).seen(), Completed)
            .see_of(1, 1, shows(said("4")).seen(), Completed)
            .see_of(1, 1, ended(said("4")), Completed)
            .see_of(1, 0, idle(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("acp v2: the snapshot of an earlier turn", "it is not the end of ours")
            .begun()
            .see_of(1, 0, idle(), Running)
            .see(open().busy().seen(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("acp v2: resumed mid-turn", "a snapshot first, then events")
            .begun()
            .see(tool(1), Running)
            .see(look_failed(), Running)
            .see(open().busy().call(1).seen(), Running)
            .see(tool_end(1), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("acp v2: resumed after kill -9", "idle without a stop reason: interrupted")
            .begun()
            .see(active(), Running)
            .see(look_failed(), Running)
            .see(interrupted(), Failed)
            .cause(Cause::Interrupted),
        sequence("acp v2: resumed after kill -9, and retried", "by policy, in the same session")
            .retry_interrupted(1)
            .begun()
            .see(interrupted(), Starting)
            .see(taken(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

fn background() -> Vec<Sequence> {
    vec![
        sequence("acp v2: background lists what runs", "idle with end_turn, and not the end")
            .begun()
            .see(tool(1), Running)
            .see(ended(said("started it")), Running)
            .see(shows(said("started it")).call(1).seen(), Running)
            .see(shows(said("started it")).seen(), Completed)
            .cause(Cause::Answered)
            .result("started it"),
        sequence("acp v2: background is empty", "nothing runs: the end")
            .begun()
            .see(shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence(
            "acp v2: background is not reported",
            "absent is not none: what was seen to begin still counts",
        )
        .begun()
        .see(tool(1), Running)
        .see(ended(said("started it")), Running)
        .see(tool_end(1), Completed)
        .cause(Cause::Answered)
        .result("started it"),
    ]
}
