//! The figures of the daemon as a page for Prometheus: what the runtime counts, what the door counts, and what the kernel
//! says of the process. Nothing is kept for it: a page is made when it is asked for.
//!
//! Written by hand, as the format is small: a recorder would need a thread that tidies its histograms, and this daemon has
//! no tick. No label holds what a caller or a child wrote: states, causes, codes, patterns of routes, and keys that the
//! settings name.

mod families;
pub(crate) mod text;

use homing_runtime::figures::{Figures, Per, Word};
use homing_runtime::slots::KeySlots;

use crate::door::Door;
use families as all;
use text::{Page, Values};

const MICROS_A_SECOND: f64 = 1e6;
const MS_A_SECOND: f64 = 1e3;

/// The whole page. Without slots, where memory cannot be asked.
pub(crate) fn page(door: &Door, slots: Option<&[KeySlots]>) -> String {
    let mut page = Page::default();
    of_process(&mut page, door);
    let figures = door.homing.figures();
    of_tasks(&mut page, figures);
    of_slots(&mut page, slots.unwrap_or_default());
    of_deliveries(&mut page, figures);
    of_loop(&mut page, figures, *door.homing.head().borrow());
    of_door(&mut page, door);
    page.done()
}

#[expect(clippy::cast_precision_loss, reason = "a time of day")]
fn of_process(page: &mut Page, door: &Door) {
    page.family(&all::BUILD).value(&[&door.identity.version], 1);
    page.family(&all::STARTED).number(door.identity.since as f64 / MS_A_SECOND);
    let mut resident = page.family(&all::RESIDENT);
    if let Some(bytes) = resident_bytes() {
        resident.value(&[], bytes);
    }
    let mut files = page.family(&all::FILES);
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        // The one that lists them is among them.
        files.value(&[], (open.count() as u64).saturating_sub(1));
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1_024)
}

fn of_tasks(page: &mut Page, figures: &Figures) {
    let mut tasks = page.family(&all::TASKS);
    for (state, count) in figures.tasks.each().filter(|(state, _)| !state.is_terminal()) {
        tasks.value(&[state.word()], count);
    }
    let mut ended = page.family(&all::ENDED);
    for (state, causes) in &figures.ended {
        for (cause, count) in causes.each().filter(|(_, count)| *count > 0) {
            ended.value(&[state.word(), cause.word()], count);
        }
    }
    page.family(&all::ATTEMPTS).value(&[], figures.attempts.get());
    let mut launches = page.family(&all::LAUNCHES);
    launches.value(&["accepted"], figures.accepted.get());
    launches.value(&["existing"], figures.existing.get());
    launches.value(&["refused"], figures.refused.each().map(|(_, count)| count).sum());
    let mut refused = page.family(&all::REFUSED);
    for (code, count) in figures.refused.each().filter(|(_, count)| *count > 0) {
        refused.value(&[code.word()], count);
    }
    page.family(&all::ASKS).value(&[], figures.asks_open.get());
}

fn of_slots(page: &mut Page, slots: &[KeySlots]) {
    for (family, of) in [
        (&all::HELD, (|slots| slots.held) as fn(&KeySlots) -> u64),
        (&all::LIMIT, |slots| u64::from(slots.limit)),
        (&all::LENT, |slots| slots.lent),
        (&all::QUEUE, |slots| slots.queued),
    ] {
        let mut values = page.family(family);
        for each in slots {
            values.value(&[&each.key], of(each));
        }
    }
}

fn of_deliveries(page: &mut Page, figures: &Figures) {
    let mut notices = page.family(&all::NOTICES);
    for (state, count) in figures.notices.each().filter(|(state, _)| !state.is_over()) {
        notices.value(&[state.word()], count);
    }
    by_word(page.family(&all::DEBRIEFS), &figures.debriefs);
    by_word(page.family(&all::POSTS), &figures.posts);
    by_word(page.family(&all::DEBRIEF_STEPS), &figures.debrief_steps);
    by_word(page.family(&all::POST_STEPS), &figures.post_steps);
    by_word(page.family(&all::DEBRIEF_SENDS), &figures.sends);
    by_word(page.family(&all::POST_SENDS), &figures.tries);
}

fn by_word<W: Word>(mut values: Values<'_>, per: &Per<W>) {
    for (word, count) in per.each() {
        values.value(&[word.word()], count);
    }
}

fn of_loop(page: &mut Page, figures: &Figures, head: u64) {
    page.family(&all::DECISIONS).value(&[], figures.decisions.get());
    let mut commits = page.family(&all::COMMITS);
    commits.value(&["committed"], figures.commits.get());
    commits.value(&["failed"], figures.commits_failed.get());
    page.family(&all::COMMIT_SECONDS).spread(&[], &figures.commit_micros, MICROS_A_SECOND);
    page.family(&all::GROUP).spread(&[], &figures.group_lines, 1.0);
    page.family(&all::REBUILDS).value(&[], figures.rebuilds.get());
    page.family(&all::HEAD).value(&[], head);
    by_word(page.family(&all::EFFECTS), &figures.effects);
    by_word(page.family(&all::IN_FLIGHT), &figures.in_flight);
}

fn of_door(page: &mut Page, door: &Door) {
    let requests = door.counts.requests();
    let mut counted = page.family(&all::REQUESTS);
    for (route, by_method) in &*requests {
        for (method, asked) in by_method {
            for (status, count) in &asked.statuses {
                counted.value(&[route, method, &status.to_string()], *count);
            }
        }
    }
    let mut lasted = page.family(&all::REQUEST_SECONDS);
    for (route, by_method) in &*requests {
        for (method, asked) in by_method {
            lasted.spread(&[route, method], &asked.micros, MICROS_A_SECOND);
        }
    }
    drop(requests);
    let (readers, dropped) = door.counts.readers();
    page.family(&all::READERS).value(&[], readers);
    page.family(&all::DROPPED).value(&[], dropped);
}

#[cfg(test)]
mod tests {
    use super::families::ALL;

    const PAGE: &str = "../../docs/observing.md";
    const BEGIN: &str = "<!-- metrics -->\n";
    const END: &str = "<!-- /metrics -->";

    fn table() -> String {
        let mut text = "| metric | type | labels | means |\n|---|---|---|---|\n".to_owned();
        for family in ALL {
            let labels: Vec<String> =
                family.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind) = (family.name, family.kind.word());
            text += &format!("| `{name}` | {kind} | {} | {} |\n", labels.join(", "), family.help);
        }
        text
    }

    #[test]
    fn the_page_that_people_read_has_every_family() {
        let text = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (known, after) = rest.split_once(END).unwrap();
        if std::env::var_os("UPDATE").is_some() {
            let whole = format!("{before}{BEGIN}{}{END}{after}", table());
            std::fs::write(PAGE, whole).unwrap();
            return;
        }
        let hint = "docs/observing.md differs: UPDATE=1 cargo test -p homing-server --lib metrics";
        assert_eq!(known, table(), "{hint}");
    }
}
