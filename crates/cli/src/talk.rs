//! A verb's conversation with the daemon: asked again when that one dies, given up when somebody interrupts.

use std::collections::BTreeMap;
use std::time::Duration;

use homing_client::{Client, Error};
use homing_core::wire::{Accepted, Launch};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinSet, LocalSet};

use crate::daemon;
use crate::expected::Expected;
use crate::home::Home;

/// One wait; the next one follows.
const WAIT: Duration = Duration::from_secs(60);
/// Questions under way, when there are very many.
const AT_ONCE: usize = 64;
/// Questions to a daemon that dies, or to its store that fails.
const TRIES: u32 = 20;

/// Speaks with the daemon of a home; when that one dies, with the next. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Talk {
    home: Home,
    client: Client,
}

impl Talk {
    /// With the daemon that runs, or one that is started now.
    pub fn with(home: &Home) -> Result<Self, Expected> {
        Ok(Self { home: home.clone(), client: daemon::ensure(home)? })
    }

    /// Asks once: for what may not be repeated.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Asks until there is an answer: what is asked is harmless to repeat.
    pub async fn ask<T>(
        &self,
        ask: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Expected> {
        let mut client = self.client.clone();
        let mut tries = 0;
        loop {
            let error = match ask(&client).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(pause) = error.passes().filter(|_| tries < TRIES) else {
                return Err(error.into());
            };
            tokio::time::sleep(pause).await;
            tries += 1;
            let home = self.home.clone();
            let found = tokio::task::spawn_blocking(move || daemon::ensure(&home)).await;
            client = found.map_err(|why| Expected::Output(why.into()))??;
        }
    }

    /// Without a key, a launch whose answer was lost is not repeated: it may have been taken.
    pub async fn launch(&self, launch: &Launch) -> Result<Accepted, Expected> {
        match launch.key {
            Some(_) => self.ask(async |client| client.launch(launch).await).await,
            None => Ok(self.client.launch(launch).await?),
        }
    }

    /// Does it for each of them, so many at once that neither side runs out of connections; the answers come in
    /// their order. Inside `interruptible`.
    pub async fn each<I, T, W>(
        &self,
        items: impl IntoIterator<Item = I>,
        work: impl Fn(Self, I) -> W,
    ) -> Result<Vec<T>, Expected>
    where
        T: 'static,
        W: Future<Output = Result<T, Expected>> + 'static,
    {
        let mut done = BTreeMap::new();
        let mut under_way = JoinSet::new();
        let mut items = items.into_iter().enumerate();
        loop {
            while under_way.len() < AT_ONCE
                && let Some((n, item)) = items.next()
            {
                let each = work(self.clone(), item);
                under_way.spawn_local(async move { each.await.map(|answer| (n, answer)) });
            }
            let Some(each) = under_way.join_next().await else {
                return Ok(done.into_values().collect());
            };
            let (n, answer) = each.map_err(|why| Expected::Output(why.into()))??;
            done.insert(n, answer);
        }
    }

    /// Waits for the end, however often the daemon or its store fails meanwhile.
    pub async fn ended(&self, task: &str) -> Result<(), Expected> {
        while !self.ask(async |client| client.wait(task, WAIT).await).await? {}
        Ok(())
    }
}

/// Runs a conversation that may take long; a signal gives it up, and nothing else changes.
pub fn interruptible<T>(talk: impl Future<Output = Result<T, Expected>>) -> Result<T, Expected> {
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build();
    loop_.map_err(Expected::Output)?.block_on(LocalSet::new().run_until(async {
        let mut signals = Signals::new().map_err(Expected::Output)?;
        tokio::select! {
            done = talk => done,
            () = signals.next() => Err(Expected::Interrupted),
        }
    }))
}

/// What asks this process to end.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
