//! The process host, by the contract of hosts.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::expect_used, reason = "a test ends where its set-up fails")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::TaskId;
use homing_core::spec::Order;
use homing_hosts::process::ProcessHost;
use homing_ports::contract::host::{ANSWER, Does, HostFactory};
use homing_ports::contract::run::{CASE_MAX, Runner};
use homing_ports::host::{Flight, Host, Opening, Wanted};
use homing_shim::claim;
use homing_shim::run_dir::RunDir;
use tempfile::TempDir;

struct Commands {
    directory: TempDir,
}

impl Commands {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, task: TaskId) -> PathBuf {
        self.directory.path().join(format!("{name}-{task}"))
    }
}

const TELLS_AT_THE_END: &str = "a command has one turn, and its output is its transcript";

impl HostFactory for Commands {
    fn host(&mut self) -> Arc<dyn Host> {
        let nursery = vec![env!("CARGO_BIN_EXE_homing-shim").into()];
        let host = ProcessHost::new(self.directory.path().join("runs"), nursery).unwrap();
        Arc::new(host.with_grace(Duration::from_millis(200)))
    }

    fn restarted(&mut self) -> Arc<dyn Host> {
        self.host()
    }

    fn opening(&mut self, task: TaskId, attempt: u32, does: Does) -> Opening {
        let (ran, gate) = (self.file("ran", task), self.file("gate", task));
        let ran = format!("echo $$ >> {}", ran.display());
        let script = match does {
            Does::Answers => format!("{ran}; echo {ANSWER}"),
            Does::Stands => {
                assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
                format!("{ran}; read x < {}; echo {ANSWER}", gate.display())
            }
            Does::CannotStart => String::new(),
            Does::Asks => unreachable!("a command asks nothing"),
        };
        let command = match does {
            Does::CannotStart => vec!["no-such-program".to_owned()],
            Does::Answers | Does::Stands | Does::Asks => {
                vec!["sh".to_owned(), "-c".to_owned(), script]
            }
        };
        let order = Order { command, ..Order::default() };
        let prompt = Vec::new();
        Opening { task, attempt, wanted: Wanted { order, ..Wanted::default() }, prompt }
    }

    fn release(&mut self, task: TaskId) {
        std::fs::write(self.file("gate", task), "go\n").unwrap();
    }

    fn runs(&mut self, task: TaskId) -> u32 {
        let lines = std::fs::read_to_string(self.file("ran", task)).unwrap_or_default();
        u32::try_from(lines.lines().count()).unwrap()
    }

    /// By the claims: whatever was started, was claimed.
    fn is_running(&mut self, task: TaskId) -> bool {
        let runs = std::fs::read_dir(self.directory.path().join("runs")).unwrap();
        runs.map(Result::unwrap).any(|run| {
            let of_task = run.file_name().to_string_lossy().starts_with(&task.to_string());
            let claim = claim::find(&RunDir::at(run.path())).unwrap();
            of_task && claim.is_some_and(|claim| claim.held)
        })
    }

    fn break_look(&mut self, _: TaskId) {
        unreachable!("a look at a process of one's own does not fail");
    }

    fn lacks(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("t12_a_look_that_fails_says_so", "a look at a process of one's own does not fail"),
            ("c8_an_ask_is_shown_and_its_answer_reaches", "a command asks nothing"),
            ("u7_what_was_said_in_a_turn_that_is_over_is_told_whole", TELLS_AT_THE_END),
            ("u7_one_who_listens_while_a_turn_runs_hears_it_to_its_end", TELLS_AT_THE_END),
            ("u1_a_turn_is_told_without_any_other", TELLS_AT_THE_END),
        ]
    }

    fn runner(&self) -> Runner {
        in_tokio
    }
}

fn in_tokio(case: Flight<'_, ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(CASE_MAX, case).await.expect("the case waits too long")
    });
}

homing_ports::host_contract!(Commands::new());
