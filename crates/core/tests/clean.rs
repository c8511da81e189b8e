//! What is written down reads back: specs, rows, journal lines, debriefs and posts survive JSON.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod stage;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use homing_core::fact::{AskKind, ErrorClass, Exit, Fact, Fence, HostError, Picture, TurnRecord};
use homing_core::fold;
use homing_core::ids::{AskId, DebriefId, PostId, TaskId};
use homing_core::input::ParentFact;
use homing_core::outbox::{Debrief, Post, PostKind};
use homing_core::payload::{Payload, TextRef};
use homing_core::reason::{Caller, Reason};
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::spec::{Budget, Model, Overrides, Spec, Spend};
use homing_core::task::{Answer, BatchId, Live, Task};
use homing_core::words::{Cause, Code, DeliveryState, State, Tri};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stage::host::{ask, bad, call, error, good, open_picture, spent};
use stage::launch::{by_model, task};
use stage::{HOUR, MINUTE, SECOND, Stage, parent_ref};

fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    assert_eq!(back, *value, "{text}");
}

fn a_text() -> TextRef {
    TextRef { full_bytes: Some(9_000_000), blank: true, ..Payload::from("héllo\n").text }
}

fn an_error() -> HostError {
    HostError {
        class: ErrorClass::Quota,
        status: Some(429),
        name: "QuotaError".into(),
        message: "\"used up\"\u{0}\n".into(),
        retry_after_ms: Some(u64::MAX),
        until_wall: Some(i64::MIN),
    }
}

fn a_rich_spec() -> Spec {
    let over = Overrides {
        start_ms: Some(1),
        quiet_ms: Some(2),
        never_active_ms: Some(3),
        stop_ms: Some(4),
        ask_ms: Some(5),
        same_calls: Some(6),
        all_calls: Some(7),
        attempts: Some(8),
        retry_interrupted: Some(9),
        timeout_ms: Some(u64::MAX),
    };
    let budget = Budget { calls: Some(1), tokens: Some(2), cost: Some(3), wall_ms: Some(4) };
    let launch = by_model("näme \"x\"", &["p/a", "q/b"])
        .parent("claude@laptop:5b0c-1")
        .origin("thread:matrix/!room:server#$root")
        .agent("build")
        .key("k")
        .priority(-3)
        .budget(budget)
        .over(over)
        .parent_turn("t1")
        .batch("night")
        .permissions(&["read", "write"])
        .after(&[TaskId::from_bits(7)]);
    let mut spec = launch.into_spec();
    spec.launched_by = Some(TaskId::from_bits(u64::MAX));
    spec.order.env = vec!["TOKEN".to_owned()];
    spec.order.system = Some("be brief".to_owned());
    spec.order.cwd = Some("/tmp/with space/ü".to_owned());
    spec.order.tools = vec!["bash".to_owned()];
    spec.order.delegate = true;
    let high = |model: &Model| Model { variant: Some("high".into()), ..model.clone() };
    spec.brief.models = spec.brief.models.iter().map(high).collect();
    spec
}

#[test]
fn a_spec_reads_back_full_and_bare() {
    reads_back(&a_rich_spec());
    reads_back(&task("bare").into_spec());
}

#[test]
fn a_debrief_reads_back() {
    let full = Debrief {
        id: DebriefId::from_bits(1),
        parent: parent_ref("opencode:ses_1"),
        origin: Some("pigeon:loft/7".parse().unwrap()),
        batch: BatchId::Turn("t1".into()),
        notices: vec![(TaskId::from_bits(1), 1), (TaskId::from_bits(2), 9)],
        text: a_text(),
        nonce: "n".into(),
        sealed: Some(8),
        state: DeliveryState::Sent,
        tries: 3,
        next: 4,
        first_sent: Some(5),
        accepted: Some(6),
        lease: Some(("reader".into(), 7)),
        code: Some(Code::HandshakeFailed),
        closed: Some(8),
        parked: true,
        why: Some("it answered 410".into()),
        again: Some(9),
        answer: Some((TaskId::from_bits(3), a_text())),
    };
    reads_back(&full);
    let (origin, lease) = (None, None);
    let bare = Debrief {
        origin,
        lease,
        sealed: None,
        first_sent: None,
        accepted: None,
        code: None,
        closed: None,
        parked: false,
        why: None,
        again: None,
        answer: None,
        ..full
    };
    reads_back(&bare);
    for batch in [BatchId::Named("a".into()), BatchId::Open(7)] {
        reads_back(&Debrief { batch, ..bare.clone() });
    }
}

#[test]
fn a_post_reads_back() {
    let kinds = [
        PostKind::Answer { debrief: DebriefId::from_bits(3) },
        PostKind::Marker {
            task: TaskId::from_bits(4),
            generation: 2,
            code: Code::TelemetryFallback,
        },
    ];
    for kind in kinds {
        let post = Post {
            id: PostId::from_bits(1),
            origin: "group:matrix/!room#$root".parse().unwrap(),
            kind,
            text: a_text(),
            seq: u64::MAX,
            state: DeliveryState::Undeliverable,
            tries: 1,
            next: 2,
            code: Some(Code::RoomClosed),
            why: Some("not a member".into()),
            closed: Some(3),
        };
        reads_back(&post);
        reads_back(&OutboxRecord::PostSealed {
            post: Box::new(Post { code: None, why: None, closed: None, ..post }),
        });
    }
}

/// One of every fact.
fn facts() -> Vec<Fact> {
    let ended = Picture {
        turn: TurnRecord::Ended(good("")),
        busy: Tri::No,
        calls: vec![call(1, "bash", None)],
        asks: Some(vec![ask("k", AskKind::Question)]),
        todos: Some(3),
        ..open_picture()
    };
    vec![
        Fact::SessionMade { session: "ses".into() },
        Fact::StartFailed { error: an_error() },
        Fact::StartUnsure { why: "?".into() },
        Fact::PromptTaken,
        Fact::PromptRefused { error: an_error() },
        Fact::PromptUnsure { why: "?".into() },
        Fact::Active,
        Fact::ToolBegan { call: call(u64::MAX, "bash", Some(u64::MAX)) },
        Fact::ToolEnded { id: 1 },
        spent(1, 2),
        Fact::AskOpened { ask: ask("k", AskKind::Permission) },
        Fact::AskClosed { key: "k".into() },
        Fact::Todos { open: 1 },
        Fact::Ended { end: bad(an_error()) },
        Fact::EndHint,
        Fact::ErrorHint { error: an_error() },
        Fact::ProviderWait { error: an_error() },
        Fact::OddWord { word: "meditating".into() },
        Fact::Busy,
        Fact::Compacted,
        Fact::Exited { exit: Exit { code: None, signal: Some(9) }, text: None },
        Fact::Looked { picture: ended },
        Fact::Looked {
            picture: Picture { turn: TurnRecord::Absent, asks: None, ..open_picture() },
        },
        Fact::Looked { picture: Picture { turn: TurnRecord::Unreadable, ..open_picture() } },
        Fact::LookFailed { why: "?".into() },
        Fact::Interrupted { why: "?".into() },
        Fact::SessionDeleted,
        Fact::HostGone { why: "?".into() },
        Fact::Stopped,
        Fact::StopRefused { why: "?".into() },
    ]
}

/// Lines that a story seldom writes.
fn rare_lines() -> Vec<TaskRecord> {
    let id = TaskId::from_bits(5);
    let amount = Spend { calls: 1, tokens: 2, cost: u64::MAX };
    vec![
        TaskRecord::Late { text: a_text() },
        TaskRecord::Result { text: Some(a_text()), error: Some(Box::new(an_error())) },
        TaskRecord::Result { text: None, error: None },
        TaskRecord::AskMoved {
            ask: AskId::from_bits(1),
            to: homing_core::task::AskState::Answered,
            answer: Some(Answer::Text("blue".into())),
            by: Some(Caller::Task(id)),
        },
        TaskRecord::NoticeMoved {
            generation: 1,
            to: DeliveryState::Undeliverable,
            debrief: Some(DebriefId::from_bits(2)),
            code: Some(Code::SessionNotFound),
        },
        TaskRecord::Reserved { child: id, amount },
        TaskRecord::Refunded { child: id, amount, used: Spend::default() },
        TaskRecord::Charged { child: id, used: amount },
        TaskRecord::OrphanGone { attempt: 1, confirmed: false },
    ]
}

/// Work that goes through everything: models, pauses, asks, sends, children, heirs, resumes.
fn story() -> Stage {
    let mut stage = Stage::slots(5);
    let budget = Budget { tokens: Some(1_000), ..Budget::default() };
    let a = stage.launch_running(by_model("a", &["p/a", "p/b"]).budget(budget).key("k"));
    let b = stage
        .launch_running(task("b").by(a).budget(Budget { tokens: Some(10), ..Budget::default() }));
    let c = stage.launch(task("c").by(a).after(&[b]));
    stage.observe(b, spent(5, 5));
    stage.observe(c, Fact::EndHint);
    stage.observe(a, spent(5, 5));
    stage.asks_question(a, "k");
    let ask = stage.open_ask(a);
    stage.answer_ask(ask, Answer::Text("blue".into()), Caller::Person);
    stage.answer_taken(ask);
    stage.send(a, "and then?");
    stage.ended(a, bad(error(ErrorClass::RateLimited)));
    stage.stopped(a);
    stage.start(a);
    stage.answer(b, "b");
    stage.start(c);
    stage.answer(a, "first");
    stage.prompt_taken(a);
    stage.answer(a, "second");
    stage.answer(c, "c");
    stage.compose();
    stage.prompt_taken(a);
    stage.answer(a, "third");
    assert_eq!(stage.state(a), State::Completed);
    stage.compose();
    stage.resume_for(a, "more", Some("opencode:ses_p"));
    stage.start(a);
    stage.cancel(a);
    stage.advance(30 * SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    stage.parent("opencode:ses_p", ParentFact::Deleted);
    let d = stage.launch(task("d"));
    stage.cancel(d);
    stage.advance(30 * SECOND);
    let session: Arc<str> = stage.session_of(d).into();
    stage.observe_at(d, Fence { attempt: 1, turn: 0 }, Fact::SessionMade { session });
    stage.telemetry_taken(d, 1);
    let e = stage.launch_running(by_model("e", &["q/a", "q/b"]));
    stage.ended(e, bad(error(ErrorClass::RateLimited)));
    stage.cancel(e);
    let f = stage.launch_running(task("f"));
    stage.ended(
        f,
        bad(HostError { until_wall: Some(stage.now.wall + 1), ..error(ErrorClass::Quota) }),
    );
    stage.adopt("ses_x", task("x").parent("opencode:ses_p"));
    stage.adopt("ses_x", task("x").parent("opencode:ses_q"));
    heirs(&mut stage);
    stage
}

/// What is owed to one that ended goes to the one above.
fn heirs(stage: &mut Stage) {
    let top = stage.launch_running(task("top"));
    let mid = stage.launch_running(task("mid").by(top));
    let low = stage.launch_running(task("low").by(mid));
    stage.answer(low, "found");
    stage.cancel(mid);
    stage.stopped(mid);
    assert_eq!(stage.notices(low)[0].to, homing_core::refs::ParentRef::Task(top));
}

#[test]
fn every_kind_of_line_is_written_the_same_after_it_was_read() {
    let fence = Fence { attempt: u32::MAX, turn: 0 };
    let mut lines: Vec<TaskRecord> = story()
        .journal
        .into_iter()
        .filter_map(|written| match written.record {
            Record::Task(_, record) => Some(record),
            Record::Outbox(record) => {
                reads_back(&record);
                None
            }
        })
        .collect();
    lines.extend(facts().into_iter().map(|fact| TaskRecord::Seen { fence, fact }));
    lines.extend(rare_lines());
    let mut words = BTreeSet::new();
    for line in &lines {
        let text = serde_json::to_string(line).unwrap();
        let back: TaskRecord =
            serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert_eq!(back.word(), line.word());
        let named = format!("\"record\":\"{}\"", line.word());
        assert!(text.contains(&named), "{text} is not called {named}");
        words.insert(line.word());
    }
    let all: BTreeSet<&str> = KINDS.into_iter().collect();
    assert_eq!(words, all, "every kind of line, and no other");
}

const KINDS: [&str; 24] = [
    "accepted",
    "dependency_met",
    "attempt_opened",
    "generation_opened",
    "turn_opened",
    "moved",
    "stop_turned",
    "seen",
    "stale",
    "late",
    "result",
    "ask_opened",
    "ask_moved",
    "ask_done",
    "send_taken",
    "notice_moved",
    "notice_routed",
    "parent_moved",
    "reserved",
    "refunded",
    "charged",
    "telemetry_taken",
    "orphan_seen",
    "orphan_gone",
];

#[test]
fn every_fact_is_written_under_its_own_word() {
    for fact in facts() {
        let text = serde_json::to_string(&fact).unwrap();
        assert!(text.contains(&format!("\"fact\":\"{}\"", fact.word())), "{text}");
    }
    let words: BTreeSet<&str> = facts().iter().map(Fact::word).collect();
    assert_eq!(words.len(), facts().len() - 2, "a picture is there three times");
}

#[test]
fn rows_read_back_and_a_journal_that_was_read_back_folds_to_the_same_rows() {
    let stage = story();
    let mut rows: std::collections::BTreeMap<TaskId, Task> = std::collections::BTreeMap::new();
    for written in &stage.journal {
        let Record::Task(id, record) = &written.record else {
            continue;
        };
        let text = serde_json::to_string(record).unwrap();
        let back: TaskRecord = serde_json::from_str(&text).unwrap();
        match rows.get_mut(id) {
            Some(row) => fold::fold(row, &back, written.line),
            None => drop(rows.insert(*id, fold::begin(*id, &back, written.line).unwrap())),
        }
        reads_back(&rows[id]);
    }
    for (id, row) in &rows {
        assert_eq!(*row, Task { live: Live::default(), ..stage.task(*id) });
    }
    assert!(rows.len() > 8);
}

#[test]
fn every_word_reads_back_as_it_is_written() {
    fn all<T: Copy + Serialize + DeserializeOwned + PartialEq + Debug + std::fmt::Display>(
        words: &[T],
    ) {
        for word in words {
            reads_back(word);
            assert_eq!(serde_json::to_string(word).unwrap(), format!("\"{word}\""));
        }
    }
    all(State::ALL);
    all(Cause::ALL);
    all(Code::ALL);
    all(DeliveryState::ALL);
    all(ErrorClass::ALL);
    all(homing_core::words::Target::ALL);
    all(homing_core::words::TurnKind::ALL);
    all(homing_core::words::Phase::ALL);
    all(homing_core::words::Notify::ALL);
    all(homing_core::fact::Finish::ALL);
    all(homing_core::evidence::Doubt::ALL);
}

#[test]
fn a_reason_reads_back_and_says_something() {
    let reasons = [
        Reason::Quiet { for_ms: 45 * MINUTE },
        Reason::SessionGone { cause: Cause::SessionDeleted, for_ms: 0 },
        Reason::ChainUsedUp { error: Box::new(an_error()), attempts: 5 },
        Reason::Asked { by: Caller::Task(TaskId::from_bits(1)), text: Some("enough".into()) },
        Reason::TimeUp { after_ms: HOUR },
        Reason::SubtreeSettled,
    ];
    for reason in reasons {
        reads_back(&reason);
        assert!(!reason.to_string().is_empty());
    }
}
