//! A bot in a group: somebody asks in a thread, the parent sends two out and is busy with the next question when they come
//! home; the runtime is stopped and started in between. The room has one message, the parent's; markers are in telemetry.
//!
//! No agent program is needed: a scripted one plays the parent and the children, on the library and a store of its own.

use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{ConversationId, TaskId};
use homing_core::refs::Origin;
use homing_core::telemetry::Completion;
use homing_core::wire::{TurnEvent, TurnView};
use homing_hosts::system::{SystemClock, SystemIds};
use homing_ports::memory::telemetry::MemoryTelemetry;
use homing_rooms::memory::{MemoryRoom, Posted};
use homing_runtime::{Homing, Launch, ParentRef, Runtime};
use homing_store::SqliteStore;
use homing_testkit::scripted::{Script, ScriptedHost};

use super::Stage;
use crate::out;

/// Nothing here takes so long.
const MOST: Duration = Duration::from_secs(60);
/// The thread that the request came from.
const THREAD: &str = "thread:team/lobby#question-1";
const SUMMARY: &str = "Both are done: the logs show one slow query, and the fix is in review.";
const ERRANDS: [(&str, &str); 2] =
    [("read the logs", "One query is slow."), ("write the fix", "The fix is in review.")];
/// Where the scripted ones stand until the story goes on.
const DELEGATES: &str = "delegates";
const GATE: &str = "works";

pub fn group() -> anyhow::Result<u8> {
    let stage = Stage::new()?;
    let running = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    running.block_on(async {
        let played = tokio::time::timeout(MOST, play(&stage)).await;
        played.unwrap_or_else(|_| Err(anyhow::anyhow!("the demo took longer than {MOST:?}")))
    })
}

/// What outlives a restart: the agent program, the room, a monitor, and the ledger.
struct Around {
    host: ScriptedHost,
    room: Arc<MemoryRoom>,
    monitor: Arc<MemoryTelemetry>,
    ledger: std::path::PathBuf,
}

impl Around {
    fn start(&self) -> anyhow::Result<Homing> {
        let store = SqliteStore::open(&self.ledger)?;
        let (clock, ids) = (SystemClock::new()?, SystemIds::new()?);
        let runtime = Runtime::new(Box::new(store), Arc::new(clock), Arc::new(ids))
            .host(Arc::new(self.host.clone()))
            .room("team", self.room.clone())
            .telemetry(self.monitor.clone());
        Ok(runtime.start()?)
    }
}

fn say(line: &str) -> anyhow::Result<()> {
    Ok(out::write(format!("{line}\n").as_bytes())?)
}

async fn play(stage: &Stage) -> anyhow::Result<u8> {
    let around = Around {
        host: ScriptedHost::new("scripted"),
        room: Arc::default(),
        monitor: Arc::default(),
        ledger: stage.path("ledger"),
    };
    let homing = around.start()?;
    let origin: Origin = THREAD.parse()?;
    let launch = Launch::prompt("scripted", "").named("team bot").origin(origin);
    let (chat, _) = homing.converse(launch).await?;
    say(&format!("A bot speaks in a group as {chat}; somebody asks in the thread {THREAD}.\n"))?;

    let children = first_turn(&homing, &around, chat).await?;

    say("turn 2   somebody asks: What is 2+2?")?;
    around.host.script(chat.task(), Script::new().gate(GATE).say("4").end());
    let (second, _) = homing.speak(chat, "What is 2+2?", None).await?;
    around.host.reached(chat.task(), GATE).await;
    for child in children {
        around.host.release(child, GATE);
        homing.wait(child, MOST).await?;
        say(&format!("         …while that is answered, {child} ends"))?;
    }
    say("         the daemon is stopped and started again")?;
    homing.stop().await;
    let homing = around.start()?;
    around.host.script(chat.task(), Script::answer(SUMMARY));
    around.host.release(chat.task(), GATE);
    say(&format!(
        "turn 2   the stream of this turn holds: {:?}",
        stream(&homing, chat, second).await?
    ))?;

    let told = debriefed(&homing, chat).await?;
    say(&format!("turn {}   what was sent out came home, in a turn of its own", told.turn))?;
    // Posted after the turn's end is written down.
    let mut head = homing.head();
    while around.room.messages().is_empty() {
        head.changed().await?;
    }
    tell(&around)
}

/// Somebody asks, and the parent sends two out in its turn.
async fn first_turn(
    homing: &Homing,
    around: &Around,
    chat: ConversationId,
) -> anyhow::Result<Vec<TaskId>> {
    say("turn 1   somebody asks: Why is the site slow?")?;
    let answer = "I have sent two out; you will hear from me.";
    around.host.script(chat.task(), Script::new().gate(DELEGATES).say(answer).end());
    let (first, _) = homing.speak(chat, "Why is the site slow?", None).await?;
    around.host.reached(chat.task(), DELEGATES).await;
    let mut children = Vec::new();
    for (name, result) in ERRANDS {
        let id = homing.mint();
        around.host.script(id, Script::new().gate(GATE).say(result).end());
        // As a tool inside of the conversation calls.
        let launch = Launch::prompt("scripted", name).named(name).launched_by(chat.task());
        let parent = ParentRef::Task(chat.task());
        homing.launch_as(id, launch.parent(parent)).await?;
        children.push(id);
        say(&format!("         sends {id} out: {name}"))?;
    }
    around.host.release(chat.task(), DELEGATES);
    say(&format!("turn 1   answers: {:?}", stream(homing, chat, first).await?))?;
    Ok(children)
}

/// What the stream of one turn comes to.
async fn stream(homing: &Homing, chat: ConversationId, turn: u32) -> anyhow::Result<String> {
    let mut events = homing.follow(chat, turn, None).await?;
    while let Some(event) = events.recv().await {
        if let TurnEvent::Ended(view) = event {
            return Ok(view.text.unwrap_or_default());
        }
    }
    anyhow::bail!("the stream of turn {turn} has no end")
}

/// The turn that told of the tasks, once it is over.
async fn debriefed(homing: &Homing, chat: ConversationId) -> anyhow::Result<TurnView> {
    let mut head = homing.head();
    loop {
        head.borrow_and_update();
        let turns = homing.conversation(chat).await?.turns;
        let over = |turn: &TurnView| turn.cause == "tasks" && turn.ended_at.is_some();
        if let Some(told) = turns.into_iter().find(over) {
            return Ok(told);
        }
        head.changed().await?;
    }
}

/// What people see, what a monitor sees, and whether that is right.
fn tell(around: &Around) -> anyhow::Result<u8> {
    let room: Vec<Posted> = around.room.messages();
    let monitor: Vec<Completion> = around.monitor.records();
    say("\nthe room")?;
    for post in &room {
        say(&format!("  {}  {}", post.origin, String::from_utf8_lossy(&post.text)))?;
    }
    say("telemetry")?;
    for record in &monitor {
        say(&format!("  {} {} {}", record.task, record.status, record.summary))?;
    }
    let words: Vec<_> = room.iter().map(|post| String::from_utf8_lossy(&post.text)).collect();
    let right = words == [SUMMARY] && room[0].origin.to_string() == THREAD;
    let verdict = format!(
        "\n1 question, 2 tasks, 1 restart: {} in the thread, {} completion records, {}",
        counted(room.len(), "message"),
        monitor.len(),
        if right { "no marker in the room" } else { "and that is wrong" }
    );
    say(&verdict)?;
    Ok(u8::from(!right || monitor.len() != 2))
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
