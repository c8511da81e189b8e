//! The figures at `/metrics`: in the format, true, and free of what callers and children write.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::wire::{Launch, Words};
use homing_core::words::State;
use homing_runtime::{DebriefId, Launch as Asked, Receipt};

use crate::scene::{Open, Scene, ask, next, problem, soon};
use crate::tcp::{bearer, listen};

/// Series with their values, by name and labels as they stand there.
type Series = BTreeMap<String, f64>;

/// A page, read as strictly as the format allows.
fn parsed(text: &str) -> Series {
    let mut series = Series::new();
    let mut seen = BTreeSet::new();
    let mut family: Option<(String, String)> = None;
    let mut help: Option<String> = None;
    assert!(text.ends_with('\n'), "the last line ends");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').unwrap();
            assert!(!words.is_empty() && help.is_none(), "{line}");
            assert!(seen.insert(name.to_owned()), "{name} twice");
            help = Some(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(help.take().as_deref(), Some(name), "its help stands before: {line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = Some((name.to_owned(), kind.to_owned()));
        } else {
            let (name, kind) = family.as_ref().expect("a value after its type");
            let (full, value) = line.rsplit_once(' ').unwrap();
            sampled(full, name, kind);
            assert!(series.insert(full.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    spread(&series);
    series
}

/// One series: its name is its family's, and its labels are whole.
fn sampled(full: &str, family: &str, kind: &str) {
    let (name, labels) = full.split_once('{').map_or((full, None), |(n, l)| (n, Some(l)));
    let own = match name.strip_prefix(family) {
        Some("") => kind != "histogram",
        Some("_bucket" | "_sum" | "_count") => kind == "histogram",
        Some(_) | None => false,
    };
    assert!(own, "{full} in {family}");
    assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{full}");
    let Some(labels) = labels else { return };
    let mut rest = labels.strip_suffix('}').unwrap();
    while !rest.is_empty() {
        let (label, value) = rest.split_once("=\"").unwrap();
        assert!(label.bytes().all(|byte| byte.is_ascii_lowercase()), "{full}");
        let end = value.char_indices().scan(false, |escaped, (at, c)| {
            let ends = c == '"' && !*escaped;
            *escaped = c == '\\' && !*escaped;
            Some((at, ends))
        });
        let end = end.filter(|(_, ends)| *ends).map(|(at, _)| at).next().unwrap();
        rest = value[end + 1..].trim_start_matches(',');
    }
}

/// Of every histogram: cumulative, and all of them are the count.
fn spread(series: &Series) {
    let mut by_histogram: BTreeMap<(String, String), Vec<(f64, f64)>> = BTreeMap::new();
    for (full, count) in series.iter().filter(|(full, _)| full.contains("_bucket{")) {
        let (name, labels) = full.split_once("_bucket{").unwrap();
        let (others, bound) = labels.rsplit_once("le=\"").unwrap();
        let bound = bound.trim_end_matches("\"}");
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        let others = others.trim_end_matches(',').to_owned();
        by_histogram.entry((name.to_owned(), others)).or_default().push((bound, *count));
    }
    for ((name, others), mut buckets) in by_histogram {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(buckets.is_sorted_by_key(|(_, count)| *count), "{name}: {buckets:?}");
        let labels = if others.is_empty() { others } else { format!("{{{others}}}") };
        let (bound, all) = *buckets.last().unwrap();
        assert_eq!((bound, all), (f64::INFINITY, series[&format!("{name}_count{labels}")]));
        assert!(series.contains_key(&format!("{name}_sum{labels}")));
    }
}

async fn text(open: &Open) -> String {
    String::from_utf8(soon(open.client.get("/metrics")).await.unwrap()).unwrap()
}

async fn scrape(open: &Open) -> Series {
    parsed(&text(open).await)
}

/// Of all but the requests and the process.
async fn figures(open: &Open) -> Series {
    let own = |name: &String| name.starts_with("homing_http_") || name.starts_with("process_");
    scrape(open).await.into_iter().filter(|(name, _)| !own(name)).collect()
}

fn sum(series: &Series, of: &str) -> f64 {
    series.iter().filter(|(name, _)| name.starts_with(of)).map(|(_, count)| count).sum()
}

/// Answered in its turn: what was decided before is durable then.
async fn in_turn(open: &Open) {
    let nobody = Receipt::Debrief(DebriefId::from_bits(0));
    assert_eq!(soon(open.homing.ack(nobody)).await, Ok(false));
}

/// The same, once nothing is being performed and what was decided is durable and brought nothing about.
async fn at_rest(open: &Open) -> Series {
    let begun = |series: &Series| sum(series, "homing_effects_total");
    let rest = async {
        loop {
            let before = figures(open).await;
            in_turn(open).await;
            in_turn(open).await;
            let now = figures(open).await;
            let busy = [&before, &now].map(|each| sum(each, "homing_effects_in_flight"));
            if busy == [0.0, 0.0] && begun(&before) == begun(&now) {
                return now;
            }
        }
    };
    soon(rest).await
}

#[tokio::test]
async fn the_figures_of_a_known_run_are_true_and_in_the_format() {
    let mut scene = Scene::new();
    scene.limits.default = 1;
    let open = scene.open();
    let fresh = at_rest(&open).await;
    assert_eq!(fresh["homing_tasks{state=\"running\"}"], 0.0);
    assert_eq!(fresh["homing_journal_head"], 0.0);

    let named = Launch { name: Some("hush-hush".to_owned()), ..ask("@gate on\n@say done\n@end") };
    let good = soon(open.client.launch(&named)).await.unwrap().id;
    scene.host.reached(good, "on").await;
    open.until(good, State::Running).await;
    let bad = open.launch("@fail other").await;
    let ended = open.launch("Never begins.").await;
    let now = scrape(&open).await;
    assert_eq!(now["homing_tasks{state=\"running\"}"], 1.0);
    assert_eq!(now["homing_tasks{state=\"queued\"}"], 2.0);
    assert_eq!(now["homing_slots_held{key=\"other\"}"], 1.0);
    assert_eq!(now["homing_slots_limit{key=\"other\"}"], 1.0);
    assert_eq!(now["homing_queue_length{key=\"other\"}"], 2.0);

    soon(open.homing.cancel(ended, None)).await.unwrap();
    scene.host.release(good, "on");
    for id in [good, bad, ended] {
        open.end(id).await;
    }
    assert!(soon(open.homing.launch(Asked::prompt("nowhere", "Count."))).await.is_err());
    let now = at_rest(&open).await;
    assert_eq!(now["homing_launches_total{result=\"accepted\"}"], 3.0);
    assert_eq!(now["homing_launches_total{result=\"refused\"}"], 1.0);
    assert_eq!(now["homing_launches_refused_total{code=\"E_INVALID\"}"], 1.0);
    let told = soon(open.client.telemetry(None, None)).await.unwrap();
    assert_eq!(told.records.len(), 3);
    for end in &told.records {
        let cause = end.cause.unwrap();
        let name =
            format!("homing_tasks_ended_total{{state=\"{}\",cause=\"{cause}\"}}", end.status);
        assert_eq!(now[&name], 1.0, "{name}");
    }
    assert_eq!(sum(&now, "homing_tasks{"), 0.0);
    // Three ends, each told by itself, one at a time, to an inbox that nobody drains.
    assert_eq!(now["homing_debriefs{state=\"sealed\"}"], 1.0);
    assert_eq!(now["homing_notices{state=\"sealed\"}"], 1.0);
    assert_eq!(now["homing_notices{state=\"owed\"}"], 2.0);
    assert_eq!(now["homing_debriefs_total{step=\"sealed\"}"], 1.0);
    assert_eq!(now["homing_slots_held{key=\"other\"}"], 0.0);
    assert_eq!(now["homing_journal_head"], *open.homing.head().borrow() as f64);
    assert_eq!(now["homing_commit_lines_sum"], now["homing_journal_head"]);
    let commits = now["homing_commits_total{result=\"committed\"}"];
    assert_eq!(commits, now["homing_commit_duration_seconds_count"]);
    assert!(commits > 3.0 && now["homing_decisions_total"] >= 5.0);
    assert_eq!(now["homing_effects_total{kind=\"open\"}"], 2.0, "the third never began");
    assert_eq!(now["homing_build_info{version=\"1.2.3\"}"], 1.0);
    open.close().await;
}

#[tokio::test]
async fn what_is_owed_goes_down_with_its_receipt_and_is_there_after_a_restart() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("Count.").await;
    open.end(id).await;
    at_rest(&open).await;
    open.close().await;
    let open = scene.open();
    let now = at_rest(&open).await;
    assert_eq!(now["homing_debriefs{state=\"sealed\"}"], 1.0);
    let mut deliveries = soon(open.client.deliveries("cli")).await.unwrap();
    let key = next(&mut deliveries).await.id.unwrap();
    assert_eq!(scrape(&open).await["homing_stream_readers"], 1.0);
    soon(open.client.ack(&key)).await.unwrap();
    drop(deliveries);
    let now = at_rest(&open).await;
    assert_eq!(now["homing_debriefs{state=\"sealed\"}"], 0.0);
    assert_eq!(now["homing_notices{state=\"sealed\"}"], 0.0);
    assert_eq!(now["homing_debriefs_total{step=\"settled\"}"], 1.0);
    open.close().await;
}

#[tokio::test]
async fn a_scrape_of_an_idle_daemon_changes_the_request_counters_alone() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("Count.").await;
    open.end(id).await;
    let before = at_rest(&open).await;
    let asked = |series: &Series| series["homing_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"}"];
    let first = asked(&scrape(&open).await);
    assert_eq!(asked(&scrape(&open).await), first + 1.0);
    assert_eq!(figures(&open).await, before);
    open.close().await;
}

#[tokio::test]
async fn labels_hold_nothing_that_a_caller_or_a_child_wrote() {
    let scene = Scene::new();
    let open = scene.open();
    let launch = Launch {
        name: Some("hush-name".to_owned()),
        model: Words(vec!["hush/model".to_owned()]),
        parent: Some("inbox:hush-parent".to_owned()),
        ..ask("@say hush-text\n@end")
    };
    let id = soon(open.client.launch(&launch)).await.unwrap().id;
    open.end(id).await;
    for path in ["/hush-path", "/v1/tasks/hush-task", "/v1/asks/hush-ask/x"] {
        assert_eq!(problem(soon(open.client.get(path)).await).status, 404, "{path}");
    }
    let text = text(&open).await;
    let series = parsed(&text);
    assert!(!text.contains("hush") && !text.contains("bg_"), "{text}");
    let of = |route: &str, status: u16| {
        format!(
            "homing_http_requests_total{{route=\"{route}\",method=\"GET\",status=\"{status}\"}}"
        )
    };
    assert_eq!(series[&of("none", 404)], 2.0);
    assert_eq!(series[&of("/v1/tasks/{task}", 404)], 1.0);
    open.close().await;
}

#[tokio::test]
async fn over_tcp_the_figures_need_the_token() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let refused = tcp.get("/metrics", &["Host: localhost"]).await;
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    let answer = tcp.get("/metrics", &["Host: localhost", &bearer()]).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let series = parsed(body);
    let refused = "homing_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"401\"}";
    assert_eq!(series[refused], 1.0);
    tcp.close(open).await;
}
