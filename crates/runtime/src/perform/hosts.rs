//! What is done on hosts: sessions opened, prompted, watched, looked at and aborted.

use std::sync::Arc;
use std::time::Duration;

use homing_core::decision::names;
use homing_core::effect::Effect;
use homing_core::fact::{ErrorClass, Fact, Fence, HostError, TurnRecord};
use homing_core::ids::{AskId, TaskId};
use homing_core::input::Input;
use homing_core::task::Answer;
use homing_ports::host::{Flight, Host, Place, Reports, Saying};
use tokio::sync::mpsc;

use super::Performer;
use crate::decider::Msg;
use crate::texts;

/// Drivers report through the decider's inbox: a full inbox makes them wait.
struct Inbox(mpsc::Sender<Msg>);

impl Reports for Inbox {
    fn report(&self, task: TaskId, fence: Fence, fact: Fact) -> Flight<'_, ()> {
        Box::pin(async move {
            let input = Input::Observed { task, fence, fact };
            // The decider is gone only when the runtime ends.
            let _ = self.0.send(Msg::Input(Box::new(input))).await;
        })
    }
}

impl Performer {
    fn host(&self, name: &str) -> Option<Arc<dyn Host>> {
        self.ports.hosts.get(name).cloned()
    }

    /// Begins to watch a session, or ends it.
    pub(super) fn turn_to(&self, effect: Effect) {
        if let Effect::Watch { task, attempt, host, session } = effect {
            if let Some(driver) = self.host(&host) {
                let place = place(task, attempt, 0, Some(session));
                driver.watch(place, Arc::new(Inbox(self.inbox.clone())));
            }
        } else if let Effect::Unwatch { task, attempt, host } = effect
            && let Some(driver) = self.host(&host)
        {
            driver.unwatch(task, attempt);
        }
    }

    pub(super) async fn on_host(&self, effect: Effect) -> bool {
        match effect {
            Effect::Open { task, attempt, turn, host, .. } => {
                self.open(task, Fence { attempt, turn }, &host).await
            }
            Effect::Prompt { task, attempt, turn, host, session } => {
                let place = place(task, attempt, turn, Some(session));
                self.prompt(&host, place).await
            }
            Effect::Look { task, attempt, turn, host, session } => {
                self.look(&host, place(task, attempt, turn, session)).await
            }
            Effect::Abort { task, attempt, host, session } => {
                self.abort(&host, place(task, attempt, 0, session)).await
            }
            Effect::Answer { ask, task, attempt, host, session, key, answer } => {
                let place = place(task, attempt, 0, session);
                self.answer(&host, place, ask, &key, &answer).await
            }
            Effect::Say { task, attempt, n, last, host, session } => {
                let place = place(task, attempt, 0, Some(session));
                self.say(&host, place, n, last).await
            }
            Effect::Watch { .. }
            | Effect::Unwatch { .. }
            | Effect::Load { .. }
            | Effect::Compose { .. }
            | Effect::LookParent { .. }
            | Effect::Deliver { .. }
            | Effect::Post { .. }
            | Effect::Emit { .. } => true,
        }
    }

    async fn open(&self, task: TaskId, fence: Fence, host: &str) -> bool {
        let attempt = fence.attempt;
        let session = Fence { attempt, turn: 0 };
        let Some(driver) = self.host(host) else {
            let error = HostError::new(ErrorClass::Other, "unknown_host", &unknown(host));
            self.observed(task, session, Fact::StartFailed { error }).await;
            return true;
        };
        let opening = self.readers.read(move |reader| texts::opening(reader, task, attempt)).await;
        let opening = match opening {
            Ok(Some(opening)) => opening,
            Ok(None) => return true,
            Err(error) => {
                let why = error.to_string().into();
                self.observed(task, session, Fact::StartUnsure { why }).await;
                return false;
            }
        };
        let facts = driver.open(opening).await;
        let unsure = facts.iter().any(|fact| matches!(fact, Fact::StartUnsure { .. }));
        for fact in facts {
            let of_turn = matches!(fact, Fact::PromptTaken | Fact::PromptRefused { .. });
            let of = if of_turn { fence } else { session };
            self.observed(task, of, fact).await;
        }
        !unsure
    }

    async fn prompt(&self, host: &str, place: Place) -> bool {
        let (task, fence) = (place.task, place.fence);
        let Some(driver) = self.host(host) else {
            return false;
        };
        let prompting = self.readers.read(move |reader| texts::prompting(reader, &place)).await;
        let fact = match prompting {
            Ok(Some(prompting)) => driver.prompt(prompting).await,
            // The turn is not the current one any more.
            Ok(None) => return true,
            Err(_) => return false,
        };
        self.observed(task, fence, fact).await;
        true
    }

    async fn say(&self, host: &str, place: Place, n: u32, last: bool) -> bool {
        let (task, fence) = (place.task, place.fence);
        let (Some(driver), Some(text)) = (self.host(host), self.text(names::send(task, n)).await)
        else {
            return false;
        };
        if driver.say(Saying { place, n, text, last }).await.is_err() {
            return false;
        }
        self.observed(task, fence, Fact::WordsTaken { n }).await;
        true
    }

    async fn look(&self, host: &str, place: Place) -> bool {
        let (task, fence) = (place.task, place.fence);
        let fact = match self.host(host) {
            Some(driver) if place.session.is_none() => driver.look(place).await.without_name(),
            Some(driver) => driver.look(place).await,
            None => Fact::LookFailed { why: unknown(host).into() },
        };
        self.observed(task, fence, fact).await;
        true
    }

    async fn abort(&self, host: &str, place: Place) -> bool {
        let (task, fence) = (place.task, place.fence);
        let fact = match self.host(host) {
            Some(driver) => {
                let fact = driver.abort(place.clone()).await;
                if matches!(fact, Fact::Stopped) {
                    self.last_words(&*driver, place).await;
                }
                fact
            }
            None => Fact::StopRefused { why: unknown(host).into() },
        };
        let stopped = matches!(fact, Fact::Stopped);
        self.observed(task, fence, fact).await;
        stopped
    }

    /// What a turn had said when it was stopped belongs to its result: it is read before the stop is
    /// reported, unless the host takes too long.
    async fn last_words(&self, driver: &dyn Host, mut place: Place) {
        let task = place.task;
        let now = self.readers.read(move |reader| texts::task_now(reader, task)).await;
        let Ok((Some(now), _)) = now else {
            return;
        };
        if now.attempt != place.fence.attempt || now.session.is_none() {
            return;
        }
        place.fence = now.fence();
        place.session = now.session;
        let (fence, at_most) = (place.fence, Duration::from_millis(self.limits.probe_ms));
        if let Ok(fact) = tokio::time::timeout(at_most, driver.look(place)).await
            && tells_the_end(&fact)
        {
            self.observed(task, fence, fact).await;
        }
    }

    async fn answer(
        &self,
        host: &str,
        place: Place,
        ask: AskId,
        key: &str,
        answer: &Answer,
    ) -> bool {
        let Some(driver) = self.host(host) else {
            return false;
        };
        let taken = driver.answer(place, key, answer).await.is_ok();
        if taken {
            self.input(Input::AnswerTaken { ask }).await;
        }
        taken
    }
}

fn place(task: TaskId, attempt: u32, turn: u32, session: Option<Arc<str>>) -> Place {
    let fence = Fence { attempt, turn };
    Place { task, fence, session }
}

fn tells_the_end(fact: &Fact) -> bool {
    if let Fact::Looked { picture } = fact {
        return matches!(picture.turn, TurnRecord::Ended(_));
    }
    matches!(fact, Fact::Exited { .. })
}

fn unknown(host: &str) -> String {
    format!("no host named {host} is set up")
}
