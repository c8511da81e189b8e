//! What the log tells of a hand-off, step by step: seen by one who listens to everything.

use std::fmt::Debug;
use std::sync::{Mutex, Once};

use homing_core::input::{DeliveryFact, ParentFact};
use homing_core::payload::Payload;
use homing_ports::memory::parent::Manner;
use homing_runtime::{DebriefId, ParentRef, TaskId};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::stage::{Stage, ask, end, launch, session, settled, soon, until};

/// Everything that was said, by all tests of this program: target, level, message, fields.
static SAID: Mutex<Vec<Said>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, Default)]
struct Said {
    target: String,
    level: String,
    message: String,
    fields: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields += &format!("{name}={value:?} "),
        }
    }
}

struct Listens;

impl Subscriber for Listens {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target().starts_with("homing::")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let about = event.metadata();
        let (target, level) = (about.target().to_owned(), about.level().to_string());
        let mut said = Said { target, level, ..Said::default() };
        event.record(&mut said);
        SAID.lock().unwrap().push(said);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// From now on everything is heard; by other tests' runtimes, too.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listens).unwrap());
}

fn said_of(key: &str) -> Vec<Said> {
    let all = SAID.lock().unwrap();
    all.iter().filter(|said| said.fields.contains(key)).cloned().collect()
}

/// The debrief that a parent has, once its turn on it is awaited.
async fn synthesising(stage: &Stage, parent: &ParentRef) -> DebriefId {
    loop {
        let told = stage.parents.told(parent);
        if let [told] = &told[..]
            && let said = said_of(&format!("key={} ", told.key))
            && said.iter().any(|said| said.message == "parent synthesising")
        {
            return told.key;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn g22_the_debug_log_tells_the_hand_off_in_order() {
    listen();
    let mut stage = Stage::new();
    // It is not woken again meanwhile.
    stage.limits.wake_ms = 60_000;
    let parent = session("cv_told");
    // In a turn of its own, as one is that has just delegated: nothing is put into it.
    stage.parents.begin_turn(&parent, "first");
    let homing = stage.start();
    let began = ParentFact::TurnBegan { turn: "first".into() };
    soon(homing.parent(parent.clone(), began)).await.unwrap();
    let asked = ask("@say hush-text\n@end").named("hush-name").parent(parent.clone());
    // Of no other test: they all listen to the same.
    let id = TaskId::from_bits(0x6722);
    soon(homing.launch_as(id, asked)).await.unwrap();
    end(&homing, id).await;
    until(&homing, id, |task| task.telemetry.is_empty()).await.unwrap();
    stage.parents.end_turn(&parent);
    let ended = ParentFact::TurnEnded { turn: "first".into() };
    soon(homing.parent(parent.clone(), ended)).await.unwrap();
    let key = soon(synthesising(&stage, &parent)).await;
    let text = Some(Payload::from("a summary"));
    soon(homing.delivered(key, DeliveryFact::Answered { text })).await.unwrap();
    settled(&homing, id).await;
    let steps = said_of(&format!("key={key} "));
    let first: Vec<&str> = steps.iter().map(|said| &*said.message).take(6).collect();
    let expected = [
        "context found",
        "session resolved",
        "context delivered",
        "telemetry emitted",
        "parent synthesising",
        "parent answered",
    ];
    assert_eq!(first, expected, "{steps:?}");
    assert!(steps.iter().all(|said| said.level == Level::DEBUG.as_str()));
    let of_task = said_of(&format!("task={id} "));
    let plain: Vec<(&str, &str)> = of_task
        .iter()
        .filter(|said| said.level == Level::INFO.as_str())
        .map(|said| (&*said.target, &*said.message))
        .collect();
    let task = "homing::task";
    assert_eq!(plain, [(task, "accepted"), (task, "started"), (task, "ended")]);
    let ended = of_task.iter().find(|said| said.message == "ended").unwrap();
    assert!(ended.fields.contains("state=completed") && ended.fields.contains("answered"));
    let all = format!("{:?}", SAID.lock().unwrap());
    assert!(!all.contains("hush") && !all.contains("a summary"), "nobody's words are in it");
    soon(homing.stop()).await;
}

#[tokio::test]
async fn a_delivery_that_fails_is_told_with_its_key_and_reason() {
    listen();
    let stage = Stage::new();
    let parent = session("cv_late");
    stage.parents.behave(&parent, Manner::Answers("ok".into()));
    stage.parents.refuse(&parent, 1);
    let homing = stage.start();
    let id = launch(&homing, ask("Count.").parent(parent.clone())).await;
    settled(&homing, id).await;
    let key = stage.parents.told(&parent)[0].key;
    let said = said_of(&format!("key={key} "));
    let failed = said.iter().find(|said| said.message.starts_with("a delivery failed")).unwrap();
    assert_eq!(failed.level, Level::INFO.as_str());
    assert!(failed.fields.contains("why=it takes nothing now"), "{failed:?}");
    assert!(said.iter().any(|said| said.message == "context delivered"), "{said:?}");
    soon(homing.stop()).await;
}

#[tokio::test]
async fn g22_a_hand_off_in_a_turn_of_a_conversation_is_told_in_order_too() {
    listen();
    let stage = Stage::new();
    let homing = stage.start();
    let (chat, _) = soon(homing.converse(ask(""))).await.unwrap();
    // Somebody speaks until telemetry has the task's end.
    soon(homing.speak(chat, "@gate speaks\n@say yes\n@end", None)).await.unwrap();
    soon(stage.host.reached(chat.task(), "speaks")).await;
    let id = TaskId::from_bits(0x6723);
    let launch = ask("Count.").parent(ParentRef::Conversation(chat));
    soon(homing.launch_as(id, launch)).await.unwrap();
    until(&homing, id, |task| task.telemetry.is_empty() && !task.is_living()).await.unwrap();
    stage.host.release(chat.task(), "speaks");
    settled(&homing, id).await;
    let turns = soon(homing.conversation(chat)).await.unwrap().turns;
    let key = turns.iter().find_map(|turn| turn.debrief).unwrap();
    let steps = said_of(&format!("key={key} "));
    let said: Vec<&str> = steps.iter().map(|said| &*said.message).collect();
    let expected = [
        "context found",
        "session resolved",
        "context delivered",
        "telemetry emitted",
        "parent synthesising",
    ];
    assert_eq!(said, expected, "{steps:?}");
    soon(homing.stop()).await;
}
