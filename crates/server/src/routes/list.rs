//! `GET /v1/tasks`: tasks as last committed, newest first, page by page. Asks no host.

use axum::extract::State;
use axum::response::Response;
use homing_core::nearest::unknown;
use homing_core::refs::ParentRef;
use homing_core::wire::{ListQuery, Page};
use homing_core::words;
use homing_ports::store::TaskQuery;

use super::ok;
use crate::asked::{Query, limited, parsed, yes};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, TOLD, refuses};
use crate::problem::{Answer, Problem};

const USUAL: usize = 100;
const MOST: usize = 1_000;

refuses!(Refusals: [TOLD, ASKED, KEPT]);

/// Tasks, newest first.
///
/// As last committed, page by page: no host is asked.
#[utoipa::path(
    get, path = "/v1/tasks", operation_id = "list", tag = "tasks",
    params(ListQuery),
    responses((status = 200, description = "A page.", body = Page), Refusals),
)]
pub(crate) async fn list(
    State(door): State<Door>,
    Query(asked): Query<ListQuery>,
) -> Answer<Response> {
    let query = TaskQuery {
        state: asked.state.as_deref().map(state).transpose()?,
        living: yes("living", asked.living.as_deref())?,
        parent: asked.parent.as_deref().map(parent).transpose()?,
        name: asked.name,
        session: asked.session,
        before: asked.cursor.as_deref().map(cursor).transpose()?,
        limit: limited(asked.limit.as_deref(), USUAL, MOST)?,
        ..TaskQuery::default()
    };
    let (tasks, next) = door.homing.views(query).await?;
    Ok(ok(&Page { tasks, next: next.map(|(wall, id)| format!("{wall}.{id}")) }))
}

fn state(text: &str) -> Answer<String> {
    let known = words::State::ALL.iter().map(|state| state.word());
    match known.clone().any(|known| known == text) {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(unknown("state", text, known))),
    }
}

fn parent(text: &str) -> Answer<String> {
    Ok(parsed::<ParentRef>("parent", text)?.to_string())
}

fn cursor(text: &str) -> Answer<(i64, homing_core::ids::TaskId)> {
    let read =
        text.split_once('.').and_then(|(wall, id)| Some((wall.parse().ok()?, id.parse().ok()?)));
    read.ok_or_else(|| Problem::invalid("cursor: it is not one that a page gave as `next`"))
}
