//! T: truth of completion.

use super::{ends, kill_daemon, lines, owed, path};
use crate::scene::{Scene, finish, until};

#[test]
fn t11_a_command_that_ends_at_once_is_completed_once() {
    let scene = Scene::new();
    for _ in 0..5 {
        let id = scene.run(["--json"], ["true"]).id();
        assert_eq!(path(&scene, &id), ["starting", "running", "completed"]);
    }
}

#[test]
fn t16_what_comes_after_the_end_is_kept_as_stale_and_changes_nothing() {
    let scene = Scene::new();
    let id = scene.run(["--timeout", "200ms"], ["sleep", "300"]).id();
    let stale = || lines(&scene, &id).into_iter().find(|line| line["kind"] == "stale");
    until(|| stale().is_some());
    let task = scene.show(&id);
    assert_eq!((&task["state"], &task["cause"]), (&"timed_out".into(), &"timeout".into()));
    assert_eq!(ends(&scene, &id), 1);
    let all = lines(&scene, &id);
    let end = all.iter().position(|line| line["body"]["to"] == "timed_out").unwrap();
    let kept = all.iter().position(|line| line["kind"] == "stale").unwrap();
    assert!(end < kept, "{all:?}");
}

#[test]
fn t19_what_is_still_in_the_pipe_when_a_command_ends_belongs_to_its_result() {
    let scene = Scene::new();
    // As much as a pipe holds is there when the writer is gone already.
    for size in [60_000, 64_000] {
        let script = format!("head -c {size} /dev/zero | tr '\\0' x");
        let said = scene.run([], ["sh", "-c", &script]);
        assert_eq!(said.out.len(), size, "{}", said.err);
    }
}

#[test]
fn t25_one_end_told_by_event_look_and_restart_is_one_transition_and_one_notice() {
    let scene = Scene::new();
    let gate = scene.gate("one");
    let id = scene.launch("one", [], &format!("{}; echo done", gate.wait()));
    let open = gate.open();
    let readers: Vec<_> = (0..6)
        .map(|n| {
            let words = if n % 2 == 0 { ["wait", &id] } else { ["show", &id] };
            scene.command(words).spawn().unwrap()
        })
        .collect();
    drop(open);
    // A restart sees the end again, whether it was written down before or not.
    kill_daemon(&scene);
    until(|| !scene.lives(&id));
    for reader in readers {
        finish(reader);
    }
    assert_eq!((ends(&scene, &id), owed(&scene, "inbox:cli").len()), (1, 1));
    assert_eq!(scene.show(&id)["result"]["text"], "done\n");
}
