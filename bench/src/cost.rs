//! The core's cost of one event, at few and at many living tasks.

use homing_core::fact::{Call, Fact};
use homing_core::input::Input;
use homing_core::step;
use homing_core::time::mix;

use crate::{Table, busy, crowd};

/// Events that are counted, of each kind.
const EVENTS: u64 = 400_000;

/// Inputs that are made ahead: so few that they do not push the tasks out of the cache.
const CHUNK: usize = 100;

/// How often a figure is taken; the least counts, the others were disturbed.
const TAKES: usize = 7;

/// Nanoseconds per event: of those that memory alone keeps, and of those that are journaled.
fn cost(count: u64) -> (f64, f64) {
    let mut world = crowd::running(count, |_| {}).world().clone();
    let order = shuffled(count);
    let rounds = EVENTS.div_ceil(count);
    let now = crowd::moment(3_000);
    let mut take = |make: fn(u64) -> Fact| {
        let mut took = 0;
        for round in 0..=rounds {
            for some in order.chunks(CHUNK) {
                let inputs: Vec<Input> =
                    some.iter().map(|n| crowd::of_turn(*n, make(round))).collect();
                let began = busy();
                for input in inputs {
                    std::hint::black_box(step::step(&mut world, input, now));
                }
                // The first round is each task's first: allocations that stay, timers that are set.
                took += if round == 0 { 0 } else { busy() - began };
            }
        }
        took as f64 / (rounds * count) as f64
    };
    let mut least = |make| (0..TAKES).map(|_| take(make)).fold(f64::INFINITY, f64::min);
    (least(|_| Fact::Active), least(tool))
}

/// Begins a call in one round and ends it in the next; the breaker sees different inputs.
fn tool(round: u64) -> Fact {
    let id = round / 2;
    if round.is_multiple_of(2) {
        Fact::ToolBegan { call: Call { id, tool: "read".into(), input: Some(mix(id)) } }
    } else {
        Fact::ToolEnded { id }
    }
}

fn shuffled(count: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_unstable_by_key(|n| mix(mix(*n)));
    order
}

pub fn measure(table: &mut Table) {
    let (light_few, line_few) = cost(100);
    let (light, line) = cost(10_000);
    let (light_many, line_many) = cost(100_000);
    let row = |table: &mut Table, what: &str, few: f64, some: f64, many: f64, target: &str| {
        let met = few < 1_000.0 && many < 1_000.0 && many <= 3.0 * few;
        table.row(
            &format!("core, one {what} at 100, 10,000 and 100,000 live tasks"),
            target,
            &format!("{few:.0}, {some:.0} and {many:.0} ns: ×{:.1}", many / few),
            (!target.is_empty()).then_some(met),
        );
    };
    row(table, "event (activity)", light_few, light, light_many, "< 1 µs, ratio ≤ 3");
    row(table, "journaled event (tool call)", line_few, line, line_many, "< 1 µs, ratio ≤ 3");
}
