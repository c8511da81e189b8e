//! `GET /v1/asks`: what waits for somebody, across hosts, oldest first.

use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Asks, Nothing};

use super::ok;
use crate::asked::Query;
use crate::door::Door;
use crate::problem::Answer;

pub(crate) async fn asks(State(door): State<Door>, Query(_): Query<Nothing>) -> Answer<Response> {
    Ok(ok(&Asks { asks: door.homing.asks().await? }))
}
