//! What people see beside their work: a word in the terminal that sent a task out, and a command of theirs for each end. Only for
//! the moment: what is owed is told elsewhere.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use homing_core::compose::{lasting, line};
use homing_core::refs::ParentRef;
use homing_core::words::State;
use homing_hosts::opencode::OpenCode;
use homing_ports::parent::{Onlooker, Sign};
use tokio::sync::mpsc;
use tracing::warn;

use super::log::DAEMON;

/// Signs that wait; who sees to them is not waited for.
const AHEAD: usize = 1_024;
/// What happens within this is told in one word, and after the hand-off itself.
const TOGETHER: Duration = Duration::from_millis(250);
/// Named one by one; the rest is counted.
const NAMED: usize = 4;
const NAME_CHARS: usize = 40;
/// A command of the user's that takes longer is ended.
const COMMAND: Duration = Duration::from_secs(10);

/// Takes signs, for `tell`.
pub struct Signs(mpsc::Sender<Sign>);

impl Signs {
    pub fn new() -> (Self, mpsc::Receiver<Sign>) {
        let (to, from) = mpsc::channel(AHEAD);
        (Self(to), from)
    }
}

impl Onlooker for Signs {
    fn see(&self, sign: Sign) {
        drop(self.0.try_send(sign));
    }
}

/// Tells people, until nothing comes any more. `ended` is run for each end.
pub async fn tell(mut signs: mpsc::Receiver<Sign>, opencode: OpenCode, ended: Vec<String>) {
    while let Some(first) = signs.recv().await {
        tokio::time::sleep(TOGETHER).await;
        let mut all = vec![first];
        while let Ok(next) = signs.try_recv() {
            all.push(next);
        }
        let mut by_parent: BTreeMap<&ParentRef, Vec<&Sign>> = BTreeMap::new();
        for sign in &all {
            by_parent.entry(&sign.parent).or_default().push(sign);
        }
        for (parent, signs) in by_parent {
            opencode.toast(parent, &words(&signs), variant(&signs)).await;
        }
        for sign in all.iter().filter(|sign| sign.depth == 0 && sign.state.is_terminal()) {
            run(&ended, sign).await;
        }
    }
}

fn name(sign: &Sign) -> String {
    let name = sign.name.as_deref().map(|name| line(name, NAME_CHARS));
    name.unwrap_or_else(|| sign.task.to_string())
}

/// `homing: tests completed after 12s, lint started after 3s in the queue`.
fn words(signs: &[&Sign]) -> String {
    let one = |sign: &&Sign| {
        let (name, lasted) = (name(sign), lasting(sign.lasted_ms));
        if sign.state == State::Starting {
            return format!("{name} started after {lasted} in the queue");
        }
        format!("{name} {} after {lasted}", sign.state.word().replace('_', " "))
    };
    let named: Vec<String> = signs.iter().take(NAMED).map(one).collect();
    let more = signs.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("homing: {}{more}", named.join(", "))
}

fn variant(signs: &[&Sign]) -> &'static str {
    let all = |is: fn(&Sign) -> bool| signs.iter().all(|sign| is(sign));
    if all(|sign| sign.state == State::Starting) {
        "info"
    } else if all(|sign| matches!(sign.state, State::Starting | State::Completed)) {
        "success"
    } else {
        "warning"
    }
}

/// What a task is called is a word of others: it stands in a word of the command, and in no shell's.
async fn run(command: &[String], sign: &Sign) {
    let filled = command.iter().map(|word| {
        word.replace("{task}", &sign.task.to_string())
            .replace("{state}", sign.state.word())
            .replace("{took}", &lasting(sign.lasted_ms))
            .replace("{name}", &name(sign))
    });
    let filled: Vec<String> = filled.collect();
    let Some((program, words)) = filled.split_first() else {
        return;
    };
    let mut command = tokio::process::Command::new(program);
    command.args(words).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let task = sign.task;
    match tokio::time::timeout(COMMAND, command.status()).await {
        Ok(Ok(ended)) if ended.success() => {}
        Ok(Ok(ended)) => warn!(target: DAEMON, %task, program, %ended, "hooks.ended failed"),
        Ok(Err(why)) => warn!(target: DAEMON, %task, program, %why, "hooks.ended cannot be run"),
        Err(_) => warn!(target: DAEMON, %task, program, "hooks.ended took too long, and was ended"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use homing_core::ids::TaskId;

    use super::*;

    fn sign(name: Option<&str>, state: State, lasted_ms: u64) -> Sign {
        let (task, parent) = (TaskId::from_bits(7), ParentRef::None);
        Sign { task, name: name.map(Arc::from), parent, depth: 0, state, lasted_ms }
    }

    #[test]
    fn what_happens_together_is_one_word() {
        let all = [
            sign(Some("tests"), State::Completed, 12_000),
            sign(Some("lint"), State::TimedOut, 65_000),
            sign(Some("docs"), State::Starting, 3_000),
            sign(None, State::Failed, 820),
            sign(Some("rest"), State::Completed, 1),
        ];
        let all: Vec<&Sign> = all.iter().collect();
        let id = TaskId::from_bits(7);
        assert_eq!(
            words(&all),
            format!(
                "homing: tests completed after 12s, lint timed out after 1m 05s, \
                 docs started after 3s in the queue, {id} failed after 820ms and 1 more"
            )
        );
        assert_eq!(
            [variant(&all), variant(&all[..1]), variant(&all[2..3])],
            ["warning", "success", "info"]
        );
    }

    #[test]
    fn a_name_cannot_leave_its_line() {
        let sign = sign(Some("a\u{1b}[2J\nb"), State::Completed, 1_000);
        let said = words(&[&sign]);
        assert!(!said.chars().any(char::is_control), "{said:?}");
    }
}
