//! A disk that is full, or read-only, and well again: new work is refused in words, what is there is kept, and
//! what ran meanwhile is told as it was.

use homing_core::wire::Launch;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::mounted::Mounted;
use crate::scene::until;

/// R6: nobody has to be told that there is room again.
#[test]
fn r6_a_full_disk_refuses_new_work_and_loses_nothing() {
    let scene = Mounted::new();
    let (small, large) = (scene.gate("small"), scene.gate("large"));
    scene.launch("small", [], &format!("{}; echo survived; echo so too >&2; exit 4", small.wait()));
    let flood = "head -c 3000000 /dev/zero | tr '\\0' x; echo end";
    scene.launch("large", [], &format!("{}; {flood}", large.wait()));
    assert_eq!(scene.run(["--name", "earlier"], ["echo", "earlier"]).text(), "earlier\n");
    let (small, large) = (small.open(), large.open());
    let daemon = scene.daemon();
    let filled = scene.fill();
    for words in [["launch", "--", "true"], ["run", "--", "true"]] {
        let said = scene.homing(words);
        assert_eq!((said.code, said.text()), (Some(6), ""), "{}", said.err);
        assert!(said.err.contains("No space left on device"), "{}", said.err);
        assert!(said.err.contains("try: see that the home's disk has space"), "{}", said.err);
    }
    refused_by_the_store(&scene);
    // What was kept can be read all the time.
    assert_eq!(scene.homing(["ls", "--json"]).json().as_array().unwrap().len(), 2);
    assert_eq!(scene.homing(["output", "earlier"]).text(), "earlier\n");
    assert_eq!(scene.state("small"), "running");
    assert_eq!(scene.homing(["why", "small"]).code, Some(0));
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(1));
    assert!(said.text().contains("disk      0 MiB free: new work is refused"), "{}", said.text());
    assert!(said.text().contains("try: make room on its disk"), "{}", said.text());
    drop((small, large));
    scene.nothing_runs();
    assert_eq!(scene.state("small"), "running", "its end could not be kept yet");
    drop(filled);
    for task in ["small", "large"] {
        until(|| scene.state(task) != "running");
    }
    // A small result has its room from the beginning.
    let said = scene.homing(["output", "small"]);
    assert_eq!((said.code, said.text()), (Some(1), "survived\n[standard error]\nso too\n"));
    // Of a large one it is said what the disk did not take.
    let said = scene.homing(["output", "large"]);
    assert_eq!(
        (said.code, scene.show("large")["result"]["truncated"].clone()),
        (Some(0), true.into())
    );
    assert!(
        said.text().contains(" bytes lost: the disk did not take them]"),
        "{}",
        &said.text()[..200]
    );
    assert_eq!(scene.show("large")["attempt"], 1);
    assert_eq!(scene.run([], ["echo", "works"]).text(), "works\n");
    assert_eq!(scene.daemon(), daemon, "all of it without another daemon");
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(0), "{}", said.text());
}

/// One that keeps nothing beside the ledger is refused by the ledger itself.
fn refused_by_the_store(scene: &Mounted) {
    let client = scene.client();
    let launch = Launch { command: vec!["true".to_owned()], ..Launch::default() };
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = loop_.block_on(client.launch(&launch)).unwrap_err();
    assert_eq!(refused.code(), Some(homing_runtime::Code::Unavailable), "{refused}");
    assert!(refused.to_string().contains("the disk is full"), "{refused}");
}

/// R6: a daemon that died meanwhile is started again as soon as it can be.
#[test]
fn r6_a_daemon_that_dies_on_a_full_disk_is_followed_by_one_that_has_it_all() {
    let scene = Mounted::new();
    let gate = scene.gate("left");
    let id = scene.launch("left", [], &format!("{}; echo survived", gate.wait()));
    let open = gate.open();
    let daemon = Pid::from_raw(scene.daemon()).unwrap();
    let filled = scene.fill();
    kill_process(daemon, Signal::KILL).unwrap();
    until(|| test_kill_process(daemon).is_err());
    drop(open);
    scene.nothing_runs();
    let said = scene.homing(["run", "--", "true"]);
    assert_eq!((said.code, said.text()), (Some(6), ""), "{}", said.err);
    // Said by the daemon's start, or by the ledger if that came so far.
    let full = ["No space left on device", "the disk is full"];
    assert!(full.iter().any(|why| said.err.contains(why)), "{}", said.err);
    drop(filled);
    let said = scene.homing(["output", &id, "--wait"]);
    assert_eq!((said.code, said.text()), (Some(0), "survived\n"), "{}", said.err);
    assert_eq!(scene.homing(["ls", "--all", "--json"]).json().as_array().unwrap().len(), 1);
}

/// R6: what ends while nothing can be written waits to write its end down.
#[test]
fn r6_a_read_only_home_refuses_new_work_and_loses_nothing() {
    let scene = Mounted::new();
    let gate = scene.gate("left");
    scene.launch("left", [], &format!("{}; echo survived", gate.wait()));
    let open = gate.open();
    assert_eq!(scene.run(["--name", "earlier"], ["echo", "earlier"]).text(), "earlier\n");
    scene.make_read_only();
    refused_for_reading_only(&scene);
    assert_eq!(scene.homing(["output", "earlier"]).text(), "earlier\n");
    drop(open);
    assert_eq!(scene.state("left"), "running", "its end is not written down");
    // Without a daemon: none can be started, and nothing is made.
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let kept = || std::fs::read(scene.file("ledger.db")).unwrap();
    let before = kept();
    for verb in [["run", "--", "true"].as_slice(), &["ls"], &["show", "left"], &["daemon", "start"]]
    {
        let said = crate::scene::finish(scene.command(verb).spawn().unwrap());
        assert_eq!((said.code, said.text()), (Some(6), ""), "{verb:?}: {}", said.err);
        assert!(said.err.contains("Read-only file system"), "{verb:?}: {}", said.err);
        assert!(said.err.contains("or see that this one can be written to"), "{}", said.err);
    }
    assert!(kept() == before, "nothing was touched");
    scene.make_writable();
    let said = scene.homing(["output", "left", "--wait"]);
    assert_eq!((said.code, said.text()), (Some(0), "survived\n"), "{}", said.err);
    assert_eq!(scene.homing(["output", "earlier"]).text(), "earlier\n");
    assert_eq!(scene.run([], ["echo", "works"]).text(), "works\n");
    assert_eq!(scene.homing(["doctor"]).code, Some(0));
    scene.nothing_runs();
}

fn refused_for_reading_only(scene: &Mounted) {
    let said = scene.homing(["launch", "--", "true"]);
    assert_eq!((said.code, said.text()), (Some(6), ""), "{}", said.err);
    assert!(said.err.contains("Read-only file system"), "{}", said.err);
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(1), "{} {}", said.text(), said.err);
    assert!(said.text().contains("nothing can be kept in "), "{}", said.text());
    assert!(said.text().contains("try: make it writable"), "{}", said.text());
}
