//! `homing output`: the result of a task that has ended, byte for byte.

use serde_json::Value;

use crate::scene::{Scene, finish, until};

fn delivery(scene: &Scene, task: &str) -> Value {
    scene.show(task)["delivery"]["state"].clone()
}

fn is_owed(state: &Value) -> bool {
    matches!(state.as_str(), Some("owed" | "sealed"))
}

#[test]
fn a_task_that_goes_on_has_no_output_yet() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    let id = scene.launch("slow", [], &format!("echo early; {}; echo late", gate.wait()));
    let open = gate.open();
    for options in [vec![], vec!["--timeout", "100ms"]] {
        let said = scene.command(["output", "slow"].iter().chain(&options)).spawn().unwrap();
        let said = finish(said);
        assert_eq!((said.code, said.text()), (Some(4), ""), "{}", said.err);
        assert!(said.err.contains("(slow) has not ended: it is "), "{}", said.err);
        assert!(said.err.contains(&format!("try: homing output {id} --wait")), "{}", said.err);
    }
    let said = scene.homing(["output", "slow", "--json"]);
    assert_eq!((said.code, &said.json()["task"]["ended_at"]), (Some(4), &Value::Null));
    let waiting = scene.command(["output", "slow", "--wait"]).spawn().unwrap();
    drop(open);
    let said = finish(waiting);
    assert_eq!((said.code, said.text()), (Some(0), "early\nlate\n"), "{}", said.err);
}

#[test]
fn a_result_is_printed_byte_by_byte_and_as_often_as_one_likes() {
    let scene = Scene::new();
    let id = scene.launch("bytes", [], r"printf 'no end, \000 and \377\033[2J'");
    for task in [id.as_str(), &id[..9], "bytes"] {
        let said = scene.homing(["output", task, "--timeout", "30s"]);
        assert_eq!((said.code, said.out.as_slice()), (Some(0), &b"no end, \0 and \xff\x1b[2J"[..]));
    }
}

#[test]
fn one_that_ended_otherwise_is_exit_code_1_with_the_reason() {
    let scene = Scene::new();
    scene.launch("half", [], "echo half; exit 4");
    let said = scene.homing(["output", "half", "--wait"]);
    assert_eq!((said.code, said.text()), (Some(1), "half\n"));
    assert!(said.err.contains("ended as failed, exited"), "{}", said.err);
    assert_eq!(scene.homing(["output", "nobody"]).code, Some(3));
}

#[test]
fn json_has_the_task_with_its_result() {
    let scene = Scene::new();
    scene.launch("words", [], "echo words");
    assert_eq!(scene.homing(["wait", "words"]).code, Some(0));
    let said = scene.homing(["output", "words", "--json"]);
    let output = said.json();
    let mut fields: Vec<&String> = output.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["ack", "fresh", "task", "wait"]);
    assert_eq!(output["task"]["result"]["text"], "words\n");
}

#[test]
fn what_its_parent_read_is_settled_and_what_others_or_nobody_read_stays_owed() {
    let scene = Scene::new();
    scene.launch("read", [], "echo read");
    assert_eq!(scene.homing(["wait", "read"]).code, Some(0));
    assert!(is_owed(&delivery(&scene, "read")), "waiting settles nothing");
    let mut other = scene.command(["output", "read"]);
    assert_eq!(finish(other.env("HOMING_PARENT", "inbox:else").spawn().unwrap()).code, Some(0));
    assert!(is_owed(&delivery(&scene, "read")), "somebody else read it");
    let mut child = scene.command(["output", "read"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(finish(child).code, Some(0));
    assert!(is_owed(&delivery(&scene, "read")), "nobody read it");
    assert_eq!(scene.homing(["output", "read"]).text(), "read\n");
    until(|| delivery(&scene, "read") == "settled");
}

#[test]
fn of_a_result_that_was_cut_the_rest_can_be_had() {
    let scene = Scene::new();
    scene.launch("long", [], "head -c 1500000 /dev/zero | tr '\\0' x");
    let said = scene.homing(["output", "long", "--wait"]);
    assert_eq!(said.code, Some(0));
    assert!(said.out.len() < 1_500_000, "{}", said.out.len());
    assert!(said.err.contains("longer than what is kept"), "{}", said.err);
    let said = scene.homing(["output", "long", "--full"]);
    assert_eq!((said.out.len(), said.err.as_str()), (1_500_000, ""));
}
