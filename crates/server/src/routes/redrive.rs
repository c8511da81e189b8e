//! `POST /v1/deliveries/{key}/redrive`: what rests is sent again, under its key.

use axum::extract::State;
use axum::response::Response;
use homing_core::ids::{DebriefId, PostId};
use homing_core::input::Outgoing;
use homing_core::wire::{Nothing, Redriven};

use super::{Named, ok};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::problem::Answer;

/// `db_…`, or `po_…`.
pub(crate) async fn redrive(
    State(door): State<Door>,
    Named(key): Named<String>,
    Body(_): Body<Nothing>,
) -> Answer<Response> {
    let what = if key.starts_with(PostId::PREFIX) {
        Outgoing::Post(parsed("key", &key)?)
    } else {
        Outgoing::Debrief(parsed::<DebriefId>("key", &key)?)
    };
    let waits = door.homing.redrive(what).await?;
    Ok(ok(&Redriven { key, waits }))
}
