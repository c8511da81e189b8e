//! `POST /v1/deliveries/{key}/ack`: a receipt. What it names is settled; not known or repeated is harmless.

use axum::extract::State;
use axum::response::Response;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::input::Receipt;
use homing_core::wire::{Acked, Nothing};
use homing_core::words::Code;
use homing_runtime::Refused;

use super::{Named, ok};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfKey, OfNotice, TOLD, WRITTEN, refuses};
use crate::problem::{Answer, Problem};

refuses!(Refusals: [TOLD, ASKED, KEPT, WRITTEN], Code::NotFound);

/// A receipt: what it names is settled.
///
/// `db_…`, or `bg_…/GENERATION` with its slash escaped. Not known or repeated is harmless.
#[utoipa::path(
    post, path = "/v1/deliveries/{key}/ack", operation_id = "ack", tag = "deliveries",
    params(OfKey), request_body = Nothing,
    responses((status = 200, description = "Whether it was owed.", body = Acked), Refusals),
)]
pub(crate) async fn debrief(
    State(door): State<Door>,
    Named(key): Named<String>,
    Body(_): Body<Nothing>,
) -> Answer<Response> {
    let receipt = match key.split_once('/') {
        Some((task, generation)) => receipt(task, generation)?,
        None if key.starts_with(TaskId::PREFIX) => {
            let why = format!("{key:?} names a task: an acknowledgement is of one generation");
            return Err(Problem::invalid(why).hint(format!("{key}/GENERATION")));
        }
        None => Receipt::Debrief(parsed::<DebriefId>("key", &key)?),
    };
    acked(&door, key, receipt).await
}

/// A receipt for one generation of a task.
///
/// `bg_…/GENERATION`, as it is.
#[utoipa::path(
    post, path = "/v1/deliveries/{task}/{generation}/ack", operation_id = "ack_notice", tag = "deliveries",
    params(OfNotice), request_body = Nothing,
    responses((status = 200, description = "Whether it was owed.", body = Acked), Refusals),
)]
pub(crate) async fn notice(
    State(door): State<Door>,
    Named((task, generation)): Named<(String, String)>,
    Body(_): Body<Nothing>,
) -> Answer<Response> {
    let receipt = receipt(&task, &generation)?;
    acked(&door, format!("{task}/{generation}"), receipt).await
}

fn receipt(task: &str, generation: &str) -> Answer<Receipt> {
    let task = parsed::<TaskId>("key", task)?;
    let generation = generation.parse();
    let generation =
        generation.map_err(|_| Problem::invalid("key: a generation is a number: bg_…/1"))?;
    Ok(Receipt::Notice { task, generation })
}

async fn acked(door: &Door, key: String, receipt: Receipt) -> Answer<Response> {
    let known = match door.homing.ack(receipt).await {
        // Never here, or past its retention: nothing is owed of it.
        Err(Refused::Because { code: Code::NotFound, .. }) => false,
        told => told?,
    };
    Ok(ok(&Acked { key, known }))
}
