//! How a task ended, said to people: what, why, and what to try.

use homing_core::view::TaskView;
use homing_runtime::{Cause, State};

use crate::expected::Expected;
use crate::out;

pub const NAME_MAX: usize = 60;

/// The exit code of an ended task.
pub fn code(task: &TaskView) -> u8 {
    u8::from(task.state != State::Completed)
}

/// Says how it ended, if it did not go well.
pub fn explain(task: &TaskView) {
    if task.state == State::Completed {
        return;
    }
    let cause = task.cause.map_or_else(String::new, |cause| format!(", {cause}"));
    out::warn(&format!("homing: {}{} ended as {}{cause}", task.id, named(task), task.state));
    if let Some(reason) = &task.reason {
        out::warn(&format!("  why: {}", out::plain(reason, 400)));
    }
    out::warn(&format!("  try: {}", hint(task)));
}

/// It goes on.
pub fn living(task: &TaskView, hint: String) -> Expected {
    let what = format!("{}{} has not ended: it is {}", task.id, named(task), task.state);
    Expected::WaitedOut { what, hint }
}

fn named(task: &TaskView) -> String {
    let name = task.name.as_deref().map(|name| format!(" ({})", out::plain(name, NAME_MAX)));
    name.unwrap_or_default()
}

fn hint(task: &TaskView) -> String {
    let error = task.error.as_ref();
    if error.is_some_and(|error| error.message.starts_with("spawn: ")) {
        return "see that the command is spelled right and on PATH".to_owned();
    }
    match task.cause {
        Some(Cause::Timeout) => {
            format!("a longer --timeout; homing why {} tells what it did", task.id)
        }
        Some(Cause::Exhausted) => {
            format!("one more --model; homing why {} tells every attempt", task.id)
        }
        Some(_) | None => format!("homing why {}", task.id),
    }
}
