//! The nursery alone, for the tests of this crate; what people run has it inside.

use std::process::ExitCode;

fn main() -> ExitCode {
    match homing_shim::nursery::nurse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("homing-shim: {why}");
            ExitCode::FAILURE
        }
    }
}
