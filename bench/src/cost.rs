//! The core's cost of one event, at few and at many living tasks.

use homing_core::fact::{Call, Fact};
use homing_core::input::Input;
use homing_core::step;
use homing_core::time::mix;
use homing_core::world::World;

use crate::{Table, busy, crowd};

/// Events that are counted, of each kind.
const EVENTS: u64 = 400_000;

/// Inputs that are made ahead: so few that they do not push the tasks out of the cache.
const CHUNK: usize = 100;

/// How often a figure is taken, at few and many tasks by turns; the least counts, the others were disturbed.
const TAKES: usize = 21;

/// Tasks that live.
const CROWDS: [u64; 3] = [100, 10_000, 100_000];

/// Nanoseconds per event, of those that memory alone keeps and of those that are journaled, in each crowd.
fn costs() -> [(f64, f64); 3] {
    let mut crowds = CROWDS.map(Crowd::new);
    let mut least = [(f64::INFINITY, f64::INFINITY); 3];
    for _ in 0..TAKES {
        for (crowd, (light, line)) in crowds.iter_mut().zip(&mut least) {
            *light = light.min(crowd.take(|_| Fact::Active));
            *line = line.min(crowd.take(tool));
        }
    }
    least
}

/// Living tasks, and the order in which they are heard of.
struct Crowd {
    world: World,
    order: Vec<u64>,
}

impl Crowd {
    fn new(count: u64) -> Self {
        let world = crowd::running(count, |_| {}).world().clone();
        Self { world, order: shuffled(count) }
    }

    fn take(&mut self, make: fn(u64) -> Fact) -> f64 {
        let count = self.order.len() as u64;
        let rounds = EVENTS.div_ceil(count);
        let now = crowd::moment(3_000);
        let mut took = 0;
        for round in 0..=rounds {
            for some in self.order.chunks(CHUNK) {
                let inputs: Vec<Input> =
                    some.iter().map(|n| crowd::of_turn(*n, make(round))).collect();
                let began = busy();
                for input in inputs {
                    std::hint::black_box(step::step(&mut self.world, input, now));
                }
                // The first round is each task's first: allocations that stay, timers that are set.
                took += if round == 0 { 0 } else { busy() - began };
            }
        }
        took as f64 / (rounds * count) as f64
    }
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
    let [(light_few, line_few), (light, line), (light_many, line_many)] = costs();
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
