//! Real programs of others against the real daemon: what they say of us, and what they do with us. Installed from npm and
//! PyPI at fixed versions by the test itself.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod clients;
mod conformance;
mod examples;
mod home;
mod matrix;
mod opencode;
mod schemathesis;
