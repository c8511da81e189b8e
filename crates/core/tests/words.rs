//! Words for a child whose turn goes on: a command that keeps its standard input open.

mod stage;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{Fact, Fence};
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::payload::Payload;
use homing_core::reply::Told;
use homing_core::words::{Code, State};
use stage::launch::task;
use stage::{Stage, refused};

impl Stage {
    fn talker(&mut self, name: &str) -> TaskId {
        self.launch_running(task(name).talker())
    }

    fn say(&mut self, task: TaskId, text: &str, last: bool) -> Told {
        let text = Payload::from(text);
        self.ask(|request| Input::Send { request, task, text, last })
    }

    /// What it is to be told now, and whether that is the last.
    fn to_be_said(&self, task: TaskId) -> Vec<(u32, bool)> {
        let said = |effect: Effect| {
            let Effect::Say { task: of, n, last, .. } = effect else {
                return None;
            };
            (of == task).then_some((n, last))
        };
        self.wanted().into_iter().filter_map(said).collect()
    }

    fn said(&mut self, task: TaskId, attempt: u32, n: u32) {
        let fence = Fence { attempt, turn: 0 };
        self.give(Input::Observed { task, fence, fact: Fact::WordsTaken { n } });
    }
}

#[test]
fn c5_words_go_in_one_by_one_and_in_order_while_the_turn_goes_on() {
    let mut stage = Stage::new();
    let id = stage.talker("echo");
    for (n, text) in [(1, "one"), (2, "two")] {
        assert_eq!(stage.say(id, text, false), Told::SendTaken { task: id, n });
    }
    assert_eq!(stage.to_be_said(id), [(1, false)]);
    stage.said(id, 1, 1);
    assert_eq!(stage.to_be_said(id), [(2, false)]);
    stage.said(id, 1, 1);
    assert_eq!(stage.to_be_said(id), [(2, false)], "told twice is once");
    stage.restart();
    assert_eq!(stage.to_be_said(id), [(2, false)]);
    stage.said(id, 1, 2);
    assert_eq!(stage.to_be_said(id), []);
    assert_eq!(stage.task(id).state, State::Running, "no turn came of it");
    assert_eq!(stage.task(id).turn.n, 1);
}

#[test]
fn after_the_last_words_there_are_no_more() {
    let mut stage = Stage::new();
    let id = stage.talker("echo");
    stage.say(id, "bye", true);
    assert_eq!(stage.to_be_said(id), [(1, true)]);
    assert_eq!(refused(&stage.say(id, "more", false)), Code::CannotPrompt);
    stage.said(id, 1, 1);
    assert_eq!(refused(&stage.say(id, "more", true)), Code::CannotPrompt);
    let other = stage.talker("other");
    assert_eq!(refused(&stage.say(other, "", false)), Code::Invalid);
    assert_eq!(stage.say(other, "", true), Told::SendTaken { task: other, n: 1 });
}

#[test]
fn words_that_were_not_said_go_to_the_next_attempt_and_those_of_an_old_one_change_nothing() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("echo").models(&["p/a", "p/b"]).talker());
    stage.say(id, "one", false);
    stage.said(id, 7, 1);
    assert_eq!(stage.to_be_said(id), [(1, false)], "another attempt's word proves nothing");
    assert!(stage.wants(&EffectKey::Say(id, 1, 1)));
    // Its exit asks for the next model before it was told.
    stage.exited(id, 75, "");
    assert_eq!((stage.task(id).attempt, stage.to_be_said(id)), (2, vec![]));
    stage.start(id);
    assert_eq!(stage.to_be_said(id), [(1, false)]);
    assert!(stage.wants(&EffectKey::Say(id, 2, 1)));
    stage.said(id, 1, 1);
    assert_eq!(stage.to_be_said(id), [(1, false)], "nor does the old one's");
    stage.said(id, 2, 1);
    assert_eq!(stage.to_be_said(id), []);
}

#[test]
fn an_end_leaves_nothing_to_be_said() {
    let mut stage = Stage::new();
    let id = stage.talker("echo");
    stage.say(id, "one", false);
    stage.exited(id, 0, "done");
    assert_eq!(stage.to_be_said(id), []);
    assert_eq!(stage.task(id).state, State::Completed);
    assert_eq!(refused(&stage.say(id, "late", false)), Code::Ended);
}

#[test]
fn a_command_without_open_input_and_an_agent_have_none_to_close() {
    let mut stage = Stage::new();
    let plain = stage.launch_running(task("plain").process());
    assert_eq!(refused(&stage.say(plain, "x", false)), Code::CannotPrompt);
    let agent = stage.launch_running(task("agent"));
    assert_eq!(refused(&stage.say(agent, "x", true)), Code::CannotPrompt);
    assert_eq!(stage.say(agent, "x", false), Told::SendTaken { task: agent, n: 1 });
    assert_eq!(stage.to_be_said(agent), [], "it has a turn of its own");
}
