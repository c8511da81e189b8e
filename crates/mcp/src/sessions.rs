//! The tools that read the sessions tasks ran in.

use homing_core::view::TaskView;
use homing_core::wire::ListQuery;
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

    /// By the session's id, or by its task.
    async fn session(&self, named: &str) -> Result<Session, Sorry> {
        let known = self.newest(MOST).await?;
        let by_id =
            |view: &&TaskView| view.session.as_ref().is_some_and(|session| &*session.id == named);
        if let Some(found) = known.iter().find(by_id).and_then(Session::of) {
            return Ok(found);
        }
        let view = self.read(named).await.map_err(|_| {
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
        let mut found = Vec::new();
        for session in &sessions {
            let bytes = self.ask(|client| {
                let task = session.task.clone();
                async move { client.logs(&task).await }
            });
            // One whose log is gone holds nothing.
            let bytes = bytes.await.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines = text.lines().filter(|line| line.to_lowercase().contains(&query));
            found.extend(lines.map(|line| FoundLine {
                session: session.id.clone(),
                task: session.task.clone(),
                line: line.chars().take(LINE).collect(),
            }));
        }
        found.truncate(limit);
        let told = FoundLines { query: args.query, found, looked_at: sessions.len() };
        let words = told.words();
        Ok(Answer::new(&told, words))
    }
}

/// The last lines of a text, within bounds, and whether there is more before them.
fn last(text: &str, lines: usize) -> (String, bool) {
    let all: Vec<&str> = text.lines().collect();
    let mut first = all.len().saturating_sub(lines);
    let mut size: usize = all[first..].iter().map(|line| line.len() + 1).sum();
    while size > SHOWN && first + 1 < all.len() {
        size -= all[first].len() + 1;
        first += 1;
    }
    let mut shown = all[first..].join("\n");
    let long = shown.len() > SHOWN;
    while shown.len() > SHOWN {
        shown.pop();
    }
    (shown, first > 0 || long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_within_bounds() {
        assert_eq!(last("a\nb\nc\n", 2), ("b\nc".to_owned(), true));
        assert_eq!(last("a\nb\n", 9), ("a\nb".to_owned(), false));
        assert_eq!(last("", 9), (String::new(), false));
        let long = "é".repeat(SHOWN);
        let (shown, more) = last(&long, 9);
        assert!(more && shown.len() <= SHOWN && shown.chars().all(|each| each == 'é'));
    }
}
