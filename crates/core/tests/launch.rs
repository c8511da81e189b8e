//! Launch, queue, slots: scenarios L.

mod stage;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{ErrorClass, Fact, Fence, Picture, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::limits::Limits;
use homing_core::reason::Caller;
use homing_core::reply::Told;
use homing_core::spec::{Model, Overrides};
use homing_core::words::{Cause, Code, Notify, Phase, State, Tri, TurnKind};
use stage::host::{error, good, open_picture};
use stage::launch::{Launch, by_model, task};
use stage::{HOUR, MINUTE, SECOND, Stage, refusal, refused};

#[test]
fn l1_a_cancelled_waiter_does_not_hold_up_those_behind_it() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let [b, c] = ["b", "c"].map(|name| stage.launch(task(name)));
    stage.cancel(c);
    let d = stage.launch(task("d"));
    assert_eq!(
        stage.states(&[a, b, c, d]),
        [State::Running, State::Queued, State::Cancelled, State::Queued]
    );
    stage.answer(a, "done");
    stage.start(b);
    stage.answer(b, "done");
    stage.start(d);
    stage.answer(d, "done");
    assert_eq!(stage.states(&[a, b, d]), [State::Completed; 3]);
    assert_eq!(stage.end(c), (State::Cancelled, Some(Cause::Asked)));
    stage.assert_at_rest();
}

#[test]
fn l2_a_session_that_cannot_be_made_fails_the_task_frees_the_slot_and_is_told() {
    let mut stage = Stage::slots(1);
    let a = stage.launch(task("a"));
    let b = stage.launch(task("b"));
    stage.observe(a, Fact::StartFailed { error: error(ErrorClass::Other) });
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)));
    assert_eq!(stage.task(a).error.as_deref(), Some(&error(ErrorClass::Other)));
    assert_eq!(stage.times_told(a), 1);
    assert!(stage.wants_compose("inbox:cli"));
    assert_eq!(stage.state(b), State::Starting);
    assert_eq!(stage.held(), 1);
}

#[test]
fn l3_more_launches_than_slots_are_all_accepted_and_start_in_order_of_arrival() {
    let mut stage = Stage::slots(5);
    let all: Vec<TaskId> = (0..10).map(|n| stage.launch(task(&format!("t{n}")))).collect();
    assert_eq!(stage.states(&all[..5]), [State::Starting; 5]);
    assert_eq!(stage.states(&all[5..]), [State::Queued; 5]);
    let urgent = stage.launch(task("urgent").priority(1));
    let mut order = Vec::new();
    for n in 0..6 {
        let before = all[5..]
            .iter()
            .chain([&urgent])
            .filter(|id| stage.state(**id) != State::Queued)
            .count();
        stage.start(all[n]);
        stage.answer(all[n], "done");
        let started: Vec<TaskId> = all[5..]
            .iter()
            .chain([&urgent])
            .filter(|id| stage.state(**id) == State::Starting && !order.contains(*id))
            .copied()
            .collect();
        assert_eq!(started.len(), 1, "one slot was freed, one task starts; {before} had started");
        order.extend(started);
        assert_eq!(stage.held(), 5);
    }
    assert_eq!(order, [urgent, all[5], all[6], all[7], all[8], all[9]]);
}

#[test]
fn l4_a_providers_limit_spans_its_models() {
    let providers = [("p".into(), 2)].into();
    let mut stage = Stage::with(Limits { providers, ..Limits::default() });
    let names = ["p/a", "p/b", "p/c", "p/d"];
    let all = names.map(|model| stage.launch(by_model(model, &[model])));
    let other = stage.launch(by_model("other", &["q/a"]));
    assert_eq!(
        stage.states(&all),
        [State::Starting, State::Starting, State::Queued, State::Queued]
    );
    assert_eq!(stage.state(other), State::Starting);
    assert_eq!(stage.key("provider:p").held, 2);
    stage.start(all[1]);
    stage.answer(all[1], "done");
    assert_eq!(
        stage.states(&all),
        [State::Starting, State::Completed, State::Starting, State::Queued]
    );
    assert_eq!(stage.key("provider:p").held, 2);
}

#[test]
fn l4_a_models_own_limit_goes_over_its_providers_and_zero_is_none() {
    let providers = [("p".into(), 1), ("free".into(), 0)].into();
    let models = [("p/big".into(), 2)].into();
    let mut stage = Stage::with(Limits { providers, models, ..Limits::default() });
    let big = ["1", "2", "3"].map(|name| stage.launch(by_model(name, &["p/big"])));
    let small = ["4", "5"].map(|name| stage.launch(by_model(name, &["p/small"])));
    assert_eq!(stage.states(&big), [State::Starting, State::Starting, State::Queued]);
    assert_eq!(stage.states(&small), [State::Starting, State::Queued]);
    let free: Vec<TaskId> =
        (0..20).map(|n| stage.launch(by_model(&n.to_string(), &["free/x"]))).collect();
    assert_eq!(stage.states(&free), [State::Starting; 20]);
}

#[test]
fn l5_cancelled_while_it_waits_for_a_slot_it_never_has_a_session() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let [b, c, d] = ["b", "c", "d"].map(|name| stage.launch(task(name)));
    let told = stage.cancel(b);
    assert_eq!(told, Told::Cancelling { task: b, state: State::Cancelled, below: Vec::new() });
    stage.answer(a, "done");
    assert_eq!(stage.states(&[c, d]), [State::Starting, State::Queued]);
    stage.start(c);
    stage.answer(c, "done");
    assert_eq!(stage.state(d), State::Starting);
    assert_eq!(stage.times_wished(&EffectKey::Open(b, 1)), 0);
    assert_eq!(stage.times_wished(&EffectKey::Abort(b, 1)), 0);
    assert_eq!(stage.times_told(b), 1);
}

#[test]
fn l6_cancelled_while_its_session_is_made_it_is_aborted_on_arrival() {
    let mut stage = Stage::slots(1);
    let a = stage.launch(task("a"));
    let b = stage.launch(task("b"));
    stage.cancel(a);
    assert_eq!(stage.state(a), State::Stopping);
    assert!(!stage.wants_open(a) && stage.wants_abort(a));
    assert_eq!(stage.held(), 1, "the slot is held until the stop is confirmed");
    stage.session_made(a);
    assert_eq!(stage.state(a), State::Stopping);
    assert!(!stage.wants_prompt(a));
    let abort = stage.first_wanted(|key| *key == EffectKey::Abort(a, 1));
    let Some(Effect::Abort { session, .. }) = abort else { panic!("{abort:?}") };
    assert_eq!(session, stage.task(a).session);
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
    assert_eq!(stage.state(b), State::Starting);
    assert_eq!(stage.held(), 1);
    stage.stopped_attempt(a, 1);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
    assert_eq!(stage.held(), 1, "the slot is freed once");
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn l6_a_session_that_arrives_after_the_stop_was_given_up_is_aborted_all_the_same() {
    let mut stage = Stage::slots(1);
    let a = stage.launch(task("a"));
    stage.cancel(a);
    stage.advance(30 * SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    assert_eq!(stage.held(), 0);
    assert_eq!(refused(&stage.retry(a)), Code::AbortUnconfirmed);
    let session = stage.session_of(a).into();
    stage.observe_at(a, Fence { attempt: 1, turn: 0 }, Fact::SessionMade { session });
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    assert!(stage.wants_abort(a));
    stage.stopped_attempt(a, 1);
    assert!(!stage.wants_abort(a));
    assert_eq!(stage.times_told(a), 1);
    assert_eq!(stage.retry(a), Told::Resumed { task: a, generation: 2 });
    assert_eq!(stage.state(a), State::Starting);
}

#[test]
fn l6_an_old_attempt_that_stopped_does_not_confirm_the_stop_of_the_last_one() {
    let mut stage = Stage::new();
    let a = stage.launch(by_model("a", &["p/a", "p/b"]));
    stage.observe(a, Fact::StartFailed { error: error(ErrorClass::RateLimited) });
    assert_eq!(stage.task(a).attempt, 2);
    stage.cancel(a);
    stage.advance(30 * SECOND);
    let session = "ses_of_the_first".into();
    stage.observe_at(a, Fence { attempt: 1, turn: 0 }, Fact::SessionMade { session });
    assert!(stage.wants(&EffectKey::Abort(a, 1)));
    stage.stopped_attempt(a, 1);
    assert!(!stage.wants(&EffectKey::Abort(a, 1)));
    assert_eq!(refused(&stage.retry(a)), Code::AbortUnconfirmed, "the second may still run");
    stage.stopped_attempt(a, 2);
    assert_eq!(stage.retry(a), Told::Resumed { task: a, generation: 2 });
}

#[test]
fn l7_of_two_resumes_one_wins_and_the_other_is_refused() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    stage.answer(a, "first");
    let session = stage.task(a).session;
    assert_eq!(stage.resume(a, "more"), Told::Resumed { task: a, generation: 2 });
    let second = stage.resume(a, "more still");
    assert_eq!(refused(&second), Code::NotEnded);
    assert!(refusal(&second).contains("send"));
    assert_eq!(stage.held(), 1);
    assert_eq!((stage.task(a).generation, stage.task(a).attempt), (2, 2));
    assert_eq!(stage.task(a).turn.kind, TurnKind::Resume);
    stage.start(a);
    assert_eq!(stage.task(a).session, session, "the same session goes on");
    assert_eq!(stage.times_wished(&EffectKey::Open(a, 2)), 0);
    stage.answer(a, "second");
    assert_eq!(stage.result(a).as_deref(), Some("second"));
    assert_eq!(stage.times_told(a), 2);
    stage.assert_at_rest();
}

#[test]
fn l8_a_prompt_whose_reply_was_cut_off_is_looked_for_and_not_sent_again() {
    let mut stage = Stage::slots(1);
    let a = stage.launch(task("a"));
    stage.session_made(a);
    stage.observe(a, Fact::PromptUnsure { why: "cut off".into() });
    assert_eq!(stage.state(a), State::Starting);
    assert!(!stage.wants_prompt(a) && stage.wants_look(a));
    stage.look_failed(a);
    assert!(!stage.wants_prompt(a), "a look that fails proves nothing");
    stage.advance(5 * SECOND);
    assert!(stage.wants_look(a), "it is asked again");
    stage.looked(a, open_picture());
    assert_eq!(stage.state(a), State::Running);
    assert_eq!(stage.times_wished(&EffectKey::Prompt(a, 1, 1)), 1);
    stage.answer(a, "done");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn l8_a_prompt_that_the_host_does_not_have_is_sent_again() {
    let mut stage = Stage::slots(1);
    let a = stage.launch(task("a"));
    stage.session_made(a);
    stage.observe(a, Fact::PromptUnsure { why: "cut off".into() });
    stage.looked(a, Picture { turn: TurnRecord::Absent, busy: Tri::No, ..open_picture() });
    assert_eq!((stage.state(a), stage.task(a).turn.phase), (State::Starting, Phase::Unsent));
    assert!(stage.wants_prompt(a));
    stage.prompt_taken(a);
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn l9_too_deep_unknown_lineage_and_a_cycle_are_refused_with_a_code() {
    let mut stage = Stage::new();
    let mut above = stage.launch_running(task("root"));
    for depth in 1..=3 {
        above = stage.launch_running(task("below").by(above));
        assert_eq!(stage.task(above).depth, depth);
    }
    let journal = stage.journal.len();
    let deeper = stage.try_launch(task("deeper").by(above));
    assert_eq!(refused(&deeper), Code::DepthExceeded);
    let nobody = TaskId::from_bits(999);
    assert_eq!(refused(&stage.try_launch(task("x").by(nobody))), Code::LineageUnknown);
    assert_eq!(
        refused(&stage.try_launch(task("x").parent(&format!("task:{nobody}")))),
        Code::LineageUnknown
    );
    let own = TaskId::from_bits(1_000);
    assert_eq!(refused(&stage.try_launch_as(own, task("x").by(own))), Code::LineageUnknown);
    assert_eq!(
        refused(&stage.try_launch_as(own, task("x").parent(&format!("task:{own}")))),
        Code::LineageCycle
    );
    assert_eq!(stage.journal.len(), journal, "nothing was stored");
    assert_eq!(stage.held(), 4, "nothing was started");
}

#[test]
fn l9_a_parent_that_is_told_by_its_own_child_is_refused() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a"));
    let b = stage.launch_running(task("b").parent(&format!("task:{a}")));
    stage.answer(a, "done");
    assert_eq!(stage.state(a), State::Completed, "b is told to a, but was not launched by it");
    let told = stage.resume_for(a, "more", Some(&format!("task:{b}")));
    assert_eq!(refused(&told), Code::LineageCycle);
    assert_eq!((stage.state(a), stage.task(a).generation), (State::Completed, 1));
}

#[test]
fn l9_a_parent_that_ended_long_ago_is_said_to_have_ended() {
    let mut stage = Stage::new();
    let old = stage.launch_running(task("old"));
    stage.answer(old, "done");
    stage.telemetry_taken(old, 1);
    stage.ack_notice(old, 1);
    assert!(stage.world.task(old).is_none(), "it left memory");
    let told = stage.try_launch(task("late").parent(&format!("task:{old}")));
    assert_eq!(refused(&told), Code::Ended);
}

#[test]
fn a_tree_leaves_memory_with_its_last_living_task() {
    let mut stage = Stage::new();
    let root = stage.launch_running(task("root").notify(Notify::Silent));
    let above = stage.launch_running(task("above").by(root).notify(Notify::Silent));
    let below = stage.launch_running(task("below").by(above).notify(Notify::Silent));
    for id in [below, above] {
        stage.answer(id, "done");
        stage.telemetry_taken(id, 1);
        assert!(stage.world.task(id).is_some(), "its relatives live");
    }
    stage.answer(root, "done");
    assert_eq!(stage.world.resident(), 1, "only what is owed stays");
    stage.telemetry_taken(root, 1);
    assert_eq!(stage.world.resident(), 0);
}

#[test]
fn l9_an_ended_task_launches_nothing() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a"));
    stage.answer(a, "done");
    assert_eq!(refused(&stage.try_launch(task("b").by(a))), Code::Ended);
}

#[test]
fn l10_the_limit_on_descendants_counts_the_living() {
    let mut stage = Stage::with(Limits { living_max: 2, ..Limits::default() });
    let root = stage.launch_running(task("root"));
    let [a, b] =
        ["a", "b"].map(|name| stage.launch_running(task(name).by(root).notify(Notify::Silent)));
    assert_eq!(refused(&stage.try_launch(task("c").by(root))), Code::LivingLimit);
    stage.answer(a, "done");
    stage.answer(b, "done");
    let [c, d] = ["c", "d"].map(|name| stage.launch_running(task(name).by(root)));
    assert_eq!(refused(&stage.try_launch(task("e").by(c))), Code::LivingLimit, "of the whole tree");
    assert_eq!(stage.states(&[c, d]), [State::Running, State::Running]);
    assert_eq!(stage.world.tree(root).map(|tree| tree.living), Some(2));
}

#[test]
fn l11_a_reservation_given_back_twice_counts_once() {
    let mut stage = Stage::with(Limits { living_max: 2, ..Limits::default() });
    let root = stage.launch_running(task("root"));
    let (first, told) = stage.reserve(root);
    assert_eq!(told, Told::Reserved);
    assert_eq!(stage.reserve(root).1, Told::Reserved);
    assert_eq!(refused(&stage.reserve(root).1), Code::LivingLimit);
    stage.release(first);
    stage.release(first);
    assert_eq!(stage.world.tree(root).map(|tree| tree.reserved), Some(1));
    assert_eq!(stage.reserve(root).1, Told::Reserved);
    assert_eq!(refused(&stage.reserve(root).1), Code::LivingLimit);
    stage.advance(MINUTE);
    assert_eq!(stage.world.tree(root).map(|tree| tree.reserved), Some(0), "held places lapse");
}

#[test]
fn l12_one_key_is_one_task_and_one_session() {
    let mut stage = Stage::slots(2);
    let a = stage.launch(task("a").key("k"));
    assert_eq!(stage.try_launch(task("a").key("k")), Told::Accepted { task: a, existing: true });
    assert_eq!(stage.times_wished(&EffectKey::Open(a, 1)), 1);
    assert_eq!(stage.held(), 1);
    let other = stage.try_launch(task("another request").key("k"));
    assert_eq!(refused(&other), Code::KeyReused);
    stage.start(a);
    stage.answer(a, "done");
    let again = stage.try_launch(task("a").key("k"));
    assert_eq!(again, Told::Accepted { task: a, existing: true }, "after its end too");
}

#[test]
fn l12_a_key_is_known_after_its_task_has_left_memory() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").key("k").notify(Notify::Silent));
    stage.answer(a, "done");
    stage.telemetry_taken(a, 1);
    assert!(stage.world.task(a).is_none(), "nothing is owed: it leaves memory");
    assert_eq!(stage.try_launch(task("a").key("k")), Told::Accepted { task: a, existing: true });
}

#[test]
fn l15_a_bad_launch_names_the_field_and_stores_nothing() {
    let mut stage = Stage::new();
    let long = "x".repeat((1 << 20) + 1);
    let cases: [(Launch, &str); 4] = [
        (task("a").prompt(""), "prompt"),
        (task("a").prompt(" \n\t"), "prompt"),
        (task("a").prompt(&long), "prompt"),
        (task("a").host(""), "host"),
    ];
    for (launch, field) in cases {
        let told = stage.try_launch(launch);
        assert_eq!(refused(&told), Code::Invalid);
        assert!(refusal(&told).starts_with(field), "{}", refusal(&told));
    }
    assert!(stage.journal.is_empty() && stage.texts.is_empty());
    for text in ["", "model", "/model", "provider/", "a b/c"] {
        let why = text.parse::<Model>().unwrap_err().to_string();
        assert!(why.contains("PROVIDER/MODEL"), "{why}");
    }
}

#[test]
fn l15_a_task_may_run_a_command_without_a_prompt() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a").process().prompt(""));
    assert_eq!(stage.state(a), State::Starting);
}

#[test]
fn l16_a_parent_whose_turn_ended_lends_its_slot_to_its_child() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let other = stage.launch(task("other"));
    let b = stage.launch(task("b").by(a));
    assert_eq!(stage.states(&[other, b]), [State::Queued, State::Queued]);
    stage.answer(a, "I wait");
    assert_eq!(stage.state(a), State::WaitingChildren);
    assert_eq!(
        stage.states(&[other, b]),
        [State::Queued, State::Starting],
        "its own child goes first"
    );
    assert_eq!((stage.key("agent:script").held, stage.key("agent:script").lent), (1, 1));
    stage.start(b);
    stage.answer(b, "found");
    assert_eq!(stage.states(&[a, other]), [State::WaitingChildren, State::Starting]);
    assert_eq!(stage.compose().len(), 1);
    assert_eq!(stage.task(a).turn.kind, TurnKind::Debrief);
    let late = stage.launch(task("late").priority(9));
    stage.start(other);
    stage.answer(other, "done");
    assert_eq!(stage.states(&[a, late]), [State::Running, State::Queued], "ahead of the queue");
    stage.prompt_taken(a);
    stage.answer(a, "all done");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.result(a).as_deref(), Some("all done"));
    assert_eq!(stage.state(late), State::Starting);
}

#[test]
fn l16_a_parent_in_a_blocking_read_lends_its_slot_and_has_it_back_ahead_of_the_queue() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let other = stage.launch(task("other"));
    let b = stage.launch(task("b").by(a));
    let wait = stage.wait(b, HOUR, Caller::Task(a));
    assert_eq!(stage.states(&[a, other, b]), [State::Running, State::Queued, State::Starting]);
    assert_eq!((stage.held(), stage.key("agent:script").lent), (1, 1));
    assert!(stage.told(wait).is_none());
    stage.start(b);
    stage.answer(b, "found");
    assert_eq!(stage.told(wait), Some(&Told::WaitOver { task: b, ended: true }));
    assert_eq!(stage.states(&[a, other, b]), [State::Running, State::Queued, State::Completed]);
    assert_eq!((stage.held(), stage.key("agent:script").lent), (1, 0));
    stage.ack_notice(b, 1);
    stage.answer(a, "all done");
    assert_eq!(stage.states(&[a, other]), [State::Completed, State::Starting]);
}

#[test]
fn l16_a_reader_whose_time_is_up_puts_its_key_in_debt_and_nothing_new_starts() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let other = stage.launch(task("other"));
    let b = stage.launch(task("b").by(a));
    let wait = stage.wait(b, MINUTE, Caller::Task(a));
    stage.start(b);
    stage.advance(MINUTE);
    assert_eq!(stage.told(wait), Some(&Told::WaitOver { task: b, ended: false }));
    assert_eq!((stage.held(), stage.key("agent:script").debt(1)), (2, 1));
    stage.answer(b, "found");
    assert_eq!((stage.held(), stage.state(other)), (1, State::Queued));
}

#[test]
fn l16_a_stranger_that_waits_lends_nothing() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let b = stage.launch(task("b"));
    stage.wait(b, HOUR, Caller::Task(a));
    stage.wait(b, HOUR, Caller::Person);
    assert_eq!((stage.held(), stage.key("agent:script").lent), (1, 0));
    assert_eq!(stage.state(b), State::Queued);
}

#[test]
fn l17_what_a_child_launches_is_linked_to_it() {
    let mut stage = Stage::new();
    let root = stage.launch_running(task("root"));
    let child = stage.launch_running(task("child").by(root));
    let grand = stage.launch_running(task("grand").by(child).parent("inbox:cli"));
    let linked = stage.task(grand);
    assert_eq!((linked.launched_by, linked.root, linked.depth), (Some(child), root, 2));
    assert_eq!(
        *linked.parent,
        stage::parent_ref("inbox:cli"),
        "--parent sets who is told, and only that"
    );
    stage.answer(root, "I wait");
    assert_eq!(stage.state(root), State::WaitingChildren);
    let told = stage.cancel(root);
    let Told::Cancelling { below, .. } = told else { panic!("{told:?}") };
    assert_eq!(below, [child, grand]);
    assert_eq!(stage.states(&[root, child, grand]), [State::Stopping; 3]);
}

#[test]
fn a_task_that_is_not_started_in_its_time_is_looked_for_first_and_then_stopped() {
    let mut stage = Stage::new();
    let over = Overrides { start_ms: Some(10 * SECOND), ..Overrides::default() };
    let a = stage.launch(task("a").over(over));
    stage.advance(10 * SECOND);
    assert_eq!(stage.state(a), State::Starting);
    assert!(stage.wants_look(a));
    stage.looked(a, Picture { turn: TurnRecord::Absent, busy: Tri::No, ..open_picture() });
    stage.fire();
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::NotStarted)));
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::NotStarted)));
}

#[test]
fn a_task_after_others_runs_when_all_completed_and_ends_when_one_does_not() {
    let mut stage = Stage::slots(1);
    let [a, b] = ["a", "b"].map(|name| stage.launch(task(name)));
    let c = stage.launch(task("c").after(&[a, b]));
    let d = stage.launch(task("d").after(&[b]));
    let e = stage.launch(task("e").after(&[d]));
    stage.start(a);
    stage.answer(a, "done");
    assert_eq!(stage.states(&[b, c, d]), [State::Starting, State::Queued, State::Queued]);
    stage.start(b);
    stage.ended(b, good("done"));
    assert_eq!(stage.states(&[c, d]), [State::Starting, State::Queued]);
    stage.cancel(d);
    assert_eq!(stage.end(e), (State::Cancelled, Some(Cause::Dependency)));
    assert_eq!(stage.times_told(e), 1);
    let late = stage.launch(task("late").after(&[d]));
    assert_eq!(stage.end(late), (State::Cancelled, Some(Cause::Dependency)));
    let ready = stage.launch(task("ready").after(&[a]));
    stage.start(c);
    stage.answer(c, "done");
    assert_eq!(stage.state(ready), State::Starting);
}
