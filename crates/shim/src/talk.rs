//! What a shim and a daemon say to each other over the run's socket, a line each. A word that one of them
//! does not know is passed over: an older release's shim is spoken to as well.

/// What this release speaks.
pub const VERSION: u32 = 1;

/// From the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The first line.
    Hello { version: u32 },
    /// Frames up to this one are with the child.
    Acked { n: u64 },
    /// Bytes the child wrote so far, to both streams.
    Wrote { total: u64 },
    /// Nothing of it runs, and how it ended is written down.
    Ended,
}

/// From the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// End it, and all that is below it.
    Stop,
    /// There are new frames.
    Input,
}

impl Said {
    pub fn line(self) -> String {
        match self {
            Self::Hello { version } => format!("hello {version}\n"),
            Self::Acked { n } => format!("acked {n}\n"),
            Self::Wrote { total } => format!("wrote {total}\n"),
            Self::Ended => "ended\n".to_owned(),
        }
    }

    pub fn parse(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "ended" => Some(Self::Ended),
            "hello" => Some(Self::Hello { version: rest.parse().ok()? }),
            "acked" => Some(Self::Acked { n: rest.parse().ok()? }),
            "wrote" => Some(Self::Wrote { total: rest.parse().ok()? }),
            _ => None,
        }
    }
}

impl Ask {
    pub fn line(self) -> &'static str {
        match self {
            Self::Stop => "stop\n",
            Self::Input => "input\n",
        }
    }

    pub fn parse(line: &str) -> Option<Self> {
        match line.trim_end() {
            "stop" => Some(Self::Stop),
            "input" => Some(Self::Input),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_what_is_new_is_passed_over() {
        for said in [
            Said::Hello { version: 1 },
            Said::Acked { n: 2 },
            Said::Wrote { total: 3 },
            Said::Ended,
        ] {
            assert_eq!(Said::parse(&said.line()), Some(said));
        }
        for ask in [Ask::Stop, Ask::Input] {
            assert_eq!(Ask::parse(ask.line()), Some(ask));
        }
        assert_eq!((Said::parse("sings 3\n"), Ask::parse("dance\n")), (None, None));
    }
}
