//! HTTP on TCP: off until it is asked for, with a token that only its owner can read.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::scene::{LONG, Scene};

fn with(settings: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    scene
}

/// Starts the daemon, and tells where it listens.
fn address(scene: &Scene) -> String {
    let said = scene.homing(["daemon", "start", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let http = said.json()["http"].as_str().unwrap().to_owned();
    http.strip_prefix("http://").unwrap().to_owned()
}

fn token(scene: &Scene) -> String {
    scene.homing(["token"]).text().trim_end().to_owned()
}

fn get(address: &str, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn r7_a_daemon_listens_on_tcp_when_it_is_told_to_and_knows_its_token() {
    let scene = with("[http]\nlisten = \"127.0.0.1:0\"\n");
    let address = address(&scene);
    let first = token(&scene);
    assert!(first.len() > 60 && first.starts_with("homing_"), "{first}");
    let mode = fs::metadata(scene.home.join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(get(&address, "/v1/status", &first).starts_with("HTTP/1.1 200 "));
    assert!(get(&address, "/v1/status", "homing_x").starts_with("HTTP/1.1 401 "));
    let said = scene.homing(["token", "--rotate", "--json"]);
    let second = said.json()["token"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    assert_eq!(token(&scene), second, "it stays until it is changed again");
    assert!(get(&address, "/v1/status", &first).starts_with("HTTP/1.1 401 "), "at once");
    assert!(get(&address, "/v1/status", &second).starts_with("HTTP/1.1 200 "));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let log = fs::read_to_string(scene.home.join("daemon.log")).unwrap();
    assert!(!log.contains(&first) && !log.contains(&second));
}

#[test]
fn r7_without_being_told_it_listens_nowhere() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let status = scene.homing(["daemon", "status", "--json"]).json();
    assert!(status["http"].is_null(), "{status}");
    assert!(!scene.home.join("token").exists());
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
}

#[test]
fn r7_other_machines_reach_it_only_if_somebody_said_so() {
    let scene = with("[http]\nlisten = \"0.0.0.0:0\"\n");
    let said = scene.homing(["daemon", "start"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("other machines") && said.err.contains("beyond_loopback"));
    for (settings, says) in [
        ("[http]\nlisten = \"nonsense\"\n", "no place to listen"),
        ("[http]\nlisten = 7117\n", "http.listen: it is not a text"),
        ("[http]\nlisten = \"127.0.0.1:0\"\norigins = [\"*\"]\n", "no web page's origin"),
        ("[http]\nbeyond_loopback = \"yes\"\n", "neither true nor false"),
        ("[http]\nlisen = \"127.0.0.1:0\"\n", "did you mean \"listen\"?"),
    ] {
        fs::write(scene.home.join("homing.toml"), settings).unwrap();
        let said = scene.homing(["daemon", "start"]);
        assert_eq!(said.code, Some(2), "{settings}: {}", said.err);
        assert!(said.err.contains(says), "{settings}: {}", said.err);
    }
    let settings = "[http]\nlisten = \"0.0.0.0:0\"\nbeyond_loopback = true\n";
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    let port = address(&scene).rsplit_once(':').unwrap().1.to_owned();
    let answer = get(&format!("127.0.0.1:{port}"), "/healthz", "");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
}

#[test]
fn a_port_that_is_taken_is_said_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = taken.local_addr().unwrap();
    let scene = with(&format!("[http]\nlisten = \"{place}\"\n"));
    let said = scene.homing(["daemon", "start"]);
    assert_eq!(said.code, Some(6), "{}", said.err);
    assert!(said.err.contains(&format!("cannot listen at {place}")), "{}", said.err);
    assert!(said.err.contains("another port"), "{}", said.err);
}

/// A token in a child's hands does not make it somebody else: it could answer its own asks.
#[test]
fn r7_a_command_that_calls_over_tcp_acts_as_its_task() {
    let scene = with("[http]\nlisten = \"127.0.0.1:0\"\n");
    let (host, port) = {
        let address = address(&scene);
        let (host, port) = address.split_once(':').unwrap();
        (host.to_owned(), port.to_owned())
    };
    let body = "{\"command\":[\"true\"]}";
    let script = format!(
        "exec 3<>/dev/tcp/{host}/{port}; printf 'POST /v1/tasks HTTP/1.1\\r\\nHost: {host}\\r\\n\
         Authorization: Bearer {}\\r\\nContent-Length: {}\\r\\nConnection: close\\r\\n\\r\\n{body}' >&3; cat <&3",
        token(&scene),
        body.len()
    );
    let said = scene.run(["--name", "above"], ["bash", "-c", &script]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let answer = said.text();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    let below = scene.show(&said.id());
    assert_eq!(below["launched_by"], scene.show("above")["id"]);
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
}
