//! What is asked for when a session is taken in that was started elsewhere.

use serde::{Deserialize, Serialize};

use super::{Fields, is_default};
#[cfg(feature = "schema")]
use crate::{
    refs::{Origin, ParentRef},
    schema::Said,
    words::Notify,
};

body! {
    /// `POST /v1/adopt`.
    Adopt {
        #[cfg_attr(feature = "schema", schema(value_type = Said, required))]
        host: String,
        /// The host's own name for it.
        #[cfg_attr(feature = "schema", schema(value_type = Said, required))]
        session: String,
        name: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<ParentRef>))]
        parent: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Origin>))]
        origin: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Notify>))]
        notify: Option<String>,
    }
}
