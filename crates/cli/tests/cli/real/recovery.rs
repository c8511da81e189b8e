//! R: recovery.

use super::{kill_daemon, witnessed};
use crate::scene::{Scene, until};

#[test]
fn r3_a_restored_command_starts_no_others_anew() {
    let scene = Scene::new();
    let homing = env!("CARGO_BIN_EXE_homing");
    let (witness, gate) = (scene.path("witness"), scene.gate("outer"));
    let inner = format!("echo inner >> '{}'", witness.display());
    let script = format!(
        "echo outer >> '{}'; {homing} run --name inner -- sh -c \"{inner}\"; {}; echo done",
        witness.display(),
        gate.wait()
    );
    let id = scene.launch("outer", [], &script);
    let open = gate.open();
    for _ in 0..3 {
        kill_daemon(&scene);
        assert_eq!(scene.show(&id)["state"], "running");
    }
    drop(open);
    until(|| !scene.lives(&id));
    assert_eq!(scene.show(&id)["result"]["text"], "done\n");
    assert_eq!(witnessed(&witness), ["outer", "inner"], "each ran once");
    assert_eq!(scene.homing(["ls", "--all", "--json"]).json().as_array().unwrap().len(), 2);
}
