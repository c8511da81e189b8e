//! What a command finds in its environment: what is listed, and nothing else.

use std::ffi::{OsStr, OsString};

use homing_core::fact::{ErrorClass, HostError};
use homing_ports::door::Vars;
use homing_ports::host::Opening;

use super::mark;

/// Variables that a command may have from the one who runs homing; `LC_*` besides.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TERM"];
/// Of these, what it has even when a caller's own were kept: the user is the same.
const OWN: [&str; 2] = ["HOME", "PATH"];

/// `kept` are the values that the caller gave for this task.
pub(super) fn of(
    opening: &Opening,
    home: Option<&OsStr>,
    kept: Option<Vars>,
) -> Result<Vec<(OsString, OsString)>, HostError> {
    let missing = |name: &&String| kept.as_ref().is_none_or(|kept| !kept.contains_key(*name));
    let missing: Vec<&str> =
        opening.wanted.order.env.iter().filter(missing).map(String::as_str).collect();
    if !missing.is_empty() {
        let why = format!(
            "the values of {} are not kept: they are removed when a task ends; launch it anew",
            missing.join(", ")
        );
        return Err(HostError::new(ErrorClass::Other, "env", &why));
    }
    let mut all = base(std::env::vars_os(), kept);
    let mut give = |name: &str, value: OsString| {
        all.retain(|(known, _)| known != name);
        all.push((name.into(), value));
    };
    give("HOMING_TASK", opening.task.to_string().into());
    give("HOMING_ATTEMPT", opening.attempt.to_string().into());
    let mark = mark(opening.task, opening.attempt);
    if let Some((name, value)) = mark.split_once('=') {
        give(name, value.into());
    }
    if let Some(model) = &opening.wanted.model {
        give("HOMING_MODEL", model.to_string().into());
    }
    if let Some(home) = home {
        give("HOMING_HOME", home.to_owned());
    }
    Ok(all)
}

/// The caller's values go over those of the one who runs homing, whose locale is not mixed in.
fn base(
    own: impl Iterator<Item = (OsString, OsString)>,
    kept: Option<Vars>,
) -> Vec<(OsString, OsString)> {
    let Some(kept) = kept else {
        return passed_on(own).collect();
    };
    let mut all: Vec<_> = own
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            OWN.contains(&&*name) && !kept.contains_key(&*name)
        })
        .collect();
    all.extend(kept.into_iter().map(|(name, value)| (name.into(), value.into())));
    all
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

    fn vars(names: &[&str]) -> std::vec::IntoIter<(OsString, OsString)> {
        let pair = |name: &&str| (OsString::from(name), OsString::from("x"));
        names.iter().map(pair).collect::<Vec<_>>().into_iter()
    }

    fn names(all: Vec<(OsString, OsString)>) -> Vec<OsString> {
        all.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn only_listed_variables_are_passed_on() {
        let all =
            ["PATH", "HOMING_TOKEN", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "LANGUAGE", "HOME", "TERM"];
        assert_eq!(names(base(vars(&all), None)), ["PATH", "LC_ALL", "HOME", "TERM"]);
    }

    #[test]
    fn a_callers_path_and_locale_take_the_place_of_our_own() {
        let kept = Vars::from([("PATH".into(), "/c".into()), ("LANG".into(), "de".into())]);
        let all = base(vars(&["PATH", "LC_ALL", "HOME", "TERM", "SECRET"]), Some(kept));
        assert_eq!(names(all.clone()), ["HOME", "LANG", "PATH"]);
        assert!(all.contains(&("PATH".into(), "/c".into())));
        assert_eq!(names(base(vars(&["PATH"]), Some(Vars::new()))), ["PATH"]);
    }
}
