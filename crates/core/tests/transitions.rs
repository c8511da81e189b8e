//! The transition table: printed to `docs/transitions.md`, and walked pair by pair.

#![expect(clippy::unwrap_used, reason = "writing to a string does not fail")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use homing_core::rules::{Event, Verdict, rule};
use homing_core::words::State;

const NEXT_DOC: &str = "../../docs/transitions.md";

/// As people read it: per state, where each event leads; then what is kept as stale or refused.
fn printed() -> String {
    let mut page = String::from(
        "<!-- Printed from crates/core/src/rules.rs by its test; UPDATE=1 cargo test -p homing-core --test transitions -->\n\n\
         # Transitions\n\n\
         Where a judged event leads. *stays*: taken in, the state remains. *stale*: kept in the journal,\n\
         changes nothing. *refused*: answered with a refusal, changes nothing.\n\
         The five terminal states answer alike.\n",
    );
    let living = State::ALL.iter().filter(|state| !state.is_terminal());
    for state in living {
        section(&mut page, &format!("`{state}`"), *state);
    }
    let ended: Vec<State> =
        State::ALL.iter().copied().filter(|state| state.is_terminal()).collect();
    let names: Vec<String> = ended.iter().map(|state| format!("`{state}`")).collect();
    section(&mut page, &names.join(", "), ended[0]);
    page
}

fn section(page: &mut String, title: &str, state: State) {
    write!(page, "\n## {title}\n\n| event | leads to |\n|---|---|\n").unwrap();
    let (mut stale, mut refused) = (Vec::new(), Vec::new());
    for event in Event::ALL {
        match rule(state, *event) {
            Verdict::Go(to) => writeln!(page, "| {event} | `{to}` |").unwrap(),
            Verdict::Stay => writeln!(page, "| {event} | *stays* |").unwrap(),
            Verdict::Stale => stale.push(event.word()),
            Verdict::Refuse => refused.push(event.word()),
        }
    }
    for (word, events) in [("Stale", stale), ("Refused", refused)] {
        if !events.is_empty() {
            write!(page, "\n{word}: {}.\n", events.join("; ")).unwrap();
        }
    }
}

#[test]
fn the_printed_table_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(NEXT_DOC);
    let printed = printed();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == printed,
        "docs/transitions.md differs from the table: UPDATE=1 cargo test -p homing-core --test transitions"
    );
}

#[test]
fn a_terminal_state_never_moves_but_by_resume_or_retry() {
    for state in State::ALL.iter().filter(|state| state.is_terminal()) {
        for event in Event::ALL {
            let again = matches!(event, Event::Resume | Event::Retry);
            match rule(*state, *event) {
                Verdict::Go(to) => {
                    assert!(again && to == State::Queued, "{state}: {event} leads to {to}")
                }
                Verdict::Stay => panic!("{state} takes in {event}"),
                Verdict::Stale | Verdict::Refuse => {
                    assert!(!again, "{state} cannot be left by {event}")
                }
            }
        }
    }
}

#[test]
fn a_living_state_is_not_resumed_or_retried() {
    for state in State::ALL.iter().filter(|state| !state.is_terminal()) {
        for event in [Event::Resume, Event::Retry] {
            assert_eq!(rule(*state, event), Verdict::Refuse, "{state}: {event}");
        }
    }
}

#[test]
fn every_state_can_reach_a_terminal_one() {
    for state in State::ALL {
        assert!(reachable(*state).iter().any(|to| to.is_terminal()), "{state} never ends");
    }
}

#[test]
fn every_state_can_be_reached_from_queued() {
    let all: BTreeSet<State> = State::ALL.iter().copied().collect();
    assert_eq!(reachable(State::Queued), all);
}

/// All states that some chain of events leads to, the state itself included.
fn reachable(from: State) -> BTreeSet<State> {
    let mut found = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(state) = open.pop() {
        for event in Event::ALL {
            if let Verdict::Go(to) = rule(state, *event)
                && found.insert(to)
            {
                open.push(to);
            }
        }
    }
    found
}

#[test]
fn every_event_leads_somewhere_in_at_least_one_state() {
    for event in Event::ALL {
        let answers = State::ALL
            .iter()
            .any(|state| matches!(rule(*state, *event), Verdict::Go(_) | Verdict::Stay));
        assert!(answers, "{event} is never taken in");
    }
}

#[test]
fn only_the_evidence_of_an_end_completes_and_only_what_stopped_is_cancelled() {
    for state in State::ALL {
        for event in Event::ALL {
            match rule(*state, *event) {
                Verdict::Go(State::Completed) => assert_eq!(*event, Event::EndedWell, "{state}"),
                Verdict::Go(State::Cancelled) => assert!(
                    *event == Event::StoppedCancelled || !state.holds_slot(),
                    "{state}: {event} cancels what may still run"
                ),
                Verdict::Go(State::TimedOut) => {
                    assert_eq!(*event, Event::StoppedTimedOut, "{state}")
                }
                Verdict::Go(_) | Verdict::Stay | Verdict::Stale | Verdict::Refuse => {}
            }
        }
    }
}

#[test]
fn a_cancel_is_answered_in_every_living_state() {
    for state in State::ALL.iter().filter(|state| !state.is_terminal()) {
        let verdict = rule(*state, Event::Cancel);
        let ends =
            matches!(verdict, Verdict::Go(State::Stopping | State::Cancelled) | Verdict::Stay);
        assert!(ends, "{state}: {verdict:?}");
    }
}
