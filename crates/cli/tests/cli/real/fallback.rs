//! F: fallback and retry.

use serde_json::Value;

use super::{ends, owed, witnessed};
use crate::scene::Scene;

/// The models that were tried, and with what error each ended.
fn tried(task: &Value) -> Vec<(String, bool)> {
    let attempts = task["attempts"].as_array().unwrap().iter();
    attempts
        .map(|each| (each["model"].as_str().unwrap().to_owned(), each["error"].is_object()))
        .collect()
}

fn pairs(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(model, failed)| ((*model).to_owned(), *failed)).collect()
}

const SAYS: &str = "echo $HOMING_ATTEMPT $HOMING_MODEL \"$KEPT\" >> \"$WITNESS\"; ";

#[test]
fn f1_a_command_that_asks_for_it_is_tried_once_more_on_the_next_model_with_all_it_had() {
    let scene = Scene::new();
    let witness = scene.path("witness");
    let script =
        format!("{SAYS} test $HOMING_MODEL = acme/small || exit 75; echo by $HOMING_MODEL");
    let words = [
        "run",
        "--json",
        "--model",
        "acme/large",
        "--model",
        "acme/small",
        "--env",
        "KEPT",
        "--env",
        "WITNESS",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let mut command = scene.command(words);
    command.env("KEPT", "kept").env("WITNESS", &witness);
    let said = crate::scene::finish(command.spawn().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let task = said.json();
    assert_eq!(task["result"]["text"], "by acme/small\n");
    assert_eq!(tried(&task), pairs(&[("acme/large", true), ("acme/small", false)]));
    assert_eq!(witnessed(&witness), ["1 acme/large kept", "2 acme/small kept"]);
}

#[test]
fn f2_a_chain_that_is_used_up_is_one_failure_with_every_attempt() {
    let scene = Scene::new();
    let models = ["--model", "acme/large", "--model", "acme/small"];
    let id = scene.launch("all", models, "exit 75");
    assert_eq!(scene.homing(["wait", "all"]).code, Some(1));
    let task = scene.show(&id);
    assert_eq!((&task["state"], &task["cause"]), (&"failed".into(), &"exhausted".into()));
    assert_eq!(tried(&task), pairs(&[("acme/large", true), ("acme/small", true)]));
    assert_eq!((ends(&scene, &id), owed(&scene, "inbox:cli").len()), (1, 1));
}

#[test]
fn f3_a_model_that_just_failed_is_not_tried_again() {
    let scene = Scene::new();
    let models = ["--model", "acme/large", "--model", "acme/large", "--model", "acme/small"];
    let id = scene.launch("skips", models, "test $HOMING_MODEL = acme/small || exit 75");
    assert_eq!(scene.homing(["wait", "skips"]).code, Some(0));
    assert_eq!(tried(&scene.show(&id)), pairs(&[("acme/large", true), ("acme/small", false)]));
}
