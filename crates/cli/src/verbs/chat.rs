//! `homing chat`: a conversation on the terminal. Each line is a turn; what tasks bring home comes as a turn of its own.

use std::io::{BufRead, IsTerminal};

use homing_client::Client;
use homing_core::ids::ConversationId;
use homing_core::refs::Origin;
use homing_core::wire::{ConversationView, Converse, Speak, TurnEvent, TurnView, Words};
use homing_runtime::{Code, Model, Refused};
use tokio::sync::mpsc;

use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing chat
  homing chat --model anthropic/sonnet --system 'Be brief.'
  homing chat 'What is 2+2?'
  homing chat --conversation cv_4t7mzq0k2hxw
  echo 'What is 2+2?' | homing chat --json | jq -r .event

Each line is a turn. What its tasks bring home comes in a turn of its own, between yours. Ctrl-D ends the
reading once every turn is answered; the conversation stays, and --conversation goes on with it.";

/// Speak with an agent that can send others out
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Say this, print the answer and leave
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Go on with this one
    #[arg(long, value_name = "ID", conflicts_with_all = ["host", "agent", "models", "system", "origin", "name"])]
    conversation: Option<ConversationId>,

    /// The host that runs it [default: the only one that takes prompts]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// The agent, by its name on the host
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The model it is to use; again for fallbacks, in order
    #[arg(long = "model", value_name = "PROVIDER/MODEL")]
    models: Vec<Model>,

    /// What the agent is told before everything else
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// Where people read what it says about its tasks, as KIND:ROOM/ADDRESS[#THREAD]
    #[arg(long, value_name = "ORIGIN")]
    origin: Option<Origin>,

    /// What to call it
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let talk = Talk::with(home)?;
    Ok(interruptible(drive(talk, args))?)
}

/// Whoever speaks here: a line each, and none when nothing more comes.
fn lines(args: &Args) -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    match &args.text {
        Some(text) => drop(sender.send(text.clone())),
        None => drop(std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if !line.trim().is_empty() && sender.send(line).is_err() {
                    return;
                }
            }
        })),
    }
    lines
}

async fn drive(talk: Talk, args: &Args) -> Result<u8, Expected> {
    let known = match args.conversation {
        Some(id) => talk.ask(async |client| client.conversation(id).await).await?,
        None => open(&talk, args).await?,
    };
    let mut chat = Chat {
        talk,
        id: known.id,
        json: args.json,
        asks: args.text.is_none() && std::io::stdin().is_terminal(),
        // What is over is not told again.
        told: known
            .turns
            .iter()
            .filter(|turn| turn.ended_at.is_some())
            .map(|turn| turn.turn)
            .max()
            .unwrap_or(0),
        asked: 0,
        seen: None,
        last: None,
    };
    if chat.asks {
        out::warn(&format!("homing: {} (Ctrl-D to leave)", chat.id));
    }
    chat.speak(lines(args)).await?;
    Ok(chat.leave(args.text.is_some()))
}

async fn open(talk: &Talk, args: &Args) -> Result<ConversationView, Expected> {
    let cwd = std::env::current_dir().ok().and_then(|dir| dir.to_str().map(str::to_owned));
    let body = Converse {
        host: args.host.clone(),
        agent: args.agent.clone(),
        name: args.name.clone(),
        model: Words(args.models.iter().map(ToString::to_string).collect()),
        system: args.system.clone(),
        origin: args.origin.as_ref().map(ToString::to_string),
        cwd,
        ..Converse::default()
    };
    // Without a key, one whose answer was lost is not asked for again.
    let opened = talk.client().converse(&body).await?;
    talk.ask(async |client| client.conversation(opened.id).await).await
}

struct Chat {
    talk: Talk,
    id: ConversationId,
    json: bool,
    /// Somebody sits there.
    asks: bool,
    /// The last turn that was printed.
    told: u32,
    /// The last turn that was asked for here.
    asked: u32,
    /// How far the conversation's own lines were read.
    seen: Option<String>,
    last: Option<TurnView>,
}

impl Chat {
    async fn speak(&mut self, mut lines: mpsc::UnboundedReceiver<String>) -> Result<(), Expected> {
        let mut more = true;
        self.prompt();
        while more || self.told < self.asked {
            let next = self.told + 1;
            tokio::select! {
                line = lines.recv(), if more => match line {
                    Some(line) => self.ask(&line).await?,
                    None => more = false,
                },
                // Any turn that begins, whoever asked for it.
                there = begins(&self.talk, self.id, next, self.seen.as_deref()) => {
                    self.seen = there?;
                    self.turn(next).await?;
                    self.prompt();
                }
            }
        }
        Ok(())
    }

    fn prompt(&self) {
        if self.asks && !self.json {
            // A terminal that is gone is noticed by the next line.
            drop(out::write(b"> "));
        }
    }

    async fn ask(&mut self, line: &str) -> Result<(), Expected> {
        let key = Some(format!("chat-{}-{}-{}", std::process::id(), self.asked, self.told));
        let body = Speak { text: line.to_owned(), key };
        let id = self.id;
        self.asked = self.talk.ask(async |client| client.speak(id, &body).await).await?.turn;
        Ok(())
    }

    /// One turn, from its beginning to its end, however often the daemon dies meanwhile.
    async fn turn(&mut self, turn: u32) -> Result<(), Expected> {
        let (id, mut last, mut part) = (self.id, None::<String>, String::new());
        loop {
            let from = last.clone();
            let mut events = self
                .talk
                .ask(async |client| client.turn_events(id, turn, from.as_deref()).await)
                .await?;
            while let Ok(Some(event)) = events.next().await {
                last = event.id.clone().or(last);
                let Ok(happened) = event.json::<TurnEvent>() else {
                    continue;
                };
                if self.json {
                    // Plain data with text keys: it always has a form as JSON.
                    let line = serde_json::to_string(&happened).unwrap_or_default();
                    out::json_lines(format!("{line}\n").as_bytes())?;
                } else {
                    tell(&happened, &mut part)?;
                }
                if let TurnEvent::Ended(view) = happened {
                    self.told = turn;
                    self.last = Some(view);
                    return Ok(());
                }
            }
        }
    }

    /// What is left to say, and the exit code.
    fn leave(&self, once: bool) -> u8 {
        if self.asks || once {
            out::warn(&format!("homing: to go on: homing chat --conversation {}", self.id));
        }
        let good = self.last.as_ref().is_none_or(|turn| turn.state == "completed");
        u8::from(!good)
    }
}

/// Resolves when such a turn has begun, with where that stands in the conversation's own lines.
async fn begins(
    talk: &Talk,
    id: ConversationId,
    turn: u32,
    from: Option<&str>,
) -> Result<Option<String>, Expected> {
    let mut seen = from.map(str::to_owned);
    loop {
        let last = seen.clone();
        let ask = async |client: &Client| client.conversation_events(id, last.as_deref()).await;
        let mut events = talk.ask(ask).await?;
        while let Ok(Some(event)) = events.next().await {
            seen = event.id.clone().or(seen);
            let data = event.json::<serde_json::Value>().unwrap_or_default();
            if event.kind == "began" && data["turn"].as_u64() >= Some(u64::from(turn)) {
                return Ok(seen);
            }
            if event.kind == "closed" {
                let why = format!("{id} is closed; homing chat opens another");
                return Err(Expected::Refused(Refused::because(Code::Ended, why)));
            }
        }
    }
}

fn tell(event: &TurnEvent, last: &mut String) -> Result<(), Expected> {
    match event {
        TurnEvent::Began { cause, .. } if cause == "tasks" => {
            out::warn("homing: what was sent out came home");
        }
        TurnEvent::Said { part, kind, text, .. } if kind == "text" => {
            if !last.is_empty() && last != part {
                out::write(b"\n")?;
            }
            part.clone_into(last);
            out::others(text.as_bytes())?;
        }
        TurnEvent::Said { kind, text, .. } if kind == "tool" => {
            out::warn(&format!("homing: uses {}", out::plain(text, 60)))
        }
        TurnEvent::Asks { ask, text, .. } => {
            let text = out::plain(text, 200);
            out::warn(&format!(
                "homing: it asks: {text} (homing answer {ask} --allow, --deny or TEXT)"
            ));
        }
        TurnEvent::Reset { .. } => out::warn("homing: the last words were lost, and count no more"),
        TurnEvent::Ended(view) => {
            if !last.is_empty() {
                out::write(b"\n")?;
            }
            last.clear();
            if view.state != "completed" {
                let why = view.reason.as_deref().unwrap_or_default();
                out::warn(&format!("homing: the turn is {}: {}", view.state, out::plain(why, 400)));
            }
        }
        TurnEvent::Waits { .. } | TurnEvent::Began { .. } | TurnEvent::Said { .. } => {}
    }
    Ok(())
}
