//! The suite of the protocol's own makers against `/mcp`. What applies passes; what does not is listed, with why.

use std::collections::BTreeSet;
use std::fs;

use homing_testkit::npm::{CONFORMANCE, Programs};
use serde_json::Value;

use crate::home::Home;

/// Scenarios that a server with our tools can be asked.
const APPLY: [&str; 10] = [
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "ping",
    "tools-list",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
];

/// What others are about, by how their names begin, and why they are not for us.
const DO_NOT: [(&str, &str); 12] = [
    ("logging-", "no log messages are sent over the protocol"),
    ("completion-", "arguments are not completed"),
    ("tools-call-", "they call tools of the suite's own example server"),
    ("json-schema-", "it looks for a tool of the suite's own example server"),
    (
        "elicitation-",
        "nothing is asked of the person through the client: asks are kept for `homing answer`",
    ),
    ("input-required-", "the same, in the later revision"),
    ("resources-", "there are no resources"),
    ("sep-2164-resource-", "there are no resources"),
    ("sep-2640-skills-", "there are no skills"),
    ("prompts-", "there are no prompts"),
    ("http-custom-header-", "no tool takes arguments from headers"),
    ("tasks-", "no client declares tasks of the protocol yet: plain tools carry everything"),
];

/// Checks inside of what applies that are about what we do not have.
const NOT_HAD: [&str; 2] = ["sep-2549-prompts-", "sep-2549-resources-"];

fn scenarios(programs: &Programs) -> BTreeSet<String> {
    let listed = programs.command("conformance").arg("list").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let servers = text.split("Client scenarios").next().unwrap();
    let named = |line: &str| Some(line.strip_prefix("  - ")?.split(' ').next()?.to_owned());
    servers.lines().filter_map(named).collect()
}

#[test]
fn every_scenario_of_the_suite_applies_or_is_said_not_to() {
    let all = scenarios(&Programs::of(CONFORMANCE).unwrap());
    assert!(all.len() > 50, "{all:?}");
    for scenario in &all {
        let apply = APPLY.contains(&scenario.as_str());
        let not = DO_NOT.iter().any(|(begins, _)| scenario.starts_with(begins));
        assert!(apply != not, "{scenario} is new: does it apply?");
    }
    for scenario in APPLY {
        assert!(all.contains(scenario), "{scenario} is not in the suite any more");
    }
}

#[test]
fn what_applies_passes() {
    let programs = Programs::of(CONFORMANCE).unwrap();
    let home = Home::new("");
    let url = format!("http://{}/mcp", home.door());
    let told = tempfile::tempdir().unwrap();
    for scenario in APPLY {
        let mut suite = programs.command("conformance");
        suite.args(["server", "--url", &url, "--scenario", scenario, "-o"]).arg(told.path());
        let said = suite.output().unwrap();
        let folder = fs::read_dir(told.path()).unwrap().flatten().find(|entry| {
            let name = entry.file_name().into_string().unwrap();
            name.starts_with(&format!("server-{scenario}-20"))
        });
        let folder = folder.unwrap_or_else(|| {
            panic!("{scenario} told nothing: {}", String::from_utf8_lossy(&said.stderr))
        });
        let checks = fs::read(folder.path().join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
        let mut passed = 0;
        for check in &checks {
            let id = check["id"].as_str().unwrap();
            let why = check["errorMessage"].as_str().unwrap_or_default();
            match check["status"].as_str().unwrap() {
                "SUCCESS" => passed += 1,
                // Needs a tool of the suite's own example server.
                "FAILURE" if why.starts_with("Not testable: ") => {}
                "FAILURE" if NOT_HAD.iter().any(|begins| id.starts_with(begins)) => {}
                "INFO" | "SKIPPED" | "WARNING" => {}
                _ => panic!("{scenario}: {id}: {why}"),
            }
        }
        assert!(passed > 0, "{scenario}: {checks:?}");
    }
}
