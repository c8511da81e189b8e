//! What comes next, and when: every timer that runs, in words, the earliest first; and what moves a task that
//! no timer moves.

use homing_core::compose::{iso, lasting};
use homing_core::outbox::Debrief;
use homing_core::task::{Notice, Task};
use homing_core::time::Stamp;
use homing_core::wire::WhyNext;
use homing_core::words::{Code, DeliveryState, State, Target};
use homing_core::world::{At, ParentTurn, Timer};

use crate::around::{Around, Told};

pub(super) fn next(
    task: &Task,
    around: Option<&Around>,
    debrief: Option<&Debrief>,
    now: Stamp,
) -> WhyNext {
    let due = around.map_or_else(Vec::new, |around| due(around, now));
    let mut lines: Vec<String> =
        due.iter().map(|(at, timer)| timed(task, *timer, *at, now)).collect();
    lines.extend(untimed(task, around, debrief, due.is_empty()));
    let first = due.first();
    WhyNext {
        words: lines.join("\n"),
        timer: first.map(|(_, timer)| timer.to_string()),
        at: first.map(|(at, _)| iso(*at)),
    }
}

/// By the time of day, earliest first.
fn due(around: &Around, now: Stamp) -> Vec<(i64, Timer)> {
    let wall = |at: At| match at {
        At::Tick(due) => now.wall.saturating_add_unsigned(due.saturating_sub(now.tick)),
        At::Wall(due) => due,
    };
    let mut all: Vec<(i64, Timer)> =
        around.due.iter().map(|(timer, at)| (wall(*at), *timer)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn timed(task: &Task, timer: Timer, at: i64, now: Stamp) -> String {
    let words = timer_words(task, timer);
    match u64::try_from(at.saturating_sub(now.wall)) {
        Ok(0) | Err(_) => format!("now: {words}"),
        Ok(left) => format!("at {} (in {}): {words}", iso(at), lasting(left)),
    }
}

/// What a timer does when it fires.
fn timer_words(task: &Task, timer: Timer) -> String {
    let stops = |outcome: &str| {
        format!("the host is asked once more; unless that shows an end, it is stopped as {outcome}")
    };
    match timer {
        Timer::Start => "not started by then: the host is asked once more; unless that shows \
                         that it started, it is stopped as failed (not_started)"
            .into(),
        Timer::Quiet => format!("no activity until then: {}", stops("timed_out (stale)")),
        Timer::NeverActive => {
            format!("no activity at all until then: {}", stops("timed_out (never_active)"))
        }
        Timer::Timeout => format!("its time is up: {}", stops("timed_out (timeout)")),
        Timer::Probe => "the host is being asked; without an answer it is asked again later".into(),
        Timer::Reprobe if task.evidence.missing.is_some() => {
            "the host is asked again; if its answers go on not to show the session, it is lost"
                .into()
        }
        Timer::Reprobe => "the host is asked again".into(),
        Timer::Todos => "it is completed with its answer, flagged: to-dos were left open".into(),
        Timer::Ask => "unanswered by then: the ask is denied".into(),
        Timer::StopGivesUp => {
            let code = Code::AbortUnconfirmed;
            format!("not confirmed by then: it is given up on, lost (abort_unconfirmed) [{code}]")
        }
        Timer::Pause => match task.session {
            Some(_) => "the pause is over: it queues for a slot and goes on in its session".into(),
            None => "the pause is over: it queues for a slot and starts again".into(),
        },
        Timer::Orphan => {
            "what is left of an earlier attempt, and did not confirm its stop, is given up on"
                .into()
        }
        Timer::BatchAge => "its parent is told, even if others of its batch still run".into(),
        Timer::ParentLook => "the parent is asked again whether it is between turns".into(),
        Timer::Send => "the debrief is sent again, under the same key".into(),
        Timer::Handshake => {
            let code = Code::HandshakeFailed;
            format!("no sign of the parent by then: that is said [{code}], and it stays owed")
        }
        Timer::Wake => "the parent has the debrief and has not answered: it is woken again".into(),
        Timer::Lease => "not acknowledged by then: the debrief is offered to anyone again".into(),
        Timer::Post => "the message to the room is sent again".into(),
        Timer::WaitOver => "someone's wait for it is over; it goes on".into(),
        Timer::Reservation => "a place held for a launch is given back".into(),
    }
}

/// What is waited for without a clock.
fn untimed(
    task: &Task,
    around: Option<&Around>,
    debrief: Option<&Debrief>,
    no_timer: bool,
) -> Option<String> {
    let state = match task.state {
        State::Queued if !task.after.is_empty() => {
            "once all of it has completed it queues for a slot; if one ends otherwise, it is \
             cancelled (dependency). No timer runs meanwhile"
        }
        State::Queued => {
            "it starts by itself as soon as a slot is free. No timer runs: waiting alone never ends it"
        }
        State::WaitingChildren => "it goes on by itself once that is there",
        State::Running if task.brief.caps.plain => {
            if !no_timer {
                return None;
            }
            "it ends when its process ends. No timer runs: a command may be silent for as long as \
             it likes; --timeout would bound it"
        }
        State::Stopping => {
            return task.stop.as_deref().map(|stop| leads(stop.target).to_owned());
        }
        State::Starting | State::Running | State::WaitingAsk | State::Paused => {
            if !no_timer {
                return None;
            }
            "nothing by itself: it waits to be told something"
        }
        State::Completed | State::Failed | State::Cancelled | State::TimedOut | State::Lost => {
            return ended(task, around.and_then(|around| around.told.as_ref()), debrief);
        }
    };
    Some(state.to_owned())
}

fn leads(target: Target) -> &'static str {
    match target {
        Target::Cancelled => "once it is confirmed: cancelled",
        Target::TimedOut => "once it is confirmed: timed_out",
        Target::Failed => "once it is confirmed: failed",
        Target::NextAttempt => "once it is confirmed: queued for its next attempt",
        Target::Paused => "once it is confirmed: paused",
    }
}

fn ended(task: &Task, told: Option<&Told>, debrief: Option<&Debrief>) -> Option<String> {
    let Some(notice) = task.notices.last() else {
        return Some("nothing: it has ended, and nothing is owed about it".to_owned());
    };
    let receipt = format!("homing inbox --ack {}/{}", task.id, notice.generation);
    if notice.state == DeliveryState::Undeliverable {
        if let Some(debrief) = debrief.filter(|debrief| debrief.code == Some(Code::ReceiverRefused))
        {
            let (to, why) = (&notice.to, debrief.why.as_deref().unwrap_or("it did not say why"));
            let again = format!("homing redrive {} sends it again", debrief.id);
            return Some(match debrief.again {
                Some(_) => format!("{to} gets it once what is on its way has arrived"),
                None => format!("nothing by itself: {to} will not take it ({why}); {again}"),
            });
        }
        let kept = "nothing by itself: nobody can be told. The result is kept and stays readable";
        return Some(format!("{kept}; {receipt} settles it"));
    }
    if let Some(debrief) = debrief
        && notice.debrief == Some(debrief.id)
    {
        return on_its_way(notice, debrief, &receipt);
    }
    if notice.inbox {
        return Some(format!(
            "it is kept for {} to read and wakes nobody; {receipt} settles it",
            notice.to
        ));
    }
    Some(held_back(notice, told?))
}

fn on_its_way(notice: &Notice, debrief: &Debrief, receipt: &str) -> Option<String> {
    if debrief.parked {
        return Some(format!(
            "it rests: a line in the room stands in for it; {receipt} settles it"
        ));
    }
    match (&debrief.lease, debrief.state) {
        (Some((consumer, _)), _) => Some(format!("{consumer} has it and is to acknowledge it")),
        (None, DeliveryState::Sealed) => Some(format!(
            "it waits until {} fetches it (homing inbox shows it); {receipt} settles it",
            notice.to
        )),
        (None, DeliveryState::Accepted) => {
            Some(format!("{} has {}; its answer settles it", notice.to, debrief.id))
        }
        (None, DeliveryState::Sent) => {
            let times = super::count(u64::from(debrief.tries), "time");
            Some(format!("{} was sent to {} {times}; an answer settles it", debrief.id, notice.to))
        }
        (
            None,
            DeliveryState::Owed
            | DeliveryState::Settled
            | DeliveryState::Withdrawn
            | DeliveryState::Undeliverable,
        ) => None,
    }
}

/// Why no debrief holds it yet.
fn held_back(notice: &Notice, told: &Told) -> String {
    let to = &notice.to;
    if told.batch_living > 0 && !notice.each {
        let others = super::count(u64::from(told.batch_living), "task");
        return format!("{to} is told once the rest of the batch has ended: {others}");
    }
    if told.flight {
        return format!("{to} is told after the debrief that is on its way to it");
    }
    if told.person_waits > 0 {
        return format!("{to} is told after what people wrote to it first");
    }
    match &told.turn {
        ParentTurn::In { .. } | ParentTurn::Busy => {
            format!("{to} is in a turn of its own; it is told between turns")
        }
        ParentTurn::Unknown => format!("{to} is asked whether it is between turns, then told"),
        ParentTurn::Between => format!("{to} is about to be told"),
    }
}
