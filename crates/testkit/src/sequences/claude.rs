//! Claude Code: a turn ends with the `result` that names our prompt's uuid, and with no other. A process
//! that ends without one was interrupted, whatever its exit code.

use homing_core::fact::{ErrorClass, Fact, Finish};
use homing_core::task::Answer;
use homing_core::words::{Cause, State};

use super::facts::{
    active, ask_over, asks, busy, ended, ends, failed, idle, interrupted, look_failed, made, open,
    permission, said, shows, stop_refused, taken, tool, tool_end, unsure,
};
use super::{Sequence, sequence};

use State::{Cancelled, Completed, Failed, Paused, Running, Starting, Stopping, WaitingAsk};

pub fn sequences() -> Vec<Sequence> {
    let groups = [truths(), results(), background(), ends_of_process(), errors(), stops()];
    groups.into_iter().flatten().collect()
}

/// "What is true".
fn truths() -> Vec<Sequence> {
    vec![
        sequence("claude: a result names our prompt", "the turn ended")
            .begun()
            .see(active(), Running)
            .see(tool(1), Running)
            .see(tool_end(1), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("claude: the same prompt sent again", "its uuid is a key: it does not run again")
            .see(made(), Starting)
            .see(unsure(), Starting)
            .see(open().busy().seen(), Running)
            .see(taken(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence(
            "claude: the prompt is withdrawn from the queue",
            "command_lifecycle says cancelled",
        )
        .begun()
        .see(ended(ends(Finish::Cancelled, "")), Failed)
        .cause(Cause::Interrupted),
        sequence("claude: a permission is asked for", "the turn stands until it is answered")
            .begun()
            .see(asks(permission("toolu_1")), WaitingAsk)
            .answer(Answer::Allow, Running)
            .see(ask_over("toolu_1"), Running)
            .see(ended(said("ran it")), Completed)
            .cause(Cause::Answered)
            .result("ran it"),
    ]
}

/// "What lies": counting results.
fn results() -> Vec<Sequence> {
    vec![
        sequence(
            "claude: an extra result",
            "it wakes itself: a result that names no prompt of ours",
        )
        .begun()
        .see(active(), Running)
        .see(idle(), Running)
        .see(open().busy().seen(), Running)
        .see(ended(said("ours")), Completed)
        .see_of(1, 1, idle(), Completed)
        .cause(Cause::Answered)
        .result("ours"),
        sequence("claude: an empty result", "num_turns 0, names nothing: not an end")
            .begun()
            .see(idle(), Running)
            .see(open().busy().seen(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("claude: an empty answer to our prompt", "success without a word is empty")
            .begun()
            .see(ended(said("")), Failed)
            .cause(Cause::Empty),
        sequence("claude: a merged result", "one result names two prompts, ours among them")
            .begun()
            .see(active(), Running)
            .see(ended(said("to both")), Completed)
            .cause(Cause::Answered)
            .result("to both"),
        sequence("claude: the result of an earlier turn", "off by one: the next-turn leak")
            .begun()
            .see_of(1, 0, idle(), Running)
            .see_of(1, 9, ended(said("of another turn")), Running)
            .see(ended(said("ours")), Completed)
            .cause(Cause::Answered)
            .result("ours"),
    ]
}

/// "What lies": background commands.
fn background() -> Vec<Sequence> {
    vec![
        sequence(
            "claude: idle while a background command runs",
            "then it wakes by itself and says more",
        )
        .begun()
        .see(tool(1), Running)
        .see(ended(said("started it")), Running)
        .see(idle(), Running)
        .see(shows(said("started it")).call(1).seen(), Running)
        .see(busy(), Running)
        .see(ended(said("it passed")), Running)
        .see(tool_end(1), Completed)
        .cause(Cause::Answered)
        .result("it passed"),
        sequence("claude: task_notification of a foreground command", "filtered: an ordinary tool")
            .begun()
            .see(tool(1), Running)
            .see(tool_end(1), Running)
            .see(active(), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence(
            "claude: killed with its background command at the ceiling",
            "exit 0, and the work is lost",
        )
        .begun()
        .see(tool(1), Running)
        .see(ended(said("started it")), Running)
        .see(idle(), Running)
        .see(shows(said("started it")).call(1).seen(), Running)
        .see(interrupted(), Failed)
        .cause(Cause::Interrupted)
        .result("started it"),
        sequence("claude: stopped, for a task that had completed", "said after a resume: too late")
            .begun()
            .see(ended(said("4")), Completed)
            .see_of(1, 1, interrupted(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}

/// "What lies": exit codes.
fn ends_of_process() -> Vec<Sequence> {
    vec![
        sequence("claude: SIGINT, exit 0", "no result: interrupted, whatever the code")
            .begun()
            .see(active(), Running)
            .see(interrupted(), Failed)
            .cause(Cause::Interrupted),
        sequence("claude: the process ends after the result", "the result stands")
            .begun()
            .see(ended(said("4")), Completed)
            .see_of(1, 1, interrupted(), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("claude: kill -9 during the answer", "interrupted")
            .begun()
            .see(active(), Running)
            .see(look_failed(), Running)
            .see(open().other_program().seen(), Failed)
            .cause(Cause::Interrupted),
        sequence(
            "claude: kill -9, then resumed by policy",
            "the prompt runs once more, in its session",
        )
        .retry_interrupted(1)
        .begun()
        .see(interrupted(), Starting)
        .see(taken(), Running)
        .see_of(1, 1, ended(said("of the killed one")), Running)
        .see(ended(said("4")), Completed)
        .cause(Cause::Answered)
        .result("4"),
    ]
}

/// API errors: `subtype: success` with `is_error: true`.
fn errors() -> Vec<Sequence> {
    vec![
        sequence("claude: 401 as success with is_error", "an error, whatever the subtype")
            .begun()
            .see(ended(failed(ErrorClass::Auth, "Invalid API key")), Failed)
            .see_of(1, 1, interrupted(), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::Auth)
            .result("Invalid API key"),
        sequence(
            "claude: overloaded as success with is_error",
            "tried again later, in the same session",
        )
        .begun()
        .see(ended(failed(ErrorClass::Transient, "Overloaded")), Paused),
        sequence("claude: the longest answer is reached", "max_tokens is not success")
            .begun()
            .see(ended(ends(Finish::Length, "half")), Failed)
            .cause(Cause::Truncated)
            .result("half"),
    ]
}

fn stops() -> Vec<Sequence> {
    vec![
        sequence("claude: cancelled", "interrupt, the result, and then the whole tree")
            .begun()
            .see(tool(1), Running)
            .cancel(Stopping)
            .see(ended(ends(Finish::Cancelled, "half")), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked)
            .result("half"),
        sequence("claude: stop_task succeeds and nothing stops", "it succeeds for unknown ids too")
            .begun()
            .see(tool(1), Running)
            .cancel(Stopping)
            .see(stop_refused(), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked),
    ]
}
