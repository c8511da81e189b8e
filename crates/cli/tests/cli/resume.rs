//! `retry`, `resume`, `send`, `asks` and `answer` with commands, which take no words.

use serde_json::json;

use crate::scene::Scene;

#[test]
fn a_task_that_has_ended_is_done_once_more() {
    let scene = Scene::new();
    let count = scene.path("count");
    let id = scene.launch("again", [], &format!("echo x >> '{}'", count.display()));
    assert_eq!(scene.homing(["wait", "again"]).code, Some(0));
    let said = scene.homing(["retry", "again"]);
    assert_eq!((said.code, said.text()), (Some(0), format!("{id}\n").as_str()), "{}", said.err);
    assert_eq!(scene.homing(["wait", "again"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\nx\n");
    let said = scene.homing(["retry", &id[..9], "--json"]);
    assert_eq!(said.json(), json!({ "id": id, "generation": 3 }));
    assert_eq!(scene.homing(["wait", "again"]).code, Some(0));
}

#[test]
fn c5_what_cannot_be_done_now_is_refused_with_what_to_try() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    scene.launch("slow", [], &gate.wait());
    let open = gate.open();
    for (words, code, says) in [
        (["retry", "slow"].as_slice(), 5, "[E_NOT_ENDED]\n  try: homing wait"),
        (&["resume", "slow", "go on"], 5, "[E_NOT_ENDED]"),
        (&["send", "slow", "more"], 5, "[E_CANNOT_PROMPT]"),
        (&["send", "slow", " "], 2, "text: it is empty"),
        (&["answer", "slow", "--allow"], 3, "asks nothing now"),
        (&["answer", "ask_000000000000", "yes"], 5, "[E_ASK_CLOSED]\n  try: homing asks"),
        (&["answer", "ask_nonsense", "yes"], 2, "ask_nonsense"),
    ] {
        let said = crate::scene::finish(scene.command(words).spawn().unwrap());
        assert_eq!((said.code, said.text()), (Some(code), ""), "{words:?}: {}", said.err);
        assert!(said.err.contains(says), "{words:?}: {}", said.err);
    }
    drop(open);
    assert_eq!(scene.homing(["wait", "slow"]).code, Some(0));
    for (words, code, says) in [
        (["send", "slow", "more"].as_slice(), 5, "[E_ENDED]\n  try: homing resume"),
        (&["resume", "slow", "go on"], 5, "use retry to run it anew"),
        (&["resume", "slow", ""], 2, "prompt: it is empty"),
    ] {
        let said = crate::scene::finish(scene.command(words).spawn().unwrap());
        assert_eq!((said.code, said.text()), (Some(code), ""), "{words:?}: {}", said.err);
        assert!(said.err.contains(says), "{words:?}: {}", said.err);
    }
}

#[test]
fn one_that_is_not_there_is_exit_code_3_for_every_verb() {
    let scene = Scene::new();
    for _ in 0..2 {
        for words in [
            vec!["retry", "nobody"],
            vec!["resume", "nobody", "go on"],
            vec!["send", "nobody", "more"],
            vec!["answer", "nobody", "--deny"],
            vec!["logs", "nobody"],
            vec!["output", "nobody"],
            vec!["why", "nobody", "--json"],
        ] {
            let said = crate::scene::finish(scene.command(&words).spawn().unwrap());
            assert_eq!((said.code, said.text()), (Some(3), ""), "{words:?}: {}", said.err);
            assert!(said.err.contains("try: homing ls --all"), "{words:?}: {}", said.err);
        }
        // Then the same in a home that is in use.
        scene.run([], ["true"]);
    }
}

#[test]
fn nobody_asks_where_only_commands_run() {
    let scene = Scene::new();
    for _ in 0..2 {
        assert_eq!(scene.homing(["asks", "--json"]).json(), json!([]));
        let said = scene.homing(["asks"]);
        assert_eq!(
            (said.code, said.text(), said.err.as_str()),
            (Some(0), "", "nobody asks anything\n")
        );
        scene.run([], ["true"]);
    }
}
