//! What a command finds in its environment: what is listed, and nothing else.

use std::ffi::{OsStr, OsString};

use homing_core::fact::{ErrorClass, HostError};
use homing_ports::host::Opening;

use super::mark;

/// Variables that a command may have from the one who runs homing; `LC_*` besides.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TERM"];

pub(super) fn of(
    opening: &Opening,
    home: Option<&OsStr>,
) -> Result<Vec<(OsString, OsString)>, HostError> {
    if !opening.order.env.is_empty() {
        let names = opening.order.env.join(", ");
        let why = format!("the process host cannot pass variables on yet: {names}");
        return Err(HostError::new(ErrorClass::Other, "env", &why));
    }
    let mut all: Vec<_> = passed_on(std::env::vars_os()).collect();
    let mut give = |name: &str, value: OsString| all.push((name.into(), value));
    give("HOMING_TASK", opening.task.to_string().into());
    give("HOMING_ATTEMPT", opening.attempt.to_string().into());
    let mark = mark(opening.task, opening.attempt);
    if let Some((name, value)) = mark.split_once('=') {
        give(name, value.into());
    }
    if let Some(model) = &opening.model {
        give("HOMING_MODEL", model.to_string().into());
    }
    if let Some(home) = home {
        give("HOMING_HOME", home.to_owned());
    }
    Ok(all)
}

fn passed_on(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(|(name, _)| {
        let name = name.to_string_lossy();
        PASSED_ON.contains(&&*name) || name.starts_with("LC_")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_passed_on() {
        let all =
            ["PATH", "HOMING_TOKEN", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "LANGUAGE", "HOME", "TERM"];
        let all = all.map(|name| (OsString::from(name), OsString::from("x")));
        let names: Vec<OsString> = passed_on(all.into_iter()).map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "LC_ALL", "HOME", "TERM"]);
    }
}
