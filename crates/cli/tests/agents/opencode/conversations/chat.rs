//! A conversation as a program at the socket has it.

use homing_client::Client;
use homing_core::ids::ConversationId;
use homing_core::wire::{ConversationView, Converse, Speak, TurnEvent, TurnView};
use tokio::runtime::Runtime;

use super::super::scene::Scene;
use super::super::server::until;

pub struct Chat {
    pub id: ConversationId,
    client: Client,
    rt: Runtime,
}

impl Chat {
    pub fn open(scene: &Scene, origin: Option<&str>) -> Self {
        let rt = Runtime::new().unwrap();
        let client = client(scene);
        let body = Converse {
            host: Some("opencode".into()),
            cwd: Some(scene.place.work().display().to_string()),
            origin: origin.map(str::to_owned),
            ..Converse::default()
        };
        let id = rt.block_on(client.converse(&body)).unwrap().id;
        Self { id, client, rt }
    }

    /// After a restart of the daemon.
    pub fn again(&mut self, scene: &Scene) {
        self.client = client(scene);
    }

    pub fn speak(&self, text: &str) -> u32 {
        let body = Speak { text: text.to_owned(), key: None };
        self.rt.block_on(self.client.speak(self.id, &body)).unwrap().turn
    }

    /// All that the stream of a turn holds.
    pub fn events(&self, turn: u32, from: Option<&str>) -> Vec<TurnEvent> {
        let (all, _) = self.events_until(turn, from, |_| false);
        all
    }

    /// The same, until one of them is the one; and where a reader is then.
    pub fn events_until(
        &self,
        turn: u32,
        from: Option<&str>,
        is_it: impl Fn(&TurnEvent) -> bool,
    ) -> (Vec<TurnEvent>, Option<String>) {
        self.rt.block_on(async {
            let mut events = self.client.turn_events(self.id, turn, from).await.unwrap();
            let (mut all, mut last) = (Vec::new(), from.map(str::to_owned));
            while let Some(event) = events.next().await.unwrap() {
                last = event.id.clone().or(last);
                let event: TurnEvent = event.json().unwrap();
                let found = is_it(&event);
                all.push(event);
                if found {
                    break;
                }
            }
            (all, last)
        })
    }

    pub fn view(&self) -> ConversationView {
        self.rt.block_on(self.client.conversation(self.id)).unwrap()
    }

    pub fn turn(&self, turn: u32) -> Option<TurnView> {
        self.view().turns.into_iter().find(|view| view.turn == turn)
    }

    pub fn ended(&self, turn: u32) -> TurnView {
        until("the turn's end", || self.turn(turn).filter(|turn| turn.ended_at.is_some()))
    }

    /// Asks, and waits for the answer.
    pub fn ask(&self, text: &str) -> String {
        let turn = self.speak(text);
        self.ended(turn).text.unwrap_or_default()
    }

    /// The turns that told of tasks.
    pub fn debriefs(&self) -> Vec<TurnView> {
        self.view().turns.into_iter().filter(|turn| turn.cause == "tasks").collect()
    }
}

pub fn client(scene: &Scene) -> Client {
    scene.home.homing(["daemon", "start"]);
    let status = scene.home.json(["daemon", "status", "--json"]);
    Client::new(status["socket"].as_str().unwrap())
}

/// The text that a stream comes to, with what was withdrawn taken out.
pub fn text(events: &[TurnEvent]) -> String {
    let mut parts: Vec<(String, String)> = Vec::new();
    for event in events {
        match event {
            TurnEvent::Said { part, kind, offset, text, .. } if kind == "text" => {
                if !parts.iter().any(|(known, _)| known == part) {
                    parts.push((part.clone(), String::new()));
                }
                let (_, known) = parts.iter_mut().find(|(known, _)| known == part).unwrap();
                assert_eq!(known.len() as u64, *offset, "no gap and nothing twice: {event:?}");
                known.push_str(text);
            }
            TurnEvent::Reset { part, offset, .. } => {
                for (known, text) in &mut parts {
                    if part.as_ref().is_none_or(|part| part == known) {
                        text.truncate(usize::try_from(*offset).unwrap());
                    }
                }
            }
            TurnEvent::Said { .. }
            | TurnEvent::Waits { .. }
            | TurnEvent::Began { .. }
            | TurnEvent::Asks { .. }
            | TurnEvent::Ended(_) => {}
        }
    }
    parts.into_iter().map(|(_, text)| text).collect()
}
