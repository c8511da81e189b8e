//! Stores as released versions left them: each opens, with every row good, and takes another commit.

use std::path::Path;

use homing_ports::contract::store::{commit_tasks, task};
use homing_ports::store::{Store, TaskQuery};

use crate::scene::{Image, image, lay, open};

fn released(version: &str) -> Image {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    image(&fixtures.join(version))
}

#[test]
fn r9_a_store_of_version_1_opens_whole_and_goes_on() {
    let dir = lay(&released("v1"));
    let mut store = open(dir.path()).unwrap();
    let recovered = store.recover().unwrap();
    assert!(recovered.tasks.len() >= 6, "what lives or is owed is read");
    let reader = store.reader().unwrap();
    assert_eq!(reader.check().unwrap(), [], "every row is good");
    let all = reader.tasks(&TaskQuery { limit: 100, ..TaskQuery::default() }).unwrap();
    assert_eq!(all.len(), 10);
    assert_eq!((recovered.outbox.len(), recovered.keys.len()), (2, 1));
    let mut rows = [task(1)];
    let new = rows[0].id;
    assert!(commit_tasks(&mut store, recovered.head, &mut rows) > recovered.head);
    assert!(reader.task(new).unwrap().0.is_some());
}
