//! What the caller's environment says: who it is, which values it names, and where it stands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use homing_core::ids::TaskId;
use homing_core::refs::ParentRef;

use crate::expected::Expected;

/// The parent that `HOMING_PARENT` names. Inside a task it is not asked: there the daemon knows the caller.
pub fn named_parent() -> Result<Option<ParentRef>, Expected> {
    if set("HOMING_TASK").is_some() {
        return Ok(None);
    }
    let Some(text) = set("HOMING_PARENT") else {
        return Ok(None);
    };
    let parent = text.parse().map(Some);
    parent.map_err(|why| Expected::Usage {
        what: format!("HOMING_PARENT: {why}"),
        hint: "a parent that is one, or leave HOMING_PARENT out",
    })
}

/// Who reads here: the task around this process, the named parent, or the inbox of the command line.
pub fn parent() -> Result<ParentRef, Expected> {
    if let Some(task) = task() {
        return Ok(ParentRef::Task(task));
    }
    Ok(named_parent()?.unwrap_or(ParentRef::Inbox { name: "cli".into(), key: None }))
}

/// The task around this process.
pub fn task() -> Option<TaskId> {
    set("HOMING_TASK").and_then(|task| task.parse().ok())
}

/// The values of the variables that were named.
pub fn named(names: &[String]) -> Result<BTreeMap<String, String>, Expected> {
    let value = |name: &String| match std::env::var(name) {
        Ok(value) => Ok((name.clone(), value)),
        Err(why) => Err(Expected::Usage {
            what: format!("--env: {name}: {why}"),
            hint: "a variable that is set, with a value of plain text",
        }),
    };
    names.iter().map(value).collect()
}

/// What every command has from its caller: the path and the locale.
pub fn around() -> BTreeMap<String, String> {
    let wanted = |name: &str| {
        matches!(name, "PATH" | "LANG" | "LANGUAGE" | "TERM" | "TZ") || name.starts_with("LC_")
    };
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).filter(|(name, _)| wanted(name)).collect()
}

/// Where a task is to run: the directory that is given, else this one.
pub fn directory(given: Option<PathBuf>) -> Result<Option<String>, Expected> {
    match given {
        Some(dir) if !dir.is_dir() => {
            let what = format!("--cwd: {} is not a directory", dir.display());
            Err(Expected::Usage { what, hint: "a directory that is there" })
        }
        Some(dir) => Ok(Some(plain("--cwd", std::path::absolute(&dir)?.into_os_string())?)),
        None => Ok(std::env::current_dir().ok().and_then(|here| here.to_str().map(str::to_owned))),
    }
}

/// Only text can be kept.
pub fn plain(what: &str, text: OsString) -> Result<String, Expected> {
    text.into_string().map_err(|text| Expected::Usage {
        what: format!("{what}: {text:?} is not UTF-8, and only such words can be kept"),
        hint: "a small script with a plain name around it",
    })
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
