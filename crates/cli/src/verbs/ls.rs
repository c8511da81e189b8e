//! `homing ls`: tasks as last committed, newest first.

use std::collections::BTreeMap;
use std::fmt::Write;

use homing_core::nearest::unknown;
use homing_core::refs::ParentRef;
use homing_core::view::TaskView;
use homing_core::wire::ListQuery;
use homing_runtime::{State, TaskId};

use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing ls
  homing ls --all
  homing ls --state failed
  homing ls --parent inbox:reports --tree
  homing ls --all --json";

/// Of one page; the next one follows.
const PAGE: usize = 1_000;

/// List tasks, newest first: those that have not ended, or all
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Also those that have ended
    #[arg(long)]
    all: bool,

    /// Only those in this state, ended or not
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<State>,

    /// Only those that this parent is told of
    #[arg(long, value_name = "REF")]
    parent: Option<ParentRef>,

    /// Each below the task that sent it out
    #[arg(long)]
    tree: bool,

    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
}

fn state(text: &str) -> Result<State, String> {
    let known = State::ALL.iter().copied().find(|known| known.word() == text);
    known.ok_or_else(|| unknown("state", text, State::ALL.iter().map(|known| known.word())))
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    if !home.ledger().exists() {
        if args.json {
            out::json(&Vec::<()>::new())?;
        } else {
            out::warn(&format!("nothing was ever kept in {}", home.dir().display()));
        }
        return Ok(0);
    }
    let talk = Talk::with(home)?;
    let asked = ListQuery {
        living: (!args.all && args.state.is_none()).then(|| "true".to_owned()),
        state: args.state.map(|state| state.word().to_owned()),
        parent: args.parent.as_ref().map(ToString::to_string),
        ..ListQuery::default()
    };
    let mut tasks = interruptible(pages(&talk, asked))?;
    let depths = if args.tree { tree(&mut tasks) } else { BTreeMap::new() };
    if args.json {
        out::json(&tasks)?;
        return Ok(0);
    }
    if tasks.is_empty() {
        let narrow = args.all || args.state.is_some();
        let more = if narrow { "" } else { "; homing ls --all also lists what has ended" };
        out::warn(&format!("no tasks{more}"));
        return Ok(0);
    }
    let depth = |id: TaskId| depths.get(&id).copied().unwrap_or(0);
    out::write(table(&tasks, depth)?.as_bytes())?;
    Ok(0)
}

/// All pages.
pub async fn pages(talk: &Talk, mut asked: ListQuery) -> Result<Vec<TaskView>, Expected> {
    asked.limit = Some(PAGE.to_string());
    let mut all = Vec::new();
    loop {
        let page = talk.ask(async |client| client.list(&asked).await).await?;
        all.extend(page.tasks);
        if page.next.is_none() {
            return Ok(all);
        }
        asked.cursor = page.next;
    }
}

/// One line a task, its name as far in as it is deep.
pub fn table(
    tasks: &[TaskView],
    depth: impl Fn(TaskId) -> usize,
) -> Result<String, std::fmt::Error> {
    let mut text = format!("{:15}  {:16}  {:20}  NAME\n", "ID", "STATE", "SINCE");
    for task in tasks {
        let since = task.ended_at.as_ref().or(task.started_at.as_ref());
        let since = since.unwrap_or(&task.created_at);
        let name = out::plain(task.name.as_deref().unwrap_or("-"), 60);
        let indent = "  ".repeat(depth(task.id));
        let state = out::tinted(task.state, 16);
        // Of a conversation that is what runs: a turn, by the name that `chat` takes.
        if let Some(talk) = task.conversation {
            let turn = task.generation;
            writeln!(text, "{talk}  {state}  {since}  {indent}{name} (conversation, turn {turn})")?;
            continue;
        }
        writeln!(text, "{}  {state}  {since}  {indent}{name}", task.id)?;
    }
    Ok(text)
}

/// Puts every task below the one that sent it out, if that is listed, and tells how deep each is.
fn tree(tasks: &mut Vec<TaskView>) -> BTreeMap<TaskId, usize> {
    let listed: BTreeMap<TaskId, Option<TaskId>> =
        tasks.iter().map(|task| (task.id, task.launched_by)).collect();
    let above =
        |id: &TaskId| listed.get(id).copied().flatten().filter(|above| listed.contains_key(above));
    let mut below: BTreeMap<Option<TaskId>, Vec<TaskView>> = BTreeMap::new();
    for task in tasks.drain(..) {
        below.entry(above(&task.id)).or_default().push(task);
    }
    let mut depths = BTreeMap::new();
    // The next one is the last: those that come first are put on top.
    let mut open: Vec<(TaskView, usize)> = Vec::new();
    let put = |open: &mut Vec<(TaskView, usize)>, each: Option<Vec<TaskView>>, deep: usize| {
        open.extend(each.into_iter().flatten().rev().map(|task| (task, deep)));
    };
    put(&mut open, below.remove(&None), 0);
    while let Some((task, deep)) = open.pop() {
        depths.insert(task.id, deep);
        put(&mut open, below.remove(&Some(task.id)), deep + 1);
        tasks.push(task);
    }
    depths
}
