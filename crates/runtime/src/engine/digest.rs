//! Tells engines apart: all that decides what one does next. For a model that walks every state once.

use std::hash::{Hash, Hasher};

use homing_core::task::Task;

use super::flights::Flights;
use super::{Engine, Held, Open, Release};

impl Engine {
    /// Feeds everything that decides what the engine does next, its World apart. Times count by their
    /// distance to `tick`; of journal lines it counts which of `lines` they lie behind, the last durable
    /// one and those up to which a task was read: numbers that only grow tell nothing apart. `row` does
    /// the same for a task.
    pub fn digest<H: Hasher>(
        &self,
        (tick, lines): (u64, &[u64]),
        to: &mut H,
        row: &mut dyn FnMut(&Task, &mut H),
    ) {
        // A new field must find its place here.
        let Self {
            world: _,
            open,
            held,
            next_no: _,
            flights,
            parked,
            evicted,
            outdated,
            asked,
            now,
            visits: _,
        } = self;
        // Asked of what waits to be released, alone.
        let waits = now.tick > 0 && !(held.is_empty() && open.is_empty());
        waits.then(|| tick - now.tick).hash(to);
        for Held { no: _, durable, release } in held {
            durable.hash(to);
            feed_release(release, to);
        }
        0xfe_u8.hash(to);
        feed_open(open, to, row);
        feed_flights(flights, tick, to);
        for (id, inputs) in parked {
            (id, format!("{inputs:?}")).hash(to);
        }
        for (id, left) in evicted {
            let groups = held.iter().map(|held| &held.release.head);
            id.hash(to);
            lines.iter().chain(groups).for_each(|line| (left > line).hash(to));
        }
        outdated.hash(to);
        asked.hash(to);
    }
}

/// Effects and replies of one group go out together: their order tells nothing apart.
fn feed_release(release: &Release, to: &mut impl Hasher) {
    let Release { effects, replies, head: _, anew: _ } = release;
    let mut all: Vec<String> = effects.iter().map(|effect| format!("{effect:?}")).collect();
    all.extend(replies.iter().map(|reply| format!("{reply:?}")));
    all.sort_unstable();
    all.hash(to);
}

/// What was not evicted is committed as the World has it when the group closes.
fn feed_open<H: Hasher>(open: &Open, to: &mut H, row: &mut dyn FnMut(&Task, &mut H)) {
    let Open { written, texts: _, tasks, debriefs, posts, purge, release, now: _ } = open;
    written.is_empty().hash(to);
    for (id, left) in tasks {
        (id, left.is_some()).hash(to);
        if let Some(task) = left {
            row(task, to);
        }
    }
    for (id, left) in debriefs {
        (id, left.as_ref().map(|debrief| debrief.state)).hash(to);
    }
    for (id, left) in posts {
        (id, left.as_ref().map(|post| post.state)).hash(to);
    }
    purge.hash(to);
    feed_release(release, to);
}

fn feed_flights(flights: &Flights, tick: u64, to: &mut impl Hasher) {
    let Flights { air, watching, cooling } = flights;
    for (key, flight) in air {
        (key, *flight as u8).hash(to);
    }
    watching.hash(to);
    for (key, (until, tries)) in cooling {
        (key, until.saturating_sub(tick), tries).hash(to);
    }
}
