//! Cases of bytes by name.
#![expect(clippy::unwrap_used, reason = "a case ends where the store fails it")]

use super::{StoreFactory, blob, reader, refused, task};
use crate::store::{Blob, Group};

fn of(blobs: Vec<Blob>) -> Group {
    Group { blobs, ..Group::default() }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place.wrapping_mul(31) >> 3) as u8).collect()
}

const SIZES: [usize; 6] = [0, 1, 4096, 65_536, 65_537, 1_000_000];

pub fn bytes_read_back_at_every_size(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let blobs = SIZES.map(|size| blob(&size.to_string(), None, &pattern(size)));
    store.commit(&of(blobs.to_vec())).unwrap();
    for restart in [false, true] {
        if restart {
            drop(store);
            store = factory.reopen();
        }
        let reader = reader(&*store);
        for size in SIZES {
            let found = reader.blob(&size.to_string()).unwrap();
            assert!(found == Some(pattern(size)), "{size} bytes did not read back");
        }
        assert_eq!(reader.blob("2").unwrap(), None);
    }
}

pub fn the_same_bytes_again_are_harmless(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let both = [10, 100_000].map(|size| blob(&size.to_string(), Some(task(1).id), &pattern(size)));
    store.commit(&of(both.to_vec())).unwrap();
    store.commit(&of([both.to_vec(), both.to_vec()].concat())).unwrap();
    let reader = reader(&*store);
    for blob in both {
        assert!(reader.blob(&blob.name).unwrap().as_deref() == Some(&*blob.bytes));
    }
    assert_eq!(reader.check().unwrap(), []);
}

pub fn other_bytes_under_a_taken_name_are_refused(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    for size in [10, 100_000] {
        let name = size.to_string();
        store.commit(&of(vec![blob(&name, None, &pattern(size))])).unwrap();
        let mut other = pattern(size);
        other[5] ^= 1;
        let why = refused(&mut *store, &of(vec![blob(&name, None, &other)]));
        assert!(why.contains(&name), "it names the blob: {why}");
        assert!(reader(&*store).blob(&name).unwrap() == Some(pattern(size)));
    }
    refused(&mut *store, &of(vec![blob("new", None, b"one"), blob("new", None, b"other")]));
    assert_eq!(reader(&*store).blob("new").unwrap(), None);
}

pub fn two_names_may_hold_the_same_bytes(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let bytes = pattern(100_000);
    store.commit(&of(vec![blob("one", None, &bytes), blob("other", None, &bytes)])).unwrap();
    let reader = reader(&*store);
    for name in ["one", "other"] {
        assert!(reader.blob(name).unwrap().as_deref() == Some(&*bytes), "{name}");
    }
}
