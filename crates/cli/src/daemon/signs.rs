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
        put(&self.0, sign);
    }
}

fn put(to: &mpsc::Sender<Sign>, sign: Sign) {
    let task = sign.task;
    if to.try_send(sign).is_err() {
        warn!(target: DAEMON, %task, "too much happens at once: nobody is shown this");
    }
}

/// Tells people, until nothing comes any more. `ended` is run for each end, one after the other: nothing else waits for that.
pub async fn tell(mut signs: mpsc::Receiver<Sign>, opencode: OpenCode, ended: Vec<String>) {
    let (ends, mut to_run) = mpsc::channel::<Sign>(AHEAD);
    let runs = async move {
        while let Some(sign) = to_run.recv().await {
            run(&ended, &sign).await;
        }
    };
    let tells = async move {
        while let Some(all) = together(&mut signs).await {
            show(&opencode, &all);
            let of_people = |sign: &Sign| sign.depth == 0 && sign.state.is_terminal();
            all.into_iter().filter(of_people).for_each(|sign| put(&ends, sign));
        }
    };
    tokio::join!(runs, tells);
}

/// What happens within a moment.
async fn together(signs: &mut mpsc::Receiver<Sign>) -> Option<Vec<Sign>> {
    let mut all = vec![signs.recv().await?];
    tokio::time::sleep(TOGETHER).await;
    while let Ok(next) = signs.try_recv() {
        all.push(next);
    }
    Some(all)
}

/// A word for each parent; one whose program is suspended holds up nobody.
fn show(opencode: &OpenCode, all: &[Sign]) {
    let mut by_parent: BTreeMap<&ParentRef, Vec<&Sign>> = BTreeMap::new();
    for sign in all {
        by_parent.entry(&sign.parent).or_default().push(sign);
    }
    for (parent, signs) in by_parent {
        let (opencode, parent) = (opencode.clone(), parent.clone());
        let (words, variant) = (words(&signs), variant(&signs));
        tokio::spawn(async move { opencode.toast(&parent, &words, variant).await });
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
