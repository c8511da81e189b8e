//! A hash map that cannot be walked: look-ups in constant time, and no order to depend on.

use std::hash::{BuildHasherDefault, Hash, Hasher};

#[expect(clippy::disallowed_types, reason = "fixed hasher, and nothing here iterates")]
type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Spread>>;

/// See the module.
#[derive(Debug, Clone)]
pub struct Index<K, V>(Map<K, V>);

impl<K: Hash + Eq, V> Default for Index<K, V> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<K: Hash + Eq, V> Index<K, V> {
    pub fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key)
    }

    pub fn contains(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key)
    }

    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.0.entry(key).or_default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A small multiplicative hash with fixed constants: the same in every run.
#[derive(Default)]
pub struct Spread(u64);

const ODD: u64 = 0x517c_c1b7_2722_0a95;

impl Spread {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(ODD);
    }
}

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        // The map takes its control bits from the top and its place from the bottom.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.add(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.add(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }
}
