//! Plays what real hosts were seen to do through the core, as it came, with every fact twice, without the
//! hints, and once more after the end.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::expect_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

use std::collections::BTreeSet;

use homing_core::fact::{Fact, Fence, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::limits::Limits;
use homing_core::payload::{Digest, Payload};
use homing_core::reason::Caller;
use homing_core::refs::ParentRef;
use homing_core::spec::{Brief, Budget, Order, Overrides, Spec};
use homing_core::step::step;
use homing_core::task::Task;
use homing_core::time::Moment;
use homing_core::words::{Cause, Notify, State, Tri};
use homing_core::world::{Timer, Who, World};
use homing_testkit::sequences::{Given, Sequence, Setup, all, is_hint};

/// One task in a World of its own, on a clock that only the sequence moves.
struct Play {
    world: World,
    task: TaskId,
    now: Moment,
    results: Vec<Payload>,
    name: &'static str,
}

/// What a task has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Came {
    state: State,
    cause: Option<Cause>,
    result: Option<String>,
    error: Option<&'static str>,
    flagged: bool,
    asks: usize,
    attempt: u32,
    notices: usize,
}

impl Play {
    fn new(sequence: &Sequence) -> Self {
        let task = TaskId::from_bits(1);
        let now = Moment { tick: 1_000_000, wall: 1_800_000_000_000, dice: 5 };
        let world = World::new(Limits::default());
        let mut play = Self { world, task, now, results: Vec::new(), name: sequence.name };
        let spec = Box::new(spec(&sequence.setup));
        play.input(Input::Launch { request: 1, id: task, spec, reservation: None });
        assert_eq!(play.task().state, State::Starting, "{}", sequence.name);
        play
    }

    fn task(&self) -> &Task {
        self.world.task(self.task).unwrap()
    }

    fn input(&mut self, input: Input) {
        self.now.tick += 10;
        self.now.wall += 10;
        let outcome = step(&mut self.world, input, self.now);
        assert_eq!(outcome.load, None, "{}", self.name);
        self.results.extend(outcome.texts.into_iter().map(|text| Payload::new(text.bytes)));
    }

    fn observe(&mut self, fence: Fence, fact: &Fact) {
        self.input(Input::Observed { task: self.task, fence, fact: fact.clone() });
        let task = self.task();
        let looks = matches!(fact, Fact::EndHint | Fact::ErrorHint { .. } | Fact::OddWord { .. });
        if looks && fence == task.fence() && task.is_living() {
            assert!(task.live.probe.is_some(), "{}: {fact:?} is a reason to look", self.name);
        }
        let open = matches!(fact, Fact::Looked { picture } if picture.turn == TurnRecord::Open && picture.busy == Tri::No);
        if open && fence == task.fence() && task.state == State::Running {
            let looks = self.world.deadlines(&Who::Task(self.task));
            let again =
                looks.iter().any(|(timer, _)| matches!(timer, Timer::Probe | Timer::Reprobe));
            assert!(again, "{}: idle with an open record is looked at again", self.name);
        }
    }

    fn later(&mut self, ms: u64) {
        self.now.tick += ms;
        self.now.wall += ms.cast_signed();
        for _ in 0..100 {
            let Some((who, timer)) = self.world.next_due(self.now) else {
                return;
            };
            step(&mut self.world, Input::Timer { who, timer }, self.now);
        }
        panic!("{}: timers without an end", self.name);
    }

    /// One step, its fact reported so many times. The fence is that of the first report.
    fn step(&mut self, given: &Given, times: usize) {
        match given {
            Given::Fact(fact) => {
                let fence = self.task().fence();
                (0..times).for_each(|_| self.observe(fence, fact));
            }
            Given::Of(fence, fact) => (0..times).for_each(|_| self.observe(*fence, fact)),
            Given::Answer(answer) => {
                let ask = self.task().open_asks().next().expect("an ask to answer").id;
                let by = Caller::Person;
                self.input(Input::Answer { request: 2, ask, answer: answer.clone(), by });
                self.input(Input::AnswerTaken { ask });
            }
            Given::Cancel => {
                let by = Caller::Person;
                self.input(Input::Cancel {
                    request: 3,
                    task: self.task,
                    by,
                    text: None,
                    quiet: false,
                });
            }
            Given::Later(ms) => self.later(*ms),
        }
    }

    fn came(&self) -> Came {
        let task = self.task();
        let text = task.result.map(|result| {
            let kept = self.results.iter().find(|payload| payload.text.digest == result.digest);
            String::from_utf8(kept.expect("a result that is stored").bytes.to_vec()).unwrap()
        });
        Came {
            state: task.state,
            cause: task.cause.filter(|_| task.state.is_terminal()),
            result: text,
            error: task.error.as_ref().map(|error| error.class.word()),
            flagged: task.flagged,
            asks: task.open_asks().count(),
            attempt: task.attempt,
            notices: task.notices.len(),
        }
    }
}

fn spec(setup: &Setup) -> Spec {
    let models = (1..=setup.models).map(|n| format!("acme/model-{n}").parse().unwrap()).collect();
    let over =
        Overrides { retry_interrupted: Some(setup.retry_interrupted), ..Overrides::default() };
    let brief = Brief {
        host: "host".into(),
        agent: None,
        name: None,
        models,
        origin: None,
        notify: Notify::Each,
        key: None,
        request: Digest::of(b"request"),
        priority: 0,
        budget: Budget::default().into(),
        over: over.into(),
        caps: setup.caps,
        parent_turn: None,
        batch: None,
        converses: false,
    };
    let order = Order { prompt: "2+2".to_owned(), ..Order::default() };
    let parent = ParentRef::Inbox { name: "cli".into(), key: None };
    Spec { brief, order, parent, launched_by: None, after: Vec::new() }
}

/// As it came; what differs from what is written, on the way and at the end.
fn played(sequence: &Sequence) -> (Play, Vec<String>) {
    let mut play = Play::new(sequence);
    let mut wrong = Vec::new();
    for (n, step) in sequence.steps.iter().enumerate() {
        play.step(&step.given, 1);
        let task = play.task();
        if task.state != step.state {
            wrong.push(format!(
                "{}, step {}: {} where {} is written\n  {:?}\n  {:?}",
                sequence.name,
                n + 1,
                task.state,
                step.state,
                step.given,
                task.evidence,
            ));
        }
    }
    let (came, written) = (play.came(), expected(sequence, play.task().attempt));
    if came != written {
        wrong.push(format!("{}:\n  {came:?}\n  {written:?}", sequence.name));
    }
    (play, wrong)
}

fn expected(sequence: &Sequence, attempt: u32) -> Came {
    let state = sequence.steps.last().unwrap().state;
    let end = sequence.end;
    Came {
        state,
        cause: end.cause,
        result: end.result.map(str::to_owned),
        error: end.error.map(|class| class.word()),
        flagged: end.flagged,
        asks: end.asks,
        attempt,
        notices: usize::from(state.is_terminal()),
    }
}

/// What it comes to when every step is played so many times, with or without hints.
fn varied(sequence: &Sequence, times: usize, hints: bool) -> Came {
    let mut play = Play::new(sequence);
    for step in &sequence.steps {
        let hint = matches!(&step.given, Given::Fact(fact) | Given::Of(_, fact) if is_hint(fact));
        if hints || !hint {
            play.step(&step.given, times);
        }
    }
    play.came()
}

/// All that is wrong, not only the first.
fn none_wrong(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn compared(vary: impl Fn(&Sequence) -> Came) {
    let all = all();
    let differs = all.iter().filter_map(|sequence| {
        let (whole, varied) = (played(sequence).0.came(), vary(sequence));
        (whole != varied).then(|| format!("{}:\n  {varied:?}\n  {whole:?}", sequence.name))
    });
    none_wrong(differs.collect());
}

#[test]
fn every_sequence_comes_to_what_is_written_after_each_step() {
    none_wrong(all().iter().flat_map(|sequence| played(sequence).1).collect());
}

#[test]
fn t25_every_fact_twice_comes_to_the_same() {
    compared(|sequence| varied(sequence, 2, true));
}

#[test]
fn t24_without_its_hints_a_sequence_comes_to_the_same() {
    compared(|sequence| varied(sequence, 1, false));
    compared(|sequence| varied(sequence, 2, false));
}

#[test]
fn t16_a_replay_after_the_end_changes_nothing() {
    compared(|sequence| {
        let (mut play, _) = played(sequence);
        let fence = play.task().fence();
        let ended = !play.task().is_living();
        for step in sequence.steps.iter().filter(|_| ended) {
            match &step.given {
                Given::Fact(fact) => play.observe(fence, fact),
                Given::Of(fence, fact) => play.observe(*fence, fact),
                Given::Answer(_) | Given::Cancel | Given::Later(_) => {}
            }
        }
        play.came()
    });
}

/// A sequence that ends in nothing says so: its task still lives and can be ended.
#[test]
fn a_task_that_still_lives_can_be_cancelled() {
    for sequence in all() {
        let (mut play, _) = played(&sequence);
        if play.task().is_living() {
            play.step(&Given::Cancel, 1);
            play.step(&Given::Fact(Fact::Stopped), 1);
            assert_eq!(play.task().state, State::Cancelled, "{}", sequence.name);
        }
    }
}

#[test]
fn names_are_unique_and_every_host_is_there() {
    let mut names = BTreeSet::new();
    for sequence in all() {
        assert!(names.insert(sequence.name), "{} twice", sequence.name);
        assert!(!sequence.renders.is_empty() && !sequence.steps.is_empty(), "{}", sequence.name);
    }
    for host in ["opencode: ", "claude: ", "codex", "acp v1", "acp v2: ", "process: "] {
        assert!(names.iter().filter(|name| name.starts_with(host)).count() >= 8, "{host}");
    }
}
