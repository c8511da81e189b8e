//! Agents are told of homing by one entry in their settings, and it is taken back without a trace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::scene::{Said, Scene, finish};

const AGENTS: [(&str, &str); 4] = [
    ("claude", ".claude.json"),
    ("opencode", ".config/opencode/plugin/homing.js"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
];

fn setup(scene: &Scene, words: &[&str]) -> Said {
    let mut command = scene.command(["setup"].iter().chain(words));
    for name in ["CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "CODEX_HOME"] {
        command.env_remove(name);
    }
    finish(command.env("HOME", scene.path("user")).spawn().unwrap())
}

fn settings(scene: &Scene, path: &str) -> PathBuf {
    let path = scene.path("user").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

#[test]
fn each_agent_is_told_once_and_taking_it_back_leaves_nothing() {
    for (agent, path) in AGENTS {
        let scene = Scene::new();
        let path = settings(&scene, path);
        let said = setup(&scene, &[agent, "--dry-run"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(
            said.text().contains("would be added") && said.text().contains("+ "),
            "{}",
            said.text()
        );
        assert!(!path.exists() && !scene.home.exists(), "a dry run changes nothing");
        assert_eq!(setup(&scene, &[agent]).code, Some(0));
        let text = fs::read_to_string(&path).unwrap();
        let does = if agent == "opencode" { "background_task" } else { "mcp" };
        assert!(text.contains(env!("CARGO_BIN_EXE_homing")) && text.contains(does), "{text}");
        assert!(text.contains(scene.home.to_str().unwrap()), "the home that was named: {text}");
        let again = setup(&scene, &[agent, "--json"]);
        assert_eq!(again.json()["outcome"], "there");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(setup(&scene, &[agent, "--undo", "--json"]).json()["outcome"], "removed");
        assert!(!path.exists(), "{agent}: there was none before");
        assert_eq!(setup(&scene, &[agent, "--undo", "--json"]).json()["outcome"], "absent");
    }
}

/// Odd on purpose: tabs, comments, windows lines, no end of line.
#[test]
fn what_was_there_stays_and_comes_back_byte_for_byte() {
    for (agent, path, before) in [
        (
            "claude",
            ".claude.json",
            "{\r\n\t\"a\" : 1,\r\n\t\"mcpServers\":{ \"x\": {\"command\":\"y\"} }}",
        ),
        ("claude", ".claude.json", "// mine\n{\n    /* keep */ \"theme\": \"x\",\n}"),
        ("codex", ".codex/config.toml", "# mine\nmodel = \"x\"\n[mcp_servers.y]\ncommand = \"z\""),
        ("gemini", ".gemini/settings.json", "{}"),
    ] {
        let scene = Scene::new();
        let path = settings(&scene, path);
        fs::write(&path, before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let said = setup(&scene, &[agent]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let after = fs::read_to_string(&path).unwrap();
        assert_ne!(after, before);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // Others write there, too: all that is theirs stays.
        fs::write(&path, format!("{after}\n")).unwrap();
        assert_eq!(setup(&scene, &[agent, "--undo"]).code, Some(0));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{before}\n"), "{agent}");
        fs::write(&path, before).unwrap();
        assert_eq!(setup(&scene, &[agent]).code, Some(0));
        assert_eq!(setup(&scene, &[agent, "--undo"]).code, Some(0));
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{agent}: byte for byte");
    }
}

#[test]
fn what_is_not_understood_is_refused_and_left_alone() {
    for (agent, path, text, says) in [
        ("claude", ".claude.json", "[1]", "not understood"),
        ("claude", ".claude.json", "{\"mcpServers\": []}", "is not an object"),
        ("claude", ".claude.json", "{\"mcpServers\": {\"homing\": {}}}", "set up otherwise"),
        ("opencode", ".config/opencode/plugin/homing.js", "// mine", "set up otherwise"),
        ("codex", ".codex/config.toml", "a b c", "not understood"),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.homing]\ncommand = \"x\"\n",
            "set up otherwise",
        ),
    ] {
        let scene = Scene::new();
        let path = settings(&scene, path);
        fs::write(&path, text).unwrap();
        let said = setup(&scene, &[agent]);
        assert_eq!(said.code, Some(2), "{text}: {}", said.err);
        assert!(said.err.contains(says) && said.err.contains("try: "), "{}", said.err);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let scene = Scene::new();
    let path = settings(&scene, ".gemini/settings.json");
    assert_eq!(setup(&scene, &["gemini"]).code, Some(0));
    fs::write(&path, "{\"mcpServers\": {\"homing\": {\"mine\": true}}}").unwrap();
    let said = setup(&scene, &["gemini", "--undo"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("not there as we put it"), "{}", said.err);
    assert_eq!(setup(&scene, &["nobody"]).code, Some(2));
    let said = setup(&scene, &["claude", "--replace"]);
    assert!(said.code == Some(2) && said.err.contains("--replace"), "{}", said.err);
    let entry: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["homing"]["mine"], true);
}

#[test]
fn a_plugin_of_another_release_makes_way_and_is_not_what_was_there_before() {
    let scene = Scene::new();
    let path = settings(&scene, ".config/opencode/plugin/homing.js");
    assert_eq!(setup(&scene, &["opencode"]).code, Some(0));
    let first = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{first}// an older one\n")).unwrap();
    assert_eq!(setup(&scene, &["opencode", "--replace", "--json"]).json()["outcome"], "added");
    let second = fs::read_to_string(&path).unwrap();
    assert!(second.contains("\"replace\":true") && !second.contains("an older one"));
    assert_eq!(setup(&scene, &["opencode", "--undo", "--json"]).json()["outcome"], "removed");
    assert!(!path.exists());
}

#[test]
fn doctor_names_the_plugin_and_another_one_with_the_same_tools() {
    let scene = Scene::new();
    let doctor = || {
        let mut command = scene.command(["doctor", "--json"]);
        command.env_remove("XDG_CONFIG_HOME").env("HOME", scene.path("user"));
        finish(command.spawn().unwrap()).json()
    };
    let check = |said: &Value, what: &str| {
        let all = said["checks"].as_array().unwrap();
        all.iter().find(|check| check["what"] == what).cloned().unwrap_or_default()
    };
    assert!(check(&doctor(), "plugin")["says"].as_str().unwrap().contains("homing setup opencode"));
    let path = settings(&scene, ".config/opencode/plugin/homing.js");
    assert_eq!(setup(&scene, &["opencode", "--replace"]).code, Some(0));
    let said = doctor();
    assert_eq!(check(&said, "plugin")["well"], true, "{said}");
    assert!(check(&said, "overlap").is_null(), "{said}");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}// of another release\n")).unwrap();
    let both = settings(&scene, ".config/opencode/opencode.json");
    fs::write(both, "{\"plugin\": [\"oh-my-openagent@4.19.4\"]}").unwrap();
    let said = doctor();
    assert_eq!(check(&said, "plugin")["well"], false, "{said}");
    assert!(check(&said, "overlap")["says"].as_str().unwrap().contains("oh-my-openagent"));
}
