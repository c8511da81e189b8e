//! Launching: once per key, whatever comes between; and what is refused names the field.

use homing_core::words::Code;
use homing_ports::store::TaskQuery;
use homing_runtime::{Caller, Launch, Launched, Notify, Refused, State};
use homing_testkit::scripted::ScriptedHost;

use crate::faulty::Fault;
use crate::stage::{Disk, LONG, Stage, ask, end, inbox, is_done, launch, settled, soon};

#[tokio::test]
async fn l12_the_same_key_at_the_same_time_is_one_task_and_one_session() {
    let stage = Stage::new();
    let homing = stage.start();
    let launches = (0..20).map(|_| {
        let homing = homing.clone();
        tokio::spawn(async move { homing.launch(ask("Count.").key("k")).await })
    });
    let mut ids = Vec::new();
    for launch in launches.collect::<Vec<_>>() {
        ids.push(soon(launch).await.unwrap().unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert!(is_done(&end(&homing, ids[0]).await));
    assert_eq!(stage.host.sessions().len(), 1);
    let other = soon(homing.launch(ask("Something else.").key("k"))).await.unwrap_err();
    assert_eq!(other.code(), Code::KeyReused);
}

#[tokio::test]
async fn l12_the_same_key_after_a_restart_is_the_same_task() {
    for disk in [Disk::memory(), Disk::sqlite()] {
        let stage = Stage::on(disk);
        let homing = stage.start();
        let running = launch(&homing, ask("@gate a\n@say x\n@end").key("running")).await;
        let ended = launch(&homing, ask("Count.").key("ended")).await;
        soon(stage.host.reached(running, "a")).await;
        end(&homing, ended).await;
        let homing = stage.restart(&homing).await;
        assert_eq!(launch(&homing, ask("@gate a\n@say x\n@end").key("running")).await, running);
        assert_eq!(launch(&homing, ask("Count.").key("ended")).await, ended);
        stage.host.release(running, "a");
        assert!(is_done(&end(&homing, running).await));
        assert_eq!(stage.host.sessions().len(), 2);
        assert_eq!(stage.host.prompts().len(), 2);
        soon(homing.stop()).await;
    }
}

#[tokio::test]
async fn l13_what_was_accepted_and_not_started_runs_after_a_kill() {
    for disk in [Disk::memory(), Disk::sqlite()] {
        let mut stage = Stage::on(disk);
        stage.limits.default = 1;
        let homing = stage.start();
        let first = launch(&homing, ask("@gate a\n@say x\n@end")).await;
        let waits = launch(&homing, ask("Count.")).await;
        soon(stage.host.reached(first, "a")).await;
        stage.plan.on("accepted", Fault::KilledBefore);
        assert!(soon(homing.launch(ask("Never."))).await.is_err());
        let homing = stage.revive(&homing).await;
        stage.host.release(first, "a");
        assert!(is_done(&end(&homing, first).await));
        assert!(is_done(&end(&homing, waits).await));
        let all = TaskQuery { limit: 10, ..TaskQuery::default() };
        assert_eq!(soon(homing.list(all)).await.unwrap().len(), 2);
        soon(homing.stop()).await;
    }
}

#[tokio::test]
async fn l14_a_session_made_before_the_kill_is_found_by_its_marker() {
    let stage = Stage::new();
    let homing = stage.start();
    stage.plan.on("seen", Fault::KilledBefore);
    let id = launch(&homing, ask("Count.")).await;
    let homing = stage.revive(&homing).await;
    assert_eq!(stage.plan.met(), 1);
    assert!(is_done(&end(&homing, id).await));
    assert_eq!(stage.host.calls().opens, 2);
    assert_eq!((stage.host.sessions().len(), stage.host.prompts().len()), (1, 1));
}

#[tokio::test]
async fn l15_an_unknown_host_or_agent_is_refused_with_what_there_is() {
    let mut stage = Stage::new();
    stage.host = ScriptedHost::new("scripted").with_agents(&["explore", "build"]);
    let homing = stage.start();
    for (launch, says) in [
        (
            Launch::prompt("scriptd", "Count."),
            "host: there is no \"scriptd\"; did you mean \"scripted\"?",
        ),
        (ask("Count.").agent("explorer"), "explore, build"),
        (ask(" "), "prompt: it is empty"),
    ] {
        let refused = soon(homing.launch(launch)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Invalid);
        assert!(refused.to_string().contains(says), "{refused}");
    }
    let all = TaskQuery { limit: 10, ..TaskQuery::default() };
    assert_eq!(soon(homing.list(all)).await, Ok(Vec::new()));
    assert_eq!(stage.host.calls().opens, 0);
}

#[tokio::test]
async fn a_batch_is_accepted_in_one_decision_and_each_refusal_is_its_own() {
    let stage = Stage::new();
    let homing = stage.start();
    let parent = inbox("bot");
    let one = |prompt: &str| ask(prompt).parent(parent.clone()).notify(Notify::Debrief).batch("b");
    let works = [one("One."), one(" "), Launch::prompt("nowhere", "Two."), one("Three.")];
    let answers = soon(homing.launch_all(works)).await;
    let codes: Vec<_> =
        answers.iter().map(|each| each.as_ref().map_err(Refused::code).err()).collect();
    assert_eq!(codes, [None, Some(Code::Invalid), Some(Code::Invalid), None]);
    let debrief = soon(homing.next("me", &parent, LONG)).await.unwrap().unwrap().to_string();
    for id in answers.iter().flatten() {
        assert!(debrief.contains(&id.to_string()), "{debrief}");
    }
    soon(homing.stop()).await;
    let after = soon(homing.launch_all([one("Four.")])).await;
    assert_eq!(after, [Err(Refused::Stopped)]);
}

#[tokio::test]
async fn r3_restored_children_start_nothing_again() {
    let stage = Stage::new();
    let homing = stage.start();
    let above = launch(&homing, ask("@gate a\n@say x\n@end")).await;
    soon(stage.host.reached(above, "a")).await;
    let below = launch(&homing, ask("@gate b\n@say y\n@end").launched_by(above)).await;
    soon(stage.host.reached(below, "b")).await;
    let mut homing = homing;
    for _ in 0..3 {
        homing = stage.restart(&homing).await;
        for id in [above, below] {
            assert_eq!(soon(homing.show(id)).await.unwrap().task.state, State::Running);
        }
    }
    assert_eq!((stage.host.calls().opens, stage.host.sessions().len()), (2, 2));
    stage.host.release(below, "b");
    assert!(is_done(&end(&homing, below).await));
    stage.host.release(above, "a");
    assert!(is_done(&end(&homing, above).await));
    assert_eq!(stage.host.prompts().len(), 2);
}

#[tokio::test]
async fn l16_a_task_inside_a_blocking_read_of_its_child_lends_its_slot() {
    let mut stage = Stage::new();
    stage.limits.default = 1;
    let homing = stage.start();
    let above = launch(&homing, ask("@gate told\n@say both done\n@end")).await;
    soon(stage.host.reached(above, "told")).await;
    let below = launch(&homing, ask("Count.").launched_by(above).notify(Notify::Silent)).await;
    let inside = homing.on_behalf_of(Caller::Task(above));
    assert_eq!(soon(inside.wait(below, LONG)).await, Ok(homing_runtime::Waited::Ended));
    stage.host.release(above, "told");
    assert!(is_done(&end(&homing, above).await));
    soon(homing.stop()).await;
}

#[tokio::test]
async fn a1_a_session_is_found_in_the_ledger_when_its_task_left_memory() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("Count.").parent(homing_runtime::ParentRef::None)).await;
    let session = settled(&homing, id).await.session.unwrap();
    let homing = stage.restart(&homing).await;
    let adopted = soon(homing.adopt(ask("Watch."), &session)).await;
    assert_eq!(adopted, Ok(Launched { task: id, existing: true }));
    soon(homing.stop()).await;
}

#[tokio::test]
async fn l6_a_cancel_at_any_moment_of_a_start_is_confirmed() {
    let mut stage = Stage::on(Disk::sqlite());
    // Longer than the test waits: none of these is given up on.
    stage.limits.stop_ms = 600_000;
    let homing = stage.start();
    for moment in 0..120 {
        let id = launch(&homing, ask("@gate on")).await;
        for _ in 0..moment % 40 {
            tokio::task::yield_now().await;
        }
        soon(homing.cancel(id, None)).await.unwrap();
        assert_eq!(end(&homing, id).await.state, State::Cancelled, "{moment}");
    }
    soon(homing.stop()).await;
}

#[tokio::test]
async fn each_generation_is_read_as_it_ended_however_many_came_after() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("One.").parent(inbox("bot"))).await;
    end(&homing, id).await;
    for text in ["Two.", "Three."] {
        soon(homing.resume(id, text)).await.unwrap();
        end(&homing, id).await;
    }
    let reader = stage.disk.open().reader().unwrap();
    for generation in 1..=3 {
        let task = homing_runtime::codec::at_end_of(&*reader, id, generation).unwrap().unwrap();
        assert!(task.ended.is_some() && task.result.is_some(), "{generation}: {task:?}");
        assert_eq!(task.generation, generation);
    }
}
