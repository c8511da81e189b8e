//! A person and a debrief at the same time.

use std::thread;
use std::time::Duration;

use super::program::{name, parent, started, words};
use super::scene::{Scene, runs};
use super::server::until;

const ROUNDS: u64 = 100;
/// The person is that much earlier or later than the end of the child.
const APART: u64 = 50;

#[test]
fn u3_n7_a_hundred_times_at_once_the_person_is_answered_and_the_debrief_comes_once() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    let parent = parent(&scene, &program, &session);
    let mut prompts = Vec::new();
    for n in 0..ROUNDS {
        let gate = scene.gate(&format!("gate-{n}"));
        let task = format!("task-{n}");
        let read = format!("{}; echo told {n}.", gate.wait());
        let launch = ["launch", "--parent", &parent, "--name", &task, "--", "sh", "-c", &read];
        scene.home.homing(launch);
        scene.until_state(&task, "running");
        // With and without a tool: a debrief in the middle of one would take the turn over.
        let says = format!("@say person {n}.");
        let says = if n % 3 == 0 { runs("true", &says) } else { says };
        // All distances from -50 ms to +50 ms, in an order that jumps.
        let apart = n * 37 % (2 * APART + 1);
        let asked = thread::scope(|scope| {
            let opens = scope.spawn(|| {
                thread::sleep(Duration::from_millis(APART)); // sleep: this is the distance
                scene.open(&gate);
            });
            thread::sleep(Duration::from_millis(apart)); // sleep: this is the distance
            let asked = program.say(&session, &says);
            opens.join().unwrap();
            asked
        });
        until("the person's answer", || program.answers(&session, &asked).pop());
        let settled = || (scene.show(&task)["delivery"]["state"] == "settled").then_some(());
        until("the debrief's receipt", settled);
        prompts.push(asked);
    }
    for (n, asked) in prompts.iter().enumerate() {
        let answers = program.answers(&session, asked);
        assert_eq!(answers.len(), 1, "{n}: {answers:?}");
        assert!(answers[0].contains(&format!("person {n}.")), "{answers:?}");
    }
    let debriefs = program.debriefs(&session);
    let (mut own, mut shared) = (0, 0);
    for n in 0..ROUNDS {
        let telling: Vec<_> =
            debriefs.iter().filter(|d| words(d).contains(&format!("| told {n}."))).collect();
        assert_eq!(telling.len(), 1, "{n} is told once");
        match program.answers(&session, name(telling[0])).len() {
            0 => shared += 1,
            1 => own += 1,
            more => panic!("{n} was answered {more} times"),
        }
    }
    println!("{own} debriefs had an answer of their own, {shared} shared a person's");
}
