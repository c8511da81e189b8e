//! One turn of a conversation as it happens, to one who reads along: what is said, and what of it counts no more. A reader
//! goes on from where it was, also after a restart: truth is what the host has stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{AskId, ConversationId};
use homing_core::task::Task;
use homing_core::wire::{TurnEvent, TurnView};
use homing_ports::host::{Ears, Flight, Place, Said};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::answers::Refused;
use crate::converse::{ahead, no_turn, turn_now};
use crate::homing::Homing;

/// Events that wait for a reader.
const AHEAD: usize = 64;
/// What a host still has to say of a turn that is over, it says within this.
const REST: Duration = Duration::from_secs(2);

/// Where a reader was: so many bytes of this part, and all of those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub part: Arc<str>,
    pub offset: u64,
}

impl Homing {
    /// A turn from a cursor on, until its end.
    pub async fn follow(
        &self,
        id: ConversationId,
        turn: u32,
        from: Option<Cursor>,
    ) -> Result<mpsc::Receiver<TurnEvent>, Refused> {
        // What was never asked for is not waited for.
        let known = self.read(move |reader| turn_now(reader, id.task(), turn)).await?;
        known.ok_or_else(|| no_turn(id, turn))?;
        let (out, events) = mpsc::channel(AHEAD);
        let following = Following {
            homing: self.clone(),
            id,
            turn,
            read: Read::from(from),
            out,
            place: None,
            said: None,
            asked: Vec::new(),
        };
        tokio::spawn(following.run());
        Ok(events)
    }
}

struct Following {
    homing: Homing,
    id: ConversationId,
    turn: u32,
    read: Read,
    out: mpsc::Sender<TurnEvent>,
    /// Where it is listened to.
    place: Option<Place>,
    said: Option<Hearing>,
    asked: Vec<AskId>,
}

/// One who listens to a host.
struct Hearing {
    said: mpsc::Receiver<Said>,
    task: JoinHandle<bool>,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Following {
    /// None: the reader went away, or nothing can be read any more.
    async fn run(mut self) -> Option<()> {
        let mut head = self.homing.head();
        let (mut waited, mut began) = (None, false);
        loop {
            head.borrow_and_update();
            let (id, turn) = (self.id.task(), self.turn);
            let now = self.homing.read(move |reader| turn_now(reader, id, turn)).await;
            let (view, task) = now.ok()??;
            let Some(task) = task else {
                if view.ended_at.is_some() {
                    return self.tell(TurnEvent::Ended(view)).await;
                }
                let ahead = self.homing.read(move |reader| ahead(reader, id, turn)).await.ok()?;
                if waited.replace(ahead) != Some(ahead) {
                    self.tell(TurnEvent::Waits { turn, ahead }).await?;
                }
                tokio::select! {
                    changed = head.changed() => changed.ok()?,
                    () = self.out.closed() => return None,
                }
                continue;
            };
            if !std::mem::replace(&mut began, true) {
                let (cause, debrief) = (view.cause.clone(), view.debrief);
                self.tell(TurnEvent::Began { turn, cause, debrief }).await?;
            }
            if view.ended_at.is_some() {
                return self.finish(&task, view).await;
            }
            self.asks(&task).await?;
            self.listen(&task).await?;
            loop {
                tokio::select! {
                    biased;
                    said = hears(&mut self.said) => self.pass_on(said).await?,
                    changed = head.changed() => {
                        changed.ok()?;
                        break;
                    }
                    () = self.out.closed() => return None,
                }
            }
        }
    }

    async fn tell(&self, event: TurnEvent) -> Option<()> {
        self.out.send(event).await.ok()
    }

    /// It waits for somebody's answer; each ask is told once.
    async fn asks(&mut self, task: &Task) -> Option<()> {
        for ask in task.open_asks() {
            if !self.asked.contains(&ask.id) {
                self.asked.push(ask.id);
                let (turn, ask, text) = (self.turn, ask.id, ask.seen.text.to_string());
                self.tell(TurnEvent::Asks { turn, ask, text }).await?;
            }
        }
        Some(())
    }

    /// Another attempt says all of it anew: what the one before said counts no more.
    async fn listen(&mut self, task: &Task) -> Option<()> {
        let place = place_of(task);
        if task.session.is_none() || task.turn.n == 0 || self.place.as_ref() == Some(&place) {
            return Some(());
        }
        if self.place.replace(place).is_some() {
            self.begin_anew().await?;
        }
        self.said = self.hear(task, true);
        Some(())
    }

    fn hear(&self, task: &Task, follows: bool) -> Option<Hearing> {
        let (host, place) = (self.homing.ports.hosts.get(&*task.brief.host)?, self.place.clone()?);
        let (host, (sender, said)) = (Arc::clone(host), mpsc::channel(AHEAD));
        let ears = Arc::new(Channel(sender));
        let task = tokio::spawn(async move { host.hear(place, ears, follows).await.is_ok() });
        Some(Hearing { said, task })
    }

    async fn pass_on(&mut self, said: Said) -> Option<()> {
        for event in self.read.take(self.turn, said) {
            self.tell(event).await?;
        }
        Some(())
    }

    /// What is stored of it, and its end.
    async fn finish(mut self, task: &Task, view: TurnView) -> Option<()> {
        self.place = Some(place_of(task));
        self.read.seen.clear();
        if let Some(mut rest) = self.hear(task, false) {
            let mut stored = Vec::new();
            while let Ok(Some(said)) = tokio::time::timeout(REST, rest.said.recv()).await {
                stored.push(said);
            }
            // A host that does not answer proves nothing: what was told stands, and the end has the words.
            let whole = tokio::time::timeout(REST, &mut rest.task).await;
            let whole = matches!(whole, Ok(Ok(true)));
            if whole && self.read.is_of_another(&stored) {
                self.begin_anew().await?;
            }
            for said in stored {
                self.pass_on(said).await?;
            }
            let lost = if whole { self.read.lost(self.turn) } else { Vec::new() };
            for event in lost {
                self.tell(event).await?;
            }
        }
        self.tell(TurnEvent::Ended(view)).await
    }

    /// All that the reader has is not of this turn's answer any more.
    async fn begin_anew(&mut self) -> Option<()> {
        let told = std::mem::take(&mut self.read);
        if told.parts.values().any(|part| part.len() > 0) {
            self.tell(TurnEvent::Reset { turn: self.turn, part: None, offset: 0 }).await?;
        }
        Some(())
    }
}

fn place_of(task: &Task) -> Place {
    Place { task: task.id, fence: task.fence(), session: task.session.clone() }
}

async fn hears(hearing: &mut Option<Hearing>) -> Said {
    if let Some(open) = hearing {
        if let Some(said) = open.said.recv().await {
            return said;
        }
        // All that can be heard: the rest comes with the end.
        *hearing = None;
    }
    std::future::pending().await
}

struct Channel(mpsc::Sender<Said>);

impl Ears for Channel {
    fn hear(&self, said: Said) -> Flight<'_, bool> {
        Box::pin(async move { self.0.send(said).await.is_ok() })
    }
}

/// What the reader has.
#[derive(Debug, Default)]
struct Read {
    parts: BTreeMap<Arc<str>, Part>,
    /// Parts that the host told of since it was last asked for all.
    seen: Vec<Arc<str>>,
    /// Where it goes on; parts before this one it has.
    from: Option<Cursor>,
}

/// What the reader has of one part: bytes that are known here, after some that are not.
#[derive(Debug, Default)]
struct Part {
    before: u64,
    text: Vec<u8>,
}

impl Part {
    fn len(&self) -> u64 {
        self.before + self.text.len() as u64
    }
}

impl Read {
    fn from(cursor: Option<Cursor>) -> Self {
        let mut parts = BTreeMap::new();
        if let Some(cursor) = &cursor {
            let part = Part { before: cursor.offset, text: Vec::new() };
            parts.insert(Arc::clone(&cursor.part), part);
        }
        Self { parts, seen: Vec::new(), from: cursor }
    }

    /// What the reader is told so that it has this.
    fn take(&mut self, turn: u32, said: Said) -> Vec<TurnEvent> {
        let Said { part, kind, from, text } = said;
        if !self.seen.contains(&part) {
            self.seen.push(Arc::clone(&part));
        }
        // Hosts name parts in their order.
        if self.from.as_ref().is_some_and(|cursor| part < cursor.part) {
            return Vec::new();
        }
        let known = self.parts.entry(Arc::clone(&part)).or_default();
        if from > known.len() {
            // A gap: it is told again, whole, at the end.
            return Vec::new();
        }
        let new = text.as_bytes();
        // How much of it the reader has already; what lies before what is known here is taken as said.
        let unknown = known.before.saturating_sub(from).min(new.len() as u64);
        let at = usize::try_from((from + unknown).saturating_sub(known.before)).unwrap_or(0);
        let have = known.text.get(at..).unwrap_or_default();
        let rest = new.get(unknown as usize..).unwrap_or_default();
        let same = have.iter().zip(rest).take_while(|(one, two)| one == two).count();
        let mut cut = unknown as usize + same;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let offset = from + cut as u64;
        let mut events = Vec::new();
        let name = part.to_string();
        if offset < known.len() {
            known.before = known.before.min(offset);
            known.text.truncate(usize::try_from(offset - known.before).unwrap_or(0));
            events.push(TurnEvent::Reset { turn, part: Some(name.clone()), offset });
        }
        let more = &text[cut..];
        if !more.is_empty() {
            known.text.extend_from_slice(more.as_bytes());
            let (kind, text) = (kind.word().to_owned(), more.to_owned());
            events.push(TurnEvent::Said { turn, part: name, kind, offset, text });
        }
        events
    }

    /// Parts that were told and are not stored.
    fn lost(&mut self, turn: u32) -> Vec<TurnEvent> {
        let seen = std::mem::take(&mut self.seen);
        let gone = self.parts.extract_if(.., |part, known| !seen.contains(part) && known.len() > 0);
        let reset =
            |part: Arc<str>| TurnEvent::Reset { turn, part: Some(part.to_string()), offset: 0 };
        gone.map(|(part, _)| reset(part)).collect()
    }

    /// Whether the reader was at a place in what another attempt said: neither the part that it was in is stored, nor
    /// any that would have come before it.
    fn is_of_another(&self, stored: &[Said]) -> bool {
        self.from.as_ref().is_some_and(|cursor| stored.iter().all(|said| said.part > cursor.part))
    }
}

#[cfg(test)]
mod tests {
    use homing_ports::host::PartKind;

    use super::*;

    fn said(part: &str, from: u64, text: &str) -> Said {
        Said { part: part.into(), kind: PartKind::Text, from, text: text.to_owned() }
    }

    /// Offset and text; a reset as its offset alone.
    fn told(events: Vec<TurnEvent>) -> Vec<(u64, Option<String>)> {
        let each = |event: TurnEvent| match &event {
            TurnEvent::Said { offset, text, .. } => (*offset, Some(text.clone())),
            TurnEvent::Reset { offset, .. } => (*offset, None),
            TurnEvent::Waits { .. }
            | TurnEvent::Began { .. }
            | TurnEvent::Asks { .. }
            | TurnEvent::Ended(_) => {
                panic!("{event:?}")
            }
        };
        events.into_iter().map(each).collect()
    }

    #[test]
    fn u7_what_the_reader_has_is_not_told_again() {
        let mut read = Read::default();
        assert_eq!(told(read.take(1, said("a", 0, "two "))), [(0, Some("two ".into()))]);
        assert_eq!(told(read.take(1, said("a", 4, "and "))), [(4, Some("and ".into()))]);
        assert_eq!(told(read.take(1, said("a", 0, "two and two"))), [(8, Some("two".into()))]);
        assert_eq!(told(read.take(1, said("a", 0, "two and two"))), []);
        assert_eq!(
            told(read.take(1, said("a", 99, "later"))),
            [],
            "a gap is not filled by guessing"
        );
    }

    #[test]
    fn u7_a_reader_goes_on_from_its_cursor() {
        let cursor = Cursor { part: "b".into(), offset: 4 };
        let mut read = Read::from(Some(cursor));
        assert_eq!(told(read.take(1, said("a", 0, "before"))), []);
        assert_eq!(told(read.take(1, said("b", 0, "two and"))), [(4, Some("and".into()))]);
        assert_eq!(told(read.take(1, said("b", 7, " two"))), [(7, Some(" two".into()))]);
        assert_eq!(told(read.take(1, said("c", 0, "more"))), [(0, Some("more".into()))]);
        // A place that is within a character is none: all of the character is told again.
        let mut read = Read::from(Some(Cursor { part: "b".into(), offset: 2 }));
        let again = told(read.take(1, said("b", 0, "höre")));
        assert_eq!(again, [(1, None), (1, Some("öre".into()))]);
    }

    #[test]
    fn u7_what_the_host_lost_is_withdrawn() {
        let mut read = Read::default();
        drop(read.take(1, said("a", 0, "höre zu")));
        let other = told(read.take(1, said("a", 0, "hör auf")));
        assert_eq!(other, [(4, None), (4, Some(" auf".into()))]);
        assert_eq!(told(read.take(1, said("a", 0, "hör"))), [(4, None)]);
        read.seen.clear();
        drop(read.take(1, said("b", 0, "all that is left")));
        assert_eq!(told(read.lost(1)), [(0, None)], "the first part is not there any more");
    }

    #[test]
    fn u7_a_place_in_what_another_attempt_said_is_known_by_what_is_stored() {
        let read = Read::from(Some(Cursor { part: "b".into(), offset: 4 }));
        assert!(!read.is_of_another(&[said("a", 0, "first"), said("b", 0, "two and")]));
        assert!(
            !read.is_of_another(&[said("a", 0, "first")]),
            "its part was lost, what is before it not"
        );
        assert!(read.is_of_another(&[said("c", 0, "by another"), said("d", 0, "model")]));
        assert!(read.is_of_another(&[]), "nothing is left of it");
        assert!(!Read::default().is_of_another(&[]), "one who has nothing has nothing to lose");
    }
}
