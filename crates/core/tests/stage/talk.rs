//! Conversations on the stage: opened, spoken to, answered.

use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::payload::{Digest, Payload};
use homing_core::reply::Told;

use super::Stage;
use super::launch::Launch;

impl Stage {
    /// The task that carries a new conversation, and what it is called as a parent.
    pub fn converse(&mut self, launch: Launch) -> (TaskId, String) {
        self.ids += 1;
        let id = TaskId::from_bits(self.ids);
        let spec = Box::new(launch.converses().into_spec());
        let told = self.ask(|request| Input::Converse { request, id, spec });
        assert_eq!(told, Told::Accepted { task: id, existing: false });
        (id, format!("conv:{}", id.conversation()))
    }

    pub fn speak(&mut self, id: TaskId, text: &str) -> Told {
        self.speak_as(id, text, None)
    }

    pub fn speak_as(&mut self, id: TaskId, text: &str, key: Option<&str>) -> Told {
        let (text, key) = (Payload::from(text), key.map(|key| Digest::of(key.as_bytes())));
        self.ask(|request| Input::Turn { request, task: id, text, key })
    }

    /// A person's turn is asked for, begins at once and runs.
    pub fn turn_runs(&mut self, id: TaskId, text: &str) -> u32 {
        let told = self.speak(id, text);
        let Told::TurnTaken { turn, existing: false } = told else {
            panic!("no turn was taken: {told:?}");
        };
        self.start(id);
        turn
    }

    /// A whole turn of a person.
    pub fn turn(&mut self, id: TaskId, text: &str, answer: &str) -> u32 {
        let turn = self.turn_runs(id, text);
        self.answer(id, answer);
        turn
    }

    pub fn close(&mut self, id: TaskId) -> Told {
        self.ask(|request| Input::Close { request, task: id })
    }

    /// The words that the turn which runs was given.
    pub fn prompt_of_turn(&self, id: TaskId) -> String {
        let task = self.task(id);
        let name = match task.turn.debrief {
            Some(debrief) => homing_core::decision::names::debrief(debrief),
            None => homing_core::decision::names::prompt(id, task.generation),
        };
        let text = self.texts.iter().find(|text| text.name == name);
        let text = text.unwrap_or_else(|| panic!("{name} has no text"));
        String::from_utf8_lossy(&text.bytes).into_owned()
    }
}
