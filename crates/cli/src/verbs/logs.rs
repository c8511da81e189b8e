//! `homing logs`: the transcript of a task's latest attempt, as its host has it.

use std::time::Duration;

use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing logs checks
  homing logs bg_01 -f
  homing logs checks --json

Of a command: what it wrote, then its errors. With -f they are printed as they come, errors to the standard
error, until the task has ended. Ctrl-C ends the reading, not the task.";

/// Between two looks at what a task has written.
const LOOK: Duration = Duration::from_millis(250);
/// Where a command's errors begin in its transcript.
const ERRORS: &[u8] = b"[standard error]\n";

/// Print what a task's latest attempt wrote
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// Go on with what comes, until it has ended
    #[arg(short, long)]
    follow: bool,

    /// Print it as JSON, the text in it
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let talk = Talk::with(home)?;
    interruptible(drive(&talk, args))?;
    Ok(0)
}

async fn drive(talk: &Talk, args: &Args) -> Result<(), Expected> {
    let view = talk.ask(async |client| client.show(&args.task).await).await?;
    let id = view.id.to_string();
    if args.follow {
        return follow(talk, &id).await;
    }
    let bytes = talk.client().logs(&id).await?;
    if args.json {
        let text = String::from_utf8_lossy(&bytes);
        return out::json(&serde_json::json!({
            "id": view.id, "attempt": view.attempt, "text": text, "bytes": bytes.len(),
        }));
    }
    out::others(&bytes)
}

async fn follow(talk: &Talk, id: &str) -> Result<(), Expected> {
    let (mut told, mut attempt) = (Told::default(), None);
    loop {
        // Asked before the look: what is written before the end is seen.
        let ended = talk.ask(async |client| client.wait(id, LOOK).await).await?;
        let now = talk.ask(async |client| client.show(id).await).await?.attempt;
        if attempt.replace(now).is_some_and(|before| before != now) {
            out::warn(&format!("homing: attempt {now}"));
            told = Told::default();
        }
        let bytes = talk.ask(async |client| client.logs(id).await).await?;
        told.tell(&bytes, ended)?;
        if ended {
            return Ok(());
        }
    }
}

/// How much of each stream was printed.
#[derive(Debug, Default)]
struct Told {
    out: usize,
    err: usize,
}

impl Told {
    fn tell(&mut self, transcript: &[u8], ended: bool) -> Result<(), Expected> {
        let (written, errors) = streams(transcript);
        let new = |all: &'_ [u8], told: usize| -> usize {
            let new = all.get(told..).unwrap_or_default();
            if ended { new.len() } else { whole(new) }
        };
        let (out, err) = (new(written, self.out), new(errors, self.err));
        if out > 0 {
            out::others(&written[self.out..self.out + out])?;
            self.out += out;
        }
        if err > 0 {
            out::warn_others(&errors[self.err..self.err + err]);
            self.err += err;
        }
        Ok(())
    }
}

/// The length without a sign at the end of which more is to come.
fn whole(bytes: &[u8]) -> usize {
    let length = match std::str::from_utf8(bytes) {
        Err(bad) if bad.error_len().is_none() => bad.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    };
    length - usize::from(bytes[..length].ends_with(b"\r"))
}

/// What was written, and the errors. Agents' transcripts have no errors of their own.
fn streams(transcript: &[u8]) -> (&[u8], &[u8]) {
    let begins = transcript.windows(ERRORS.len()).position(|part| part == ERRORS);
    match begins {
        Some(at) if at == 0 || transcript[at - 1] == b'\n' => {
            (&transcript[..at], &transcript[at + ERRORS.len()..])
        }
        Some(_) | None => (transcript, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sign_is_told_in_part() {
        for (bytes, length) in [(&b"ab"[..], 2), (b"a\xe2\x82", 1), (b"a\xff", 2), (b"a\r", 1)] {
            assert_eq!(whole(bytes), length, "{bytes:?}");
        }
        // Invalid before, cut at the end: told, and wrong in either case.
        assert_eq!(whole(b"\xffa\xe2\x82"), 4);
    }

    #[test]
    fn errors_are_told_from_what_was_written() {
        for (all, out, err) in [
            ("a\nb\n", "a\nb\n", ""),
            ("a\n[standard error]\nx\n", "a\n", "x\n"),
            ("[standard error]\nx\n", "", "x\n"),
            ("say [standard error]\nb", "say [standard error]\nb", ""),
        ] {
            assert_eq!(streams(all.as_bytes()), (out.as_bytes(), err.as_bytes()), "{all}");
        }
    }
}
