//! Prints, for every example of the workspace, the arguments that make `cargo run` run it.

use homing_tidy::{cargo, workspace};
use std::process::ExitCode;

fn main() -> ExitCode {
    match cargo::packages(&workspace::root()) {
        Ok(packages) => {
            for arguments in cargo::example_arguments(&packages) {
                println!("{arguments}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("list-examples: {error}");
            ExitCode::FAILURE
        }
    }
}
