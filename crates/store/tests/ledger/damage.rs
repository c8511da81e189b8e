//! Flipped bits, lost ends, stale and empty pages: each is refused, noticed, or without effect, and
//! no wrong value is ever served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::scene::{
    Answers, DB, Fate, Image, MARK, WAL, ask_everything, fate_of, lay, open, scene,
};
use homing_ports::store::Store as _;

/// The same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// More of everything in the long run.
fn times(short: usize) -> usize {
    if std::env::var_os("HOMING_LONG").is_some() { short * 20 } else { short }
}

fn right_answers(image: &Image) -> Answers {
    let dir = lay(image);
    let mut store = open(dir.path()).unwrap();
    assert_eq!(store.reader().unwrap().check().unwrap(), []);
    ask_everything(&mut store)
}

fn flipped(image: &Image, name: &Path, bit: usize) -> Image {
    let mut spoiled = image.clone();
    spoiled.get_mut(name).unwrap()[bit / 8] ^= 1 << (bit % 8);
    spoiled
}

#[derive(Default)]
struct Fates(BTreeMap<Fate, usize>);

impl Fates {
    fn count(&mut self, fate: Fate) {
        *self.0.entry(fate).or_default() += 1;
    }

    fn of(&self, fate: Fate) -> usize {
        self.0.get(&fate).copied().unwrap_or(0)
    }

    fn told(&self, what: &str) {
        println!("{what}: {:?}", self.0);
    }
}

fn flip_many(image: &Image, name: &str, count: usize, seed: u64) -> Fates {
    let right = right_answers(image);
    let name = Path::new(name);
    let bits = image[name].len() * 8;
    let (mut numbers, mut fates) = (Numbers(seed), Fates::default());
    for _ in 0..times(count) {
        // Most bytes that are zero are free: one such flip in ten is enough.
        let mut bit = numbers.below(bits);
        while image[name][bit / 8] == 0 && numbers.below(10) > 0 {
            bit = numbers.below(bits);
        }
        let what = format!("bit {bit} of {}", name.display());
        fates.count(fate_of(&flipped(image, name, bit), &right, &what));
    }
    fates
}

#[test]
fn a_flipped_bit_in_the_database_is_noticed_or_without_effect() {
    let fates = flip_many(&scene().late, DB, 160, 1);
    fates.told("database");
    assert!(fates.of(Fate::Refused) > 0 && fates.of(Fate::OnRead) > 0);
}

#[test]
fn a_flipped_bit_in_the_database_under_a_log_is_noticed_or_without_effect() {
    let fates = flip_many(&scene().crashed, DB, 60, 2);
    fates.told("database under a log");
}

#[test]
fn a_flipped_bit_in_the_log_is_noticed_or_without_effect() {
    let fates = flip_many(&scene().crashed, WAL, 80, 3);
    fates.told("log");
    assert!(fates.of(Fate::Refused) > fates.of(Fate::NoEffect));
    assert_eq!(
        fates.of(Fate::OnRead) + fates.of(Fate::ByCheck),
        0,
        "the log has its own checksums"
    );
}

#[test]
fn a_name_that_turns_into_another_one_is_noticed() {
    let late = scene().late;
    let right = right_answers(&late);
    let (name, mut fates) = (Path::new(DB), Fates::default());
    for word in [&b"name"[..], b"acp:parent", b"db_", b"bg_"] {
        let places = late[name].windows(word.len()).enumerate();
        let places = places.filter(|(_, window)| *window == word).map(|(place, _)| place);
        for place in places.step_by(if times(1) == 1 { 4 } else { 1 }) {
            let bit = (place + word.len()) * 8;
            fates.count(fate_of(&flipped(&late, name, bit), &right, &format!("name at {place}")));
        }
    }
    fates.told("names");
    assert!(fates.of(Fate::OnRead) > 10);
}

#[test]
fn a_flipped_bit_in_the_header_is_noticed_or_without_effect() {
    let late = scene().late;
    let right = right_answers(&late);
    let (mut numbers, mut fates) = (Numbers(4), Fates::default());
    for byte in 0..100 {
        let bit = byte * 8 + numbers.below(8);
        let spoiled = flipped(&late, Path::new(DB), bit);
        fates.count(fate_of(&spoiled, &right, &format!("header bit {bit}")));
    }
    fates.told("header");
    assert!(fates.of(Fate::Refused) >= 24, "the magic, the marks");
}

#[test]
fn a_flipped_bit_in_a_blobs_file_is_noticed() {
    let late = scene().late;
    let right = right_answers(&late);
    let files: Vec<&PathBuf> = late.keys().filter(|name| name.starts_with("blobs")).collect();
    assert!(files.len() > 3);
    let mut numbers = Numbers(5);
    for _ in 0..times(20) {
        let name = files[numbers.below(files.len())];
        let bit = numbers.below(late[name].len() * 8);
        let fate = fate_of(&flipped(&late, name, bit), &right, &format!("bit {bit} of {name:?}"));
        assert_eq!(fate, Fate::OnRead);
    }
}

#[test]
fn a_flipped_bit_in_the_mark_is_without_effect() {
    let crashed = scene().crashed;
    let right = right_answers(&crashed);
    let name = Path::new(MARK);
    for byte in 0..crashed[name].len() {
        let bit = byte * 8 + byte % 8;
        let fate = fate_of(&flipped(&crashed, name, bit), &right, &format!("mark bit {bit}"));
        assert_eq!(fate, Fate::NoEffect);
    }
}

#[test]
fn a_lost_end_of_any_file_is_noticed_or_without_effect() {
    let scene = scene();
    let (mut numbers, mut fates) = (Numbers(6), Fates::default());
    for (image, what) in [(&scene.late, "closed"), (&scene.crashed, "crashed")] {
        let right = right_answers(image);
        let blobs = image.keys().filter(|name| name.starts_with("blobs")).take(2);
        let names = blobs.cloned().chain([DB, WAL, MARK].map(PathBuf::from));
        for name in names.filter(|name| image.contains_key(name)) {
            let length = image[&name].len();
            let pages = (1..length / 4096).step_by(5).map(|page| page * 4096);
            let anywhere = (0..times(4)).map(|_| numbers.below(length.max(1)));
            let ends: Vec<usize> = pages.chain(anywhere).chain([length - 1]).collect();
            for end in ends {
                let mut spoiled = image.clone();
                spoiled.get_mut(&name).unwrap().truncate(end);
                let told = format!("{what}: {name:?} cut to {end} of {length}");
                let fate = fate_of(&spoiled, &right, &told);
                assert!(
                    fate == Fate::Refused || what == "crashed" || name != Path::new(DB),
                    "{told}"
                );
                fates.count(fate);
            }
        }
    }
    fates.told("lost ends");
    assert!(fates.of(Fate::Refused) > 50);
}

#[test]
fn a_database_that_is_longer_than_it_says_is_refused() {
    let mut late = scene().late;
    let right = right_answers(&late);
    late.get_mut(Path::new(DB)).unwrap().extend([0; 4096]);
    assert_eq!(fate_of(&late, &right, "a page too many"), Fate::Refused);
}

#[test]
fn a_page_that_was_never_written_is_noticed_or_without_effect() {
    let scene = scene();
    let right = right_answers(&scene.late);
    let name = Path::new(DB);
    let (old, new) = (&scene.early[name], &scene.late[name]);
    let (mut stale, mut empty) = (Fates::default(), Fates::default());
    for page in 0..new.len() / 4096 {
        let place = page * 4096..(page + 1) * 4096;
        if let Some(older) = old.get(place.clone()).filter(|older| **older != new[place.clone()]) {
            let mut spoiled = scene.late.clone();
            spoiled.get_mut(name).unwrap()[place.clone()].copy_from_slice(older);
            stale.count(fate_of(&spoiled, &right, &format!("stale page {}", page + 1)));
        }
        let mut spoiled = scene.late.clone();
        spoiled.get_mut(name).unwrap()[place].fill(0);
        empty.count(fate_of(&spoiled, &right, &format!("empty page {}", page + 1)));
    }
    stale.told("stale pages");
    empty.told("empty pages");
    assert!(stale.of(Fate::Refused) > 5 && empty.of(Fate::Refused) > 5);
}
