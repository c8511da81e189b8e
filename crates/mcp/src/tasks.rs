//! The tools that start, read and end tasks.

use std::time::Duration;

use homing_core::refs::ParentRef;
use homing_core::span;
use homing_core::wire::{self, ListQuery, Output, Words};
use homing_core::words::Code;
use rmcp::model::JsonObject;

use crate::answers::{Answered, Asks, Cancelled, Sorry, Task, Tasks};
use crate::args;
use crate::handler::{Answer, Call, WAIT_MAX, read};

/// Tasks that are told of at once: an agent reads them all.
const MANY: usize = 25;
/// Tasks that are looked up at once.
const ALL: usize = 1_000;
/// What blocks without saying how long.
const BLOCK: Duration = Duration::from_secs(30);
/// Lines of a log, when nobody says how many.
const LINES: usize = 200;

impl Call<'_> {
    pub(crate) async fn task(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::Task = read(args)?;
        if args.prompt.trim().is_empty() {
            return Err(Sorry::new("prompt: it is empty", "say what is to be done"));
        }
        let waits = args.run_in_background == Some(false);
        let mut word = None;
        let task = match &args.task_id {
            Some(task) => self.go_on(task, &args).await?,
            None => {
                let told = self.told(args.parent.as_deref())?;
                word = told.word.clone();
                let launch = self.launch(&args, told.parent, told.turn)?;
                self.launched(launch).await?
            }
        };
        if waits {
            self.ended(&task, self.wait_max()).await?;
        }
        let mut told = Task::of(self.read(&task).await?, false);
        match waits {
            // Nothing bounds a plugin's wait.
            true if self.context.is_none() => told.mode = Some("waited".to_owned()),
            true => told = told.waited(WAIT_MAX, WAIT_MAX),
            false => told.mode = Some("background".to_owned()),
        }
        let words = told.words();
        let words = word.map(|word| format!("{words}\n{word}")).unwrap_or(words);
        Ok(Answer::of(&told, words))
    }

    fn launch(
        &self,
        args: &args::Task,
        parent: ParentRef,
        turn: Option<String>,
    ) -> Result<wire::Launch, Sorry> {
        let said = [&args.agent, &args.subagent_type, &args.category];
        let mut agents = said.into_iter().flatten();
        let agent = agents.next().cloned();
        if agents.any(|other| Some(other) != agent.as_ref()) {
            let why = "agent, subagent_type and category name different agents";
            return Err(Sorry::new(why, "one of them"));
        }
        let key = args.key.clone().or_else(|| self.name());
        Ok(wire::Launch {
            prompt: Some(args.prompt.clone()),
            name: args.description.clone(),
            agent,
            model: Words(args.model.iter().cloned().collect()),
            parent: Some(parent.to_string()),
            batch: turn,
            cwd: self.seat.cwd.clone(),
            caller_env: self.seat.around.clone(),
            // So that a launch whose answer was lost can be asked for again.
            key: Some(key.unwrap_or_else(|| self.daemon.fresh_key())),
            ..wire::Launch::default()
        })
    }

    /// An agent that is a preset of homing.toml is that; any other is the host's to know.
    async fn launched(&self, mut launch: wire::Launch) -> Result<String, Sorry> {
        let status = self.ask(|client| async move { client.status().await }).await?;
        if launch.agent.as_ref().is_some_and(|agent| status.presets.contains(agent)) {
            launch.preset = launch.agent.take();
        }
        let accepted = self.ask(|client| {
            let launch = launch.clone();
            async move { client.launch(&launch).await }
        });
        let known = match status.presets.join(", ") {
            none if none.is_empty() => "no preset in homing.toml".to_owned(),
            some => format!("presets in homing.toml: {some}"),
        };
        let accepted = accepted.await.map_err(|Sorry(why)| {
            Sorry(format!("{why}\nAgents: {known}; hosts: {}", status.hosts.join(", ")))
        });
        Ok(accepted?.id.to_string())
    }

    /// One that has ended is resumed; one that lives takes the words as its next turn.
    async fn go_on(&self, task: &str, args: &args::Task) -> Result<String, Sorry> {
        let view = self.read(task).await?.task;
        let id = view.id.to_string();
        if view.state.is_terminal() {
            let body = wire::Resume { prompt: args.prompt.clone(), parent: args.parent.clone() };
            // Not asked twice: each would open a generation.
            let client = self.client().await?;
            client.resume(&id, &body).await?;
        } else {
            self.say(&id, &args.prompt).await?;
        }
        Ok(id)
    }

    async fn say(&self, task: &str, text: &str) -> Result<(), Sorry> {
        // Not asked twice: it would be said twice.
        let client = self.client().await?;
        client.say(task, text, false).await?;
        Ok(())
    }

    /// A task with its result, as it is now.
    pub(crate) async fn read(&self, task: &str) -> Result<Output, Sorry> {
        let output = self.ask(|client| {
            let task = task.to_owned();
            async move { client.output(&task, None).await }
        });
        output.await
    }

    pub(crate) async fn output(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::Output = read(args)?;
        let wait = wait(&args)?;
        let mut read = self.read(&args.task_id).await?;
        // One task, whatever is called by its name later.
        let id = read.task.id.to_string();
        if let Some(wait) = wait {
            self.ended(&id, wait).await?;
            read = self.read(&id).await?;
        }
        let mut told = Task::of(read, args.full == Some(true));
        if let Some(wait) = wait {
            told = told.waited(wait, self.wait_max());
        }
        if args.full_session == Some(true) {
            told.log = self.messages(&id, &args).await?;
            if told.log.is_none() {
                let limit = args.message_limit.unwrap_or(LINES);
                told.log = Some(self.log(&id, limit).await?.0);
                told.note = not_told(&args);
            }
        }
        Ok(Answer::of(&told, told.words()))
    }

    pub(crate) async fn cancel(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::Cancel = read(args)?;
        let tasks = match (&args.task_id, args.all) {
            (Some(task), None | Some(false)) => vec![task.clone()],
            (None, Some(true)) => self.living(None).await?,
            (Some(_), Some(true)) => {
                return Err(Sorry::new("task_id and all=true are two things", "one of them"));
            }
            (None, None | Some(false)) => {
                return Err(Sorry::new("nothing to cancel is named", "task_id, or all=true"));
            }
        };
        let mut cancelled = Vec::new();
        for task in tasks {
            let body = wire::Cancel { reason: args.reason.clone(), quiet: false };
            let done = self.ask(|client| {
                let (task, body) = (task.clone(), body.clone());
                async move { client.cancel(&task, &body).await }
            });
            cancelled.push(done.await?);
        }
        let next = match cancelled.iter().all(|task| task.already_ended) {
            true => "background_list shows what runs, with all=true also what has ended.",
            false => {
                "a task that is stopping has not ended yet: background_output shows when it has."
            }
        };
        let told = Cancelled { cancelled, next: next.to_owned() };
        Ok(Answer::new(&told, told.words()))
    }

    /// All of them, however many pages they fill.
    async fn living(&self, said: Option<&str>) -> Result<Vec<String>, Sorry> {
        let parent = self.told(said)?.parent;
        let (mut living, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.page(&parent, false, ALL, cursor).await?;
            living.extend(page.tasks.iter().map(|task| task.id.to_string()));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(living);
            }
        }
    }

    async fn page(
        &self,
        parent: &ParentRef,
        all: bool,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<wire::Page, Sorry> {
        let asked = ListQuery {
            parent: Some(parent.to_string()),
            living: (!all).then(|| "true".to_owned()),
            limit: Some(limit.to_string()),
            cursor,
            ..ListQuery::default()
        };
        let page = self.ask(|client| {
            let asked = asked.clone();
            async move { client.list(&asked).await }
        });
        page.await
    }

    pub(crate) async fn list(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::List = read(args)?;
        let parent = self.told(args.parent.as_deref())?.parent;
        let page = self.page(&parent, args.all == Some(true), MANY, args.cursor).await?;
        let next = match page.tasks.iter().any(|task| !task.state.is_terminal()) {
            true => "go on with other work; background_output(task_id=…) reads one at any time.",
            false => "nothing of this parent runs; all=true also shows what has ended.",
        };
        let told = Tasks {
            parent: parent.to_string(),
            tasks: page.tasks,
            cursor: page.next,
            next: next.to_owned(),
        };
        Ok(Answer::new(&told, told.words()))
    }

    pub(crate) async fn send(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::Send = read(args)?;
        self.say(&args.task_id, &args.text).await?;
        let told = Task::of(self.read(&args.task_id).await?, false);
        Ok(Answer::of(&told, told.words()))
    }

    async fn open_asks(&self) -> Result<Vec<wire::AskView>, Sorry> {
        self.ask(|client| async move { client.asks().await }).await
    }

    pub(crate) async fn asks(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args::Nothing {} = read(args)?;
        let asks = self.open_asks().await?;
        let next = match asks.is_empty() {
            true => "nothing waits for an answer.",
            false => {
                "background_answer(ask_id=…, text=…) answers a question; tell the person about permissions, unless policy \
                 names you."
            }
        };
        let told = Asks { asks, next: next.to_owned() };
        Ok(Answer::new(&told, told.words()))
    }

    pub(crate) async fn answer(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::Answer = read(args)?;
        let (allow, deny) = (args.allow == Some(true), args.deny == Some(true));
        if [allow, deny, args.text.is_some()].iter().filter(|said| **said).count() != 1 {
            return Err(Sorry::new("say one of text, deny=true and allow=true", "one of them"));
        }
        let parent = Some(self.told(args.parent.as_deref())?.parent.to_string());
        let open = self.open_asks().await?;
        let ask = open.into_iter().find(|ask| ask.id.to_string() == args.ask_id);
        let Some(ask) = ask else {
            let why =
                format!("no ask {:?} is open", args.ask_id.chars().take(64).collect::<String>());
            return Err(Sorry::new(why, "background_asks lists what is open"));
        };
        let body = wire::AnswerBody { allow, deny, text: args.text.clone(), parent };
        let answered = self.client().await?.answer(&args.ask_id, &body).await;
        answered.map_err(|why| {
            let by_people = why.code() == Some(Code::PeopleOnly);
            let mut sorry = Sorry::from(why);
            if by_people {
                sorry.0.push_str(&format!("\nTell the person: homing answer {} --allow", ask.id));
            }
            sorry
        })?;
        let next = format!("it goes on: background_output(task_id=\"{}\").", ask.task);
        let told = Answered { id: args.ask_id, task: ask.task.to_string(), next: next.clone() };
        let words = format!("{} of {} is answered.\nNext: {next}", told.id, ask.task);
        Ok(Answer::new(&told, words))
    }
}

/// What was asked for and this host does not tell: said, not left out in silence.
fn not_told(args: &args::Output) -> Option<String> {
    let asked = [
        ("include_thinking", args.include_thinking == Some(true)),
        ("include_tool_results", args.include_tool_results == Some(true)),
        ("since_message_id", args.since_message_id.is_some()),
    ];
    let names: Vec<&str> = asked.iter().filter(|(_, said)| *said).map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: the host keeps no messages apart; the log holds what it wrote",
            names.join(", ")
        )
    })
}

/// How long to wait for the end.
fn wait(args: &args::Output) -> Result<Option<Duration>, Sorry> {
    if let Some(text) = &args.wait {
        let span = span::parse(text)
            .map_err(|why| Sorry::new(format!("wait: {why}"), "a time with its unit: \"30s\""))?;
        return Ok(Some(span));
    }
    Ok(match (args.block, args.timeout) {
        (Some(true), Some(ms)) => Some(Duration::from_millis(ms)),
        (Some(true), None) => Some(BLOCK),
        (Some(false) | None, _) => None,
    })
}
