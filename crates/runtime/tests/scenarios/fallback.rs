//! The next model: what a new session is told.

use homing_core::fact::ErrorClass;
use homing_testkit::scripted::Script;

use crate::stage::{Stage, ask, end, is_done, launch, soon, until};

#[tokio::test]
async fn f1_the_next_model_is_told_everything_that_was_said_so_far() {
    let stage = Stage::new();
    let homing = stage.start();
    let models = ["big/one", "small/two"].map(|model| model.parse().unwrap());
    let [one, two] = models;
    let id = launch(&homing, ask("Count.").model(one).model(two)).await;
    assert!(is_done(&end(&homing, id).await));

    stage.host.script(id, Script::new().gate("sent").say("counting").end());
    stage.host.script(id, Script::new().fail(ErrorClass::RateLimited));
    soon(homing.resume(id, "Count again.")).await.unwrap();
    soon(stage.host.reached(id, "sent")).await;
    soon(homing.send(id, "Backwards.")).await.unwrap();
    stage.host.release(id, "sent");
    until(&homing, id, |task| task.generation == 2 && is_done(task)).await.unwrap();

    let said: Vec<String> = stage.host.prompts().iter().map(|ran| ran.text.clone()).collect();
    let whole = "Count.\n\nCount again.\n\nBackwards.";
    assert_eq!(said, ["Count.", "Count again.", "Backwards.", whole]);
    soon(homing.stop()).await;
}
