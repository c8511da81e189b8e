//! Owns text on its way to the store: bytes with their digest. The World keeps only the reference.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The first 128 bits of the bytes' BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(#[serde(with = "hex")] pub [u8; 16]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        let mut first = [0; 16];
        first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        Self(first)
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for byte in self.0 {
            write!(out, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// What is kept of a text when the text itself is in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextRef {
    pub digest: Digest,
    pub bytes: u64,
    /// Length before it was cut to the limit, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_bytes: Option<u64>,
    /// Nothing but white space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blank: bool,
}

/// Text with its reference. Written down as the reference alone: the bytes go beside it, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    pub bytes: Arc<[u8]>,
    pub text: TextRef,
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self { bytes: Arc::from([]), text: TextRef::deserialize(from)? })
    }
}

impl Payload {
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let blank = bytes.iter().all(u8::is_ascii_whitespace);
        let text = TextRef {
            digest: Digest::of(&bytes),
            bytes: bytes.len() as u64,
            full_bytes: None,
            blank,
        };
        Self { bytes, text }
    }

    /// Cuts at `most` bytes (on a character's border where it is text) and remembers the full length.
    pub fn bounded(bytes: &[u8], most: usize) -> Self {
        if bytes.len() <= most {
            return Self::new(bytes);
        }
        let mut cut = most;
        while cut > 0 && bytes[cut] & 0xc0 == 0x80 && most - cut < 4 {
            cut -= 1;
        }
        let mut kept = Self::new(&bytes[..cut]);
        kept.text.full_bytes = Some(bytes.len() as u64);
        kept
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

mod hex {
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8; 16], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*bytes)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 16], D::Error> {
        crate::text::parsed(from, |text| u128::from_str_radix(text, 16).map(u128::to_be_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let kept = Payload::bounded("ab€cd".as_bytes(), 4);
        assert_eq!(&*kept.bytes, b"ab");
        assert_eq!(kept.text.full_bytes, Some(7));
    }

    #[test]
    fn a_digest_reads_back() {
        let digest = Digest::of(b"x");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
    }
}
