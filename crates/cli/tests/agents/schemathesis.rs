//! The document of what is served, held against the daemon: requests of every kind that it allows and of many that it does
//! not, on every operation. What comes back is what the document says.
//!
//! What is launched on the way has words of chance as its command: the daemon's `PATH` is an empty folder, and where a
//! command runs is one of the test's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use homing_testkit::pypi::Programs;
use serde_json::Value;

use crate::home::Home;

const PRESETS: &str = "\
[presets.echoing]
host = \"process\"
command = [\"/bin/echo\"]
";

/// Not asked by the suite, each with its own reason in `schemathesis.toml`.
const LEFT_OUT: [&str; 1] = ["POST /v1/stop"];

fn beside(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents").join(name)
}

/// Ends what was launched, however the test does.
struct Ends<'a>(&'a Home);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        drop(self.0.command().args(["daemon", "stop", "--children"]).output());
    }
}

/// Tasks in different states, by what they are called in the settings.
fn tasks(home: &Home) -> BTreeMap<&'static str, String> {
    let launch = |words: &[&str]| {
        let said = home.command().arg("launch").args(words).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim_end().to_owned()
    };
    let all = BTreeMap::from([
        ("@DONE@", launch(&["--", "/bin/true"])),
        ("@FAILED@", launch(&["--", "/bin/sh", "-c", "echo hi; exit 3"])),
        ("@CANCELLED@", launch(&["--", "/bin/sleep", "600"])),
        ("@LIVING@", launch(&["--name", "sleeper", "--", "/bin/sleep", "600"])),
    ]);
    home.homing(["cancel", &all["@CANCELLED@"]]);
    for ended in ["@DONE@", "@FAILED@", "@CANCELLED@"] {
        drop(home.command().args(["wait", &all[ended], "--timeout", "60s"]).output());
    }
    all
}

/// The document as the daemon gives it, in a file: what it is read from is an operation, too.
fn document(home: &Home, address: &str) -> (std::path::PathBuf, BTreeSet<String>) {
    let mut stream = TcpStream::connect(address).unwrap();
    let (token, close) = (home.token(), "Connection: close");
    let head = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n{close}");
    stream.write_all(format!("GET /openapi.json HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let document: Value = serde_json::from_str(body).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_ascii_uppercase()))
    });
    let file = home.dir().join("openapi.json");
    fs::write(&file, body).unwrap();
    (file, operations.collect())
}

fn settings(home: &Home, work: &Path) -> std::path::PathBuf {
    let mut text = fs::read_to_string(beside("schemathesis.toml")).unwrap();
    text = text.replace("@TOKEN@", &home.token()).replace("@WORK@", &work.display().to_string());
    for (name, id) in tasks(home) {
        text = text.replace(name, &id);
    }
    let file = home.dir().join("schemathesis.toml");
    fs::write(&file, text).unwrap();
    file
}

/// How often each operation was answered, by status.
fn answered(report: &Path) -> BTreeMap<String, BTreeMap<u64, u32>> {
    let mut all: BTreeMap<String, BTreeMap<u64, u32>> = BTreeMap::new();
    for line in fs::read_to_string(report).unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let recorder = &event["ScenarioFinished"]["recorder"];
        let Some(label) = recorder["label"].as_str() else {
            continue;
        };
        // A scenario that was left out has none.
        let talks = recorder["interactions"].as_object().into_iter().flatten();
        for status in talks.filter_map(|(_, talk)| talk["response"]["status_code"].as_u64()) {
            *all.entry(label.to_owned()).or_default().entry(status).or_default() += 1;
        }
    }
    all
}

#[test]
fn every_operation_answers_as_the_document_says_whatever_is_asked() {
    let programs = Programs::of("schemathesis", &beside("schemathesis.txt")).unwrap();
    let home = Home::new(PRESETS);
    let _ends = Ends(&home);
    let (work, empty) = (home.dir().join("work"), home.dir().join("empty"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&empty).unwrap();
    let mut start = home.command();
    let started = start.env("PATH", &empty).current_dir(&work).args(["daemon", "start"]).output();
    assert!(started.unwrap().status.success());
    let address = home.address();
    let (document, operations) = document(&home, &address);
    let settings = settings(&home, &work);
    let (whole, events) = (home.dir().join("report.json"), home.dir().join("report.ndjson"));
    let mut suite: Command = programs.command("st");
    suite.arg("--config-file").arg(settings).arg("run").arg(document);
    suite.args(["--checks", "all", "--no-color", "--url", &format!("http://{address}")]);
    suite.arg("--report-json-path").arg(&whole).arg("--report-ndjson-path").arg(&events);
    let said = suite.current_dir(&work).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));

    let report: Value = serde_json::from_slice(&fs::read(whole).unwrap()).unwrap();
    assert_eq!(report["complete"], true, "{text}");
    assert!(report["test_cases"]["generated"].as_u64().unwrap() > 1_000, "{text}");
    let answered = answered(&events);
    for operation in &operations {
        let left_out = LEFT_OUT.contains(&operation.as_str());
        let told = answered.get(operation);
        assert_eq!(told.is_none(), left_out, "{operation}: {told:?}");
        if let Some(told) = told {
            let good = told.iter().any(|(status, count)| (200..300).contains(status) && *count > 0);
            assert!(good || NEVER_DONE.contains(&operation.as_str()), "{operation}: {told:?}");
        }
    }
    // It is still there, and its ledger is whole.
    let doctor = home.command().arg("doctor").output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.contains("daemon    ") && doctor.contains(" 0 damaged"), "{doctor}");
}

/// Refused whatever is asked: these commands take no further words and ask nothing, nobody refused what he was owed, and neither
/// a room is there nor a host whose sessions could be adopted or spoken to. Conversations are tested on a real one.
const NEVER_DONE: [&str; 13] = [
    "GET /v1/conversations/{conversation}",
    "GET /v1/conversations/{conversation}/events",
    "GET /v1/conversations/{conversation}/turns/{turn}",
    "GET /v1/conversations/{conversation}/turns/{turn}/events",
    "POST /v1/adopt",
    "POST /v1/asks/{ask}/answer",
    "POST /v1/conversations",
    "POST /v1/conversations/{conversation}/close",
    "POST /v1/conversations/{conversation}/turns",
    "POST /v1/deliveries/{key}/redrive",
    "POST /v1/tasks/{task}/reroute",
    "POST /v1/tasks/{task}/resume",
    "POST /v1/tasks/{task}/send",
];
