//! Answers without a known end, as they come: server-sent events one by one, or bytes in parts.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use crate::Error;

/// Longer events are not from our daemon.
const EVENT_MAX: usize = 64 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// What to go on from; none for an event that moves no cursor.
    pub id: Option<String>,
    pub kind: String,
    pub data: String,
}

impl Event {
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.data).map_err(|why| Error::Odd { why: why.to_string() })
    }
}

/// The bytes of an answer, in parts cut anywhere.
#[derive(Debug)]
pub struct Parts {
    body: Incoming,
}

impl Parts {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body }
    }

    /// None at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|why| Error::CutOff { why: why.to_string() })?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

/// A stream of events. It ends when the daemon ends it; `Event::kind` of the last one says why.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    read: Reading,
}

impl Events {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body, read: Reading::default() }
    }

    /// None at the end. Can be given up on and called again: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.read.next() {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let frame = frame.map_err(|why| Error::CutOff { why: why.to_string() })?;
            if let Some(data) = frame.data_ref() {
                self.read.take(data)?;
            }
        }
    }
}

/// Bytes on their way to being events.
#[derive(Debug, Default)]
struct Reading {
    bytes: Vec<u8>,
    /// Where the next event begins.
    at: usize,
}

impl Reading {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes.drain(..self.at);
        self.at = 0;
        if self.bytes.len() + bytes.len() > EVENT_MAX {
            return Err(Error::Odd { why: "an event without an end".to_owned() });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn next(&mut self) -> Option<Event> {
        let rest = &self.bytes[self.at..];
        let end = rest.windows(2).position(|pair| pair == b"\n\n")?;
        let mut event = Event::default();
        for line in String::from_utf8_lossy(&rest[..end]).lines() {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = Some(id.to_owned()),
                Some(("event", kind)) => event.kind = kind.to_owned(),
                Some(("data", data)) => event.data.push_str(data),
                Some(_) | None => {}
            }
        }
        self.at += end + 2;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = "id: 1\nevent: moved\ndata: {\"a\":\"b\"}\n\nevent: stopped\ndata: {}\n\n";
        for cut in 0..text.len() {
            let mut reading = Reading::default();
            let mut all = Vec::new();
            for part in [&text[..cut], &text[cut..]] {
                reading.take(part.as_bytes()).unwrap();
                all.extend(std::iter::from_fn(|| reading.next()));
            }
            let event = |id: Option<&str>, kind: &str, data: &str| Event {
                id: id.map(str::to_owned),
                kind: kind.to_owned(),
                data: data.to_owned(),
            };
            assert_eq!(
                all,
                [event(Some("1"), "moved", "{\"a\":\"b\"}"), event(None, "stopped", "{}")]
            );
        }
    }
}
