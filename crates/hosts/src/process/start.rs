//! Starting an attempt: its directory, its spec, its shim. Whatever crashes in between, the claim decides who
//! runs it, and that it is run once.

use std::io;

use homing_core::fact::{ErrorClass, Fact, HostError};
use homing_ports::host::{Opening, Saying};
use homing_shim::frames::{self, Frame};
use homing_shim::processes::Process;
use homing_shim::record::{Ended, Exit};
use homing_shim::run_dir::RunDir;
use homing_shim::spec::Spec;

use super::{Found, ProcessHost, environment, find};

impl ProcessHost {
    pub(super) async fn open_now(&self, opening: &Opening) -> Vec<Fact> {
        let run = self.run(opening.task, opening.attempt);
        let found = match find(&run) {
            Ok(Found::Nothing) => match self.start(&run, opening).await {
                Ok(found) => found,
                Err(error) => return vec![Fact::StartFailed { error }],
            },
            Ok(found) => found,
            Err(why) if why.kind() == io::ErrorKind::NotFound => Found::Nothing,
            Err(why) => return vec![Fact::StartUnsure { why: why.to_string().into() }],
        };
        self.opened(opening, found).await
    }

    async fn start(&self, run: &RunDir, opening: &Opening) -> Result<Found, HostError> {
        let spec = self.spec(opening)?;
        let prepared = prepare(run, opening, &spec);
        let said = match prepared {
            Ok(()) => self.nursery.shim_of(run).await.map_err(|why| transient("shim", &why)),
            Err(why) => Err(transient("run", &why)),
        };
        let said = said.inspect_err(|_| Spec::remove(run))?;
        if said == "started" {
            self.lock().own.insert((opening.task, opening.attempt));
        }
        let found = find(run).map_err(|why| transient("run", &why))?;
        if found == Found::Nothing {
            // It holds values, and nobody reads it any more.
            Spec::remove(run);
            let why = format!("the shim ended before it began ({said:?})");
            return Err(HostError::new(ErrorClass::Transient, "shim", &why));
        }
        Ok(found)
    }

    fn spec(&self, opening: &Opening) -> Result<Spec, HostError> {
        let order = &opening.wanted.order;
        if order.command.is_empty() {
            let why = "the process host runs a command, and none was given";
            return Err(HostError::new(ErrorClass::Other, "command", why));
        }
        let kept = self.env_of(opening.task).map_err(|why| transient("env", &why))?;
        Ok(Spec {
            command: order.command.iter().map(Into::into).collect(),
            env: environment::of(opening, self.home.as_deref(), kept)?,
            cwd: order.cwd.as_ref().map(Into::into),
            reads: !opening.prompt.is_empty() || order.stdin_open,
            spool: self.spool,
            grace: self.grace,
        })
    }

    /// What is told of an attempt that was claimed, by this process or by one before it.
    async fn opened(&self, opening: &Opening, found: Found) -> Vec<Fact> {
        match found {
            Found::Running(shim) => made(&shim),
            Found::Ended(Exit { ended: Ended::NotStarted { soon, why }, .. }) => {
                let class = if soon { ErrorClass::Transient } else { ErrorClass::Other };
                vec![Fact::StartFailed { error: HostError::new(class, "spawn", &why) }]
            }
            // The watch tells how it ended.
            Found::Ended(_) => {
                match homing_shim::claim::find(&self.run(opening.task, opening.attempt)) {
                    Ok(Some(claim)) => made(&claim.shim),
                    Ok(None) => {
                        vec![Fact::StartUnsure { why: "its claim is gone".into() }]
                    }
                    Err(why) => vec![Fact::StartUnsure { why: why.to_string().into() }],
                }
            }
            Found::Lost(shim) => vec![self.lost(opening.task, opening.attempt, &shim).await],
            Found::Nothing => vec![Fact::StartUnsure { why: "nothing was started".into() }],
        }
    }
}

fn prepare(run: &RunDir, opening: &Opening, spec: &Spec) -> io::Result<()> {
    run.make()?;
    if spec.reads {
        let open = opening.wanted.order.stdin_open;
        let bytes = if open { line(opening.prompt.clone()) } else { opening.prompt.clone() };
        frames::append(run, &Frame { n: FIRST, bytes, last: !open })?;
    }
    spec.write(run)
}

/// The number of the prompt's frame; what is sent later comes behind it.
const FIRST: u64 = 1;

/// Words for a command that runs, as it reads them.
pub(super) fn words(saying: Saying) -> Frame {
    let Saying { n, text, last, .. } = saying;
    Frame { n: FIRST + u64::from(n), bytes: line(text), last }
}

/// One who reads line by line sees the end of it.
fn line(mut text: Vec<u8>) -> Vec<u8> {
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text
}

fn made(shim: &Process) -> Vec<Fact> {
    vec![Fact::SessionMade { session: shim.to_string().into() }, Fact::PromptTaken]
}

fn transient(name: &str, why: &io::Error) -> HostError {
    HostError::new(ErrorClass::Transient, name, &why.to_string())
}
