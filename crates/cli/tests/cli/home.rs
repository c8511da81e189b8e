//! The home: made for its owner alone, held by one run at a time, refused in words when it cannot be used.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use crate::scene::{Scene, finish};

#[test]
fn the_home_is_its_owners_alone() {
    let scene = Scene::new();
    assert_eq!(scene.run([], ["true"]).code, Some(0));
    let mode = std::fs::metadata(&scene.home).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn without_a_home_the_state_directory_is_used() {
    let scene = Scene::new();
    let state = scene.path("state");
    let mut command = scene.command(["run", "--", "true"]);
    command.env_remove("HOMING_HOME").env("XDG_STATE_HOME", &state);
    assert_eq!(finish(command.spawn().unwrap()).code, Some(0));
    assert!(state.join("homing/ledger.db").exists());
    let mut command = scene.command(["daemon", "stop"]);
    command.env_remove("HOMING_HOME").env("XDG_STATE_HOME", &state);
    assert_eq!(finish(command.spawn().unwrap()).code, Some(0));
    let mut command = scene.command(["run", "--", "true"]);
    command.env_remove("HOMING_HOME").env_remove("XDG_STATE_HOME").env_remove("HOME");
    let said = finish(command.spawn().unwrap());
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("try: --home DIR"), "{}", said.err);
}

#[test]
fn two_runs_in_one_home_share_its_daemon() {
    let scene = Scene::new();
    let gate = scene.path("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status().unwrap();
    assert!(made.success());
    let script = format!("read line < '{}'; echo $line", gate.display());
    let first = scene.command(["run", "--", "sh", "-c", &script]).spawn().unwrap();
    // Opens once the command reads: the home is held by then.
    let mut open = std::fs::File::options().write(true).open(&gate).unwrap();
    assert_eq!(scene.run([], ["echo", "beside"]).text(), "beside\n");
    assert_eq!(scene.homing(["ls"]).text().lines().count(), 2);
    open.write_all(b"through\n").unwrap();
    drop(open);
    let said = finish(first);
    assert_eq!((said.code, said.text()), (Some(0), "through\n"));
    assert_eq!(scene.homing(["ls", "--all"]).text().lines().count(), 3);
}

#[test]
fn a_home_that_cannot_be_used_is_refused_in_words() {
    let scene = Scene::new();
    let file = scene.path("file");
    std::fs::write(&file, "not a directory").unwrap();
    let mut below = file.clone();
    below.push("home");
    for home in [file, below, "/proc/homing".into()] {
        let said =
            finish(scene.command(["run", "--", "true"]).env("HOMING_HOME", &home).spawn().unwrap());
        assert_eq!((said.code, said.text()), (Some(6), ""), "{}", said.err);
        assert!(
            said.err.contains("cannot be used") && said.err.contains("try: name a directory"),
            "{}",
            said.err
        );
    }
}

#[test]
fn a_store_that_is_not_ours_is_left_alone() {
    let scene = Scene::new();
    std::fs::create_dir(&scene.home).unwrap();
    let ledger = scene.home.join("ledger.db");
    let foreign = "somebody's own notes, and long enough to be looked at ".repeat(10);
    std::fs::write(&ledger, &foreign).unwrap();
    for words in [vec!["run", "--", "true"], vec!["ls"], vec!["doctor"]] {
        let said = finish(scene.command(&words).spawn().unwrap());
        assert_eq!(said.code, Some(6), "{words:?}: {}", said.err);
        assert!(said.err.contains("is not a homing store"), "{}", said.err);
    }
    assert_eq!(std::fs::read_to_string(&ledger).unwrap(), foreign);
}
