//! Cancel, resume, steer: scenarios C.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod stage;

use std::sync::Arc;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{AskKind, ErrorClass, Fact, Picture};
use homing_core::ids::{AskId, TaskId};
use homing_core::input::{Input, ParentFact};
use homing_core::limits::Limits;
use homing_core::outbox::PostKind;
use homing_core::reason::Caller;
use homing_core::reply::Told;
use homing_core::spec::Overrides;
use homing_core::task::{Answer, AskState};
use homing_core::words::{Cause, Code, DeliveryState, Notify, State, TurnKind};
use stage::host::{ask, bad, error, good, open_picture};
use stage::launch::task;
use stage::{HOUR, MINUTE, SECOND, Stage, refusal, refused};

fn running() -> (Stage, TaskId) {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    stage.advance(SECOND);
    (stage, id)
}

fn told_to(stage: &Stage, id: TaskId) -> Vec<(String, DeliveryState, Option<Code>)> {
    stage
        .notices(id)
        .iter()
        .map(|notice| (notice.to.to_string(), notice.state, notice.code))
        .collect()
}

#[test]
fn c1_an_answer_that_arrives_during_an_abort_leaves_one_terminal_state() {
    let (mut stage, a) = running();
    let told = stage.cancel(a);
    assert_eq!(told, Told::Cancelling { task: a, state: State::Stopping, below: Vec::new() });
    stage.answer(a, "just in time?");
    assert_eq!(stage.state(a), State::Stopping, "an acknowledged cancel never becomes completed");
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
    assert_eq!(stage.result(a).as_deref(), Some("just in time?"), "what was said is kept");
    stage.answer(a, "just in time?");
    stage.stopped_attempt(a, 1);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
    assert_eq!((stage.times_told(a), stage.held()), (1, 0));
}

#[test]
fn c1_an_answer_before_the_cancel_wins_and_the_cancel_says_so() {
    let (mut stage, a) = running();
    stage.answer(a, "done");
    assert_eq!(stage.cancel(a), Told::AlreadyEnded { task: a, state: State::Completed });
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.times_wished(&EffectKey::Abort(a, 1)), 0);
}

#[test]
fn c2_a_refused_abort_is_said_and_not_called_cancelled() {
    let (mut stage, a) = running();
    stage.cancel(a);
    stage.observe(a, Fact::StopRefused { why: "busy".into() });
    assert_eq!((stage.state(a), stage.held()), (State::Stopping, 1));
    assert!(stage.wants_abort(a), "still to be ended");
    assert_eq!(stage.times_told(a), 0);
    let refusals =
        stage.records(a).filter(|record| format!("{record:?}").contains("StopRefused")).count();
    assert_eq!(refusals, 1, "the refusal is in the journal");
    stage.advance(29 * SECOND);
    assert_eq!(stage.state(a), State::Stopping);
    stage.advance(SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    assert_eq!(stage.notices(a)[0].code, Some(Code::AbortUnconfirmed));
    assert_eq!(Code::AbortUnconfirmed.word(), "E_ABORT_UNCONFIRMED");
    assert_eq!(stage.held(), 0);
}

#[test]
fn c2_a_refused_abort_that_is_confirmed_later_is_cancelled() {
    let (mut stage, a) = running();
    stage.cancel(a);
    stage.observe(a, Fact::StopRefused { why: "busy".into() });
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
}

#[test]
fn c3_cancel_takes_the_whole_tree() {
    let (mut stage, a) = running();
    let b = stage.launch_running(task("b").by(a));
    let c = stage.launch(task("c").by(b));
    let d = stage.launch_running(task("d").by(a).parent("inbox:cli"));
    let stranger = stage.launch_running(task("stranger").parent(&format!("task:{a}")));
    let told = stage.cancel(a);
    let Told::Cancelling { state, mut below, .. } = told else { panic!("{told:?}") };
    below.sort();
    assert_eq!(
        (state, below),
        (State::Stopping, vec![b, c, d]),
        "it names what is cancelled with it"
    );
    assert_eq!(stage.states(&[a, b, c, d]), [State::Stopping; 4]);
    assert_eq!(stage.state(stranger), State::Running, "told to it, but not launched by it");
    for id in [d, c, b, a] {
        stage.stopped(id);
        assert_eq!(stage.end(id), (State::Cancelled, Some(Cause::Asked)));
        assert_eq!(stage.times_told(id), 1);
    }
}

#[test]
fn c3_a_process_that_had_exited_has_nothing_left_to_stop() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").process());
    let b = stage.launch_running(task("b").by(a));
    stage.exited(a, 0, "bye");
    assert_eq!(stage.state(a), State::WaitingChildren);
    stage.cancel(a);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
    assert_eq!(stage.state(b), State::Stopping);
}

#[test]
fn c3_an_incomplete_cascade_shows_what_is_left() {
    let (mut stage, a) = running();
    let b = stage.launch_running(task("b").by(a));
    let c = stage.launch_running(task("c").by(b));
    let told = stage.cancel(a);
    let Told::Cancelling { below, .. } = told else { panic!("{told:?}") };
    stage.stopped(a);
    stage.stopped(b);
    stage.observe(c, Fact::StopRefused { why: "no".into() });
    stage.advance(30 * SECOND);
    let left: Vec<TaskId> =
        below.into_iter().filter(|id| stage.state(*id) != State::Cancelled).collect();
    assert_eq!(left, [c]);
    assert_eq!(stage.end(c), (State::Lost, Some(Cause::AbortUnconfirmed)));
    let lost = [("inbox:cli".to_owned(), DeliveryState::Owed, Some(Code::AbortUnconfirmed))];
    assert_eq!(told_to(&stage, c), lost, "told to the one who is told about the tree");
}

#[test]
fn c3_a_tree_whose_root_failed_is_cancelled_in_that_decision() {
    let (mut stage, a) = running();
    let b = stage.launch_running(task("b").by(a));
    let c = stage.launch(task("c").by(b));
    let queued = stage.launch(task("queued").by(b).after(&[c]));
    stage.ended(a, bad(error(ErrorClass::Other)));
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)));
    assert_eq!(stage.states(&[b, c, queued]), [State::Stopping, State::Stopping, State::Cancelled]);
    assert_eq!(stage.cause(b), Some(Cause::ParentEnded));
}

#[test]
fn c4_a_deleted_parents_tasks_are_cancelled_and_what_is_owed_is_visible_as_undeliverable() {
    let mut stage = Stage::new();
    let done = stage.launch_running(task("done").parent("opencode:ses_p"));
    let a = stage.launch_running(task("a").parent("opencode:ses_p"));
    let b = stage.launch_running(task("b").by(a));
    let other = stage.launch_running(task("other").parent("opencode:ses_q"));
    stage.answer(done, "done");
    stage.parent("opencode:ses_p", ParentFact::Deleted);
    assert_eq!(stage.states(&[a, b, other]), [State::Stopping, State::Stopping, State::Running]);
    let lost =
        [("opencode:ses_p".to_owned(), DeliveryState::Undeliverable, Some(Code::SessionNotFound))];
    assert_eq!(told_to(&stage, done), lost);
    stage.stopped(b);
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::ParentEnded)));
    assert_eq!(told_to(&stage, a), lost, "those included");
    let below = [(format!("task:{a}"), DeliveryState::Undeliverable, Some(Code::SessionNotFound))];
    assert_eq!(told_to(&stage, b), below, "nobody is left above the one that was to be told");
    assert!(stage.posts().is_empty(), "no room was named");
    assert_eq!(stage.compose(), []);
}

#[test]
fn c4_a_deleted_parent_leaves_one_marker_in_the_origins_room() {
    let mut stage = Stage::new();
    let launch = task("a").parent("opencode:ses_p").origin("group:matrix/!room");
    let a = stage.launch_running(launch);
    stage.parent("opencode:ses_p", ParentFact::Deleted);
    stage.stopped(a);
    let posts = stage.posts();
    assert_eq!(posts.len(), 1);
    let post = stage.world.post(posts[0]).unwrap();
    let kind = PostKind::Marker { task: a, generation: 1, code: Code::SessionNotFound };
    assert_eq!((&post.kind, post.origin.to_string()), (&kind, "group:matrix/!room".to_owned()));
}

#[test]
fn c4_what_a_deleted_session_of_a_task_is_owed_goes_to_the_nearest_living_ancestor() {
    let mut stage = Stage::new();
    let top = stage.launch_running(task("top").host("opencode"));
    let mid = stage.launch_running(task("mid").host("opencode").by(top));
    let parent = format!("opencode:{}", stage.task(mid).session.unwrap());
    let done = stage.launch_running(task("done").by(mid).parent(&parent));
    let a = stage.launch_running(task("a").by(mid).parent(&parent));
    stage.answer(done, "done");
    stage.parent(&parent, ParentFact::Deleted);
    stage.observe(mid, Fact::SessionDeleted);
    assert_eq!(stage.end(mid), (State::Lost, Some(Cause::SessionDeleted)));
    stage.stopped(a);
    let heir = [(format!("task:{top}"), DeliveryState::Owed, Some(Code::SessionNotFound))];
    assert_eq!(told_to(&stage, done), heir);
    assert_eq!(told_to(&stage, a), heir);
    stage.answer(top, "I wait");
    assert_eq!(stage.state(top), State::WaitingChildren, "it has not taken them");
    let mut taken: Vec<(TaskId, u32)> = Vec::new();
    while stage.state(top) == State::WaitingChildren {
        taken.extend(stage.compose().into_iter().flat_map(|debrief| debrief.notices));
        stage.prompt_taken(top);
        stage.answer(top, "all told");
    }
    taken.sort_unstable();
    assert_eq!(taken, [(mid, 1), (done, 1), (a, 1)], "each once");
    assert_eq!(stage.end(top), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn c5_a_resume_of_a_running_child_is_refused_and_a_send_is_delivered() {
    let (mut stage, a) = running();
    let told = stage.resume(a, "new words");
    assert_eq!(refused(&told), Code::NotEnded);
    assert!(refusal(&told).contains("send"), "{}", refusal(&told));
    assert_eq!(stage.send(a, "one"), Told::SendTaken { task: a, n: 1 });
    assert_eq!(stage.send(a, "two"), Told::SendTaken { task: a, n: 2 });
    assert!(!stage.wants_prompt(a), "not into the turn that runs");
    stage.answer(a, "first");
    for n in [1, 2] {
        let turn = stage.task(a).turn;
        assert_eq!(
            (stage.state(a), turn.kind, turn.send),
            (State::Running, TurnKind::Send, Some(n))
        );
        stage.prompt_taken(a);
        stage.answer(a, &format!("to {n}"));
    }
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.result(a).as_deref(), Some("to 2"));
    assert_eq!(stage.times_told(a), 1, "one generation, one notice");
}

#[test]
fn c5_a_send_to_one_that_waits_for_its_children_has_a_turn() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let b = stage.launch(task("b").by(a).notify(Notify::Silent));
    stage.answer(a, "I wait");
    stage.start(b);
    stage.send(a, "how is it going?");
    assert_eq!(stage.state(a), State::WaitingChildren, "its slot is lent");
    stage.answer(b, "done");
    assert_eq!((stage.state(a), stage.task(a).turn.send), (State::Running, Some(1)));
    stage.prompt_taken(a);
    stage.answer(a, "well");
    assert_eq!(stage.result(a).as_deref(), Some("well"));
}

#[test]
fn c5_words_that_cannot_arrive_are_refused_with_what_to_do() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a").process());
    let queued = stage.launch(task("queued"));
    assert_eq!(refused(&stage.send(a, "hello")), Code::CannotPrompt);
    assert_eq!(refused(&stage.send(queued, "hello")), Code::CannotPrompt);
    assert_eq!(refused(&stage.send(a, " ")), Code::Invalid);
    stage.cancel(a);
    assert_eq!(refused(&stage.send(a, "hello")), Code::Stopping);
    stage.stopped(a);
    let told = stage.send(a, "hello");
    assert_eq!(refused(&told), Code::Ended);
    assert!(refusal(&told).contains("resume"));
    assert_eq!(
        refused(&stage.resume(a, "hello")),
        Code::CannotPrompt,
        "a process has no session to go on"
    );
    assert_eq!(stage.retry(a), Told::Resumed { task: a, generation: 2 });
}

#[test]
fn c6_cancelling_what_is_finished_or_unknown_says_which() {
    let (mut stage, a) = running();
    stage.answer(a, "done");
    let journal = stage.journal.len();
    for _ in 0..2 {
        assert_eq!(stage.cancel(a), Told::AlreadyEnded { task: a, state: State::Completed });
    }
    assert_eq!(refused(&stage.cancel(TaskId::from_bits(404))), Code::NotFound);
    assert_eq!(stage.journal.len(), journal);
}

#[test]
fn c6_cancelling_twice_is_one_cancel() {
    let (mut stage, a) = running();
    stage.cancel(a);
    let again = stage.cancel(a);
    assert_eq!(again, Told::Cancelling { task: a, state: State::Stopping, below: Vec::new() });
    stage.stopped(a);
    assert_eq!(stage.cancel(a), Told::AlreadyEnded { task: a, state: State::Cancelled });
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn c6_a_cancel_turns_a_stop_that_would_have_gone_on() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").models(&["p/a", "p/b"]));
    stage.ended(a, bad(error(ErrorClass::RateLimited)));
    assert_eq!(stage.state(a), State::Stopping);
    stage.cancel(a);
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
    assert_eq!(stage.task(a).attempt, 1);
}

#[test]
fn c6_a_cancel_does_not_turn_a_timeout_into_something_else() {
    let mut stage = Stage::new();
    let over = Overrides { timeout_ms: Some(MINUTE), ..Overrides::default() };
    let a = stage.launch_running(task("a").over(over));
    stage.advance(MINUTE);
    stage.shows_nothing_new(a);
    assert_eq!(stage.state(a), State::Stopping);
    stage.cancel(a);
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::TimedOut, Some(Cause::Timeout)));
}

#[test]
fn c6_a_quiet_cancel_owes_nothing() {
    let (mut stage, a) = running();
    stage.ask(|request| Input::Cancel {
        request,
        task: a,
        by: Caller::Person,
        text: None,
        quiet: true,
    });
    stage.stopped(a);
    assert_eq!((stage.state(a), stage.times_told(a)), (State::Cancelled, 0));
}

#[test]
fn c7_a_late_success_is_stored_and_changes_neither_state_nor_notices() {
    let (mut stage, a) = running();
    stage.cancel(a);
    stage.stopped(a);
    let (state, notices) = (stage.state(a), stage.notices(a));
    stage.answer(a, "too late");
    stage.answer(a, "too late");
    assert_eq!(stage.state(a), state);
    assert_eq!(stage.notices(a), notices);
    assert_eq!(stage.late(a).as_deref(), Some("too late"));
    assert_eq!((stage.count(a, "late"), stage.count(a, "stale")), (1, 2));
    assert_eq!((stage.times_told(a), stage.result(a)), (1, None));
}

#[test]
fn c7_a_late_success_after_a_timeout_and_after_a_stop_given_up_is_stored_too() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE);
    stage.shows_nothing_new(a);
    stage.advance(30 * SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    stage.answer(a, "too late");
    assert_eq!((stage.state(a), stage.late(a).as_deref()), (State::Lost, Some("too late")));
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn c7_an_exit_that_comes_after_the_stop_was_given_up_confirms_it_and_leaves_its_text() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").process());
    stage.cancel(a);
    stage.advance(30 * SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    assert_eq!(refused(&stage.retry(a)), Code::AbortUnconfirmed);
    stage.exited(a, 0, "last words");
    assert_eq!((stage.state(a), stage.late(a).as_deref()), (State::Lost, Some("last words")));
    assert_eq!(stage.retry(a), Told::Resumed { task: a, generation: 2 });
}

#[test]
fn c8_an_ask_is_seen_once_and_its_answer_reaches_the_child() {
    let (mut stage, a) = running();
    stage.asks_permission(a, "k");
    stage.asks_permission(a, "k");
    stage.looked(a, Picture { asks: Some(vec![ask("k", AskKind::Permission)]), ..open_picture() });
    assert_eq!((stage.state(a), stage.held()), (State::WaitingAsk, 1));
    assert_eq!(stage.count(a, "ask_opened"), 1, "people see it once");
    let id = stage.open_ask(a);
    let told = stage.answer_ask(id, Answer::Allow, Caller::Person);
    assert_eq!(told, Told::Answered { ask: id });
    assert_eq!(stage.state(a), State::Running);
    let wanted = stage.first_wanted(|key| *key == EffectKey::Answer(a, id));
    let Some(Effect::Answer { key, answer, .. }) = wanted else { panic!("{wanted:?}") };
    assert_eq!((&*key, answer), ("k", Answer::Allow));
    let again = stage.answer_ask(id, Answer::Deny, Caller::Person);
    assert_eq!(refused(&again), Code::AskClosed, "answered once");
    stage.answer_taken(id);
    assert!(!stage.wants(&EffectKey::Answer(a, id)));
    stage.asks_permission(a, "k");
    assert_eq!(stage.state(a), State::Running, "a word that comes late opens nothing");
    stage.answer(a, "done");
    assert_eq!(stage.state(a), State::Completed);
}

#[test]
fn c8_an_ask_that_the_host_no_longer_shows_is_withdrawn() {
    let (mut stage, a) = running();
    stage.asks_question(a, "k");
    let id = stage.open_ask(a);
    stage.looked(a, open_picture());
    assert_eq!(stage.state(a), State::Running);
    assert_eq!(refused(&stage.answer_ask(id, Answer::Deny, Caller::Person)), Code::AskClosed);
    stage.asks_question(a, "k2");
    stage.observe(a, Fact::AskClosed { key: "k2".into() });
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn c8_an_ask_that_nobody_answers_is_denied_by_policy_after_its_time() {
    let (mut stage, a) = running();
    stage.asks_permission(a, "k");
    let id = stage.open_ask(a);
    stage.advance(24 * HOUR - 1);
    assert_eq!(stage.state(a), State::WaitingAsk);
    stage.advance(1);
    assert_eq!(stage.state(a), State::Running);
    let known = stage.task(a).asks[0].clone();
    assert_eq!(
        (known.state, known.answer, known.by),
        (AskState::Expired, Some(Answer::Deny), Some(Caller::Policy))
    );
    assert!(stage.wants(&EffectKey::Answer(a, id)));
}

#[test]
fn c8_an_answer_for_a_stale_attempt_is_refused() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").models(&["p/a", "p/b"]));
    stage.asks_permission(a, "k");
    let id = stage.open_ask(a);
    stage.ended(a, bad(error(ErrorClass::RateLimited)));
    stage.stopped(a);
    stage.start(a);
    assert_eq!(refused(&stage.answer_ask(id, Answer::Allow, Caller::Person)), Code::AskClosed);
    assert_eq!(
        refused(&stage.answer_ask(AskId::from_bits(1), Answer::Allow, Caller::Person)),
        Code::AskClosed
    );
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn c8_a_child_cannot_answer_its_own_ask() {
    let (mut stage, a) = running();
    let b = stage.launch_running(task("b").by(a));
    stage.asks_question(a, "k");
    let id = stage.open_ask(a);
    for by in [Caller::Task(a), Caller::Task(b)] {
        assert_eq!(refused(&stage.answer_ask(id, Answer::Text("yes".into()), by)), Code::OwnAsk);
    }
    assert_eq!(
        refused(&stage.answer_ask(id, Answer::Allow, Caller::Person)),
        Code::Invalid,
        "a question"
    );
    stage.answer_ask(id, Answer::Text("yes".into()), Caller::Person);
    assert_eq!(stage.state(a), State::Running);
}

/// A stage where policy names these parents.
fn named(parents: &[&str]) -> Stage {
    let permissions = parents.iter().map(|parent| parent.parse().unwrap()).collect();
    Stage::with(Limits { permissions, ..Limits::default() })
}

fn agent(parent: &str) -> Caller {
    Caller::Agent(Arc::new(parent.parse().unwrap()))
}

#[test]
fn c8_a_permission_is_given_by_people_and_by_no_agent_that_policy_does_not_name() {
    let mut stage = named(&["inbox:other", "opencode:*"]);
    let a = stage.launch_running(task("a").parent("inbox:bot"));
    stage.asks_permission(a, "k");
    let id = stage.open_ask(a);
    for answer in [Answer::Allow, Answer::Text("yes".into())] {
        let told = stage.answer_ask(id, answer, agent("inbox:bot"));
        assert_eq!(refused(&told), Code::PeopleOnly);
        assert!(refusal(&told).contains("policy does not name inbox:bot"), "{told:?}");
    }
    assert_eq!(stage.state(a), State::WaitingAsk);
    assert_eq!(
        stage.answer_ask(id, Answer::Deny, agent("inbox:bot")),
        Told::Answered { ask: id },
        "to refuse is anybody's"
    );
}

#[test]
fn c8_the_parent_that_policy_names_gives_its_own_tasks_a_permission_and_no_others() {
    let mut stage = named(&["inbox:bot", "inbox:desk/*", "task:*"]);
    let a = stage.launch_running(task("a").parent("inbox:bot"));
    let b = stage.launch_running(task("b").parent("inbox:desk/7"));
    for each in [a, b] {
        stage.asks_permission(each, "k");
    }
    let (of_a, of_b) = (stage.open_ask(a), stage.open_ask(b));
    let told = stage.answer_ask(of_b, Answer::Allow, agent("inbox:bot"));
    assert_eq!(refused(&told), Code::PeopleOnly);
    assert!(refusal(&told).contains("inbox:bot is not the parent of"), "{told:?}");
    let told = stage.answer_ask(of_a, Answer::Allow, agent("inbox:bot"));
    assert_eq!(told, Told::Answered { ask: of_a });
    assert_eq!(stage.task(a).asks[0].by, Some(agent("inbox:bot")), "it is written down who did");
    let told = stage.answer_ask(of_b, Answer::Allow, agent("inbox:desk/7"));
    assert_eq!(told, Told::Answered { ask: of_b }, "one of a family");
}

#[test]
fn c8_no_policy_lets_the_asking_childs_own_tree_answer() {
    let mut stage = named(&["task:*"]);
    let above = stage.launch_running(task("above"));
    let a = stage.launch_running(task("a").by(above).parent(&format!("task:{above}")));
    let below = stage.launch_running(task("below").by(a));
    stage.asks_permission(a, "k");
    let id = stage.open_ask(a);
    for by in [a, below] {
        let told = stage.answer_ask(id, Answer::Allow, Caller::Task(by));
        assert_eq!(refused(&told), Code::OwnAsk);
    }
    let claims = agent(&format!("task:{above}"));
    let told = stage.answer_ask(id, Answer::Allow, claims);
    assert_eq!(refused(&told), Code::PeopleOnly, "who is a task is inside of it");
    let told = stage.answer_ask(id, Answer::Allow, Caller::Task(above));
    assert_eq!(told, Told::Answered { ask: id }, "its parent is above it, not in its tree");
}

#[test]
fn c8_two_asks_are_two_and_the_child_goes_on_after_both() {
    let (mut stage, a) = running();
    let both = vec![ask("k1", AskKind::Permission), ask("k2", AskKind::Question)];
    stage.looked(a, Picture { asks: Some(both), ..open_picture() });
    let ids: Vec<AskId> = stage.task(a).open_asks().map(|ask| ask.id).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    stage.answer_ask(ids[0], Answer::Deny, Caller::Person);
    assert_eq!(stage.state(a), State::WaitingAsk);
    stage.answer_ask(ids[1], Answer::Text("blue".into()), Caller::Person);
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn a_child_that_ends_while_it_asks_has_ended() {
    let (mut stage, a) = running();
    stage.asks_permission(a, "k");
    stage.ended(a, bad(error(ErrorClass::Other)));
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)));
    let (mut stage, b) = running();
    stage.asks_permission(b, "k");
    stage.ended(b, good("42"));
    stage.observe(b, Fact::AskClosed { key: "k".into() });
    assert_eq!(stage.end(b), (State::Completed, Some(Cause::Answered)));
}
