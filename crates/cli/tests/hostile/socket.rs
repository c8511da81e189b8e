//! The daemon's door and its place: whatever becomes of the socket, one daemon holds the home and nothing is lost.

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{Scene, finish};
use crate::witness::{Beside, Many, pids};

/// Processes that run as the daemon of this home, detached or not.
fn daemons(scene: &Scene) -> Vec<i32> {
    let home = scene.home.to_str().unwrap();
    let is_one = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.windows(2).any(|pair| pair == [b"daemon", &b"run"[..]])
            && words.contains(&home.as_bytes())
    };
    pids().into_iter().filter(is_one).collect()
}

/// R2: with its directory, or with something else in its place: the next verb finds the same daemon.
#[test]
fn r2_whatever_becomes_of_the_socket_the_same_daemon_is_found_with_all_it_had() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    let daemon = scene.daemon();
    let socket = scene.status()["socket"].as_str().unwrap().to_owned();
    let socket = Path::new(&socket);
    let mut waiting = Many(vec![scene.command(["output", "beside", "--wait"]).spawn().unwrap()]);
    let faults: [(&str, &dyn Fn()); 4] = [
        ("removed", &|| std::fs::remove_file(socket).unwrap()),
        ("moved", &|| std::fs::rename(socket, socket.with_extension("else")).unwrap()),
        ("replaced", &|| {
            let file = socket.with_extension("file");
            std::fs::write(&file, "no socket").unwrap();
            std::fs::rename(file, socket).unwrap();
        }),
        ("removed with its directory", &|| {
            std::fs::remove_dir_all(socket.parent().unwrap()).unwrap();
        }),
    ];
    for (what, fault) in faults {
        fault();
        let said = scene.run([], ["echo", what]);
        assert_eq!((said.code, said.text().trim_end()), (Some(0), what), "{what}: {}", said.err);
        assert_eq!((scene.daemon(), daemons(&scene)), (daemon, vec![daemon]), "{what}");
    }
    beside.ends_unharmed();
    let said = finish(waiting.0.remove(0));
    assert_eq!((said.code, said.text()), (Some(0), "unharmed\n"), "{}", said.err);
}

/// R2: a daemon that hangs is not replaced behind its back; who holds the home is said.
#[test]
fn r2_a_daemon_that_hangs_and_lost_its_socket_is_named_and_not_doubled() {
    let scene = Scene::new();
    let id = scene.launch("kept", [], "echo kept");
    assert_eq!(scene.homing(["wait", &id]).code, Some(0));
    let (daemon, status) = (scene.daemon(), scene.status());
    let process = Pid::from_raw(daemon).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    std::fs::remove_file(status["socket"].as_str().unwrap()).unwrap();
    let said = scene.homing(["run", "--", "true"]);
    kill_process(process, Signal::CONT).unwrap();
    assert_eq!((said.code, said.text()), (Some(6), ""), "{}", said.err);
    assert!(said.err.contains(&format!("held by another homing that runs now: process {daemon}")));
    assert!(said.err.contains(&format!("kill {daemon}")), "what to try: {}", said.err);
    // It goes on as if nothing had been.
    assert_eq!(scene.run([], ["echo", "back"]).text(), "back\n");
    assert_eq!((scene.daemon(), daemons(&scene)), (daemon, vec![daemon]));
    assert_eq!(scene.homing(["output", "kept"]).text(), "kept\n");
}

/// R2: of many that begin at once one holds the home; by another name it is the same home.
#[test]
fn r2_of_many_daemons_on_one_home_one_serves_and_the_others_say_who() {
    let scene = Scene::new();
    std::fs::create_dir(&scene.home).unwrap();
    let other = scene.path("other name");
    symlink(&scene.home, &other).unwrap();
    let run = |n: usize| {
        let home = if n.is_multiple_of(2) { &scene.home } else { &other };
        scene.command(["daemon", "run"]).env("HOMING_HOME", home).spawn().unwrap()
    };
    let mut many = Many((0..6).map(run).collect());
    // The one that serves goes on; all the others end.
    crate::scene::until(|| scene.homing(["daemon", "status"]).code == Some(0));
    let daemon = scene.daemon();
    let serving = many.0.iter().position(|child| child.id().cast_signed() == daemon).unwrap();
    let mut serving = Many(vec![many.0.remove(serving)]);
    while let Some(child) = many.0.pop() {
        let said = finish(child);
        assert_eq!(said.code, Some(6), "{}", said.err);
        assert!(said.err.contains(&format!("process {daemon} since ")), "{}", said.err);
    }
    assert_eq!(scene.run([], ["echo", "one"]).text(), "one\n");
    let mut asked = scene.command(["ls", "--all", "--json"]);
    let said = finish(asked.env("HOMING_HOME", &other).spawn().unwrap());
    assert_eq!(said.json().as_array().unwrap().len(), 1, "the same home");
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    assert_eq!(finish(serving.0.remove(0)).code, Some(0));
}

/// Starting and stopping in quick turn: each ends in good order, and says that alone.
#[test]
fn a_daemon_that_is_stopped_ends_in_good_order_every_time() {
    let scene = Scene::new();
    for n in 0..20 {
        assert_eq!(scene.run([], ["echo", "again"]).text(), "again\n", "{n}");
        assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0), "{n}");
    }
    let log = std::fs::read_to_string(scene.home.join("daemon.log")).unwrap();
    assert!(log.lines().all(|line| line.contains(" INFO ")), "{log}");
}
