//! Codex by its own protocols: `app-server`, where every event names its turn, and `exec --json`.

use homing_core::fact::{ErrorClass, Fact, Finish};
use homing_core::words::{Cause, State};

use super::facts::{
    active, ended, ends, error_word, failed, interrupted, only_tools, said, shows, tool, tool_end,
};
use super::{Sequence, sequence};

use State::{Cancelled, Completed, Failed, Running, Stopping};

pub fn sequences() -> Vec<Sequence> {
    vec![
        sequence("codex: turn/completed of our turn", "app-server: turn/completed ends it")
            .begun()
            .see(tool(1), Running)
            .see(tool_end(1), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("codex: turn/completed of another turn", "every event names thread and turn")
            .begun()
            .see_of(1, 7, ended(said("not ours")), Running)
            .see(ended(said("4")), Completed)
            .cause(Cause::Answered)
            .result("4"),
        sequence("codex: turn/interrupt by somebody", "the turn ends as interrupted")
            .begun()
            .see(active(), Running)
            .see(ended(ends(Finish::Cancelled, "half")), Failed)
            .cause(Cause::Interrupted)
            .result("half"),
        sequence("codex: turn/interrupt by us", "turn/interrupt names the turn")
            .begun()
            .cancel(Stopping)
            .see(ended(ends(Finish::Cancelled, "half")), Stopping)
            .see(Fact::Stopped, Cancelled)
            .cause(Cause::Asked)
            .result("half"),
        sequence("codex exec: turn.completed", "exec --json, exit 0")
            .begun()
            .see(ended(only_tools()), Completed)
            .cause(Cause::NoText)
            .flagged(),
        sequence("codex exec: turn.failed", "exec --json, exit 1")
            .begun()
            .see(error_word(ErrorClass::BadRequest), Running)
            .see(ended(failed(ErrorClass::BadRequest, "")), Failed)
            .cause(Cause::Error)
            .error(ErrorClass::BadRequest),
        sequence("codex exec: it ends without either word", "an exit is not the end of a turn")
            .begun()
            .see(active(), Running)
            .see(interrupted(), Failed)
            .cause(Cause::Interrupted),
        sequence("codex: the thread read again after its end", "the same end, seen twice")
            .begun()
            .see(ended(said("4")), Completed)
            .see_of(1, 1, shows(said("4")).seen(), Completed)
            .cause(Cause::Answered)
            .result("4"),
    ]
}
