//! `[opencode]`: the server that its sessions run on.

use homing_hosts::opencode::Settings;

/// As the file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opencode {
    pub url: String,
    pub password_env: String,
    pub command: Vec<String>,
    pub env: Vec<String>,
    pub pane: Vec<String>,
}

impl Default for Opencode {
    fn default() -> Self {
        Self {
            url: String::new(),
            password_env: "OPENCODE_SERVER_PASSWORD".to_owned(),
            command: Vec::new(),
            env: Vec::new(),
            pane: Vec::new(),
        }
    }
}

impl Opencode {
    /// As the host takes it, with the password that the daemon has.
    pub fn settings(&self) -> Settings {
        Settings {
            url: (!self.url.is_empty()).then(|| self.url.clone()),
            password: std::env::var(&self.password_env).ok().filter(|value| !value.is_empty()),
            command: self.command.clone(),
            env: self.env.clone(),
            pane: self.pane.clone(),
            plugin: None,
        }
    }
}
