//! A parent sends three children out and goes on with its own work: one fails over to another model, one is
//! slow; then it is told once. A live picture on a terminal, one line a change elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use homing_core::view::TaskView;
use homing_core::wire::{Delivered, Launch, ListQuery, Words};
use homing_core::words::State;

use super::{Stage, door};
use crate::out;

const PARENT: &str = "demo";
/// Name, models, and what it does.
const CHILDREN: [(&str, &[&str], &str); 3] = [
    ("reader", &["acme/large"], "sleep 0.8; echo 'Read 3 files: two tests, one fixture.'"),
    (
        "writer",
        &["acme/large", "acme/small"],
        "sleep 0.5; [ \"$HOMING_MODEL\" = acme/small ] || exit 75; sleep 0.7; echo 'Wrote the summary.'",
    ),
    ("checker", &["acme/large"], "sleep 2.5; echo 'All 12 checks pass.'"),
];
const REDRAW: Duration = Duration::from_millis(100);
/// Nothing here takes so long.
const MOST: Duration = Duration::from_secs(60);

pub fn story() -> anyhow::Result<u8> {
    let stage = Stage::new()?;
    let running = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = running.block_on(async {
        let played = tokio::time::timeout(MOST, play(&stage)).await;
        played.unwrap_or_else(|_| Err(anyhow::anyhow!("the demo took longer than {MOST:?}")))
    })?;
    Ok(told)
}

async fn play(stage: &Stage) -> anyhow::Result<u8> {
    out::write(b"A parent sends three children out, and goes on with its own turn.\n\n")?;
    let client = door(&stage.home).await?;
    let mut deliveries = client.deliveries(PARENT).await?;
    let mut events = client.events(None).await?;
    let mut picture = Picture::new();
    for (name, models, script) in CHILDREN {
        let launch = Launch {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            name: Some(name.to_owned()),
            model: Words(models.iter().map(|model| (*model).to_owned()).collect()),
            parent: Some(format!("inbox:{PARENT}")),
            notify: Some("debrief".to_owned()),
            batch: Some("demo".to_owned()),
            ..Launch::default()
        };
        client.launch(&launch).await?;
    }
    let mut redraw = tokio::time::interval(REDRAW);
    let delivered: Delivered = loop {
        let all = ListQuery::default();
        tokio::select! {
            event = deliveries.next() => match event? {
                Some(event) => break event.json()?,
                None => anyhow::bail!("the daemon went away"),
            },
            event = events.next() => {
                event?;
                picture.show(&client.list(&all).await?.tasks)?;
            }
            _ = redraw.tick(), if picture.is_live => picture.draw()?,
        }
    };
    let tasks = client.list(&ListQuery::default()).await?.tasks;
    picture.show(&tasks)?;
    client.ack(&delivered.key.to_string()).await?;
    let again = tokio::time::timeout(REDRAW, deliveries.next()).await;
    let owed = client.inbox(&format!("inbox:{PARENT}").parse()?).await?.notices.len();
    tell(&delivered, &tasks, again.is_err() && owed == 0)
}

/// The debrief as the parent gets it, and whether all of it is as it should be.
fn tell(delivered: &Delivered, tasks: &[TaskView], once: bool) -> anyhow::Result<u8> {
    let mut text = format!("\nIts turn is over. One debrief ({}):\n\n", delivered.key);
    for line in delivered.text.lines() {
        text.push_str(&format!("  | {}\n", out::plain(line, 110)));
    }
    let done = tasks.iter().all(|task| task.state == State::Completed);
    let failed_over = tasks.iter().any(|task| task.attempts.len() == 2);
    let whole = delivered.notices.len() == CHILDREN.len();
    let well = done && failed_over && whole && once;
    text.push_str(if well {
        "\n3 children, 1 debrief, acknowledged: nothing is owed any more.\n"
    } else {
        "\nThis is not how it should have ended: please report it.\n"
    });
    out::write(text.as_bytes())?;
    Ok(u8::from(!well))
}

/// What is known of each child, and what was said of it.
struct Picture {
    began: Instant,
    is_live: bool,
    lines: BTreeMap<String, String>,
    drawn: usize,
}

impl Picture {
    fn new() -> Self {
        let is_live = std::io::stdout().is_terminal();
        Self { began: Instant::now(), is_live, lines: BTreeMap::new(), drawn: 0 }
    }

    fn show(&mut self, tasks: &[TaskView]) -> anyhow::Result<()> {
        for task in tasks {
            let name = task.name.as_deref().unwrap_or("-").to_owned();
            let line = words(task);
            if self.lines.get(&name) == Some(&line) {
                continue;
            }
            if !self.is_live {
                let after = self.began.elapsed().as_secs_f64();
                out::write(format!("{after:5.1}s  {name:8} {line}\n").as_bytes())?;
            }
            self.lines.insert(name, line);
        }
        if self.is_live { self.draw() } else { Ok(()) }
    }

    /// Over what was drawn before.
    fn draw(&mut self) -> anyhow::Result<()> {
        let after = self.began.elapsed();
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A\x1b[J", self.drawn));
        }
        let turns = after.as_millis() / 400 + 1;
        text.push_str(&format!("  parent   its own turn goes on: step {turns}\n"));
        for (name, line) in &self.lines {
            text.push_str(&format!("  {name:8} {line}\n"));
        }
        text.push_str(&format!("  {:.1}s\n", after.as_secs_f64()));
        self.drawn = self.lines.len() + 2;
        out::write(text.as_bytes())?;
        Ok(())
    }
}

fn words(task: &TaskView) -> String {
    let mut line = task.state.to_string();
    if let Some(model) = &task.model {
        line.push_str(&format!(" on {model}"));
    }
    if task.attempts.len() > 1 {
        line.push_str(&format!(
            ", attempt {}: the model before it asked for the next",
            task.attempts.len()
        ));
    }
    line
}
