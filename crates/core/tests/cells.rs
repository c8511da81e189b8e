//! Every cell of the table in docs/rooms.md: where the request came from, how the task ended, and how its parent is. Each is
//! played on the core, asserted, and printed; the page must say the same.

mod stage;

use std::collections::BTreeMap;
use std::fmt::Write;

use homing_core::fact::{ErrorClass, Fact};
use homing_core::ids::TaskId;
use homing_core::outbox::Post;
use homing_core::spec::Overrides;
use homing_core::words::{Code, DeliveryState, State};
use stage::host::{bad, error};
use stage::launch::task;
use stage::{HOUR, SECOND, Stage};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rooms.md");
const BEGIN: &str = "<!-- cells: printed by `cargo test -p homing-core --test cells` -->\n";
const END: &str = "<!-- cells end -->\n";

/// Where the request came from.
const ORIGINS: [(&str, &str); 5] = [
    ("group", "group:team/main"),
    ("channel", "channel:team/news"),
    ("thread", "thread:team/main#root"),
    ("direct", "direct:team/someone"),
    ("unknown", "pigeon:loft/7"),
];

/// How the task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    TimedOut,
    Cancelled,
    Lost,
}

const ENDS: [(&str, End); 5] = [
    ("done", End::Done),
    ("failed", End::Failed),
    ("timed out", End::TimedOut),
    ("cancelled", End::Cancelled),
    ("lost", End::Lost),
];

/// How the parent, a conversation, is when it is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    There,
    Busy,
    Gone,
    Silent,
    NeverAnswers,
}

const PARENTS: [(&str, Parent); 5] = [
    ("there", Parent::There),
    ("busy", Parent::Busy),
    ("gone", Parent::Gone),
    ("silent", Parent::Silent),
    ("never answers", Parent::NeverAnswers),
];

/// What is to be seen at the end of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    /// What stands in the room, by kind; all of it.
    room: Vec<&'static str>,
    /// Turns of the parent that told of it.
    turns: u32,
    /// Why a message is kept and not posted.
    unposted: Option<Code>,
    notice: DeliveryState,
    code: Option<Code>,
    /// Completion records.
    telemetry: usize,
}

fn play(origin: &str, end: End, parent: Parent) -> Cell {
    let mut stage = Stage::new();
    let (chat, conv) = stage.converse(task("chat").origin(origin));
    stage.turn_runs(chat, "go");
    let timeout_ms = (end == End::TimedOut).then_some(30 * SECOND);
    let over = Overrides { timeout_ms, ..Overrides::default() };
    let child = stage.launch_running(task("child").by(chat).over(over));
    if parent != Parent::Gone {
        stage.answer(chat, "sent");
    }
    if parent == Parent::Busy {
        stage.turn_runs(chat, "and 2+2?");
    }
    ends(&mut stage, child, end);
    if parent == Parent::Busy {
        assert!(!stage.wants_compose(&conv) && stage.room().is_empty(), "nothing into its turn");
        stage.answer(chat, "4");
    }
    let turns = match parent {
        Parent::Gone => {
            stage.observe(chat, Fact::SessionDeleted);
            0
        }
        Parent::There | Parent::Busy => {
            told(&mut stage, chat, &conv, |_| "in its own words".to_owned())
        }
        Parent::Silent => told(&mut stage, chat, &conv, homing_core::silence::token),
        Parent::NeverAnswers => unheard(&mut stage, chat, &conv),
    };
    stage.telemetry_taken(child, 1);
    seen(&stage, child, turns)
}

fn ends(stage: &mut Stage, child: TaskId, end: End) {
    match end {
        End::Done => stage.answer(child, "found it"),
        End::Failed => stage.ended(child, bad(error(ErrorClass::Auth))),
        End::TimedOut => {
            stage.advance(30 * SECOND);
            stage.shows_nothing_new(child);
            stage.advance(SECOND);
            stage.stopped(child);
        }
        End::Cancelled => {
            stage.cancel(child);
            stage.stopped(child);
        }
        End::Lost => {
            stage.cancel(child);
            stage.advance(31 * SECOND);
        }
    }
    let expected = match end {
        End::Done => State::Completed,
        End::Failed => State::Failed,
        End::TimedOut => State::TimedOut,
        End::Cancelled => State::Cancelled,
        End::Lost => State::Lost,
    };
    assert_eq!(stage.state(child), expected, "{end:?}");
}

/// It is told in a turn of its own, and says this; how many turns that took.
fn told(stage: &mut Stage, chat: TaskId, conv: &str, says: impl Fn(&str) -> String) -> u32 {
    let debrief = stage.seal(conv);
    let before = stage.task(chat).generation;
    stage.start(chat);
    let words = says(&debrief.nonce);
    stage.answer(chat, &words);
    if stage.wants_deliver(debrief.id) {
        stage.answered(debrief.id, &words);
    }
    stage.advance(HOUR);
    stage.task(chat).generation - before + 1
}

/// Its turns fail, for longer than it is waited for.
fn unheard(stage: &mut Stage, chat: TaskId, conv: &str) -> u32 {
    drop(stage.seal(conv));
    let mut turns = 0;
    for _ in 0..200 {
        if stage.state(chat) == State::Starting {
            stage.start(chat);
            stage.ended(chat, bad(error(ErrorClass::Auth)));
            turns += 1;
        }
        stage.advance(10 * SECOND);
    }
    assert!(turns > 2, "again and again");
    turns
}

fn seen(stage: &Stage, child: TaskId, turns: u32) -> Cell {
    let mut room: Vec<&str> = Vec::new();
    for (_, text) in stage.room() {
        room.push(match text.as_str() {
            "in its own words" => "the parent's words",
            text if text.starts_with("Background task ") => "one plain line",
            _ => "something else",
        });
    }
    let closed = |post: &&Post| post.state == DeliveryState::Undeliverable;
    let unposted = stage.posts_sealed().iter().find(closed).and_then(|post| post.code);
    let notice = stage.notices(child).first().cloned();
    Cell {
        unposted,
        room,
        turns,
        notice: notice.as_ref().map_or(DeliveryState::Settled, |notice| notice.state),
        code: notice.and_then(|notice| {
            let debrief = notice.debrief.and_then(|id| stage.world.debrief(id));
            debrief.and_then(|debrief| debrief.code).or(notice.code)
        }),
        telemetry: stage.times_emitted(child),
    }
}

/// What the cell must hold, whatever else it shows.
fn must_hold(origin: &str, end: End, parent: Parent, cell: &Cell) {
    let at = format!("{origin} × {end:?} × {parent:?}: {cell:?}");
    let posted_to = !origin.starts_with("pigeon");
    assert_eq!(cell.telemetry, 1, "one complete record: {at}");
    assert!(cell.room.len() <= 1, "never two messages: {at}");
    let says_why = cell.unposted == Some(Code::OriginUnhandled);
    assert_eq!(says_why, !posted_to && parent != Parent::Silent, "{at}");
    match parent {
        Parent::There | Parent::Busy => {
            let expected: &[&str] = if posted_to { &["the parent's words"] } else { &[] };
            assert_eq!(
                (&*cell.room, cell.turns, cell.notice),
                (expected, 1, DeliveryState::Settled),
                "{at}"
            );
        }
        Parent::Silent => {
            assert!(cell.room.is_empty() && cell.turns == 1, "{at}");
            assert_eq!(cell.notice, DeliveryState::Settled, "{at}");
        }
        Parent::Gone => {
            let expected: &[&str] = if posted_to { &["one plain line"] } else { &[] };
            assert_eq!(
                (&*cell.room, cell.turns, cell.notice),
                (expected, 0, DeliveryState::Undeliverable),
                "{at}"
            );
            assert_eq!(cell.code, Some(Code::SessionNotFound), "{at}");
        }
        Parent::NeverAnswers => {
            let expected: &[&str] = if posted_to { &["one plain line"] } else { &[] };
            assert_eq!(&*cell.room, expected, "{at}");
            assert!(cell.notice != DeliveryState::Settled, "kept, and still owed: {at}");
            assert_eq!(cell.code, Some(Code::HandshakeFailed), "{at}");
        }
    }
}

fn printed(cells: &BTreeMap<(usize, usize, usize), Cell>) -> String {
    let mut out = String::from(
        "| origin | parent | done | failed | timed out | cancelled | lost |\n|---|---|---|---|---|---|---|\n",
    );
    for (o, (origin, _)) in ORIGINS.iter().enumerate() {
        for (p, (parent, _)) in PARENTS.iter().enumerate() {
            let _ = write!(out, "| {origin} | {parent} |");
            for e in 0..ENDS.len() {
                let _ = write!(out, " {} |", words(&cells[&(o, p, e)]));
            }
            out.push('\n');
        }
    }
    out
}

fn words(cell: &Cell) -> String {
    let room = cell.room.first().copied().unwrap_or("nothing");
    let owed = match cell.notice {
        DeliveryState::Settled => String::new(),
        state @ (DeliveryState::Owed
        | DeliveryState::Sealed
        | DeliveryState::Sent
        | DeliveryState::Accepted
        | DeliveryState::Withdrawn
        | DeliveryState::Undeliverable) => {
            let kept = if state == DeliveryState::Undeliverable { "kept" } else { "owed" };
            cell.code.map_or_else(String::new, |code| format!("; {kept}, `{code}`"))
        }
    };
    let unposted = cell.unposted.map_or_else(String::new, |code| format!(", `{code}`"));
    format!("{room}{unposted}{owed}")
}

#[test]
fn g1_g2_g3_g7_g8_g9_g11_g21_every_cell_holds_and_the_page_says_so() {
    let mut cells = BTreeMap::new();
    for (o, (_, origin)) in ORIGINS.iter().enumerate() {
        for (p, (_, parent)) in PARENTS.iter().enumerate() {
            for (e, (_, end)) in ENDS.iter().enumerate() {
                let cell = play(origin, *end, *parent);
                must_hold(origin, *end, *parent, &cell);
                cells.insert((o, p, e), cell);
            }
        }
    }
    assert_eq!(cells.len(), 125);
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    let table = printed(&cells);
    let whole = match (page.find(BEGIN), page.find(END)) {
        (Some(begin), Some(end)) => {
            format!("{}{table}{}", &page[..begin + BEGIN.len()], &page[end..])
        }
        _ => format!("{page}\n{BEGIN}{table}{END}"),
    };
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &whole).unwrap();
    }
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        page == whole,
        "docs/rooms.md does not say what holds: UPDATE=1 cargo test -p homing-core --test cells"
    );
}
