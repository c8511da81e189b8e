//! `GET /v1/deliveries?consumer=NAME`: debriefs of an inbox and its keys as they come, each kept for this
//! consumer until it is acknowledged or its lease is over; a consumer that goes away has failed to take what it did
//! not acknowledge, and another is offered it soon. The same key twice is the same debrief.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::Response;
use homing_core::refs::ParentRef;
use homing_core::reply::Lease;
use homing_core::wire::{Delivered, DeliveriesQuery};
use homing_runtime::{Debrief, Homing};
use serde_json::json;

use crate::asked::{Query, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, SentEvent, TOLD, refuses};
use crate::problem::{Answer, Problem};
use crate::stream::{self, Gone, Out};

/// One wait; the next one follows.
const WAIT: Duration = Duration::from_secs(3_600);

refuses!(Refusals: [TOLD, ASKED]);

/// Debriefs of an inbox and its keys as they come, each leased to one consumer.
///
/// What is not acknowledged is offered again. The same key twice is the same debrief.
#[utoipa::path(
    get, path = "/v1/deliveries", operation_id = "deliveries", tag = "deliveries",
    params(DeliveriesQuery),
    responses(
        (status = 200, description = "Server-sent events without end: `event: debrief`, its `id` the key to acknowledge, its \
         `data` a `Delivered`; `dropped`, `stopped` and `problem` are last words.",
         content((SentEvent = "text/event-stream"))),
        Refusals
    ),
)]
pub(crate) async fn deliveries(
    State(door): State<Door>,
    Query(asked): Query<DeliveriesQuery>,
) -> Answer<Response> {
    let Some(consumer) = asked.consumer else {
        let problem = Problem::invalid("consumer: say whose inbox is drained");
        return Err(problem.hint("GET /v1/deliveries?consumer=NAME drains inbox:NAME"));
    };
    let inbox: ParentRef = parsed("consumer", &format!("inbox:{consumer}"))?;
    Ok(stream::events(&door.clone(), |out| drain(door, consumer, inbox, out)))
}

async fn drain(door: Door, consumer: String, inbox: ParentRef, out: Out) -> Option<String> {
    let mut leases = Leases::new(&door.homing);
    let last = offer(&door, &consumer, &inbox, &out, &mut leases).await;
    if !*door.stops.closing().borrow() {
        leases.end().await;
    }
    last
}

/// What a connection was given and may still have.
struct Leases {
    homing: Homing,
    given: Vec<(Lease, Instant)>,
}

impl Leases {
    fn new(homing: &Homing) -> Self {
        Self { homing: homing.clone(), given: Vec::new() }
    }

    fn lasting(&self) -> Duration {
        Duration::from_millis(self.homing.limits().lease_ms)
    }

    /// Those that are over belong to nobody, or to another by now.
    fn give(&mut self, lease: Lease) {
        let lasting = self.lasting();
        self.given.retain(|(_, since)| since.elapsed() < lasting);
        self.given.push((lease, Instant::now()));
    }

    /// The consumer is gone. What it acknowledged is not known any more, and stays settled.
    async fn end(self) {
        for (lease, _) in &self.given {
            // A runtime that has stopped lets go of every lease by itself.
            drop(self.homing.let_go(*lease).await);
        }
    }
}

async fn offer(
    door: &Door,
    consumer: &str,
    inbox: &ParentRef,
    out: &Out,
    leases: &mut Leases,
) -> Option<String> {
    let mut closing = door.stops.closing();
    loop {
        // Nothing is leased for a reader that takes nothing.
        if let Err(Gone) = out.room().await {
            return Some(stream::aside("dropped", &json!({ "why": "it was read too slowly" })));
        }
        let next = tokio::select! {
            next = door.homing.next(consumer, inbox, WAIT) => next,
            _ = closing.wait_for(|closing| *closing) => return Some(stopped()),
            () = out.closed() => return None,
        };
        match next {
            Ok(Some(debrief)) => {
                leases.give(debrief.lease);
                let key = debrief.key.to_string();
                let event = stream::event(&key, "debrief", &delivered(debrief));
                if let Err(Gone) = out.put(event).await {
                    return None;
                }
            }
            Ok(None) => {}
            Err(_) if *closing.borrow() => return Some(stopped()),
            Err(refused) => return Some(stream::last_words(refused.into())),
        }
    }
}

fn stopped() -> String {
    stream::aside("stopped", &json!({ "why": "the daemon stops" }))
}

fn delivered(debrief: Debrief) -> Delivered {
    let Debrief { key, lease: _, parent, notices, text } = debrief;
    Delivered { key, parent, notices, text: String::from_utf8_lossy(&text).into_owned() }
}
