//! A plain process: its exit alone ends it, and says how.

use homing_core::fact::{ErrorClass, Fact};
use homing_core::words::{Cause, State};

use super::facts::{
    absent, active, exit, interrupted, look_failed, made, of, open, signal, stop_refused, taken,
};
use super::{Sequence, sequence};

use State::{Cancelled, Completed, Failed, Lost, Running, Starting, Stopping};

pub fn sequences() -> Vec<Sequence> {
    let mut all = exits();
    all.extend(other_exits());
    all.extend(stops());
    all.extend(survivors());
    all.into_iter().map(|sequence| sequence.caps(false, false)).collect()
}

fn exits() -> Vec<Sequence> {
    vec![
        sequence("process: exit 0 with output", "exit 0")
            .begun()
            .see(active(), Running)
            .see(exit(0, "4\n"), Completed)
            .cause(Cause::Exited)
            .result("4\n"),
        sequence(
            "process: exit 0 without output",
            "exit 0, empty output: a command may say nothing",
        )
        .begun()
        .see(exit(0, ""), Completed)
        .cause(Cause::Exited),
        sequence("process: exit 0 with white space alone", "exit 0, blank output")
            .begun()
            .see(exit(0, "\n \n"), Completed)
            .cause(Cause::Exited)
            .result("\n \n"),
        sequence("process: exit 1 keeps what was written", "exit 1")
            .begun()
            .see(active(), Running)
            .see(exit(1, "half of it"), Failed)
            .cause(Cause::Exited)
            .result("half of it")
            .error(ErrorClass::Other),
        sequence("process: exit 1 without a word", "exit 1, empty output")
            .begun()
            .see(exit(1, ""), Failed)
            .cause(Cause::Exited)
            .error(ErrorClass::Other),
    ]
}

/// Exits that ask for something, and starts that fail.
fn other_exits() -> Vec<Sequence> {
    vec![
        sequence("process: exit 75 asks for the next model", "exit 75")
            .models(2)
            .begun()
            .see(exit(75, "busy"), Starting)
            .see(made(), Starting)
            .see(taken(), Running)
            .see(exit(0, "done"), Completed)
            .cause(Cause::Exited)
            .result("done"),
        sequence("process: exit 75 and no model left", "exit 75, the chain used up")
            .begun()
            .see(exit(75, "busy"), Failed)
            .cause(Cause::Error)
            .result("busy")
            .error(ErrorClass::TryNext),
        sequence("process: ended by a signal", "a signal is never success")
            .begun()
            .see(signal(9, "half"), Failed)
            .cause(Cause::Exited)
            .result("half")
            .error(ErrorClass::Other),
        sequence("process: it cannot be started", "the program is not there")
            .see(Fact::StartFailed { error: of(ErrorClass::Other) }, Failed)
            .cause(Cause::Error)
            .error(ErrorClass::Other),
        sequence("process: it exits before it is seen to start", "a very short command")
            .see(made(), Starting)
            .see(exit(0, "quick"), Completed)
            .cause(Cause::Exited)
            .result("quick"),
    ]
}

fn stops() -> Vec<Sequence> {
    vec![
        sequence("process: cancelled, and it ends by the signal", "abort ends the group")
            .begun()
            .cancel(Stopping)
            .see(signal(15, "half"), Cancelled)
            .see_of(1, 1, Fact::Stopped, Cancelled)
            .cause(Cause::Asked)
            .result("half"),
        sequence(
            "process: cancelled, and it says it went well",
            "exit 0 after an abort is no success",
        )
        .begun()
        .cancel(Stopping)
        .see(exit(0, "all of it"), Cancelled)
        .cause(Cause::Asked)
        .result("all of it"),
        sequence("process: something of it cannot be ended", "not confirmed is not cancelled")
            .begun()
            .cancel(Stopping)
            .see(stop_refused(), Stopping)
            .later(30_000, Lost)
            .cause(Cause::AbortUnconfirmed),
        sequence(
            "process: it ends by itself while it is asked",
            "a look at one that ended shows its exit",
        )
        .begun()
        .see(open().busy().seen(), Running)
        .see(exit(0, "4"), Completed)
        .cause(Cause::Exited)
        .result("4"),
    ]
}

fn survivors() -> Vec<Sequence> {
    vec![
        sequence(
            "process: it outlives the homing that started it",
            "its exit is not known afterwards",
        )
        .begun()
        .see(open().busy().program_unknown().seen(), Running)
        .see(interrupted(), Failed)
        .cause(Cause::Interrupted),
        sequence(
            "process: claimed and never noted",
            "a crash while it was started: never started again",
        )
        .see(interrupted(), Failed)
        .cause(Cause::Interrupted),
        sequence("process: nothing is known of it yet", "a look that finds nothing proves nothing")
            .see(look_failed(), Starting)
            .see(absent().busy_unknown().seen(), Starting)
            .see(made(), Starting)
            .see(taken(), Running)
            .see(exit(0, "4"), Completed)
            .cause(Cause::Exited)
            .result("4"),
    ]
}
