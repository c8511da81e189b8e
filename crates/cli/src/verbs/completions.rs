//! `homing completions`: what a shell needs to complete verbs and options.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing completions bash > ~/.local/share/bash-completion/completions/homing
  homing completions zsh > ~/.zfunc/_homing
  homing completions fish > ~/.config/fish/completions/homing.fish";

/// Print completions for a shell
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub fn run(args: Args) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "homing", &mut text);
    out::write(&text)?;
    Ok(0)
}
