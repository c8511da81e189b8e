//! Finds the task that somebody means by an id, a beginning of one, or a name; and when it is none of
//! these, says what it is instead. Reads only.

use homing_core::ids::TaskId;
use homing_core::words::Code;
use homing_ports::store::{Reader, StoreError, TaskQuery, TaskRow};

use crate::answers::Refused;

/// So many are named when more than one is meant.
const NAMED_MAX: usize = 5;
/// Longer than any id, name or session that is looked for.
const TEXT_MAX: usize = 256;

/// The one task that `text` means. `hosts` are those whose sessions may be mistaken for tasks.
pub fn task(reader: &dyn Reader, text: &str, hosts: &[String]) -> Result<TaskId, Refused> {
    let text = text.trim();
    if text.is_empty() || text.len() > TEXT_MAX {
        let why = format!(
            "{:?} is not a task: give an id (bg_…), a beginning of one, or a name",
            head(text)
        );
        return Err(Refused::because(Code::Invalid, why));
    }
    if let Ok(id) = text.parse::<TaskId>() {
        return match reader.task(id)?.0 {
            Some(_) => Ok(id),
            None => {
                Err(not_found(format!("no task {id}: never accepted here, or past its retention")))
            }
        };
    }
    if text.starts_with(TaskId::PREFIX)
        && let Some(id) = only(text, &some(reader, |query| query.prefix = Some(text.to_owned()))?)?
    {
        return Ok(id);
    }
    if let Some(id) = only(text, &some(reader, |query| query.name = Some(text.to_owned()))?)? {
        return Ok(id);
    }
    Err(other(reader, text, hosts)?)
}

fn some(
    reader: &dyn Reader,
    narrow: impl FnOnce(&mut TaskQuery),
) -> Result<Vec<TaskRow>, StoreError> {
    let mut query = TaskQuery { limit: NAMED_MAX + 1, ..TaskQuery::default() };
    narrow(&mut query);
    reader.tasks(&query)
}

fn only(text: &str, rows: &[TaskRow]) -> Result<Option<TaskId>, Refused> {
    match rows {
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        several => {
            let ids: Vec<String> =
                several.iter().take(NAMED_MAX).map(|row| row.id.to_string()).collect();
            let more = if several.len() > NAMED_MAX { ", …" } else { "" };
            let why = format!(
                "{text:?} means more than one task: {}{more}; give a whole id",
                ids.join(", ")
            );
            Err(Refused::because(Code::Invalid, why))
        }
    }
}

/// What a text is that is no task.
fn other(reader: &dyn Reader, text: &str, hosts: &[String]) -> Result<Refused, StoreError> {
    let whole = hosts.iter().map(|host| format!("{host}:{text}"));
    for session in std::iter::once(text.to_owned()).chain(whole) {
        let found = some(reader, |query| query.session = Some(session))?;
        if let Some(row) = found.first() {
            return Ok(not_found(format!(
                "{text:?} is a session, not a task: use its task, {}",
                row.id
            )));
        }
    }
    let kinds =
        [("ask_", "an ask"), ("db_", "a debrief"), ("po_", "a post"), ("cv_", "a conversation")];
    let kind = kinds.iter().find(|(prefix, _)| text.starts_with(prefix));
    Ok(not_found(match kind {
        Some((_, kind)) => format!("{text:?} names {kind}, not a task: give the task's id (bg_…)"),
        None => format!(
            "no task {text:?}: it is no id, no beginning of one, and no name of a task kept here"
        ),
    }))
}

fn head(text: &str) -> String {
    text.chars().take(32).collect()
}

fn not_found(why: String) -> Refused {
    Refused::because(Code::NotFound, why)
}
