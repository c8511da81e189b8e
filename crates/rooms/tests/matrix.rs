//! A Matrix room against a scripted homeserver on loopback: what it is asked, and what is made of its answers. A real
//! homeserver is asked in the tests of the command line.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use homing_core::ids::PostId;
use homing_core::input::PostFact;
use homing_ports::contract::room::RoomFactory;
use homing_ports::contract::run::Runner;
use homing_ports::door::Token;
use homing_ports::parent::{Message, Room};
use homing_rooms::http::Place;
use homing_rooms::matrix::Matrix;
use homing_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(60);
const TOKEN: &str = "syt_known_to_both";

/// One after the other; the last one stays.
struct Tokens(Mutex<VecDeque<&'static str>>);

impl Token for Tokens {
    fn token(&self) -> io::Result<String> {
        let mut left = self.0.lock().unwrap();
        let next = if left.len() > 1 { left.pop_front() } else { left.front().copied() };
        next.map(str::to_owned).ok_or_else(|| io::Error::other("it is not there"))
    }
}

fn tokens<const N: usize>(all: [&'static str; N]) -> Arc<Tokens> {
    Arc::new(Tokens(Mutex::new(all.into())))
}

fn tell(status: u16, body: Value) -> Answer {
    Answer::Tell(status, Vec::new(), body.to_string())
}

/// A homeserver that takes what it is sent.
fn homeserver() -> Receiver {
    let receiver = Receiver::start().unwrap();
    receiver.usually(tell(200, json!({"event_id": "$1"})));
    receiver
}

fn matrix(receiver: &Receiver) -> Matrix {
    let url = format!("http://127.0.0.1:{}/", receiver.port());
    let homeserver = Place::base(&url, &["127.0.0.1".to_owned()]).unwrap();
    Matrix { homeserver, token: tokens([TOKEN]), within: LONG }
}

fn message(origin: &str, text: &str) -> Message {
    let (key, origin) = (PostId::from_bits(1), origin.parse().unwrap());
    Message { key, origin, text: text.as_bytes().to_vec(), tries: 0 }
}

fn blocking<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn on_tokio(case: std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>>) {
    blocking(case);
}

fn post(matrix: &Matrix) -> PostFact {
    blocking(matrix.post(message("group:team/!a:b", "It ended.")))
}

fn why(fact: PostFact) -> String {
    let (PostFact::Failed { why, .. } | PostFact::Closed { why }) = fact else {
        unreachable!("it was taken");
    };
    why.to_string()
}

#[test]
fn a_message_is_one_put_under_its_key_with_the_token_in_its_header_alone() {
    let receiver = homeserver();
    let there = message("thread:team/!a/b:c.org#$root", "It ended.");
    assert_eq!(blocking(matrix(&receiver).post(there)), PostFact::Posted);
    let heard = receiver.heard().remove(0);
    let key = PostId::from_bits(1);
    let path = format!("/_matrix/client/v3/rooms/%21a%2Fb%3Ac.org/send/m.room.message/{key}");
    assert_eq!((&*heard.method, &heard.path), ("PUT", &path));
    assert_eq!(heard.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    let body: Value = serde_json::from_slice(&heard.body).unwrap();
    assert_eq!(body["m.relates_to"]["event_id"], "$root");
    assert_eq!(body["m.mentions"], json!({}));
}

#[test]
fn an_answer_that_names_no_event_is_no_receipt() {
    let receiver = homeserver();
    receiver.answer([
        Answer::Say(200, Vec::new()),
        tell(200, json!({})),
        Answer::Tell(200, Vec::new(), "<html>welcome</html>".into()),
        Answer::Say(204, Vec::new()),
        Answer::Tell(200, Vec::new(), format!("{{\"event_id\": \"{}\"}}", "x".repeat(70_000))),
    ]);
    for _ in 0..5 {
        let fact = post(&matrix(&receiver));
        assert!(matches!(fact, PostFact::Failed { .. }), "{fact:?}");
    }
    assert_eq!(post(&matrix(&receiver)), PostFact::Posted);
}

#[test]
fn a_redirect_is_not_followed() {
    let (receiver, other) = (homeserver(), homeserver());
    for status in [301, 302, 307, 308] {
        let to = format!("Location: http://127.0.0.1:{}/", other.port());
        receiver.answer([Answer::Say(status, vec![to])]);
        let fact = post(&matrix(&receiver));
        assert!(matches!(fact, PostFact::Closed { .. }), "{status}: {fact:?}");
        assert!(why(fact).contains("`homeserver`"), "{status}");
    }
    assert_eq!(other.heard(), []);
}

#[test]
fn an_address_that_is_not_everybodys_is_not_called_unless_it_is_named() {
    let receiver = homeserver();
    let url = format!("http://127.0.0.1:{}", receiver.port());
    let odd = Matrix { homeserver: Place::base(&url, &[]).unwrap(), ..matrix(&receiver) };
    let fact = post(&odd);
    assert!(matches!(fact, PostFact::Closed { .. }), "{fact:?}");
    assert!(why(fact).contains("private"));
    assert_eq!(receiver.heard(), []);
}

#[test]
fn a_homeserver_that_is_not_there_or_says_nothing_may_be_there_later() {
    let receiver = homeserver();
    receiver.answer([Answer::Die, Answer::Stall]);
    let cut = post(&matrix(&receiver));
    assert!(matches!(cut, PostFact::Failed { .. }), "{cut:?}");
    let short = Matrix { within: Duration::from_millis(200), ..matrix(&receiver) };
    assert!(why(post(&short)).contains("no answer within 0.2 s"));
}

#[test]
fn a_token_that_was_changed_meanwhile_is_tried_and_one_that_is_worth_nothing_is_not_again() {
    let no = || {
        tell(401, json!({"errcode": "M_UNKNOWN_TOKEN", "error": "Invalid", "soft_logout": false}))
    };
    let receiver = homeserver();
    receiver.answer([no()]);
    let changed = Matrix { token: tokens(["old", "new"]), ..matrix(&receiver) };
    let fact = post(&changed);
    assert!(matches!(fact, PostFact::Failed { .. }), "{fact:?}");
    assert_eq!(post(&changed), PostFact::Posted);
    assert_eq!(receiver.heard()[1].header("authorization"), Some("Bearer new"));
    receiver.answer([no()]);
    let fact = post(&matrix(&receiver));
    assert!(
        matches!(&fact, PostFact::Closed { why } if why.contains("M_UNKNOWN_TOKEN")),
        "{fact:?}"
    );
}

#[test]
fn a_token_that_cannot_be_used_sends_nothing_and_is_not_told() {
    let receiver = homeserver();
    for token in [tokens([]), tokens([""]), tokens(["syt_two\nlines"]), tokens(["syt_\u{7f}"])] {
        let fact = post(&Matrix { token, ..matrix(&receiver) });
        assert!(matches!(fact, PostFact::Failed { .. }), "{fact:?}");
        let why = why(fact);
        assert!(why.contains("token cannot be used") && !why.contains("syt_"), "{why}");
    }
    assert_eq!(receiver.heard(), []);
}

#[test]
fn rooms_and_threads_are_named_by_their_ids() {
    let receiver = homeserver();
    let matrix = matrix(&receiver);
    for fine in ["group:team/!a:b", "direct:team/!Aa-_9", "thread:team/!a:b#$x"] {
        assert_eq!(matrix.check(&fine.parse().unwrap()), Ok(()), "{fine}");
    }
    for (odd, says) in
        [("group:team/ops", "no id of a room"), ("thread:team/!a:b#7", "no id of an event")]
    {
        let why_not = matrix.check(&odd.parse().unwrap()).unwrap_err();
        assert!(why_not.contains(says), "{odd}: {why_not}");
        let fact = blocking(matrix.post(message(odd, "x")));
        assert!(matches!(fact, PostFact::Closed { .. }), "{odd}: {fact:?}");
    }
    assert_eq!(receiver.heard(), []);
}

#[test]
fn who_speaks_is_asked_of_the_homeserver() {
    let receiver = homeserver();
    receiver.answer([
        tell(200, json!({"user_id": "@bot:b"})),
        tell(200, json!({})),
        tell(401, json!({"errcode": "M_UNKNOWN_TOKEN"})),
    ]);
    let matrix = matrix(&receiver);
    assert_eq!(blocking(matrix.whoami()), Ok("@bot:b".to_owned()));
    assert_eq!(receiver.heard()[0].path, "/_matrix/client/v3/account/whoami");
    assert!(blocking(matrix.whoami()).unwrap_err().contains("not as a homeserver does"));
    assert!(blocking(matrix.whoami()).unwrap_err().contains("M_UNKNOWN_TOKEN"));
}

mod room {
    use super::*;

    struct One(Receiver);

    impl RoomFactory for One {
        fn room(&mut self) -> Arc<dyn Room> {
            Arc::new(matrix(&self.0))
        }

        fn texts(&mut self) -> Vec<Vec<u8>> {
            let text = |body: &[u8]| {
                let body: Value = serde_json::from_slice(body).unwrap();
                body["body"].as_str().unwrap().as_bytes().to_vec()
            };
            self.0.taken().iter().map(|heard| text(&heard.body)).collect()
        }

        fn close(&mut self) {
            let body = json!({"errcode": "M_FORBIDDEN", "error": "User @bot:b not in room !a:b"});
            self.0.usually(tell(403, body));
        }

        fn limit(&mut self, retry_after_ms: u64) {
            let body = json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": retry_after_ms});
            self.0.answer([tell(429, body)]);
        }

        fn lose_reply(&mut self) {
            self.0.answer([Answer::TakeAndDie]);
        }

        fn runner(&self) -> Runner {
            on_tokio
        }
    }

    homing_ports::room_contract!(One(homeserver()));
}
