//! One line at the terminal while somebody waits: the state, how long it took so far, which attempt, which model.
//! Where nobody looks, there is none.

use std::future::pending;
use std::io::IsTerminal;
use std::time::Duration;

use homing_core::view::TaskView;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ending::NAME_MAX;
use crate::out;
use crate::talk::Talk;

const TICK: Duration = Duration::from_millis(120);

/// Gone from the terminal when it falls.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// On a terminal only.
    pub fn new(wanted: bool) -> Self {
        let seen = wanted && std::io::stderr().is_terminal();
        let bar = seen.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        });
        Self { bar }
    }

    /// Tells of a task as it moves; never ends by itself.
    pub async fn follow(&self, talk: &Talk, task: &str) {
        if let Some(bar) = &self.bar
            && let Ok(mut events) = talk.client().events_of(task, None).await
        {
            while let Ok(Some(_)) = events.next().await {
                let Ok(view) = talk.client().show(task).await else { break };
                bar.set_message(told(&view));
            }
        }
        // Nothing more is heard: whoever waits hears of the end otherwise.
        pending().await
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn told(task: &TaskView) -> String {
    let name = task.name.as_deref().map(|name| format!(" {}", out::plain(name, NAME_MAX)));
    let model = task.model.as_deref().map(|model| format!(", {}", out::plain(model, NAME_MAX)));
    format!(
        "{}{}: {}, attempt {}{}",
        task.id,
        name.unwrap_or_default(),
        task.state,
        task.attempt,
        model.unwrap_or_default()
    )
}
