//! The tools that read the sessions tasks ran in.

use homing_core::view::TaskView;
use homing_core::wire::{ListQuery, LogsQuery};
use rmcp::model::JsonObject;

use crate::answers::{FoundLine, FoundLines, Session, Sessions, Sorry, Transcript};
use crate::args;
use crate::handler::{Answer, Call, read};

/// Sessions that are listed, lines that are read and found, when nobody says how many; and at most.
const SESSIONS: usize = 20;
const LINES: usize = 200;
const FOUND: usize = 20;
const MOST: usize = 1_000;
/// Sessions whose logs are looked through.
const SEARCHED: usize = 50;
/// Bytes of a log, and of one line, that are shown.
const SHOWN: usize = 64 << 10;
const LINE: usize = 400;

impl Call<'_> {
    async fn newest(&self, limit: usize) -> Result<Vec<TaskView>, Sorry> {
        let limit = limit.clamp(1, MOST).to_string();
        let asked = ListQuery { limit: Some(limit), ..ListQuery::default() };
        let page = self.ask(|client| {
            let asked = asked.clone();
            async move { client.list(&asked).await }
        });
        let tasks = page.await?.tasks;
        Ok(tasks.into_iter().filter(|task| task.session.is_some()).collect())
    }

    /// By the session's id, or by its task; as it is now.
    async fn session(&self, named: &str) -> Result<Session, Sorry> {
        let task = match self.task_of(named).await? {
            Some(task) => task,
            None => named.to_owned(),
        };
        let view = self.read(&task).await.map_err(|_| {
            let named: String = named.chars().take(128).collect();
            Sorry::new(format!("no session and no task is called {named:?}"), "session_list")
        })?;
        Session::of(&view.task).ok_or_else(|| {
            Sorry::new(
                format!("{} has no session yet", view.task.id),
                "background_output shows why",
            )
        })
    }

    /// The task whose latest session has this id, at any host.
    async fn task_of(&self, session: &str) -> Result<Option<String>, Sorry> {
        let hosts = self.ask(|client| async move { client.status().await }).await?.hosts;
        for host in hosts {
            let session = Some(format!("{host}:{session}"));
            let asked = ListQuery { session, limit: Some("1".to_owned()), ..ListQuery::default() };
            let page = self.ask(|client| {
                let asked = asked.clone();
                async move { client.list(&asked).await }
            });
            if let Some(task) = page.await?.tasks.first() {
                return Ok(Some(task.id.to_string()));
            }
        }
        Ok(None)
    }

    /// What its session said, message by message, with what is asked for; none where its host keeps them not apart.
    pub(crate) async fn messages(
        &self,
        task: &str,
        asked: &args::Output,
    ) -> Result<Option<String>, Sorry> {
        let yes = |asked: Option<bool>| Some((asked == Some(true)).to_string());
        let query = LogsQuery {
            thinking: yes(asked.include_thinking),
            tools: yes(asked.include_tool_results),
            since: asked.since_message_id.clone(),
            last: Some(asked.message_limit.unwrap_or(LINES).clamp(1, MOST).to_string()),
        };
        let said = self.ask(|client| {
            let (task, query) = (task.to_owned(), query.clone());
            async move { client.messages(&task, &query).await }
        });
        let said = said.await?;
        Ok(said.map(|bytes| last(&String::from_utf8_lossy(&bytes), usize::MAX).0))
    }

    /// The last lines of a task's log, and whether there are more.
    pub(crate) async fn log(&self, task: &str, limit: usize) -> Result<(String, bool), Sorry> {
        let bytes = self.ask(|client| {
            let task = task.to_owned();
            async move { client.logs(&task).await }
        });
        let text = String::from_utf8_lossy(&bytes.await?).into_owned();
        Ok(last(&text, limit.clamp(1, MOST)))
    }

    pub(crate) async fn session_list(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::SessionList = read(args)?;
        let tasks = self.newest(args.limit.unwrap_or(SESSIONS)).await?;
        let told = Sessions { sessions: tasks.iter().filter_map(Session::of).collect() };
        let lines: Vec<String> =
            told.sessions.iter().map(|session| format!("- {}", session.words())).collect();
        let words = format!("{} sessions, newest first.\n{}", lines.len(), lines.join("\n"));
        Ok(Answer::new(&told, words))
    }

    pub(crate) async fn session_info(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::Session = read(args)?;
        let told = self.session(&args.session_id).await?;
        let words = told.words();
        Ok(Answer::new(&told, words))
    }

    pub(crate) async fn session_read(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::SessionRead = read(args)?;
        let session = self.session(&args.session_id).await?;
        let (text, truncated) = self.log(&session.task, args.limit.unwrap_or(LINES)).await?;
        let told = Transcript { session, text, truncated };
        let words = told.words();
        Ok(Answer::new(&told, words))
    }

    pub(crate) async fn session_search(&self, args: JsonObject) -> Result<Answer, Sorry> {
        let args: args::SessionSearch = read(args)?;
        let query = args.query.to_lowercase();
        if query.is_empty() {
            return Err(Sorry::new("query: it is empty", "some text"));
        }
        let limit = args.limit.unwrap_or(FOUND).clamp(1, MOST);
        let sessions = match &args.session_id {
            Some(named) => vec![self.session(named).await?],
            None => {
                let tasks = self.newest(SEARCHED).await?;
                tasks.iter().filter_map(Session::of).collect()
            }
        };
        let (mut found, mut looked_at) = (Vec::new(), 0);
        for session in &sessions {
            if found.len() >= limit {
                break;
            }
            let bytes = self.ask(|client| {
                let task = session.task.clone();
                async move { client.logs(&task).await }
            });
            // One whose log is gone holds nothing.
            let bytes = bytes.await.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().filter(|line| line.to_lowercase().contains(&query));
            found.extend(lines.take(limit - found.len()).map(|line| FoundLine {
                session: session.id.clone(),
                task: session.task.clone(),
                line: line.chars().take(LINE).collect(),
            }));
            looked_at += 1;
        }
        let told = FoundLines { query: args.query, found, looked_at };
        let words = told.words();
        Ok(Answer::new(&told, words))
    }
}

/// The last lines of a text, within bounds, and whether there is more before them. However many lines it has, they are
/// not gathered.
fn last(text: &str, lines: usize) -> (String, bool) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut first = text.len().saturating_sub(SHOWN);
    while !text.is_char_boundary(first) {
        first += 1;
    }
    // A line that began before is left out, unless there is no other.
    if first > 0
        && let Some((at, _)) = text[first..].match_indices('\n').next()
    {
        first += at + 1;
    }
    let shown = &text[first..];
    let at = shown.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    (shown[at..].to_owned(), first + at > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_within_bounds() {
        assert_eq!(last("a\nb\nc\n", 2), ("b\nc".to_owned(), true));
        assert_eq!(last("a\nb\n", 9), ("a\nb".to_owned(), false));
        assert_eq!(last("", 9), (String::new(), false));
        let many = "y\n".repeat(SHOWN);
        assert_eq!(last(&many, 2), ("y\ny".to_owned(), true));
        assert!(last(&many, usize::MAX).0.len() <= SHOWN);
        let long = "é".repeat(SHOWN);
        let (shown, more) = last(&long, 9);
        assert!(more && shown.len() <= SHOWN && shown.chars().all(|each| each == 'é'));
    }
}
