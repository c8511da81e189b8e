//! What a caller has in its environment is its own: every byte of every file and every command line is looked at.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::scene::{Said, Scene, finish, until};
use crate::witness::pids;

/// Of the one whose verb started the daemon, of one who launches, and what one names.
const STARTER: &str = "starters-own-secret-4711";
const CALLER: &str = "callers-own-secret-0815";

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
}

/// Files of the home and the runtime directory that hold it, anywhere in them or in their names.
fn files_with(scene: &Scene, secret: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut looked = 0;
    let mut dirs = vec![scene.home.clone(), scene.path("homing")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            assert!(!path.to_string_lossy().contains(secret), "{path:?}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => dirs.push(path),
                Ok(kind) if kind.is_file() => {
                    looked += 1;
                    // Gone meanwhile: holds nothing.
                    if std::fs::read(&path).is_ok_and(|bytes| holds(&bytes, secret)) {
                        found.push(path);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    assert!(looked >= 3, "the store at least is looked at");
    found
}

/// Processes of this file of /proc that hold it.
fn processes_with(name: &str, secret: &str) -> Vec<i32> {
    let with = |pid: &i32| {
        std::fs::read(format!("/proc/{pid}/{name}")).is_ok_and(|bytes| holds(&bytes, secret))
    };
    pids().into_iter().filter(with).collect()
}

/// Of one test alone: processes of others, which run beside it, have theirs.
fn secret_of(scene: &Scene) -> String {
    let own = scene.home.display().to_string().replace('/', "-");
    format!("named-secret-for-one-task-of{own}")
}

/// A verb of somebody with a secret of its own.
fn verb(scene: &Scene, words: &[&str]) -> Said {
    let mut command = scene.command(words);
    finish(
        command.env("CALLERS_TOKEN", CALLER).env("TASKS_TOKEN", secret_of(scene)).spawn().unwrap(),
    )
}

fn start(scene: &Scene) {
    let mut command = scene.command(["daemon", "start"]);
    let said = finish(command.env("STARTERS_TOKEN", STARTER).spawn().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
}

/// Neither a file nor a command line holds it.
fn is_nowhere(scene: &Scene, secret: &str, when: &str) {
    assert_eq!(files_with(scene, secret), Vec::<PathBuf>::new(), "{when}");
    assert_eq!(processes_with("cmdline", secret), Vec::<i32>::new(), "{when}");
}

/// R8: not in the store, the journal, the spool, a command line, a shim or the command.
#[test]
fn r8_what_the_caller_does_not_name_is_nowhere() {
    let scene = Scene::new();
    start(&scene);
    let seen = scene.path("seen");
    let gate = scene.gate("slow");
    let script = format!("env > '{}'; echo out; echo err >&2; {}", seen.display(), gate.wait());
    let said =
        verb(&scene, &["launch", "--name", "slow", "--model", "a/b", "--", "sh", "-c", &script]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let open = gate.open();
    for words in [
        ["ls"].as_slice(),
        &["show", "slow"],
        &["why", "slow"],
        &["logs", "slow"],
        &["events"],
        &["doctor"],
        &["run", "--", "false"],
        &["run", "--", "no-such-program"],
        &["inbox"],
    ] {
        let said = verb(&scene, words);
        assert!(!holds(&said.out, CALLER) && !said.err.contains(CALLER), "{words:?}");
        assert!(!holds(&said.out, STARTER) && !said.err.contains(STARTER), "{words:?}");
    }
    let environment = std::fs::read(&seen).unwrap();
    assert!(holds(&environment, "HOMING_TASK=bg_"), "the command wrote it down");
    let of_home = scene.processes();
    assert!(of_home.len() >= 2, "a shim and a command: {of_home:?}");
    for secret in [CALLER, STARTER, &secret_of(&scene)] {
        assert!(!holds(&environment, secret), "the command has {secret}");
        is_nowhere(&scene, secret, "while it runs");
        let given = processes_with("environ", secret);
        assert!(given.iter().all(|pid| !of_home.contains(pid)), "{given:?} have {secret}");
    }
    drop(open);
    assert_eq!(scene.homing(["wait", "slow"]).code, Some(0));
    assert_eq!(verb(&scene, &["output", "slow"]).text(), "out\n");
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    for secret in [CALLER, STARTER, &secret_of(&scene)] {
        is_nowhere(&scene, secret, "after all");
    }
}

/// The one file that may hold it: its owner's alone.
fn is_in_one_file(scene: &Scene, id: &str, when: &str) {
    let files = files_with(scene, &secret_of(scene));
    assert_eq!(files, [scene.home.join("runs/env").join(id)], "{when}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&files[0]), mode(files[0].parent().unwrap())), (0o600, 0o700), "{when}");
    assert_eq!(processes_with("cmdline", &secret_of(scene)), Vec::<i32>::new(), "{when}");
}

/// R8: what is named is in one file and in the command alone, whatever becomes of the daemon, and ends with the task.
#[test]
fn r8_what_the_caller_names_is_the_commands_alone_until_its_task_ends() {
    let scene = Scene::new();
    start(&scene);
    let (gate, beside) = (scene.gate("told"), scene.gate("beside"));
    scene.launch("beside", [], &beside.wait());
    let beside = beside.open();
    // It compares with what it reads, so that its own words do not hold it.
    let same = scene.path("same");
    let compare = format!("test \"$TASKS_TOKEN\" = \"$(cat '{}')\"", same.display());
    let script = format!("{compare} || exit 9; {}", gate.wait());
    std::fs::write(&same, secret_of(&scene)).unwrap();
    let said = verb(
        &scene,
        &["launch", "--name", "told", "--env", "TASKS_TOKEN", "--", "sh", "-c", &script],
    );
    let id = said.text().trim_end().to_owned();
    let open = gate.open();
    is_in_one_file(&scene, &id, "while it runs");
    let shims = [scene.shim("told").pid, scene.shim("beside").pid];
    let given = processes_with("environ", &secret_of(&scene));
    let inside = homing_shim::processes::below(&[shims[0]]).unwrap();
    assert!(
        !given.is_empty() && given.iter().all(|pid| inside.iter().any(|one| one.pid == *pid)),
        "{given:?}"
    );
    assert!(given.iter().all(|pid| !shims.contains(pid)));
    let daemon = Pid::from_raw(scene.daemon()).unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    until(|| test_kill_process(daemon).is_err());
    start(&scene);
    is_in_one_file(&scene, &id, "with the next daemon");
    drop(open);
    assert_eq!(scene.homing(["wait", "told"]).code, Some(0), "it had the value");
    until(|| files_with(&scene, &secret_of(&scene)).is_empty());
    drop(beside);
    assert_eq!(scene.homing(["wait", "beside"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    is_nowhere(&scene, &secret_of(&scene), "after all");
}

/// R8: nor does it stay behind when the command never began.
#[test]
fn r8_what_was_named_for_a_command_that_never_ran_is_gone_too() {
    let scene = Scene::new();
    scene.settings("[concurrency]\ndefault = 1\n");
    start(&scene);
    let gate = scene.gate("first");
    scene.launch("first", [], &gate.wait());
    let open = gate.open();
    let named = ["--env", "TASKS_TOKEN", "--", "true"];
    let said = verb(&scene, &[&["launch", "--name", "queued"][..], &named].concat());
    let id = said.text().trim_end().to_owned();
    is_in_one_file(&scene, &id, "while it is queued");
    assert_eq!(scene.homing(["cancel", "queued"]).code, Some(0));
    until(|| files_with(&scene, &secret_of(&scene)).is_empty());
    drop(open);
    // Refused at the door, and not to be started.
    let said = verb(&scene, &[&["launch", "--host", "nowhere"][..], &named].concat());
    assert_eq!(said.code, Some(2), "{}", said.err);
    is_nowhere(&scene, &secret_of(&scene), "refused");
    let said = verb(&scene, &["run", "--env", "TASKS_TOKEN", "--", "no-such-program"]);
    assert_eq!(said.code, Some(1));
    until(|| files_with(&scene, &secret_of(&scene)).is_empty());
    scene.nothing_runs();
}
