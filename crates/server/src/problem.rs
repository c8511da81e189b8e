//! How everything is refused: `application/problem+json` with a stable code, what, why, and what to try.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use homing_core::wire;
use homing_core::words::Code;
use homing_ports::store::StoreError;
use homing_runtime::Refused;

use crate::codes::Own;

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    code: String,
    title: &'static str,
    detail: String,
    hint: Option<String>,
}

pub(crate) type Answer<T> = Result<T, Problem>;

impl Problem {
    fn new(status: StatusCode, code: &str, title: &'static str, detail: &str) -> Self {
        Self { status, code: code.to_owned(), title, detail: detail.to_owned(), hint: None }
    }

    fn own(code: Own, title: &'static str, detail: &str) -> Self {
        Self::new(code.status(), code.word(), title, detail)
    }

    /// What was asked for makes no sense; the detail names the field.
    pub(crate) fn invalid(detail: impl AsRef<str>) -> Self {
        let code = Code::Invalid.word();
        Self::new(StatusCode::BAD_REQUEST, code, "the request cannot be read", detail.as_ref())
    }

    pub(crate) fn forbidden(code: Own, detail: &str) -> Self {
        Self::own(code, "not for this caller", detail)
    }

    /// Over TCP, without the token.
    pub(crate) fn unknown_caller() -> Self {
        let why = "the header Authorization does not hold this home's token";
        Self::forbidden(Own::Token, why)
            .hint("Authorization: Bearer TOKEN, as `homing token` prints it")
    }

    /// Nobody can tell whether the caller is inside a task.
    pub(crate) fn nobody() -> Self {
        let why = "the process that made this connection is gone or cannot be seen, so nobody can tell \
                   whether it is inside a task";
        Self::forbidden(Own::CallerUnknown, why)
    }

    pub(crate) fn slow(detail: &str) -> Self {
        Self::own(Own::Slow, "the request took too long", detail)
    }

    pub(crate) fn not_found(detail: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound.word(), "not found", detail)
    }

    pub(crate) fn method(detail: &str) -> Self {
        Self::own(Own::Method, "that cannot be done here", detail)
    }

    pub(crate) fn too_large(detail: &str) -> Self {
        Self::own(Own::TooLarge, "the body is too large", detail)
    }

    pub(crate) fn unavailable(detail: &str) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(status, Code::Unavailable.word(), "not available now", detail)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A hint for what cannot be done as it was asked, where there is no better one.
    pub(crate) fn suggest(mut self, hint: &str) -> Self {
        if self.code == Code::Invalid.word() {
            self.hint.get_or_insert_with(|| hint.to_owned());
        }
        self
    }

    pub(crate) fn wire(self) -> wire::Problem {
        wire::Problem {
            status: self.status.as_u16(),
            code: self.code,
            title: self.title.to_owned(),
            detail: self.detail,
            hint: self.hint,
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Because { code, why } => because(code, &why),
            Refused::Stopped => Self::unavailable("the daemon stops")
                .hint("the same again: it starts anew; with a key it is the same task"),
            Refused::Store(error) => store(&error),
        }
    }
}

fn because(code: Code, why: &str) -> Problem {
    let (status, title) = kind(code);
    let problem = Problem::new(status, code.word(), title, why);
    let hint = match code {
        Code::NotFound => "GET /v1/tasks lists what is kept here",
        Code::KeyReused => "another key, or the same request again",
        Code::Unsure => "the same again; with a key it is the same task",
        Code::Unavailable => "homing doctor tells what is wrong; then the same again",
        Code::NotEnded => "wait for its end, or send it words with /send",
        Code::Ended => "resume it with a prompt, or launch anew",
        Code::AskClosed => "GET /v1/asks lists what is open",
        Code::OnItsWay => "GET /v1/tasks/{id}/why of a task in it tells how far it is",
        Code::OwnAsk => "a person answers it, from outside the asking task",
        Code::PeopleOnly => {
            "a person answers it: homing answer; or [policy] permissions in homing.toml names the parent"
        }
        Code::DepthExceeded => "do it in this task, or let the parent launch it",
        Code::LivingLimit => "wait for some to end, or cancel them",
        Code::BudgetUnavailable => "a smaller budget",
        Code::CannotPrompt => "launch anew: this host takes no further prompts",
        Code::HandshakeFailed
        | Code::SessionNotFound
        | Code::TelemetryFallback
        | Code::OriginUnhandled
        | Code::RoomClosed
        | Code::ReceiverRefused
        | Code::AbortUnconfirmed
        | Code::LineageUnknown
        | Code::LineageCycle
        | Code::Invalid
        | Code::CascadeIncomplete
        | Code::NotAfter
        | Code::Stopping => return problem,
    };
    problem.hint(hint)
}

/// What a code of the core is answered with.
pub(crate) fn kind(code: Code) -> (StatusCode, &'static str) {
    match code {
        Code::Invalid | Code::LineageUnknown | Code::LineageCycle | Code::NotAfter => {
            (StatusCode::BAD_REQUEST, "the request cannot be done as it is")
        }
        Code::NotFound => (StatusCode::NOT_FOUND, "not found"),
        Code::Unsure => (StatusCode::SERVICE_UNAVAILABLE, "whether it was done is not known"),
        Code::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "not available now"),
        Code::OwnAsk | Code::PeopleOnly => (StatusCode::FORBIDDEN, "not for this caller"),
        Code::DepthExceeded | Code::LivingLimit | Code::BudgetUnavailable => {
            (StatusCode::FORBIDDEN, "over a limit")
        }
        Code::HandshakeFailed
        | Code::SessionNotFound
        | Code::TelemetryFallback
        | Code::OriginUnhandled
        | Code::RoomClosed
        | Code::ReceiverRefused
        | Code::AbortUnconfirmed
        | Code::KeyReused
        | Code::NotEnded
        | Code::Ended
        | Code::CannotPrompt
        | Code::AskClosed
        | Code::OnItsWay
        | Code::CascadeIncomplete
        | Code::Stopping => (StatusCode::CONFLICT, "not as things stand"),
    }
}

fn store(error: &StoreError) -> Problem {
    let why = error.to_string();
    match error {
        StoreError::BelowFloor { floor, .. } => {
            Problem::own(Own::BelowFloor, "the journal does not go back that far", &why)
                .hint(format!("after={floor}"))
        }
        StoreError::Damaged { .. } | StoreError::Newer { .. } | StoreError::Foreign { .. } => {
            Problem::own(Own::Damaged, "the ledger cannot be read", &why).hint("homing doctor")
        }
        StoreError::Held { .. } | StoreError::Unavailable { .. } => Problem::unavailable(&why)
            .hint("see that its disk has space and can be written to, then the same again"),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        // Plain data with text keys: it always has a form as JSON.
        let body = serde_json::to_vec(&self.wire()).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut answer = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        answer
    }
}
