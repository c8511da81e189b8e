//! Somebody with an account on a homeserver: makes rooms, speaks, reads, sends others away.

#![expect(clippy::unwrap_used, reason = "a test that cannot speak to it ends with the cause")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

const WITHIN: Duration = Duration::from_secs(60);
/// The same for all.
pub(super) const PASSWORD: &str = "of a test";
const API: &str = "/_matrix/client/v3";

/// See the module.
#[derive(Debug, Clone)]
pub struct Account {
    pub(super) port: u16,
    /// `@NAME:localhost`.
    pub id: String,
    pub token: String,
}

/// One message as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub event: String,
    pub by: String,
    pub text: String,
    /// All of it, with what it relates to.
    pub content: Value,
}

impl Account {
    /// A room with these people in it. Its id.
    pub fn room(&self, with: &[&Account]) -> String {
        self.make_room(&json!({"preset": "private_chat", "invite": ids(with)}), with)
    }

    /// A room of two.
    pub fn direct(&self, with: &Account) -> String {
        let asked =
            json!({"preset": "trusted_private_chat", "is_direct": true, "invite": ids(&[with])});
        self.make_room(&asked, &[with])
    }

    fn make_room(&self, asked: &Value, with: &[&Account]) -> String {
        let made = self.post(&format!("{API}/createRoom"), asked);
        let room = made["room_id"].as_str().unwrap().to_owned();
        for each in with {
            each.post(&format!("{API}/join/{}", escaped(&room)), &json!({}));
        }
        room
    }

    /// A person says something. The event's id.
    pub fn say(&self, room: &str, text: &str) -> String {
        let n = self.said(room).len();
        let path = format!("{}/send/m.room.message/person-{n}", in_room(room));
        let body = json!({"msgtype": "m.text", "body": text});
        let sent = self.ask("PUT", &path, Some(&body)).unwrap();
        sent["event_id"].as_str().unwrap().to_owned()
    }

    /// Somebody who was sent away comes back.
    pub fn invite(&self, room: &str, who: &Account) {
        self.post(&format!("{}/invite", in_room(room)), &json!({"user_id": who.id}));
        who.post(&format!("{API}/join/{}", escaped(room)), &json!({}));
    }

    pub fn kick(&self, room: &str, who: &Account) {
        self.post(&format!("{}/kick", in_room(room)), &json!({"user_id": who.id}));
    }

    /// All messages of a room, in their order.
    pub fn said(&self, room: &str) -> Vec<Said> {
        let filter = escaped(&json!({"types": ["m.room.message"]}).to_string());
        let (mut all, mut from) = (Vec::new(), String::new());
        loop {
            let query = format!("dir=f&limit=500&filter={filter}{from}");
            let page = self.get(&format!("{}/messages?{query}", in_room(room)));
            let chunk = page["chunk"].as_array().unwrap();
            let Some(next) = page["end"].as_str().filter(|_| !chunk.is_empty()) else {
                return all;
            };
            all.extend(chunk.iter().map(Said::of));
            from = format!("&from={}", escaped(next));
        }
    }

    /// What is said in the thread that begins with this event, in its order.
    pub fn thread(&self, room: &str, root: &str) -> Vec<Said> {
        let path = in_room(room).replace("/v3/", "/v1/");
        let query = format!("{path}/relations/{}/m.thread?dir=f&limit=100", escaped(root));
        self.get(&query)["chunk"].as_array().unwrap().iter().map(Said::of).collect()
    }

    /// What others said, as text alone.
    pub fn heard(&self, room: &str) -> Vec<String> {
        let all = self.said(room).into_iter().filter(|said| said.by != self.id);
        all.map(|said| said.text).collect()
    }

    /// What the homeserver would have rung for.
    pub fn rung_for(&self) -> Vec<Said> {
        let found = self.get(&format!("{API}/notifications?only=highlight&limit=100"));
        found["notifications"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| Said::of(&one["event"]))
            .collect()
    }

    /// The same account, with another token.
    pub fn log_in(&self) -> Self {
        let who = json!({"type": "m.id.user", "user": self.id});
        let asked = json!({"type": "m.login.password", "identifier": who, "password": PASSWORD});
        let made = self.post(&format!("{API}/login"), &asked);
        Self { token: made["access_token"].as_str().unwrap().to_owned(), ..self.clone() }
    }

    /// Its token is worth nothing any more.
    pub fn log_out(&self) {
        self.post(&format!("{API}/logout"), &json!({}));
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).unwrap()
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, Some(body)).unwrap()
    }

    /// None where nobody answers; an answer other than 200 ends the test.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let bearer = match self.token.as_str() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n{bearer}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        assert_eq!(head.split(' ').nth(1), Some("200"), "{method} {path}: {answer}");
        serde_json::from_str(body).ok()
    }
}

impl Said {
    fn of(event: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            event: text(&event["event_id"]),
            by: text(&event["sender"]),
            text: text(&event["content"]["body"]),
            content: event["content"].clone(),
        }
    }
}

fn ids(of: &[&Account]) -> Vec<String> {
    of.iter().map(|each| each.id.clone()).collect()
}

fn in_room(room: &str) -> String {
    format!("{API}/rooms/{}", escaped(room))
}

fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
