//! What can go wrong without anybody's defect: each with an exit code and what to try.

use homing_client::Error;
use homing_core::compose::iso;
use homing_core::ids::TaskId;
use homing_core::words::Code;
use homing_ports::store::StoreError;
use homing_runtime::Refused;
use homing_store::Holder;

/// The exit code of somebody who did not wait.
pub const INTERRUPTED: u8 = 130;

/// Something went wrong that people can do something about.
#[derive(Debug, thiserror::Error)]
pub enum Expected {
    #[error("{what}")]
    Usage { what: String, hint: &'static str },
    #[error("the home {path} cannot be used: {why}")]
    Home { path: String, why: String },
    #[error("the home {path} is held by another homing that runs now{}", held_by(.by.as_ref()))]
    Held { path: String, by: Option<Holder> },
    #[error("{path}: {what}")]
    Config { path: String, what: String, hint: String },
    /// What a daemon said when it could not start.
    #[error("{what}")]
    Daemon { code: u8, what: String, hint: String },
    /// What the daemon answered, or that it did not.
    #[error("{}", told(.0))]
    Client(homing_client::Error),
    /// It has not ended, and nobody waits any longer.
    #[error("{what}")]
    WaitedOut { what: String, hint: String },
    #[error("not all have ended: {} [{}]", listed(.left), Code::CascadeIncomplete.word())]
    Incomplete { left: Vec<TaskId> },
    /// There is nothing to look into.
    #[error("{why}")]
    NoSession { why: String, hint: &'static str },
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Store(StoreError),
    #[error("{0}")]
    Refused(Refused),
    #[error("the output cannot be written: {0}")]
    Output(std::io::Error),
    #[error("no client of the tools is at standard input: {0}")]
    NoClient(std::io::Error),
    /// Whoever read the output went away: nothing to say, and nobody to say it to.
    #[error("the output was closed")]
    Closed,
}

impl Expected {
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage { .. } | Self::Config { .. } => 2,
            Self::Daemon { code, .. } => *code,
            Self::Client(error) => answered(error),
            Self::WaitedOut { .. } => 4,
            Self::Incomplete { .. } => refused(Code::CascadeIncomplete),
            Self::NoSession { .. } => 5,
            Self::Interrupted => INTERRUPTED,
            Self::Home { .. } | Self::Held { .. } => 6,
            Self::Store(error) | Self::Refused(Refused::Store(error)) => match error {
                StoreError::BelowFloor { .. } => 3,
                StoreError::Damaged { .. }
                | StoreError::Newer { .. }
                | StoreError::Foreign { .. }
                | StoreError::Held { .. }
                | StoreError::Unavailable { .. } => 6,
            },
            Self::Refused(Refused::Stopped) => 6,
            Self::Refused(Refused::Because { code, .. }) => refused(*code),
            Self::Output(_) => 1,
            Self::NoClient(_) => 2,
            Self::Closed => 0,
        }
    }

    /// What to try.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Usage { hint, .. } | Self::NoSession { hint, .. } => *hint,
            Self::Home { .. } => {
                "name a directory of your own with --home DIR or HOMING_HOME, or see that this one can be \
                 written to and has space"
            }
            Self::Held { by, .. } => {
                return Some(match by {
                    Some(by) => format!(
                        "wait until that one ends (kill {} ends it; its commands run on), or use another home \
                         with --home DIR",
                        by.pid
                    ),
                    None => {
                        "wait until that one ends, or use another home with --home DIR".to_owned()
                    }
                });
            }
            Self::Incomplete { left } => {
                return left.first().map(|id| format!("homing why {id}"));
            }
            Self::Config { hint, .. }
            | Self::Daemon { hint, .. }
            | Self::WaitedOut { hint, .. } => {
                return Some(hint.clone()).filter(|hint| !hint.is_empty());
            }
            Self::Client(error) => return client_hint(error),
            Self::Store(error) | Self::Refused(Refused::Store(error)) => match error {
                StoreError::Damaged { .. } => {
                    "nothing was changed; put a copy of the home in its place"
                }
                StoreError::Newer { .. } => "use the newer homing that wrote it",
                StoreError::Foreign { .. } => "name another home with --home DIR",
                StoreError::Held { .. } => "wait until that one ends",
                StoreError::BelowFloor { floor, .. } => {
                    return Some(format!("homing events --after {floor}"));
                }
                StoreError::Unavailable { .. } => {
                    "see that its disk has space and can be written to"
                }
            },
            Self::Refused(Refused::Because { code: Code::NotFound, .. }) => "homing ls --all",
            Self::Refused(Refused::Because { code: Code::KeyReused, .. }) => KEY_HINT,
            Self::Refused(Refused::Because { code: Code::Unavailable | Code::Unsure, .. }) => {
                "the same again; with a --key it is the same task"
            }
            Self::NoClient(_) => "an agent starts this: homing setup claude",
            Self::Refused(_) | Self::Output(_) | Self::Closed | Self::Interrupted => return None,
        };
        Some(hint.to_owned())
    }
}

fn held_by(by: Option<&Holder>) -> String {
    by.map_or_else(String::new, |by| format!(": process {} since {}", by.pid, iso(by.since)))
}

fn listed(ids: &[TaskId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn told(error: &Error) -> String {
    match error {
        Error::Problem(problem) => format!("{} [{}]", problem.detail, problem.code),
        Error::Unreachable { .. } | Error::CutOff { .. } | Error::Odd { .. } => error.to_string(),
    }
}

fn answered(error: &Error) -> u8 {
    match (error, error.code()) {
        (_, Some(code)) => refused(code),
        (Error::Problem(problem), None) => match problem.status {
            404 | 410 => 3,
            400 | 405 | 413 => 2,
            500.. => 6,
            _ => 5,
        },
        (Error::Unreachable { .. } | Error::CutOff { .. }, None) => 6,
        (Error::Odd { .. }, None) => 1,
    }
}

fn client_hint(error: &Error) -> Option<String> {
    match (error, error.code()) {
        (_, Some(Code::NotFound)) => Some("homing ls --all".to_owned()),
        (_, Some(Code::KeyReused)) => Some(KEY_HINT.to_owned()),
        (_, Some(Code::AskClosed)) => Some("homing asks lists what is open".to_owned()),
        (_, Some(Code::NotEnded)) => Some("homing wait for its end, or homing send".to_owned()),
        (_, Some(Code::Ended)) => Some("homing resume or homing retry".to_owned()),
        (_, Some(Code::CannotPrompt)) => Some("homing launch anew, or homing retry".to_owned()),
        (Error::Problem(problem), Some(Code::Unavailable)) if problem.hint.is_some() => {
            problem.hint.clone()
        }
        (_, Some(Code::Unavailable | Code::Unsure)) | (Error::CutOff { .. }, _) => {
            Some("the same again; with a --key it is the same task".to_owned())
        }
        (Error::Problem(problem), _) => problem.hint.clone(),
        (Error::Unreachable { .. }, _) => Some("homing daemon start".to_owned()),
        (Error::Odd { .. }, _) => Some("a daemon of this release: homing daemon stop".to_owned()),
    }
}

const KEY_HINT: &str = "use another --key, or give the same command, directory and options again";

impl From<Error> for Expected {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl From<StoreError> for Expected {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Refused> for Expected {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<std::io::Error> for Expected {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        Self::Output(error)
    }
}

fn refused(code: Code) -> u8 {
    match code {
        Code::Invalid => 2,
        Code::NotFound => 3,
        Code::Unsure | Code::Unavailable => 6,
        Code::HandshakeFailed
        | Code::SessionNotFound
        | Code::TelemetryFallback
        | Code::DepthExceeded
        | Code::OriginUnhandled
        | Code::RoomClosed
        | Code::ReceiverRefused
        | Code::OnItsWay
        | Code::AbortUnconfirmed
        | Code::LivingLimit
        | Code::LineageUnknown
        | Code::LineageCycle
        | Code::KeyReused
        | Code::BudgetUnavailable
        | Code::NotEnded
        | Code::Ended
        | Code::CannotPrompt
        | Code::AskClosed
        | Code::OwnAsk
        | Code::PeopleOnly
        | Code::CascadeIncomplete
        | Code::NotAfter
        | Code::Stopping => 5,
    }
}
