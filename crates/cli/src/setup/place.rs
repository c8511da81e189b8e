//! Where each agent keeps its settings, and how homing is named in them.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::splice::{Spliced, splice};

/// An agent that can be told of homing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Agent {
    Claude,
    Opencode,
    Codex,
    Gemini,
}

const KEY: &str = "homing";

impl Agent {
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Opencode => "OpenCode",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// Its settings for this user; none when nothing says where the user's files are.
    pub fn settings(self) -> Option<PathBuf> {
        let set =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|at| at.is_absolute());
        let home = set("HOME");
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        match self {
            Self::Claude => match set("CLAUDE_CONFIG_DIR") {
                Some(dir) => Some(dir.join(".claude.json")),
                None => below(".claude.json"),
            },
            Self::Opencode => {
                let dir = set("XDG_CONFIG_HOME").or_else(|| below(".config"))?;
                Some(dir.join("opencode/plugin/homing.js"))
            }
            Self::Codex => {
                let dir = set("CODEX_HOME").or_else(|| below(".codex"))?;
                Some(dir.join("config.toml"))
            }
            Self::Gemini => below(".gemini/settings.json"),
        }
    }

    /// The settings with homing in them.
    pub fn with_homing(
        self,
        text: &str,
        program: &Path,
        home: Option<&Path>,
    ) -> Result<Spliced, String> {
        let program = program.to_str().ok_or("the path of homing is not plain text")?;
        let home = home.map(|home| home.to_str().ok_or("the path of the home is not plain text"));
        let mut args: Vec<&str> = Vec::new();
        if let Some(home) = home.transpose()? {
            args.extend(["--home", home]);
        }
        args.push("mcp");
        match self {
            Self::Claude => {
                let entry = json!({"type": "stdio", "command": program, "args": args, "env": {}});
                splice(text, "mcpServers", KEY, &entry.to_string())
            }
            Self::Gemini => {
                let entry = json!({"command": program, "args": args});
                splice(text, "mcpServers", KEY, &entry.to_string())
            }
            Self::Opencode => Err("it has a plugin instead".to_owned()),
            Self::Codex => table(text, program, &args),
        }
    }
}

/// A table at the end of a TOML file.
fn table(text: &str, program: &str, args: &[&str]) -> Result<Spliced, String> {
    let known: toml::Table =
        text.parse().map_err(|why: toml::de::Error| why.message().to_owned())?;
    let servers = known.get("mcp_servers");
    if servers.is_some_and(|servers| !servers.is_table()) {
        return Err("mcp_servers is not a table".to_owned());
    }
    let entry = format!("command = {program:?}\nargs = {args:?}\n");
    if let Some(was) = servers.and_then(|servers| servers.get(KEY)) {
        let ours: toml::Table = entry.parse().map_err(|why: toml::de::Error| why.to_string())?;
        let same = was.as_table() == Some(&ours);
        let was = serde_json::to_string(was).unwrap_or_default();
        return Ok(if same { Spliced::There } else { Spliced::Other { was } });
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let piece = format!("{gap}[mcp_servers.{KEY}]\n{entry}");
    let new = format!("{text}{piece}");
    // Where the servers are one line, a table of their own cannot follow.
    new.parse::<toml::Table>().map_err(|why| why.message().to_owned())?;
    Ok(Spliced::New { piece: text.len()..new.len(), text: new })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_gets_a_table_at_the_end_of_its_file() {
        let program = Path::new("/bin/homing");
        for (text, fine) in [
            ("", true),
            ("model = \"x\"", true),
            ("[mcp_servers.other]\ncommand = \"y\"\n", true),
            ("mcp_servers = { other = { command = \"y\" } }\n", false),
            ("mcp_servers = 1\n", false),
            ("not toml", false),
        ] {
            let done = Agent::Codex.with_homing(text, program, None);
            let Ok(Spliced::New { text: new, piece }) = done else {
                assert!(!fine, "{text}: {done:?}");
                continue;
            };
            assert!(fine && new.starts_with(text) && new[piece].contains("[mcp_servers.homing]"));
            let again = Agent::Codex.with_homing(&new, program, None);
            assert_eq!(again, Ok(Spliced::There), "{new}");
            let other = Agent::Codex.with_homing(&new, Path::new("/other"), None);
            assert!(matches!(other, Ok(Spliced::Other { .. })));
        }
    }
}
