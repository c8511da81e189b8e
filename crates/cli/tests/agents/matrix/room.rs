//! The room by itself, on a real homeserver: the contract of rooms, threads, names, sizes, tokens.

use std::sync::Arc;

use homing_core::ids::PostId;
use homing_core::input::PostFact;
use homing_core::refs::Origin;
use homing_ports::contract::room::RoomFactory;
use homing_ports::contract::run::Runner;
use homing_ports::parent::{Message, Room};
use homing_testkit::between::Passing;
use homing_testkit::opencode::until;
use serde_json::json;

use super::scene::Scene;

pub fn blocking<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn on_tokio(case: std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>>) {
    blocking(case);
}

pub fn message(key: u64, origin: &str, text: &str) -> Message {
    let (key, origin) = (PostId::from_bits(key), origin.parse().unwrap());
    Message { key, origin, text: text.as_bytes().to_vec(), tries: 0 }
}

fn posted(scene: &Scene, key: u64, origin: &str, text: &str) -> PostFact {
    blocking(scene.matrix().post(message(key, origin, text)))
}

struct One {
    scene: Scene,
    room: String,
}

impl One {
    fn new() -> Self {
        let scene = Scene::new();
        let room = scene.room();
        Self { scene, room }
    }
}

impl RoomFactory for One {
    fn room(&mut self) -> Arc<dyn Room> {
        Arc::new(self.scene.matrix())
    }

    fn origin(&mut self) -> Origin {
        format!("group:team/{}", self.room).parse().unwrap()
    }

    fn texts(&mut self) -> Vec<Vec<u8>> {
        let heard = self.scene.person.heard(&self.room).into_iter();
        heard.map(String::into_bytes).collect()
    }

    fn close(&mut self) {
        self.scene.person.kick(&self.room, &self.scene.bot);
    }

    /// As Synapse says it; how it limits by itself is another test.
    fn limit(&mut self, retry_after_ms: u64) {
        let body = json!({"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests",
            "retry_after_ms": retry_after_ms - 1})
        .to_string();
        let after = retry_after_ms / 1_000;
        let head = format!("HTTP/1.1 429 Unknown Status\r\nRetry-After: {after}");
        let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        self.scene.between.next([Passing::Instead(answer)]);
    }

    fn lose_reply(&mut self) {
        self.scene.between.next([Passing::LoseReply]);
    }

    fn runner(&self) -> Runner {
        on_tokio
    }
}

homing_ports::room_contract!(One::new());

#[test]
fn g15_a_message_goes_to_its_group_or_its_direct_chat_and_nowhere_else() {
    let scene = Scene::new();
    let (group, direct) = (scene.room(), scene.person.direct(&scene.bot));
    assert_eq!(posted(&scene, 1, &format!("group:team/{group}"), "to all"), PostFact::Posted);
    assert_eq!(posted(&scene, 2, &format!("direct:team/{direct}"), "to you"), PostFact::Posted);
    // The same transaction in another room is another message.
    assert_eq!(posted(&scene, 1, &format!("direct:team/{direct}"), "and this"), PostFact::Posted);
    assert_eq!(scene.person.heard(&group), ["to all"]);
    assert_eq!(scene.person.heard(&direct), ["to you", "and this"]);
    let said = scene.person.said(&group).remove(0);
    assert_eq!((&said.by, &said.content["msgtype"]), (&scene.bot.id, &json!("m.text")));
    assert_eq!(said.content.get("format"), None, "no markup");
}

#[test]
fn g14_an_answer_to_a_thread_is_read_in_that_thread() {
    let scene = Scene::new();
    let room = scene.room();
    let root = scene.person.say(&room, "Do the tests pass?");
    scene.person.say(&room, "Something else.");
    let origin = format!("thread:team/{room}#{root}");
    assert_eq!(posted(&scene, 1, &origin, "They pass."), PostFact::Posted);
    assert_eq!(posted(&scene, 2, &origin, "All of them."), PostFact::Posted);
    let thread = scene.person.thread(&room, &root);
    let texts: Vec<&str> = thread.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(texts, ["They pass.", "All of them."]);
    let relates = json!({"rel_type": "m.thread", "event_id": root, "is_falling_back": true,
        "m.in_reply_to": {"event_id": root}});
    assert_eq!(thread[0].content["m.relates_to"], relates);
    assert_eq!(scene.person.said(&room).len(), 4);
}

#[test]
fn g18_names_and_markup_in_a_text_are_read_as_they_stand_and_ring_nobody() {
    let scene = Scene::new();
    let room = scene.room();
    let name = scene.person.id.trim_start_matches('@').split(':').next().unwrap().to_owned();
    let text =
        format!("@room {name} {} <a href=\"https://matrix.to/#/{0}\">x</a>", scene.person.id);
    assert_eq!(posted(&scene, 1, &format!("group:team/{room}"), &text), PostFact::Posted);
    assert_eq!(scene.person.heard(&room), [text]);
    // The homeserver does ring for the same name where nobody says otherwise.
    let rings = scene.bot.say(&room, &format!("{name}, look"));
    let rung = until("a ring", || Some(scene.person.rung_for()).filter(|rung| !rung.is_empty()));
    let rung: Vec<&str> = rung.iter().map(|said| said.event.as_str()).collect();
    assert_eq!(rung, [rings]);
}

#[test]
fn a_text_that_is_longer_than_an_event_is_cut_and_taken() {
    let scene = Scene::new();
    let room = scene.room();
    let root = scene.person.say(&room, "All of it, please.");
    for (key, letter) in [(1, "x"), (2, "\u{1f6f0}"), (3, "\""), (4, "\u{1}")] {
        let long = letter.repeat(200_000);
        let origin = format!("thread:team/{room}#{root}");
        assert_eq!(posted(&scene, key, &origin, &long), PostFact::Posted, "{letter:?}");
        let heard = scene.person.heard(&room).pop().unwrap();
        let (shown, note) = heard.rsplit_once('\n').unwrap();
        assert!(long.starts_with(shown) && shown.len() > 9_000, "{letter:?}: {}", shown.len());
        assert_eq!(note, format!("[{} more bytes do not fit here]", long.len() - shown.len()));
    }
}

#[test]
fn a_token_that_was_logged_out_is_refused_for_good_and_a_new_one_counts_at_once() {
    let scene = Scene::new();
    let room = scene.room();
    let origin = format!("group:team/{room}");
    let matrix = scene.matrix();
    assert_eq!(blocking(matrix.whoami()), Ok(scene.bot.id.clone()));
    let fresh = scene.bot.log_in();
    scene.bot.log_out();
    let fact = blocking(matrix.post(message(1, &origin, "later")));
    let PostFact::Closed { why } = fact else {
        unreachable!("{fact:?}");
    };
    assert!(why.contains("401") && why.contains("M_UNKNOWN_TOKEN"), "{why}");
    assert!(!why.contains(&scene.bot.token), "{why}");
    assert!(blocking(matrix.whoami()).unwrap_err().contains("M_UNKNOWN_TOKEN"));
    scene.put_token(&fresh.token);
    assert_eq!(blocking(matrix.post(message(1, &origin, "later"))), PostFact::Posted);
    assert_eq!(scene.person.heard(&room), ["later"]);
}

#[test]
fn a_room_that_is_not_there_is_refused_for_good() {
    let scene = Scene::new();
    for room in ["!nobody-made-it:localhost", "!nobody-made-it"] {
        let fact = posted(&scene, 1, &format!("group:team/{room}"), "x");
        assert!(
            matches!(&fact, PostFact::Closed { why } if why.contains("M_FORBIDDEN")),
            "{fact:?}"
        );
    }
}
