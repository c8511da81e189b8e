//! A real OpenCode with nothing of the user's: directories of its own, a model on loopback, and a script that starts it so.
//!
//! - `asked`: its server, spoken to plainly. `program`: one that a person started.

mod asked;
mod program;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::npm::{OPENCODE, Programs};

/// What OpenCode would fetch or tell elsewhere.
const OFF: [&str; 6] =
    ["MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "SHARE", "CLAUDE_CODE"];
/// Its plugin package, of its own version: it waits until that is installed, and takes this for it.
const PLUGIN: &str = "1.18.33";

pub use asked::{Asked, until, until_within};
pub use program::{Program, calls, name, sends, words};

/// See the module.
#[derive(Debug, Clone)]
pub struct Place {
    dir: PathBuf,
    program: PathBuf,
}

impl Place {
    /// In this directory; the model is at this address.
    pub fn make(dir: &Path, model: &str) -> Result<Self, String> {
        let program = Programs::of(OPENCODE)?.file("opencode-linux-x64/bin/opencode");
        let place = Self { dir: dir.to_owned(), program };
        place.fill(model).map_err(|why| format!("{}: {why}", dir.display()))?;
        Ok(place)
    }

    fn fill(&self, model: &str) -> io::Result<()> {
        let config = self.config();
        fs::create_dir_all(config.join("node_modules"))?;
        fs::create_dir_all(self.work())?;
        let needs = json!({"dependencies": {"@opencode-ai/plugin": PLUGIN}});
        fs::write(config.join("package.json"), needs.to_string())?;
        let lock = json!({"name": "opencode", "lockfileVersion": 3, "packages": {"": needs}});
        fs::write(config.join("package-lock.json"), lock.to_string())?;
        fs::write(config.join("opencode.json"), settings(model).to_string())?;
        self.mend()
    }

    /// Has it load this plugin besides.
    pub fn add_plugin(&self, file: &Path) -> io::Result<()> {
        let path = self.config().join("opencode.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
        settings["plugin"] = json!([format!("file://{}", file.display())]);
        fs::write(path, settings.to_string())
    }

    /// Where its settings are.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config/opencode")
    }

    /// A directory to work in.
    pub fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// What it is started with.
    pub fn script(&self) -> PathBuf {
        self.dir.join("opencode")
    }

    /// Variables that keep it apart.
    pub fn env(&self) -> Vec<(String, String)> {
        let folder = |name: &str, folder: &str| {
            (name.to_owned(), self.dir.join(folder).display().to_string())
        };
        let mut env = vec![
            folder("HOME", ""),
            folder("XDG_CONFIG_HOME", "config"),
            folder("XDG_DATA_HOME", "data"),
            folder("XDG_CACHE_HOME", "cache"),
            folder("XDG_STATE_HOME", "state"),
        ];
        env.extend(OFF.map(|off| (format!("OPENCODE_DISABLE_{off}"), "1".to_owned())));
        env
    }

    /// The next start fails, and no other.
    pub fn break_once(&self) -> io::Result<()> {
        let good = self.dir.join("good");
        fs::rename(self.script(), &good)?;
        let (good, script) = (quoted(&good), quoted(&self.script()));
        self.write(&format!("#!/bin/sh\nmv {good} {script}\necho broken >&2\nexit 1\n"))
    }

    fn mend(&self) -> io::Result<()> {
        let mut script = "#!/bin/sh\n".to_owned();
        for (name, value) in self.env() {
            script.push_str(&format!("export {name}={}\n", quoted(Path::new(&value))));
        }
        script.push_str(&format!("exec {} \"$@\"\n", quoted(&self.program)));
        self.write(&script)
    }

    fn write(&self, script: &str) -> io::Result<()> {
        // Under another name first: one that is being run cannot be written to.
        let new = self.dir.join("new");
        fs::write(&new, script)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o700))?;
        fs::rename(new, self.script())
    }
}

fn settings(model: &str) -> Value {
    let known = |name: &str| json!({"name": name, "tool_call": true});
    json!({
        "autoupdate": false,
        "share": "disabled",
        "enabled_providers": ["scripted"],
        "model": "scripted/one",
        "small_model": "scripted/one",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{model}/v1"), "apiKey": "dummy"},
            "models": {"one": known("one"), "two": known("two")}
        }},
        "agent": {"reader": {"description": "Reads.", "mode": "all", "model": "scripted/two"}}
    })
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
