//! `POST /v1/stop`: the daemon ends. Children run on, unless they are to end too.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::ids::TaskId;
use homing_core::wire::{Stop, Stopping};
use homing_runtime::Waited;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::accepted;
use crate::asked::Body;
use crate::codes::Own;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

/// A stop that is not confirmed is given up on within this.
const ENDS_WITHIN: Duration = Duration::from_secs(40);
/// So many are cancelled together: their ends share a commit.
const AT_ONCE: usize = 256;
const WHY: &str = "the daemon stops with its children";

refuses!(Refusals: [TOLD, ASKED, KEPT, WRITTEN], Own::InsideTask);

/// The daemon ends.
///
/// Children run on, unless they are to end too. From inside a task it is refused.
#[utoipa::path(
    post, path = "/v1/stop", operation_id = "stop", tag = "daemon",
    request_body = Stop,
    responses((status = 202, description = "It ends.", body = Stopping), Refusals),
)]
pub(crate) async fn stop(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Body(body): Body<Stop>,
) -> Answer<Response> {
    if let By(Some(task)) = by {
        let why = format!("this comes from inside {task}: a task does not stop the daemon");
        return Err(Problem::forbidden(Own::InsideTask, &why));
    }
    let (cancelled, left) = if body.children { end_all(&door).await? } else { (0, Vec::new()) };
    door.stops.stop();
    Ok(accepted(&Stopping { pid: door.identity.pid, cancelled, left }))
}

/// Cancels every living task, and waits for their ends.
async fn end_all(door: &Door) -> Answer<(u64, Vec<TaskId>)> {
    let living = door.homing.living(|task| Some(task.id)).await?;
    let mut stopping = Vec::new();
    for some in living.chunks(AT_ONCE) {
        let cancel = |id: &TaskId| {
            let (homing, id) = (door.homing.clone(), *id);
            async move { (id, homing.cancel_tree(id, Some(WHY), false).await) }
        };
        let cancels: JoinSet<_> = some.iter().map(cancel).collect();
        for (id, done) in cancels.join_all().await {
            // What was still queued has ended with the answer.
            if !done?.state.is_terminal() {
                stopping.push(id);
            }
        }
    }
    let until = Instant::now() + ENDS_WITHIN;
    let mut left = Vec::new();
    for id in &stopping {
        let rest = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        if door.homing.wait(*id, rest).await? != Waited::Ended {
            left.push(*id);
        }
    }
    Ok((living.len() as u64, left))
}
