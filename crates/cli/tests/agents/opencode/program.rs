//! An OpenCode that a person started, with homing's plugin in it: the process that runs parents.

pub use homing_testkit::opencode::{Program, calls, name, sends, words};

use super::scene::Scene;

/// With the plugin that this home sets up.
pub fn started(scene: &Scene) -> Program {
    scene.set_up([]);
    another(scene)
}

/// One more, with what is set up already.
pub fn another(scene: &Scene) -> Program {
    let home = scene.home.dir();
    Program::start(&scene.place, &[("HOMING_HOME", home), ("XDG_RUNTIME_DIR", home)])
}

/// What a session is called as a parent, once it has sent somebody out and was told.
pub fn parent(scene: &Scene, program: &Program, session: &str) -> String {
    program.ask(session, &format!("{}@say sent", sends("zero", "@say zero")));
    program.debrief(session);
    scene.show("zero")["parent"].as_str().unwrap().to_owned()
}
