//! `POST /v1/tasks`: accepts a task. What the caller's environment holds goes to the one who keeps it, and
//! nowhere else.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use homing_core::nearest::unknown;
use homing_core::refs::{Origin, ParentRef};
use homing_core::spec::{self, Model, Overrides};
use homing_core::wire;
use homing_core::words::{Code, Notify};
use homing_ports::door::Vars;
use homing_runtime::{Launch, Launched, Refused};

use super::{accepted, task};
use crate::asked::{Body, parsed, spanned};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

const KEY_MAX: usize = 512;
const NAME_MAX: usize = 64 << 10;
const VARS_MAX: usize = 1_000;

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::KeyReused,
    Code::Ended,
    Code::DepthExceeded,
    Code::LivingLimit,
    Code::BudgetUnavailable,
    Code::LineageUnknown,
    Code::LineageCycle,
    Code::NotAfter,
);

/// Launches a task: a prompt or a command.
///
/// It is durable when this answers, and its id is known. The same key again is the same task.
#[utoipa::path(
    post, path = "/v1/tasks", operation_id = "launch", tag = "tasks",
    params((
        "Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 512, pattern = "^[ -~]*$",
        description = "The same key again gives the same task; `key` in the body says the same."
    )),
    request_body(content = wire::Launch, example = json!({ "command": ["echo", "home"], "name": "errand" })),
    responses(
        (
            status = 202, description = "Accepted.", body = wire::Accepted,
            headers(("location" = String, description = "The task.")),
            links(
                ("show" = (operation_id = "show", parameters(("task" = "$response.body#/id")))),
                ("output" = (operation_id = "output", parameters(("task" = "$response.body#/id")))),
                ("why" = (operation_id = "why", parameters(("task" = "$response.body#/id")))),
                ("logs" = (operation_id = "logs", parameters(("task" = "$response.body#/id")))),
                ("cancel" = (operation_id = "cancel", parameters(("task" = "$response.body#/id")))),
                ("retry" = (operation_id = "retry", parameters(("task" = "$response.body#/id")))),
            )
        ),
        Refusals
    ),
)]
pub(crate) async fn launch(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    headers: HeaderMap,
    Body(body): Body<wire::Launch>,
) -> Answer<Response> {
    let mut body = preset(&door, body)?;
    let key = idempotency_key(&headers, body.key.take())?;
    let unnamed = body.host.is_none() && body.command.is_empty();
    let vars = vars(&mut body)?;
    let (launch, parent) = ordered(&door, by, body, &vars).await?;
    let launch = match &key {
        Some(key) => launch.key(key),
        None => launch,
    };
    let launched = decided(&door, by, launch, vars.all).await;
    let launched = launched.map_err(|problem| match unnamed {
        // Perhaps it was not meant to be a prompt.
        true => problem.suggest("a command: homing run -- CMD"),
        false => problem,
    });
    let Launched { task, existing } = launched?;
    let place = format!("/v1/tasks/{task}");
    let told = accepted(&wire::Accepted { id: task, existing, parent });
    Ok(([(header::LOCATION, place)], told).into_response())
}

fn preset(door: &Door, body: wire::Launch) -> Answer<wire::Launch> {
    let Some(name) = &body.preset else {
        return Ok(body);
    };
    match door.presets.get(name) {
        Some(preset) => Ok(body.or(preset.clone())),
        None => {
            let known = door.presets.keys().map(String::as_str);
            Err(Problem::invalid(unknown("preset", name, known))
                .hint("[presets.NAME] in homing.toml"))
        }
    }
}

pub(super) fn idempotency_key(headers: &HeaderMap, said: Option<String>) -> Answer<Option<String>> {
    let header = match headers.get("idempotency-key").map(|value| value.to_str()) {
        Some(Ok(text)) => Some(text.to_owned()),
        Some(Err(_)) => return Err(Problem::invalid("Idempotency-Key: it is not plain text")),
        None => None,
    };
    let key = match (header, said) {
        (Some(header), Some(said)) if header != said => {
            return Err(Problem::invalid("key: the body and the header Idempotency-Key differ"));
        }
        (header, said) => header.or(said),
    };
    match key {
        Some(key) if key.is_empty() || key.len() > KEY_MAX => {
            Err(Problem::invalid(format!("key: from 1 to {KEY_MAX} bytes")))
        }
        key => Ok(key),
    }
}

/// The values that the child gets, and the names that were asked for.
#[derive(Default)]
pub(super) struct Given {
    names: Vec<String>,
    all: Vars,
}

fn vars(body: &mut wire::Launch) -> Answer<Given> {
    let (env, mut all) = (std::mem::take(&mut body.env), std::mem::take(&mut body.caller_env));
    if env.len() + all.len() > VARS_MAX {
        return Err(Problem::invalid(format!("env: more than {VARS_MAX} variables")));
    }
    let around = |name: &str| {
        matches!(name, "PATH" | "LANG" | "LANGUAGE" | "TERM" | "TZ") || name.starts_with("LC_")
    };
    if let Some(name) = all.keys().find(|name| !around(name)) {
        let why = format!("caller_env: {name:?} is neither PATH nor a locale");
        return Err(Problem::invalid(why).hint("name it in env"));
    }
    let fine = |name: &str| {
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    for (name, value) in env.iter().chain(&all) {
        if !fine(name) || value.contains('\0') {
            return Err(Problem::invalid(format!("env: {name:?} cannot be a variable")));
        }
        if name.starts_with("HOMING_") {
            return Err(Problem::invalid(format!("env: {name:?} is set by homing itself")));
        }
    }
    let names = env.keys().cloned().collect();
    all.extend(env);
    Ok(Given { names, all })
}

/// Sets one text of a launch.
type Set = fn(Launch, &str) -> Launch;

pub(super) async fn ordered(
    door: &Door,
    by: By,
    body: wire::Launch,
    vars: &Given,
) -> Answer<(Launch, ParentRef)> {
    let prompt = body.prompt.as_deref().unwrap_or_default();
    let host = host(door, &body)?;
    let parent = match (&body.parent, by) {
        (Some(parent), _) => parsed("parent", parent)?,
        (None, By(Some(task))) => ParentRef::Task(task),
        (None, By(None)) => ParentRef::Inbox { name: "cli".into(), key: None },
    };
    let mut launch = Launch::order(&host, body.command.clone(), prompt)
        .parent(parent.clone())
        .env(vars.names.clone())
        .tools(body.tools.clone())
        .permissions(body.permissions.clone())
        .delegate(body.delegate)
        .priority(body.priority)
        .limits(overrides(&body)?)
        .budget(budget(&body.budget)?);
    if let By(Some(task)) = by {
        launch = launch.launched_by(task);
    }
    launch = launch.stdin_open(stdin_open(&body)?);
    for model in &body.model.0 {
        let model: Model = parsed("model", model)?;
        let variant = body.variant.as_deref().map(Into::into);
        launch = launch.model(Model { variant, ..model });
    }
    if let Some(origin) = &body.origin {
        launch = launch.origin(parsed::<Origin>("origin", origin)?);
    }
    if let Some(notify) = &body.notify {
        launch = launch.notify(notified(notify)?);
    }
    for after in &body.after.0 {
        launch = launch.after(task(door, after).await?);
    }
    // A task holds these in memory as long as it lives.
    let text: [(&str, &Option<String>, Set, usize); 5] = [
        ("agent", &body.agent, Launch::agent, NAME_MAX),
        ("name", &body.name, Launch::named, NAME_MAX),
        ("system", &body.system, Launch::system, usize::MAX),
        ("batch", &body.batch, Launch::batch, NAME_MAX),
        ("cwd", &body.cwd, Launch::cwd, usize::MAX),
    ];
    for (field, said, set, most) in text {
        if let Some(said) = said {
            if said.len() > most {
                return Err(Problem::invalid(format!("{field}: it has more than {most} bytes")));
            }
            launch = set(launch, said);
        }
    }
    Ok((launch, parent))
}

fn stdin_open(body: &wire::Launch) -> Answer<bool> {
    match body.stdin.as_deref() {
        None | Some("eof") => Ok(false),
        Some("open") => Ok(true),
        Some(other) => Err(Problem::invalid(unknown("stdin", other, ["eof", "open"]))),
    }
}

/// The host that runs commands, and nothing but commands.
const PROCESS: &str = "process";

/// The one that is named; a command runs on the process host; else the only one there is that takes a prompt.
fn host(door: &Door, body: &wire::Launch) -> Answer<String> {
    match &body.host {
        Some(host) if host == PROCESS && body.command.is_empty() => {
            let why = "host: process runs a command, and none is given";
            return Err(Problem::invalid(why).hint("give a command, or name a host of agents"));
        }
        Some(host) => return Ok(host.clone()),
        None if !body.command.is_empty() => return Ok(PROCESS.to_owned()),
        None => {}
    }
    let mut hosts = door.homing.hosts();
    hosts.retain(|host| host != PROCESS);
    match (hosts.len(), hosts.pop()) {
        (1, Some(host)) => Ok(host),
        (_, None) => {
            let why = "prompt: no host is set up that takes one; a command can be run";
            Err(Problem::invalid(why).hint("a command: homing run -- CMD"))
        }
        (_, Some(_)) => {
            let why = format!("host: say which one: {}", door.homing.hosts().join(", "));
            Err(Problem::invalid(why))
        }
    }
}

fn overrides(body: &wire::Launch) -> Answer<Overrides> {
    let limits = &body.limits;
    let ms = |field: &str, said: &Option<String>| -> Answer<Option<u64>> {
        let span = said.as_deref().map(|text| spanned(field, text)).transpose()?;
        Ok(span.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    };
    Ok(Overrides {
        start_ms: ms("limits.start", &limits.start)?,
        quiet_ms: ms("limits.stale", &limits.stale)?,
        never_active_ms: ms("limits.never_active", &limits.never_active)?,
        stop_ms: ms("limits.stopping", &limits.stopping)?,
        ask_ms: ms("limits.ask", &limits.ask)?,
        same_calls: limits.identical_calls,
        all_calls: limits.calls,
        attempts: limits.attempts,
        retry_interrupted: limits.retry_interrupted.or(body.retry_interrupted),
        timeout_ms: ms("timeout", &body.timeout)?,
    })
}

fn budget(budget: &wire::Budget) -> Answer<spec::Budget> {
    let wall = budget.wall.as_deref().map(|text| spanned("budget.wall", text)).transpose()?;
    Ok(spec::Budget {
        calls: budget.calls,
        tokens: budget.tokens,
        cost: budget.cost,
        wall_ms: wall.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
    })
}

fn notified(text: &str) -> Answer<Notify> {
    let known = Notify::ALL.iter().copied().find(|known| known.word() == text);
    known.ok_or_else(|| {
        Problem::invalid(unknown("notify", text, Notify::ALL.iter().map(|known| known.word())))
    })
}

/// Keeps the values before anything is decided, and lets go of them where no task came of it.
async fn decided(door: &Door, by: By, launch: Launch, vars: Vars) -> Answer<Launched> {
    let homing = by.homing(door);
    let id = homing.mint();
    if !vars.is_empty() {
        let kept = door.keeps.keep_env(id, &vars);
        kept.map_err(|why| {
            Problem::unavailable(&format!("the variables cannot be kept: {why}"))
                .hint("see that the home's disk has space and can be written to")
        })?;
    }
    let launched = homing.launch_as(id, launch).await;
    let unused = match &launched {
        Ok(launched) => launched.task != id,
        Err(Refused::Because { code, .. }) => *code != Code::Unsure,
        // Perhaps it was taken: then the next start finds out.
        Err(Refused::Stopped | Refused::Store(_)) => false,
    };
    if unused && !vars.is_empty() {
        // What stays is removed by the next start.
        drop(door.keeps.drop_env(id));
    }
    Ok(launched?)
}
