//! The examples for builders, as they are in `examples/http`: run to their ends against a real daemon on a fixed port.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

use homing_testkit::npm::{CONFORMANCE, Programs};

use crate::home::Home;

/// A port for a daemon that goes and comes back: free, and not one that the kernel gives to whoever asks for any.
fn port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 5_000).unwrap();
    static NEXT: AtomicU16 = AtomicU16::new(0);
    (0..2_000)
        .map(|_| first + NEXT.fetch_add(1, Ordering::Relaxed))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/http").join(name)
}

fn runs(mut program: Command, name: &str) {
    let path = example(name);
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines < 60, "{name} has {lines} lines");
    let home = Home::at(port());
    let url = format!("http://{}", home.address());
    let binary = Path::new(env!("CARGO_BIN_EXE_homing")).parent().unwrap().display();
    let known = program.get_envs().find(|(key, _)| *key == "PATH").and_then(|(_, path)| path);
    let known = known
        .map_or_else(|| std::env::var("PATH").unwrap(), |path| path.to_str().unwrap().to_owned());
    home.around(&mut program);
    program.env("PATH", format!("{binary}:{known}")).env("HOMING_URL", url);
    let said = program.env("HOMING_TOKEN", home.token()).arg(path).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{out}{err}");
    assert!(out.contains("acknowledged bg_") && out.contains("done by "), "{out}{err}");
    let tasks = home.json(["ls", "--all", "--json"]);
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(tasks[0]["delivery"]["state"], "settled", "{tasks}");
}

#[test]
fn n12_n13_the_example_in_python_launches_survives_a_restart_and_acknowledges() {
    runs(Command::new("python3"), "errand.py");
}

#[test]
fn n12_n13_the_example_in_typescript_launches_survives_a_restart_and_acknowledges() {
    runs(Programs::of(CONFORMANCE).unwrap().command("node"), "errand.ts");
}
