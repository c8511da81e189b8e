//! Owns how a page of tasks is found: which index serves which question. Never verifies a row.

use homing_ports::store::{TaskQuery, prefix_range};
use rusqlite::types::Value;

use crate::fault::Outcome;
use crate::rows::{self, stored};

/// A statement and what is bound to it.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

/// One or two statements, each newest first and within the limit; the page is their merge.
/// None when no row can match.
pub(crate) fn parts(query: &TaskQuery) -> Outcome<Vec<Part>> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    if limit == 0 || query.prefix.as_deref().is_some_and(|prefix| prefix_range(prefix).is_none()) {
        return Ok(Vec::new());
    }
    let (conditions, mut values) = conditions(query)?;
    values.push(Value::from(limit));
    let part = |(source, also): (&str, &str)| Part {
        sql: format!(
            "SELECT {} FROM task {source} WHERE {also}{conditions} \
             ORDER BY created_wall DESC, id DESC LIMIT ?",
            rows::TASK
        ),
        values: values.clone(),
    };
    Ok(sources(query).iter().copied().map(part).collect())
}

/// Where to look, by the question that leaves the fewest rows, and what else an index asks for.
fn sources(query: &TaskQuery) -> &'static [(&'static str, &'static str)] {
    if query.prefix.as_deref().is_some_and(|prefix| prefix.len() > "bg_".len()) {
        &[("NOT INDEXED", "")]
    } else if query.session.is_some() {
        &[("INDEXED BY task_session", "")]
    } else if query.name.is_some() {
        &[("INDEXED BY task_name", "")]
    } else if query.root.is_some() {
        &[("INDEXED BY task_kin", "root <> id AND "), ("NOT INDEXED", "id = root AND ")]
    } else if query.parent.is_some() {
        &[("INDEXED BY task_parent", "")]
    } else if query.owed == Some(true) && query.living.is_none() {
        &[
            ("INDEXED BY task_owed", "owed = 1 AND living = 0 AND "),
            ("INDEXED BY task_living", "living = 1 AND "),
        ]
    } else if query.living == Some(true) {
        &[("INDEXED BY task_living", "living = 1 AND ")]
    } else if query.state.is_some() && query.living == Some(false) {
        &[("INDEXED BY task_ended", "living = 0 AND ")]
    } else if query.state.is_some() {
        &[
            ("INDEXED BY task_ended", "living = 0 AND "),
            ("INDEXED BY task_living", "living = 1 AND "),
        ]
    } else {
        &[("INDEXED BY task_created", "")]
    }
}

fn conditions(query: &TaskQuery) -> Outcome<(String, Vec<Value>)> {
    let mut sql = String::new();
    let mut values = Vec::new();
    let mut and = |condition: &str, bound: Vec<Value>| {
        if !sql.is_empty() {
            sql.push_str(" AND ");
        }
        sql.push_str(condition);
        values.extend(bound);
    };
    if let Some((low, high)) = query.prefix.as_deref().and_then(prefix_range) {
        and("id BETWEEN ? AND ?", vec![stored(low.bits())?.into(), stored(high.bits())?.into()]);
    }
    for (condition, text) in [
        ("session = ?", &query.session),
        ("name = ?", &query.name),
        ("parent = ?", &query.parent),
        ("state = ?", &query.state),
    ] {
        if let Some(text) = text {
            and(condition, vec![text.clone().into()]);
        }
    }
    if let Some(root) = query.root {
        and("root = ?", vec![stored(root.bits())?.into()]);
    }
    if let Some(living) = query.living {
        and("living = ?", vec![living.into()]);
    }
    if let Some(owed) = query.owed {
        and("owed = ?", vec![owed.into()]);
    }
    // Of all that was ever written when there is no cursor: the index then starts at its end.
    let (wall, id) =
        query.before.map_or((i64::MAX, i64::MAX), |(wall, id)| (wall, id.bits().cast_signed()));
    and("(created_wall, id) < (?, ?)", vec![wall.into(), id.into()]);
    Ok((sql, values))
}
