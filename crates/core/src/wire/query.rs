//! What the query of a request may hold. Every value comes as text, and is read where it is used.

use serde::{Deserialize, Serialize};

use super::{Fields, is_default};
#[cfg(feature = "schema")]
use crate::schema::{Consumer, Cursor, Named, Span};
#[cfg(feature = "schema")]
use crate::{refs::ParentRef, words::State};

/// A query; what each value must be is said for whoever reads the API's document.
macro_rules! query {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$fdoc:meta])* $field:ident as $kind:ty $([$($rule:tt)+])?),* $(,)?
    }) => {
        body! {
            $(#[$doc])*
            #[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
            #[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
            $name {
                $(
                    $(#[$fdoc])*
                    #[cfg_attr(feature = "schema", param(value_type = $kind, inline $(, $($rule)+)?))]
                    $field: Option<String>
                ),*
            }
        }
    };
}

query! {
    /// `GET /v1/tasks?…`.
    ListQuery {
        state as State,
        parent as ParentRef,
        /// `true`: those that have not ended; `false`: those that have; left out: all.
        living as bool,
        name as String,
        session as String,
        limit as u32 [minimum = 1, maximum = 1_000, default = 100],
        /// `next` of the page before.
        cursor as Cursor,
    }
}

query! {
    /// `GET /v1/tasks/{ref}/output?…`.
    OutputQuery {
        /// With its unit, at most an hour: `30s`.
        wait as Span,
        /// `false`: the task without its result.
        result as bool,
        /// As bytes only: instead of the result, what the host still has from this byte on, a piece of it. The
        /// header `homing-from` says where the piece begins, `homing-written` how much there was in all.
        from as u64,
    }
}

query! {
    /// `GET /v1/tasks/{ref}/logs?…`. With any of these: message by message, each with its id, of a host that keeps them apart, and
    /// the header `homing-messages: apart`; of another host, all that it wrote.
    LogsQuery {
        /// `true`: with what the agent thought.
        thinking as bool,
        /// `true`: with the tools that it called, and what they said.
        tools as bool,
        /// Only what came after the message of this id.
        since as String,
        /// Only the last so many messages.
        last as u32 [minimum = 1],
    }
}

query! {
    /// `GET /v1/events?…`, `GET /v1/tasks/{ref}/events?…`.
    EventsQuery {
        /// The number of the last line that was seen; the header `Last-Event-ID` goes over it.
        after as u64,
        /// `false`: what is there now, one JSON object a line.
        follow as bool,
    }
}

query! {
    /// `GET /v1/telemetry?…`.
    TelemetryQuery {
        task as Named,
        /// The number of the last line that was seen; the header `Last-Event-ID` goes over it.
        after as u64,
        limit as u32 [minimum = 1, maximum = 1_000, default = 100],
    }
}

query! {
    /// `GET /v1/parents/{ref}/owned?…`.
    ParentQuery { limit as u32 [minimum = 1, maximum = 1_000, default = 100] }
}

query! {
    /// `GET /v1/deliveries?…`.
    DeliveriesQuery {
        /// `NAME` drains `inbox:NAME` with all its keys, `NAME/KEY` that one.
        consumer as Consumer [required = true]
    }
}
