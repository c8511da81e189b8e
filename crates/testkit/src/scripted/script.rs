//! What a scripted session does, as data: made by a builder, or read from directives in a prompt. Never
//! runs by itself.
//!
//! A prompt's lines that begin with `@` are directives, one act or fault each; other lines are for people:
//!
//! ```text
//! @say TEXT                 @tool NAME [INPUT]       @tool-end
//! @gate STEP                @ask permission TEXT     @ask question TEXT | OPTION | OPTION
//! @end [FINISH]             @quiet-end [FINISH]      @idle
//! @fail CLASS [TEXT]        @error-hint CLASS        @wait CLASS [MS]
//! @exit CODE                @signal NUMBER           @silence
//! @die                      @delete                  @vanish
//! @todos COUNT              @spend TOKENS            @odd WORD
//! @busy                     @compact                 @fault FAULT [TIMES]
//! ```
//!
//! A prompt without directives is answered with `done: ` and its own first line.

use std::sync::Arc;

use homing_core::fact::{AskKind, AskSeen, ErrorClass, Exit, Finish, HostError};
use homing_core::spec::Spend;

/// A script is no longer than this.
const ACTS_MAX: usize = 1024;

/// One thing that a session does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Adds to the turn's text.
    Say(Arc<str>),
    /// Calls a tool, which runs until `ToolEnd`.
    Tool {
        name: Arc<str>,
        input: Arc<str>,
    },
    /// The oldest tool that runs ends.
    ToolEnd,
    /// Stands until the test releases this step.
    Gate(Arc<str>),
    /// Stands until somebody answers.
    Ask(AskSeen),
    /// Says it is idle; what the record says is another matter.
    Idle,
    /// The turn's record ends, and it is reported.
    End(Finish),
    /// The turn's record ends, and nobody is told.
    QuietEnd(Finish),
    /// The turn's record ends with an error, and it is reported.
    Fail(HostError),
    /// An error is reported; the turn goes on.
    ErrorHint(HostError),
    /// Waits for the provider, and says so.
    Wait(HostError),
    /// The process of the session ends.
    Exit(Exit),
    /// The program is killed and comes back: the turn stays open for ever, a ghost.
    Die,
    Delete,
    /// The host does not show the session any more.
    Vanish,
    Silence,
    Todos(u32),
    Spend(Spend),
    Odd(Arc<str>),
    Busy,
    Compact,
}

/// What goes wrong with the next calls to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The session is made, the reply is lost.
    OpenLost,
    /// No session can be made.
    OpenFails,
    /// The prompt is taken, the reply is lost.
    PromptLost,
    /// The prompt never arrives, and nobody can tell.
    PromptDropped,
    PromptRefused,
    LookFails,
    /// The messages cannot be read.
    Unreadable,
    AbortRefused,
    AnswerLost,
}

impl Fault {
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::OpenLost, "open-lost"),
        (Self::OpenFails, "open-fails"),
        (Self::PromptLost, "prompt-lost"),
        (Self::PromptDropped, "prompt-dropped"),
        (Self::PromptRefused, "prompt-refused"),
        (Self::LookFails, "look-fails"),
        (Self::Unreadable, "unreadable"),
        (Self::AbortRefused, "abort-refused"),
        (Self::AnswerLost, "answer-lost"),
    ];
}

/// What a session does in one turn, and what goes wrong around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    pub(super) acts: Vec<Act>,
    pub(super) faults: Vec<(Fault, u32)>,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// The turn of a well-behaved agent.
    pub fn answer(text: &str) -> Self {
        Self::new().say(text).end()
    }

    #[must_use]
    pub fn act(mut self, act: Act) -> Self {
        assert!(self.acts.len() < ACTS_MAX, "a script has at most {ACTS_MAX} acts");
        self.acts.push(act);
        self
    }

    #[must_use]
    pub fn fault(mut self, fault: Fault, times: u32) -> Self {
        self.faults.push((fault, times));
        self
    }

    #[must_use]
    pub fn say(self, text: &str) -> Self {
        self.act(Act::Say(text.into()))
    }

    #[must_use]
    pub fn tool(self, name: &str, input: &str) -> Self {
        self.act(Act::Tool { name: name.into(), input: input.into() })
    }

    #[must_use]
    pub fn tool_end(self) -> Self {
        self.act(Act::ToolEnd)
    }

    #[must_use]
    pub fn gate(self, step: &str) -> Self {
        self.act(Act::Gate(step.into()))
    }

    #[must_use]
    pub fn ask(self, kind: AskKind, text: &str) -> Self {
        let key = format!("ask-{}", self.acts.len()).into();
        self.act(Act::Ask(AskSeen { key, kind, text: text.into(), options: Vec::new() }))
    }

    #[must_use]
    pub fn idle(self) -> Self {
        self.act(Act::Idle)
    }

    #[must_use]
    pub fn end(self) -> Self {
        self.act(Act::End(Finish::Stop))
    }

    #[must_use]
    pub fn fail(self, class: ErrorClass) -> Self {
        self.act(Act::Fail(HostError::new(class, class.word(), "scripted")))
    }

    #[must_use]
    pub fn die(self) -> Self {
        self.act(Act::Die)
    }

    #[must_use]
    pub fn silence(self) -> Self {
        self.act(Act::Silence)
    }

    /// Reads the directives of a prompt; the error names the line.
    pub fn read(prompt: &str) -> Result<Self, String> {
        let mut script = Self::new();
        let lines = prompt.lines().map(str::trim).filter_map(|line| line.strip_prefix('@'));
        for line in lines {
            script =
                directive(script, line).ok_or_else(|| format!("@{line} is not a directive"))?;
        }
        if script.acts.is_empty() {
            let first = prompt.lines().find(|line| !line.starts_with('@')).unwrap_or_default();
            script = script.say(&format!("done: {first}")).end();
        }
        Ok(script)
    }
}

fn directive(script: Script, line: &str) -> Option<Script> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let act = match word {
        "say" => Act::Say(rest.into()),
        "tool" => {
            let (name, input) = rest.split_once(' ').unwrap_or((rest, ""));
            Act::Tool { name: name.into(), input: input.into() }
        }
        "tool-end" => Act::ToolEnd,
        "gate" => Act::Gate(rest.into()),
        "ask" => Act::Ask(ask(script.acts.len(), rest)?),
        "idle" => Act::Idle,
        "end" => Act::End(finish(rest)?),
        "quiet-end" => Act::QuietEnd(finish(rest)?),
        "fail" => Act::Fail(error(rest)?),
        "error-hint" => Act::ErrorHint(error(rest)?),
        "wait" => {
            let (class, ms) = rest.split_once(' ').unwrap_or((rest, ""));
            let retry_after_ms = if ms.is_empty() { None } else { Some(ms.parse().ok()?) };
            Act::Wait(HostError { retry_after_ms, ..error(class)? })
        }
        "exit" => Act::Exit(Exit { code: Some(rest.parse().ok()?), signal: None }),
        "signal" => Act::Exit(Exit { code: None, signal: Some(rest.parse().ok()?) }),
        "die" => Act::Die,
        "delete" => Act::Delete,
        "vanish" => Act::Vanish,
        "silence" => Act::Silence,
        "todos" => Act::Todos(rest.parse().ok()?),
        "spend" => Act::Spend(Spend { tokens: rest.parse().ok()?, ..Spend::default() }),
        "odd" => Act::Odd(rest.into()),
        "busy" => Act::Busy,
        "compact" => Act::Compact,
        "fault" => {
            let (name, times) = rest.split_once(' ').unwrap_or((rest, "1"));
            let (fault, _) = Fault::ALL.iter().find(|(_, known)| *known == name)?;
            return Some(script.fault(*fault, times.parse().ok()?));
        }
        _ => return None,
    };
    Some(script.act(act))
}

fn ask(n: usize, rest: &str) -> Option<AskSeen> {
    let (kind, text) = rest.split_once(' ')?;
    let kind = AskKind::ALL.iter().copied().find(|known| known.word() == kind)?;
    let mut parts = text.split('|').map(str::trim);
    let text = parts.next()?.into();
    let options = parts.map(Into::into).collect();
    Some(AskSeen { key: format!("ask-{n}").into(), kind, text, options })
}

fn finish(word: &str) -> Option<Finish> {
    if word.is_empty() {
        return Some(Finish::Stop);
    }
    Finish::ALL.iter().copied().find(|known| known.word() == word)
}

fn error(rest: &str) -> Option<HostError> {
    let (class, text) = rest.split_once(' ').unwrap_or((rest, "scripted"));
    let class = ErrorClass::ALL.iter().copied().find(|known| known.word() == class)?;
    Some(HostError::new(class, class.word(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_read_as_the_builder_would_write_it() {
        let read = Script::read(
            "For people.\n@fault prompt-lost\n@say One\n@gate a\n@tool sh ls -l\n  @tool-end\n@ask question Which? | A | B\n@fail rate_limited\n",
        );
        let ask = AskSeen {
            key: "ask-4".into(),
            kind: AskKind::Question,
            text: "Which?".into(),
            options: vec!["A".into(), "B".into()],
        };
        let built = Script::new()
            .fault(Fault::PromptLost, 1)
            .say("One")
            .gate("a")
            .tool("sh", "ls -l")
            .tool_end()
            .act(Act::Ask(ask))
            .fail(ErrorClass::RateLimited);
        assert_eq!(read, Ok(built));
    }

    #[test]
    fn a_prompt_without_directives_is_answered() {
        assert_eq!(Script::read("Count.\nSlowly."), Ok(Script::answer("done: Count.")));
    }

    #[test]
    fn an_unknown_directive_is_named() {
        for text in ["@sing", "@fail badly", "@end never", "@exit x", "@fault gremlins", "@ask me"]
        {
            assert_eq!(Script::read(text), Err(format!("{text} is not a directive")));
        }
    }
}
