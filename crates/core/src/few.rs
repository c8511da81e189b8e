//! A list that is mostly empty: one word until something is in it, one allocation then. A task has many of
//! these, and there are many tasks.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thin_vec::ThinVec;

/// See the module. Read it as a slice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Few<T>(ThinVec<T>);

impl<T> Few<T> {
    pub const NONE: Self = Self(ThinVec::new());

    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
        if self.0.is_empty() {
            self.clear();
        }
    }

    /// Takes the first one away.
    pub fn drop_first(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    /// Gives its room back, too.
    pub fn clear(&mut self) {
        self.0 = ThinVec::new();
    }

    /// As a method of its own, so that serde can be told of it by name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Serialize> Serialize for Few<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(from)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_emptied_equals_what_was_never_filled() {
        let mut few = Few::default();
        few.push(1);
        few.push(2);
        few.retain(|item| *item > 1);
        assert_eq!(&*few, [2]);
        few.retain(|_| false);
        assert_eq!(few, Few::default());
        assert_eq!(few, Few::from(Vec::new()));
    }

    #[test]
    fn it_is_written_as_a_list() {
        let few = Few::from(vec![1, 2]);
        assert_eq!(serde_json::to_string(&few).unwrap(), "[1,2]");
        assert_eq!(serde_json::from_str::<Few<u8>>("[1,2]").unwrap(), few);
    }
}
