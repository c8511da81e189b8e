//! What comes from arms: their offers, their answers, and what they say of the sessions that they run.

use std::io;
use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::input::ParentFact;
use homing_core::path::escaped;
use homing_core::refs::ParentRef;
use homing_ports::door::{Arms, News, Offer, Orders, Word};
use homing_ports::host::Flight;

use super::arms::{self, Arm, Runs};
use super::look::{DEEP, Session};
use super::parent::session_path;
use super::turn::{Message, Part};
use super::{NAME, OpenCode};
use crate::marks::MARK;
use crate::system::processes;

/// Sessions of an arm that are looked at when it comes.
const GREETED: usize = 20;

impl OpenCode {
    async fn greet_now(&self, name: &str) -> Vec<News> {
        let Some(arm) = self.arms.named(name) else {
            return Vec::new();
        };
        tokio::time::sleep(self.arms.waits_for_others(&arm)).await;
        let mut sessions = self.arms.take_missed(&arm);
        sessions.extend(self.arms.ran_by(&arm).into_iter().take(GREETED));
        sessions.sort();
        sessions.dedup();
        let mut news = Vec::new();
        for session in sessions {
            let parent = arms::parent(&arm, &session);
            match self.arm_of(&parent).await {
                Ok(found) if Arc::ptr_eq(&found, &arm) => {
                    news.extend(self.attend(&arm, &session, true).await);
                }
                // Whoever is owed something there asks again, and by then it is known who runs it.
                Ok(_) | Err(_) => self.arms.missed(&parent),
            }
        }
        news
    }

    /// A word beside a session, where somebody sees it now. Whoever does not see it loses nothing.
    pub async fn toast(&self, parent: &ParentRef, message: &str, variant: &str) {
        let ParentRef::Session { host, session, instance } = parent else {
            return;
        };
        if **host == *NAME
            && let Runs::This(arm) | Runs::Since(arm, _) =
                self.arms.who_runs(session, instance.as_deref())
        {
            drop(arm.toast(message, variant).await);
        }
    }

    /// Sessions that a program had when it ended go to others that may have them.
    async fn left_now(&self, left: Option<Arc<Arm>>) -> Vec<News> {
        let Some(left) = left.filter(|left| self.arms.awaits(&left.process)) else {
            return Vec::new();
        };
        // One that cannot be waited for will be asked for in time.
        let ended = processes::ended(&left.process).await;
        self.arms.gone(&left);
        if ended.is_err() {
            return Vec::new();
        }
        let mut news = Vec::new();
        for other in self.arms.beside(&left) {
            news.extend(self.greet_now(&other).await);
        }
        news
    }

    async fn hear_now(&self, name: &str, word: Word) -> Option<Vec<News>> {
        let arm = self.arms.named(name)?;
        Some(match word {
            Word::Began { session, turn } => {
                self.arms.began(&arm, &session, &turn);
                let fact = ParentFact::TurnBegan { turn: turn.into() };
                vec![News::Parent(arms::parent(&arm, &session), fact)]
            }
            Word::Ended { session } => {
                let turn = self.arms.ended(&arm, &session);
                if self.arms.open(&session).is_empty() {
                    // Only a hint; whoever brings something looks.
                    let fact = ParentFact::TurnEnded { turn: turn.into() };
                    vec![News::Parent(arms::parent(&arm, &session), fact)]
                } else {
                    self.attend(&arm, &session, false).await
                }
            }
            Word::Deleted { session } => {
                self.arms.forget(&session);
                vec![News::Parent(arms::parent(&arm, &session), ParentFact::Deleted)]
            }
            Word::Works { directory } => {
                arm.also_in(&directory);
                self.greet_now(name).await
            }
            Word::Stored { session, message, call } => {
                match self.has_answer(&arm, &session, &message, &call).await {
                    true => vec![News::Arrived { message, call }],
                    false => Vec::new(),
                }
            }
        })
    }

    /// Whether the answer to a call stands in the transcript.
    async fn has_answer(&self, arm: &Arm, session: &str, message: &str, call: &str) -> bool {
        let path = format!("{}/message/{}", session_path(session), escaped(message));
        let message = arm.get::<Message>(&path).await;
        message.is_ok_and(|message| {
            let ours = |part: &Part| part.call.as_deref() == Some(call);
            message.parts.iter().any(|part| ours(part) && part.state.status == "completed")
        })
    }

    async fn lineage_now(&self, name: &str, session: &str) -> Result<Vec<String>, String> {
        let arm = self.arms.named(name).ok_or("it is not connected")?;
        let mut lineage = vec![session.to_owned()];
        let mut at = session.to_owned();
        for _ in 0..DEEP {
            let known = arm.get::<Session>(&session_path(&at)).await;
            let known = known.map_err(|why| format!("OpenCode: {why}"))?;
            if lineage.len() == 1 {
                arm.also_in(&known.directory);
            }
            let Some(above) = known.parent else {
                return Ok(lineage);
            };
            lineage.push(above.clone());
            at = above;
        }
        Err("its lineage is too long".to_owned())
    }
}

impl Arms for OpenCode {
    fn host(&self) -> &str {
        NAME
    }

    fn offer(&self, offer: Offer) -> Result<Box<dyn Orders>, String> {
        self.arms.offer(offer)
    }

    fn greet<'a>(&'a self, arm: &'a str) -> Flight<'a, Vec<News>> {
        Box::pin(self.greet_now(arm))
    }

    fn left(&self, arm: &str) -> Flight<'_, Vec<News>> {
        let left = self.arms.named(arm);
        Box::pin(self.left_now(left))
    }

    fn answer(&self, arm: &str, order: u64, status: u16, body: Vec<u8>) -> bool {
        self.arms.answer(arm, order, (status, body))
    }

    fn hear<'a>(&'a self, arm: &'a str, word: Word) -> Flight<'a, Option<Vec<News>>> {
        Box::pin(self.hear_now(arm, word))
    }

    fn lineage<'a>(
        &'a self,
        arm: &'a str,
        session: &'a str,
    ) -> Flight<'a, Result<Vec<String>, String>> {
        Box::pin(self.lineage_now(arm, session))
    }

    fn parent(&self, arm: &str, session: &str) -> Option<ParentRef> {
        self.arms.named(arm).map(|arm| arms::parent(&arm, session))
    }

    fn mark(&self, task: TaskId) -> io::Result<(String, String)> {
        Ok((MARK.to_owned(), self.marks.of(task)?))
    }
}
