//! `homing demo` and `homing demo crash`: what they show, and that nothing is left of them.

use crate::scene::Scene;

/// A temporary directory of the test's own, so that what is left behind is seen.
fn demo(scene: &Scene, words: &[&str]) -> crate::scene::Said {
    let temporary = scene.path("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = scene.command(words);
    command.env("TMPDIR", &temporary).env("XDG_RUNTIME_DIR", &temporary);
    let said = crate::scene::finish(command.spawn().unwrap());
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().flatten().collect();
    let left = left.iter().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("homing-demo")
    });
    assert_eq!(left.count(), 0, "its home is gone");
    said
}

#[test]
fn the_demo_ends_by_itself_with_one_debrief_of_three_children() {
    let scene = Scene::new();
    let said = demo(&scene, &["demo"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = said.text();
    assert!(text.contains("starting on acme/small, attempt 2"), "{text}");
    assert_eq!(text.matches("One debrief").count(), 1);
    assert!(text.ends_with("3 children, 1 debrief, acknowledged: nothing is owed any more.\n"));
    assert!(!text.contains('\u{1b}'), "nothing for a terminal in a pipe");
}

#[test]
fn r1_a_daemon_killed_while_tasks_start_run_and_end_loses_nothing_and_repeats_nothing() {
    let scene = Scene::new();
    let said = demo(&scene, &["demo", "crash", "--tasks", "12", "--kills", "6", "--shims", "2"]);
    assert_eq!(said.code, Some(0), "{}{}", said.text(), said.err);
    let text = said.text();
    assert!(text.starts_with("6 kills of the daemon, "), "{text}");
    assert!(text.contains(" 0 started twice\n"), "{text}");
    assert!(text.ends_with("12 launched, 12 handed back, 0 lost, 0 twice\n"), "{text}");
}
