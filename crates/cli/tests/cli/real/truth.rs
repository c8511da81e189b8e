//! T: truth of completion.

use std::fs::File;

use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, Signal, kill_process};

use super::{daemon, ends, is, is_gone, kill_daemon, lines, owed, path, shim, witnessed};
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
    const SIZE: usize = 800_000;
    let scene = Scene::new();
    // What is left when the end is heard of differs from time to time.
    for n in 0..10 {
        let (pid, gate) = (scene.path(&format!("pid {n}")), scene.gate(&n.to_string()));
        let script = format!(
            "echo $$ > '{}'; ({}); head -c {SIZE} /dev/zero | tr '\\0' x",
            pid.display(),
            gate.wait()
        );
        let id = scene.launch(&format!("n{n}"), [], &script);
        let open = gate.open();
        let pid = Pid::from_raw(witnessed(&pid)[0].parse().unwrap()).unwrap();
        // The pipe holds all of it, and is not read: the writer is gone when the first byte is taken.
        let out = format!("/proc/{}/fd/1", pid.as_raw_pid());
        fcntl_setpipe_size(File::options().write(true).open(out).unwrap(), SIZE).unwrap();
        let shim = shim(&scene, &id, 1);
        kill_process(shim, Signal::STOP).unwrap();
        drop(open);
        until(|| is_gone(pid));
        kill_process(shim, Signal::CONT).unwrap();
        assert_eq!(scene.homing(["wait", &id]).code, Some(0));
        let out = scene.homing(["output", &id]).out;
        assert_eq!((out.len(), out.iter().all(|byte| *byte == b'x')), (SIZE, true));
    }
}

#[test]
fn t25_one_end_told_by_event_look_and_restart_is_one_transition_and_one_notice() {
    let scene = Scene::new();
    let mut again = 0;
    for n in 0..6 {
        let gate = scene.gate(&n.to_string());
        let id = scene.launch(&format!("n{n}"), [], &format!("{}; echo done", gate.wait()));
        let open = gate.open();
        is(&scene, &id, "running");
        let (daemon, shim) = (daemon(&scene), shim(&scene, &id, 1));
        // The end comes while nobody watches, or just before the kill, written down or not.
        if n % 2 == 0 {
            kill_daemon(&scene);
            drop(open);
        } else {
            drop(open);
            kill_process(daemon, Signal::KILL).unwrap();
        }
        until(|| [daemon, shim].iter().all(|pid| is_gone(*pid)));
        let readers: Vec<_> = ["wait", "show", "wait", "show"]
            .map(|verb| scene.command([verb, &id]).spawn().unwrap())
            .into_iter()
            .map(finish)
            .collect();
        assert!(readers.iter().all(|said| said.code == Some(0)), "{readers:?}");
        assert_eq!(scene.show(&id)["result"]["text"], "done\n");
        assert_eq!((ends(&scene, &id), owed(&scene, "inbox:cli").len()), (1, n + 1));
        let lines = lines(&scene, &id);
        let told = lines.iter().filter(|line| line["body"]["fact"]["fact"] == "exited");
        again += told.count() - 1;
    }
    assert!(again > 0, "each end was told once only");
}
