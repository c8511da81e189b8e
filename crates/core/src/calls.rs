//! The calls of tools that run in a turn, by id. Mostly there is none or one, and that one takes no room of its own.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::few::Few;

/// See the module. There is a first one where there is any.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Calls {
    first: Option<u64>,
    more: Few<u64>,
}

impl Calls {
    pub const NONE: Self = Self { first: None, more: Few::NONE };

    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub fn contains(&self, id: u64) -> bool {
        self.first == Some(id) || self.more.contains(&id)
    }

    pub fn push(&mut self, id: u64) {
        if self.first.is_none() {
            self.first = Some(id);
        } else {
            self.more.push(id);
        }
    }

    pub fn remove(&mut self, id: u64) {
        if self.first == Some(id) {
            self.first = self.more.first().copied();
            self.more.drop_first();
        } else if !self.more.is_empty() {
            self.more.retain(|known| *known != id);
        }
    }

    pub fn clear(&mut self) {
        *self = Self::NONE;
    }
}

impl FromIterator<u64> for Calls {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Self {
        let mut ids = ids.into_iter();
        Self { first: ids.next(), more: ids.collect() }
    }
}

impl Serialize for Calls {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.first.iter().chain(&self.more))
    }
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whichever_ends_the_others_stay_in_their_order() {
        for (ends, left) in [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])] {
            let mut calls = Calls::from_iter([1, 2, 3]);
            calls.remove(ends);
            assert_eq!(calls, Calls::from_iter(left));
            assert!(!calls.contains(ends) && left.iter().all(|id| calls.contains(*id)));
            calls.remove(ends);
            assert_eq!(calls.len(), 2, "one that does not run ends nothing");
            left.iter().for_each(|id| calls.remove(*id));
            assert_eq!(calls, Calls::NONE);
            calls.push(4);
            assert_eq!(calls, Calls::from_iter([4]));
        }
    }

    #[test]
    fn they_are_written_as_a_list() {
        for ids in [vec![], vec![7], vec![7, 8, 9]] {
            let written = serde_json::to_string(&ids).unwrap();
            let calls: Calls = serde_json::from_str(&written).unwrap();
            assert_eq!(serde_json::to_string(&calls).unwrap(), written);
            assert_eq!(calls.len(), ids.len());
            assert_eq!(calls.is_empty(), ids.is_empty());
        }
    }
}
