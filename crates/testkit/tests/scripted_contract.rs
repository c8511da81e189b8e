//! The scripted host, by the contract of hosts.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::expect_used, reason = "a test ends where its set-up fails")]

use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::spec::Order;
use homing_ports::contract::host::{ANSWER, Does, HostFactory};
use homing_ports::contract::run::{CASE_MAX, Runner};
use homing_ports::host::{Flight, Host, Opening, Wanted};
use homing_testkit::scripted::{Fault, ScriptedHost};

struct Scripts {
    host: ScriptedHost,
}

impl HostFactory for Scripts {
    fn host(&mut self) -> Arc<dyn Host> {
        Arc::new(self.host.clone())
    }

    fn restarted(&mut self) -> Arc<dyn Host> {
        self.host()
    }

    fn opening(&mut self, task: TaskId, attempt: u32, does: Does) -> Opening {
        let prompt = match does {
            Does::Answers => format!("@say {ANSWER}\n@end"),
            Does::Stands => format!("@gate go\n@say {ANSWER}\n@end"),
            Does::Asks => format!("@ask permission Run it?\n@say {ANSWER}\n@end"),
            Does::CannotStart => "@fault open-fails\n@end".to_owned(),
        };
        let order = Order { prompt: prompt.clone(), ..Order::default() };
        let prompt = prompt.into_bytes();
        Opening { task, attempt, wanted: Wanted { order, ..Wanted::default() }, prompt }
    }

    fn release(&mut self, task: TaskId) {
        self.host.release(task, "go");
    }

    fn runs(&mut self, task: TaskId) -> u32 {
        let ran = self.host.prompts().into_iter().filter(|ran| ran.task == task);
        u32::try_from(ran.count()).unwrap()
    }

    fn is_running(&mut self, task: TaskId) -> bool {
        self.host.is_running(task)
    }

    fn break_look(&mut self, task: TaskId) {
        self.host.fault(task, Fault::LookFails, 1);
    }

    fn runner(&self) -> Runner {
        in_tokio
    }
}

fn in_tokio(case: Flight<'_, ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(CASE_MAX, case).await.expect("the case waits too long")
    });
}

homing_ports::host_contract!(Scripts { host: ScriptedHost::new("scripted") });
