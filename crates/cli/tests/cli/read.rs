//! `ls`, `show`, `events` and `doctor` on what runs left behind.

use std::os::unix::fs::PermissionsExt;

use crate::scene::Scene;

/// What differs from run to run, as letters.
pub fn steady(text: &str, id: &str) -> String {
    let mut out = String::new();
    for line in text.replace(id, "ID").lines() {
        let words = line.split_inclusive(' ').map(|word| {
            let bare = word.trim_end();
            let number = bare.strip_prefix('+').unwrap_or(bare);
            let time = bare.ends_with('Z') && bare.contains('T') && bare.len() == 20;
            let session = bare.len() > 10 && bare.split('.').count() == 3;
            let after = bare.starts_with('+') && number.ends_with('s');
            match (time, session, after) {
                (true, ..) => word.replace(bare, "TIME"),
                (_, true, _) => word.replace(bare, "SESSION"),
                (_, _, true) => word.replace(bare, "+T"),
                (false, false, false) => word.to_owned(),
            }
        });
        let line: String = words.collect();
        let parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
        out.push_str(&parts.collect::<Vec<_>>().join("  "));
        out.push('\n');
    }
    out
}

#[test]
fn ls_lists_what_lives_and_with_all_what_has_ended() {
    let scene = Scene::new();
    let said = scene.homing(["ls"]);
    assert_eq!((said.code, said.text()), (Some(0), ""));
    assert!(said.err.contains("nothing was ever kept in"), "{}", said.err);
    assert!(!scene.home.exists(), "reading makes nothing");
    let id = scene.run([], ["false"]).id();
    let said = scene.homing(["ls"]);
    assert_eq!(
        (said.text(), said.err.as_str()),
        ("", "no tasks; homing ls --all also lists what has ended\n")
    );
    let said = scene.homing(["ls", "--all"]);
    assert_eq!(steady(said.text(), &id), "ID  STATE  SINCE  NAME\nID  failed  TIME  false\n");
    assert_eq!(scene.homing(["ls", "--json"]).json(), serde_json::json!([]));
    assert_eq!(scene.homing(["ls", "--all", "--json"]).json()[0]["id"], id.as_str());
}

#[test]
fn show_tells_one_task_found_by_id_beginning_or_name() {
    let scene = Scene::new();
    let id = scene.run(["--name", "half done"], ["sh", "-c", "echo half; exit 4"]).id();
    let said = scene.homing(["show", &id]);
    assert_eq!(
        steady(said.text(), &id),
        "task  ID\nname  half done\nstate  failed (exited)\n\
         reason  exit (other): the process ended with exit code 4\n\
         evidence  the process ended with exit code 4\nas of  TIME\nhost  process\n\
         session  SESSION\nparent  inbox:cli\nattempt  1 of generation 1\ncreated  TIME\n\
         started  TIME\nended  TIME\nerror  exit: the process ended with exit code 4\n\
         delivery  settled\nresult  5 bytes\n| half\n"
    );
    for text in [&id[..9], "half done"] {
        let again = scene.homing(["show", text]);
        assert_eq!(steady(again.text(), &id), steady(said.text(), &id), "{text}");
    }
    assert_eq!(scene.homing(["show", &id, "--json"]).json()["result"]["text"], "half\n");
}

#[test]
fn n17_what_is_not_there_is_exit_code_3_with_what_to_use() {
    let scene = Scene::new();
    let said = scene.homing(["show", "bg_000000000000"]);
    assert_eq!(said.code, Some(3));
    let said = scene.run(["--json"], ["true"]);
    let session = said.json()["session"]["id"].as_str().unwrap().to_owned();
    for (text, says) in [
        ("bg_000000000000", "never accepted here, or past its retention"),
        ("nobody", "no name of a task"),
        (session.as_str(), "is a session, not a task: use its task, bg_"),
    ] {
        for verb in ["show", "why"] {
            let said = scene.homing([verb, text]);
            assert_eq!(said.code, Some(3), "{text}: {}", said.err);
            assert!(
                said.err.contains(says) && said.err.contains("try: homing ls --all"),
                "{}",
                said.err
            );
        }
    }
}

#[test]
fn events_are_json_lines_without_gaps_and_go_on_at_a_cursor() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["events"]).text(), "");
    scene.run([], ["true"]);
    let said = scene.homing(["events"]);
    let lines: Vec<serde_json::Value> =
        said.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!((&lines[0]["kind"], &lines[0]["task_seq"]), (&"accepted".into(), &1.into()));
    assert_eq!(lines[0]["body"]["record"], "accepted");
    let rest = scene.homing(["events", "--after", "3"]);
    let skipped: Vec<&str> = said.text().lines().skip(3).collect();
    assert_eq!(rest.text().lines().collect::<Vec<_>>(), skipped);
    assert_eq!(scene.homing(["events", "--after", "100000"]).text(), "");
}

#[test]
fn doctor_finds_all_well_and_says_what_is_not() {
    let scene = Scene::new();
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(0));
    assert!(said.text().contains("none yet"), "{}", said.text());
    scene.run([], ["true"]);
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(0));
    assert!(said.text().contains(" 0 damaged\nall is well\n"), "{}", said.text());
    std::fs::set_permissions(&scene.home, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.text().contains("755: others can look into it; try: chmod 700"),
        "{}",
        said.text()
    );
    let said = scene.homing(["doctor", "--json"]);
    assert_eq!((said.code, &said.json()["well"]), (Some(1), &false.into()));
    let not: Vec<serde_json::Value> = said.json()["checks"].as_array().unwrap().clone();
    let not: Vec<&serde_json::Value> = not.iter().filter(|check| check["well"] == false).collect();
    assert_eq!((not.len(), &not[0]["what"]), (1, &"mode".into()), "{not:?}");
}

#[test]
fn doctor_needs_no_daemon_and_starts_none() {
    let scene = Scene::new();
    scene.run([], ["true"]);
    let said = scene.homing(["doctor"]);
    assert!(said.text().contains(env!("CARGO_PKG_VERSION")), "{}", said.text());
    assert!(said.text().contains("\nsocket    /"), "{}", said.text());
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.text().contains("daemon    none runs; any verb starts one"), "{}", said.text());
    assert_eq!(scene.homing(["daemon", "status"]).code, Some(6));
    std::fs::write(scene.home.join("homing.toml"), "[limits]\ndept = 1\n").unwrap();
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(1));
    assert!(said.text().contains("did you mean \"depth\"?"), "{}", said.text());
}

#[test]
fn r6_doctor_and_reads_refuse_a_damaged_ledger_in_words() {
    let scene = Scene::new();
    scene.run([], ["true"]);
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let ledger = scene.home.join("ledger.db");
    let mut bytes = std::fs::read(&ledger).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&ledger, &bytes).unwrap();
    for verb in ["doctor", "ls", "events"] {
        let said = scene.homing([verb]);
        assert_eq!((said.code, said.text()), (Some(6), ""), "{verb}: {}", said.err);
        assert!(said.err.contains("is damaged"), "{}", said.err);
    }
}
