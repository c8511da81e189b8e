//! Prints which scenarios have a test, a line per letter, and fails when one that could be shown has none.

use homing_tidy::{Finding, report, scenarios, workspace};
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            eprint!("\n{}", report(findings));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("scenario-report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<Vec<Finding>> {
    let root = workspace::root();
    let list = workspace::read(&root, scenarios::LIST)?;
    let scenarios = match scenarios::parse(&list) {
        Ok(scenarios) => scenarios,
        Err(findings) => return Ok(findings),
    };
    let files = workspace::rust_files(&root, &workspace::files(&root)?)?;
    let shown = scenarios::shown(&files);
    print!("{}", scenarios::table(&scenarios, &shown));
    Ok(scenarios::check(&scenarios, &shown))
}
