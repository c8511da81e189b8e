//! Reading: never a lie, never consuming, the same answer at any later time.

use std::time::{Duration, Instant};

use homing_core::words::Code;
use homing_runtime::{Homing, TaskId, Waited};
use homing_testkit::scripted::ScriptedHost;

use crate::stage::{Disk, LONG, Stage, ask, end, inbox, is_done, launch, settled, soon};

#[tokio::test]
async fn n14_what_a_parent_owns_is_answered_in_full_from_the_ledger() {
    for disk in [Disk::memory(), Disk::sqlite()] {
        let stage = Stage::on(disk);
        let homing = stage.start();
        let parent = inbox("bot");
        let mine = |prompt: &str| ask(prompt).parent(parent.clone());
        let one = launch(&homing, mine("One.")).await;
        end(&homing, one).await;
        let two = launch(&homing, mine("@fail auth")).await;
        end(&homing, two).await;
        let three = launch(&homing, mine("@gate a\n@end")).await;
        let other = launch(&homing, ask("Other.").parent(inbox("other"))).await;
        end(&homing, other).await;
        soon(stage.host.reached(three, "a")).await;
        let homing = stage.restart(&homing).await;
        let owned = soon(homing.owned(&parent, 10)).await.unwrap();
        let mut states: Vec<(TaskId, &str)> =
            owned.iter().map(|task| (task.id, task.state.word())).collect();
        states.sort_unstable();
        let mut expected = [(one, "completed"), (two, "failed"), (three, "running")];
        expected.sort_unstable();
        assert_eq!(states, expected);
        assert_eq!(soon(homing.output(one)).await, Ok(Some(b"done: One.".to_vec())));
        soon(homing.stop()).await;
    }
}

#[tokio::test]
async fn n15_a_result_reads_the_same_twice_later_and_after_the_host_forgot_it() {
    for disk in [Disk::memory(), Disk::sqlite()] {
        let mut stage = Stage::on(disk);
        let homing = stage.start();
        let id = launch(&homing, ask("@say exactly this\n@end").parent(inbox("bot"))).await;
        end(&homing, id).await;
        let first = soon(homing.output(id)).await.unwrap();
        assert_eq!(first.as_deref(), Some(b"exactly this".as_slice()));
        assert_eq!(soon(homing.output(id)).await.unwrap(), first);
        let debrief = soon(homing.next("bot", &inbox("bot"), LONG)).await.unwrap().unwrap();
        assert!(soon(homing.ack(homing_runtime::Receipt::Debrief(debrief.key))).await.unwrap());
        settled(&homing, id).await;
        soon(homing.stop()).await;
        stage.host = ScriptedHost::new("scripted");
        let homing = stage.start();
        assert_eq!(soon(homing.output(id)).await.unwrap(), first);
        assert!(is_done(&soon(homing.show(id)).await.unwrap().task));
        soon(homing.stop()).await;
    }
}

fn wall_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_millis() as i64
}

async fn refusal(homing: &Homing, text: &str) -> (Code, String) {
    let refused = soon(homing.find(text)).await.unwrap_err();
    (refused.code(), refused.to_string())
}

#[tokio::test]
async fn n17_what_is_no_task_is_told_apart_with_what_to_use() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("Count.").named("counting")).await;
    end(&homing, id).await;
    let twin = launch(&homing, ask("Count.").named("twins")).await;
    let other = launch(&homing, ask("Count.").named("twins")).await;
    for text in [id.to_string(), id.to_string()[..8].to_owned(), "counting".to_owned()] {
        assert_eq!(soon(homing.find(&text)).await, Ok(id), "{text}");
    }
    let (code, why) = refusal(&homing, &format!("ses_{id}_1")).await;
    assert_eq!(code, Code::NotFound);
    assert!(why.contains("is a session, not a task") && why.contains(&id.to_string()), "{why}");
    for (text, says) in [
        ("bg_zzzzzzzzzzzz", "never accepted here, or past its retention"),
        ("ask_000000000000", "names an ask, not a task"),
        ("db_000000000000", "names a debrief, not a task"),
        ("nobody", "no name of a task"),
    ] {
        let (code, why) = refusal(&homing, text).await;
        assert!(code == Code::NotFound && why.contains(says), "{text}: {why}");
    }
    let (code, why) = refusal(&homing, "twins").await;
    assert_eq!(code, Code::Invalid);
    assert!(why.contains(&twin.to_string()) && why.contains(&other.to_string()), "{why}");
    assert_eq!(refusal(&homing, "").await.0, Code::Invalid);
    let gone = TaskId::from_bits(7);
    let why = soon(homing.show(gone)).await.unwrap_err();
    assert_eq!(why.code(), Code::NotFound);
    assert_eq!(soon(homing.wait(gone, LONG)).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn n18_a_blocking_read_keeps_its_time_and_says_it_with_its_unit() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("@gate a\n@say x\n@end")).await;
    soon(stage.host.reached(id, "a")).await;
    let at_most = Duration::from_millis(60);
    let began = Instant::now();
    let waited = soon(homing.wait(id, at_most)).await.unwrap();
    assert!(began.elapsed() >= at_most, "{:?}", began.elapsed());
    assert_eq!(waited, Waited::TimeUp { after: at_most });
    assert_eq!(waited.to_string(), "not ended within 60ms");
    assert!(soon(homing.show(id)).await.unwrap().task.is_living());
    stage.host.release(id, "a");
    assert_eq!(soon(homing.wait(id, LONG)).await, Ok(Waited::Ended));
    assert!(is_done(&soon(homing.show(id)).await.unwrap().task));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n19_a_task_and_its_session_never_disagree_on_ended() {
    let stage = Stage::new();
    let homing = stage.start();
    let mut releases = Vec::new();
    let mut ids = Vec::new();
    for n in 0..24 {
        // Every other end is told to nobody: only a look shows it.
        let end = if n % 2 == 0 { "@end" } else { "@quiet-end" };
        let id = launch(&homing, ask(&format!("@gate a\n@say x\n{end}")).batch("all")).await;
        ids.push(id);
        let host = stage.host.clone();
        releases.push(tokio::spawn(async move {
            host.reached(id, "a").await;
            for _ in 0..n {
                tokio::task::yield_now().await;
            }
            host.release(id, "a");
        }));
    }
    let mut open: Vec<TaskId> = ids.clone();
    while let Some(id) = open.pop() {
        let ran = stage.host.prompts().iter().any(|ran| ran.task == id);
        let ended_before = ran && !stage.host.is_running(id);
        let noted = wall_ms();
        let seen = soon(homing.show(id)).await.unwrap();
        assert!(seen.fresh);
        let ended = !seen.task.is_living();
        // Milliseconds are as exact as it gets: what is as of the same one may be of before.
        let since = seen.as_of.wall > noted + 1;
        assert!(
            ended || !ended_before || !since,
            "the session had ended before this was true: {}",
            seen.task.state
        );
        assert!(!ended || !stage.host.is_running(id), "the task has ended, its session runs");
        if !ended {
            open.insert(0, id);
        }
    }
    for release in releases {
        soon(release).await.unwrap();
    }
    for id in ids {
        assert!(is_done(&end(&homing, id).await));
    }
}
