//! How a person looks into a session: OpenCode's own terminal, on the server that runs it.

use std::process::Command;

use super::OpenCode;
use super::server::PASSWORD;

impl OpenCode {
    /// The command that shows a session; nothing is started here but that.
    pub async fn attach(&self, session: &str) -> Result<Command, String> {
        let server = self.servers.running().await.ok_or("OpenCode's server does not run")?;
        let known = self.known(&server, session).await.map_err(|why| format!("OpenCode: {why}"))?;
        let mut words = self.servers.command();
        let mut command = Command::new(words.next().unwrap_or("opencode"));
        command.args(words).arg("attach").arg(format!("http://{}", server.door.address));
        command.args(["--session", session, "--dir", &known.directory]);
        if let Some(password) = &server.password {
            // Not in its arguments, which anybody can read.
            command.env(PASSWORD, password);
        }
        Ok(command)
    }
}
