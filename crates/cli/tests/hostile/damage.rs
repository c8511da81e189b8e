//! A store that was damaged: said in words by the daemon and every verb, never served, never touched.

use std::path::Path;

use crate::scene::{Scene, finish};

/// Every file of the store, byte for byte.
fn kept(home: &Path) -> Vec<(String, Vec<u8>)> {
    ["ledger.db", "ledger.db-wal", "ledger.db.mark"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::fs::read(home.join(name)).ok()?)))
        .collect()
}

/// Changes one bit of every place that holds this.
fn flip(file: &Path, needle: &[u8]) {
    let mut bytes = std::fs::read(file).unwrap();
    let holds = |at: &usize| bytes[*at..].starts_with(needle);
    let found: Vec<usize> = (0..bytes.len()).filter(holds).collect();
    assert!(!found.is_empty(), "{file:?}");
    for at in found {
        bytes[at] ^= 1;
    }
    std::fs::write(file, bytes).unwrap();
}

/// R6: a living task's row, one bit wrong. Nothing runs on it; the way back is said, and works.
#[test]
fn r6_a_damaged_store_is_refused_in_words_and_left_as_it_is() {
    let scene = Scene::new();
    let gate = scene.gate("living");
    scene.launch("a name to find", [], &format!("{}; echo home", gate.wait()));
    let open = gate.open();
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let ledger = scene.home.join("ledger.db");
    let well = std::fs::read(&ledger).unwrap();
    flip(&ledger, b"a name to find");
    let before = kept(&scene.home);
    for words in [
        ["daemon", "start"].as_slice(),
        &["daemon", "run"],
        &["run", "--", "true"],
        &["launch", "--", "true"],
        &["ls"],
        &["show", "a name to find"],
        &["cancel", "--all"],
        &["doctor"],
    ] {
        let said = finish(scene.command(words).spawn().unwrap());
        assert_eq!((said.code, said.text()), (Some(6), ""), "{words:?}: {}", said.err);
        assert!(said.err.contains("ledger.db is damaged: "), "{words:?}: {}", said.err);
        assert!(said.err.contains("does not match its checksum"), "{words:?}: {}", said.err);
        assert!(
            said.err.contains("try: nothing was changed; put a copy"),
            "{words:?}: {}",
            said.err
        );
        assert!(kept(&scene.home) == before, "{words:?} changed the store");
    }
    // A copy in its place, as it says: the command ran on all the time.
    std::fs::write(&ledger, well).unwrap();
    drop(open);
    let said = scene.homing(["output", "a name to find", "--wait"]);
    assert_eq!((said.code, said.text()), (Some(0), "home\n"), "{}", said.err);
}

/// R6: an ended task's row is wrong: it is never served, the others are, and doctor finds it.
#[test]
fn r6_a_damaged_row_is_never_served_and_the_others_are() {
    let scene = Scene::new();
    // Told and settled: what is still owed is verified before anything is served.
    let id = scene.run(["--name", "damaged one", "--json"], ["echo", "wrong"]).id();
    assert_eq!(scene.run(["--name", "whole one"], ["echo", "right"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    flip(&scene.home.join("ledger.db"), b"damaged one");
    assert_eq!(scene.homing(["output", "whole one"]).text(), "right\n");
    let said = scene.homing(["ls", "--all"]);
    assert_eq!((said.code, said.text()), (Some(6), ""));
    assert!(said.err.contains("is damaged"), "{}", said.err);
    let said = scene.homing(["show", &id]);
    assert_eq!((said.code, said.text()), (Some(6), ""), "{}", said.err);
    assert_eq!(scene.run([], ["echo", "goes on"]).text(), "goes on\n");
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.text().contains(" damaged; try: put a copy of the home"), "{}", said.text());
    let place = format!("task {id}: the row does not match its checksum");
    assert!(said.text().contains(&place), "{}", said.text());
}
