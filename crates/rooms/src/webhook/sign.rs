//! The signature of a request, in the form that libraries for receivers know as Standard Webhooks: HMAC-SHA256 over id,
//! time and the raw body.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// What both ends know. Never printed.
pub struct Secret(hmac::Key);

/// What is wrong with a secret; it is not said what it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    #[error("it is not whsec_ and then base64")]
    Form,
    #[error("it has {0} bytes; 24 to 64 are needed")]
    Length(usize),
}

impl Secret {
    /// How it begins, as text.
    pub const PREFIX: &str = "whsec_";

    /// As text, for whoever makes one.
    pub fn text_of(bytes: &[u8]) -> String {
        format!("{}{}", Self::PREFIX, STANDARD.encode(bytes))
    }

    /// The header that goes with a request.
    pub fn sign(&self, id: &str, at: u64, body: &[u8]) -> String {
        let mut over = hmac::Context::with_key(&self.0);
        over.update(format!("{id}.{at}.").as_bytes());
        over.update(body);
        format!("v1,{}", STANDARD.encode(over.sign()))
    }
}

impl FromStr for Secret {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        let bytes = text.trim().strip_prefix(Self::PREFIX).ok_or(BadSecret::Form)?;
        let bytes = STANDARD.decode(bytes).map_err(|_| BadSecret::Form)?;
        if !(24..=64).contains(&bytes.len()) {
            return Err(BadSecret::Length(bytes.len()));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the specification's own libraries sign it.
    #[test]
    fn a_signature_is_what_other_libraries_expect() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let signed =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn id_time_and_every_byte_of_the_body_count() {
        let secret: Secret = Secret::text_of(&[7; 32]).parse().unwrap();
        let signed = secret.sign("db_1", 5, b"body");
        assert_ne!(signed, secret.sign("db_2", 5, b"body"));
        assert_ne!(signed, secret.sign("db_1", 6, b"body"));
        assert_ne!(signed, secret.sign("db_1", 5, b"Body"));
        let other: Secret = Secret::text_of(&[8; 32]).parse().unwrap();
        assert_ne!(signed, other.sign("db_1", 5, b"body"));
    }

    #[test]
    fn a_secret_that_is_none_is_refused_and_not_told() {
        for text in
            ["", "whsec_", "hunter2hunter2hunter2", "whsec_!!!!", &Secret::text_of(&[1; 23])]
        {
            let Err(why) = text.parse::<Secret>() else {
                panic!("{text:?} was taken");
            };
            assert!(!why.to_string().contains("hunter2"), "{why}");
        }
    }
}
