//! What a model is told to do, by lines in the prompt itself:
//!
//! ```text
//! @say TEXT                 text of the answer
//! @tool NAME JSON           calls a tool, and goes on below once its result is there
//! @loop NAME JSON           calls the same tool again and again, for ever
//! @delay MS                 waits
//! @stall                    says nothing more, and keeps the stream open
//! @cut                      breaks the stream off
//! @no-finish                ends the stream without saying how it ended
//! @length                   ends because it was too long
//! @stop                     says that this was all, also where it calls a tool
//! @filter                   ends because of what it says
//! @think TEXT               thinks, aloud where the API can say so
//! @until FILE CODE [SECONDS] refuses with this status as long as there is no such file
//! @empty                    ends well with nothing said
//! @silent                   says the token by which one who is told something stays silent
//! @status CODE [SECONDS]    refuses with this status; SECONDS: when to try again
//! @overflow [BYTES]         refuses because the prompt is too long; BYTES: if the request has more
//! @for MODEL                what follows is for this model alone, up to the next `@for`; `@for *`: for every one
//! ```
//!
//! A prompt without any such line is answered with `ok`. A model keeps nothing between requests: how far it has come is told by
//! the results of tools that follow the prompt.

use serde_json::Value;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    Say(String),
    Tool { name: String, input: Value },
    Delay(u64),
    Stall,
    Cut,
    NoFinish,
    Length,
    Stop,
    Filter,
    Think(String),
    Empty,
    Status { code: u16, after: Option<u64> },
    Overflow { over: usize },
}

/// What is done in one request.
pub fn acts(prompt: &str, results: usize, model: &str) -> Vec<Act> {
    let mut parts: Vec<Vec<Act>> = vec![Vec::new()];
    let mut heard = true;
    for line in prompt.lines() {
        let line = line.trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "@for" {
            heard = rest == "*" || rest == model;
        }
        if !heard {
            continue;
        }
        let act = match word {
            "@say" => Act::Say(rest.to_owned()),
            "@silent" => Act::Say(token(prompt)),
            "@tool" | "@loop" => tool(rest),
            "@delay" => Act::Delay(rest.parse().unwrap_or(0)),
            "@stall" => Act::Stall,
            "@cut" => Act::Cut,
            "@no-finish" => Act::NoFinish,
            "@length" => Act::Length,
            "@stop" => Act::Stop,
            "@filter" => Act::Filter,
            "@think" => Act::Think(rest.to_owned()),
            "@until" => {
                let (file, status) = rest.split_once(' ').unwrap_or((rest, ""));
                if std::path::Path::new(file).exists() {
                    continue;
                }
                refuses(status)
            }
            "@empty" => Act::Empty,
            "@overflow" => Act::Overflow { over: rest.parse().unwrap_or(0) },
            "@status" => refuses(rest),
            _ => continue,
        };
        if let Some(part) = parts.last_mut() {
            part.push(act);
        }
        if word == "@tool" {
            parts.push(Vec::new());
        }
        if word == "@loop" {
            let last = parts.len() - 1;
            return parts.swap_remove(results.min(last));
        }
    }
    if parts == [Vec::new()] {
        return vec![Act::Say("ok".to_owned())];
    }
    let last = parts.len() - 1;
    parts.swap_remove(results.min(last))
}

/// As it stands in the prompt.
fn token(prompt: &str) -> String {
    let from = prompt.find("[[silent:").map(|at| &prompt[at..]);
    let whole = from.and_then(|from| from.split_inclusive("]]").next());
    whole.unwrap_or_default().to_owned()
}

fn refuses(status: &str) -> Act {
    let mut numbers = status.split(' ');
    let code = numbers.next().and_then(|code| code.parse().ok()).unwrap_or(500);
    Act::Status { code, after: numbers.next().and_then(|after| after.parse().ok()) }
}

fn tool(rest: &str) -> Act {
    let (name, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
    let input = serde_json::from_str(input).unwrap_or_else(|_| Value::Object(Default::default()));
    Act::Tool { name: name.to_owned(), input }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn acts_of(prompt: &str, results: usize) -> Vec<Act> {
        acts(prompt, results, "one")
    }

    #[test]
    fn some_lines_are_for_one_model_alone() {
        let prompt = "@for one\n@status 429\n@for two\n@say two\n@for *\n@say both";
        let say = |text: &str| Act::Say(text.to_owned());
        assert_eq!(acts(prompt, 0, "two"), [say("two"), say("both")]);
        assert_eq!(acts(prompt, 0, "three"), [say("both")]);
        assert_eq!(acts(prompt, 0, "one").len(), 2);
    }

    #[test]
    fn a_script_goes_on_after_each_result() {
        let prompt =
            "For people.\n@say one\n@tool look {\"at\": 1}\n  @say two\n@tool end\n@say three";
        let say = |text: &str| Act::Say(text.to_owned());
        let tool = |name: &str, input| Act::Tool { name: name.to_owned(), input };
        assert_eq!(acts_of(prompt, 0), [say("one"), tool("look", json!({"at": 1}))]);
        assert_eq!(acts_of(prompt, 1), [say("two"), tool("end", json!({}))]);
        assert_eq!(acts_of(prompt, 2), [say("three")]);
        assert_eq!(acts_of(prompt, 9), [say("three")]);
        assert_eq!(acts_of("Hello.", 0), [say("ok")]);
        let silent = "Or answer [[silent:n1]] alone.\n@silent";
        assert_eq!(acts_of(silent, 0), [say("[[silent:n1]]")]);
        let endless = "@loop same {}\n@say never";
        assert_eq!(acts_of(endless, 0), acts_of(endless, 40));
        assert_eq!(acts_of("@status 429 7", 0), [Act::Status { code: 429, after: Some(7) }]);
    }
}
