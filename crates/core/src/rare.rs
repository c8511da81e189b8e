//! A value that is mostly the plain one: one word until it is something else. Read it as what it holds.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type with a value that nearly all have.
pub trait Plain: PartialEq + 'static {
    const PLAIN: &'static Self;
}

/// See the module. Made by `into`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rare<T>(Option<Box<T>>);

impl<T> Rare<T> {
    pub const PLAIN: Self = Self(None);
}

impl<T: Plain + Default> Rare<T> {
    /// To be changed; `settle` it when that is done.
    pub fn change(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }

    /// What has become the plain value again takes no room.
    pub fn settle(&mut self) {
        if self.0.as_deref() == Some(T::PLAIN) {
            self.0 = None;
        }
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self::PLAIN
    }
}

impl<T: Plain> From<T> for Rare<T> {
    fn from(value: T) -> Self {
        Self((value != *T::PLAIN).then(|| Box::new(value)))
    }
}

impl<T: Plain> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::PLAIN)
    }
}

impl<T: Plain + Serialize> Serialize for Rare<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(to)
    }
}

impl<'de, T: Plain + Deserialize<'de>> Deserialize<'de> for Rare<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spend;

    #[test]
    fn the_plain_value_takes_no_room_however_it_came() {
        let plain: Rare<Spend> = Spend::default().into();
        assert_eq!(plain, Rare::default());
        assert_eq!(serde_json::from_str::<Rare<Spend>>("{}").unwrap(), plain);
        let other: Rare<Spend> = Spend { calls: 1, ..Spend::default() }.into();
        assert_eq!(other.calls, 1);
        assert_ne!(other, plain);
    }
}
