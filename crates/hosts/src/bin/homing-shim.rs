//! The shim alone, for the tests of this crate; what people run has it inside.

use std::process::ExitCode;

use homing_shim::run_dir::RunDir;

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: homing-shim DIRECTORY");
        return ExitCode::from(2);
    };
    match homing_shim::supervise(&RunDir::at(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("homing-shim: {why}");
            ExitCode::FAILURE
        }
    }
}
