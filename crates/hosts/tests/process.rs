//! The process host on real commands: what it reports, and what is left when it is done.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use homing_core::fact::{Exit, Fact, Fence, Presence, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::spec::Order;
use homing_core::words::Tri;
use homing_hosts::process::ProcessHost;
use homing_hosts::system::processes::ended;
use homing_ports::host::{Flight, Host, Opening, Place, Reports, Wanted};
use homing_shim::claim;
use homing_shim::processes::{Process, below, parent_of};
use homing_shim::spec::Spec;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::sync::mpsc;

const FENCE: Fence = Fence { attempt: 1, turn: 1 };

struct Bench {
    host: ProcessHost,
    directory: TempDir,
}

struct Mail(mpsc::UnboundedSender<Fact>);

impl Reports for Mail {
    fn report(&self, _: TaskId, _: Fence, fact: Fact) -> Flight<'_, ()> {
        drop(self.0.send(fact));
        Box::pin(std::future::ready(()))
    }
}

/// Each test has a task of its own, as the mark of a command names it.
fn task() -> TaskId {
    static NEXT: AtomicU64 = AtomicU64::new(7_000);
    thread_local! {
        static OWN: TaskId = TaskId::from_bits(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    OWN.with(|own| *own)
}

fn new_host(directory: &Path) -> ProcessHost {
    let nursery = vec![env!("CARGO_BIN_EXE_homing-shim").into()];
    ProcessHost::new(directory.join("runs"), nursery)
        .unwrap()
        .with_grace(Duration::from_millis(200))
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { host: new_host(directory.path()), directory }
    }

    /// The same host after its process died.
    fn restarted(&self) -> ProcessHost {
        new_host(self.directory.path())
    }

    fn opening(&self, script: &str) -> Opening {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let cwd = Some(self.directory.path().to_str().unwrap().to_owned());
        Opening {
            task: task(),
            attempt: 1,
            wanted: Wanted {
                model: Some("acme/large".parse().unwrap()),
                order: Order { command, cwd, ..Order::default() },
                ..Wanted::default()
            },
            prompt: Vec::new(),
        }
    }

    async fn start(&self, script: &str) -> Place {
        place(&self.host.open(self.opening(script)).await)
    }

    /// Starts it and waits for its end.
    async fn run(&self, script: &str) -> Fact {
        let place = self.start(script).await;
        last(&mut watch(&self.host, &place)).await
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// A pipe by name: the shell that writes to it and the test that reads meet there.
    fn meeting(&self, name: &str) -> std::path::PathBuf {
        let path = self.file(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

fn place(facts: &[Fact]) -> Place {
    let [Fact::SessionMade { session }, Fact::PromptTaken] = facts else {
        panic!("{facts:?}");
    };
    Place { task: task(), fence: FENCE, session: Some(Arc::clone(session)) }
}

/// Long enough for a machine that does other work, too.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.unwrap()
}

fn shim_of(place: &Place) -> Process {
    Process::parse(place.session.as_deref().unwrap()).unwrap()
}

fn watch(host: &ProcessHost, place: &Place) -> mpsc::UnboundedReceiver<Fact> {
    let (to, from) = mpsc::unbounded_channel();
    host.watch(place.clone(), Arc::new(Mail(to)));
    from
}

async fn last(mail: &mut mpsc::UnboundedReceiver<Fact>) -> Fact {
    loop {
        let fact = mail.recv().await.unwrap();
        if !matches!(fact, Fact::Active | Fact::Looked { .. }) {
            return fact;
        }
    }
}

fn exited(fact: Fact) -> (Exit, String) {
    let Fact::Exited { exit, text } = fact else {
        panic!("{fact:?}");
    };
    let text = text.map(|text| text.bytes.to_vec()).unwrap_or_default();
    (exit, String::from_utf8(text).unwrap())
}

fn code(code: i32) -> Exit {
    Exit { code: Some(code), signal: None }
}

#[tokio::test]
async fn a_command_that_ends_well_brings_its_output() {
    let bench = Bench::new();
    assert_eq!(exited(bench.run("echo out; echo err >&2").await), (code(0), "out\n".to_owned()));
}

#[tokio::test]
async fn a_command_that_says_nothing_ends_without_text() {
    let bench = Bench::new();
    let expected = Fact::Exited { exit: code(0), text: None };
    assert_eq!(bench.run("true").await, expected);
}

#[tokio::test]
async fn a_command_that_fails_brings_its_errors_too() {
    let bench = Bench::new();
    let text = "out\n[standard error]\nerr\n".to_owned();
    assert_eq!(exited(bench.run("echo out; echo err >&2; exit 3").await), (code(3), text));
}

#[tokio::test]
async fn a_command_ended_by_a_signal_says_which() {
    let bench = Bench::new();
    let (exit, _) = exited(bench.run("kill -9 $$").await);
    assert_eq!(exit, Exit { code: None, signal: Some(9) });
}

#[tokio::test]
async fn a_command_that_is_not_there_is_not_started() {
    let bench = Bench::new();
    let mut opening = bench.opening("");
    opening.wanted.order.command = vec!["no-such-program".to_owned()];
    let facts = bench.host.open(opening.clone()).await;
    let [Fact::StartFailed { error }] = &*facts else {
        panic!("{facts:?}");
    };
    assert!(error.message.contains("no-such-program"), "{error:?}");
    opening.wanted.order.command.clear();
    assert!(matches!(&*bench.host.open(opening).await, [Fact::StartFailed { .. }]));
}

#[tokio::test]
async fn a_working_directory_that_is_not_there_is_named() {
    let bench = Bench::new();
    let mut opening = bench.opening("true");
    opening.wanted.order.cwd = Some("/no/such/place".to_owned());
    let facts = bench.host.open(opening).await;
    let [Fact::StartFailed { error }] = &*facts else {
        panic!("{facts:?}");
    };
    assert!(error.message.contains("/no/such/place"), "{error:?}");
}

#[tokio::test]
async fn r8_the_environment_holds_what_is_listed_and_its_task() {
    let bench = Bench::new();
    let (_, text) = exited(bench.run("env").await);
    let names = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    // The shell itself sets the last two.
    let fine = [
        "PATH",
        "HOME",
        "LANG",
        "TERM",
        "HOMING_TASK",
        "HOMING_ATTEMPT",
        "HOMING_RUN",
        "HOMING_MODEL",
        "PWD",
        "_",
        "SHLVL",
        "OLDPWD",
    ];
    for name in names {
        assert!(fine.contains(&name) || name.starts_with("LC_"), "{name}");
    }
    assert!(text.contains(&format!("HOMING_TASK={}\n", task())), "{text}");
    assert!(text.contains("HOMING_MODEL=acme/large\n"), "{text}");
}

#[tokio::test]
async fn r5_endless_output_is_bounded_and_never_blocks() {
    let bench = Bench::new();
    let script = "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last";
    let Fact::Exited { exit, text: Some(text) } = bench.run(script).await else {
        panic!("it did not exit");
    };
    assert_eq!(exit, code(0));
    assert!(text.bytes.len() <= 1 << 20, "{}", text.bytes.len());
    assert!(text.bytes.starts_with(b"first\n") && text.bytes.ends_with(b"x\nlast\n"));
    assert_eq!(text.text.full_bytes, Some(20_000_012));
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_with_it() {
    let bench = Bench::new();
    let (exit, text) = exited(bench.run("sleep 1000 & echo $!").await);
    assert_eq!(exit, code(0));
    let left = Path::new("/proc").join(text.trim()).join("stat");
    let runs = std::fs::read_to_string(left).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(!runs, "{text}");
}

#[tokio::test]
async fn l12_the_same_attempt_opened_again_is_the_same_command() {
    let bench = Bench::new();
    let opening = bench.opening("echo run >> ran; read x < never");
    bench.meeting("never");
    let first = place(&bench.host.open(opening.clone()).await);
    assert_eq!(place(&bench.host.open(opening.clone()).await), first);
    assert_eq!(place(&bench.restarted().open(opening).await), first);
    assert_eq!(bench.host.abort(first).await, Fact::Stopped);
    assert!(std::fs::read_to_string(bench.file("ran")).unwrap_or_default().lines().count() <= 1);
}

#[tokio::test]
async fn a_command_that_runs_looks_open_and_one_that_ended_shows_its_exit() {
    let bench = Bench::new();
    bench.meeting("go");
    let place = bench.start("read x < go; echo $x").await;
    let Fact::Looked { picture } = bench.host.look(place.clone()).await else {
        panic!("it is not open");
    };
    assert_eq!((picture.turn, picture.busy), (TurnRecord::Open, Tri::Yes));
    assert_eq!((picture.session, picture.same_host), (Presence::Present, Tri::Yes));
    let mut mail = watch(&bench.host, &place);
    std::fs::write(bench.file("go"), "on\n").unwrap();
    let end = last(&mut mail).await;
    assert_eq!(exited(end.clone()), (code(0), "on\n".to_owned()));
    bench.host.unwatch(task(), 1);
    assert_eq!(bench.host.look(place.clone()).await, end);
    assert_eq!(bench.host.transcript(place).await.unwrap(), b"on\n");
}

#[tokio::test]
async fn b6_an_abort_ends_the_whole_group_even_when_it_ignores_the_first_signal() {
    let bench = Bench::new();
    let up = bench.meeting("up");
    let place = bench
        .start("trap '' TERM; (echo up > up; sleep 1000; sleep 1000) & wait; sleep 1000")
        .await;
    assert_eq!(std::fs::read_to_string(up).unwrap(), "up\n");
    let shim = shim_of(&place);
    assert!(!below(&[shim.pid]).unwrap().is_empty());
    let mut mail = watch(&bench.host, &place);
    assert_eq!(bench.host.abort(place.clone()).await, Fact::Stopped);
    assert!(!shim.runs().unwrap());
    assert_eq!(exited(last(&mut mail).await).0, Exit { code: None, signal: Some(9) });
    assert_eq!(bench.host.abort(place).await, Fact::Stopped);
}

#[tokio::test]
async fn a_nursery_that_was_killed_takes_no_command_with_it_and_is_made_anew() {
    let bench = Bench::new();
    let go = bench.meeting("go");
    let place = bench.start("read word < go; echo $word").await;
    let mut mail = watch(&bench.host, &place);
    let nursery = parent_of(shim_of(&place).pid).unwrap().unwrap();
    Process::of(nursery).unwrap().signal(Signal::KILL).unwrap();
    let next = Opening { attempt: 2, ..bench.opening("echo up > up") };
    let up = bench.meeting("up");
    let facts = bench.host.open(next).await;
    assert!(matches!(&*facts, [Fact::SessionMade { .. }, Fact::PromptTaken]), "{facts:?}");
    assert_eq!(std::fs::read_to_string(up).unwrap(), "up\n");
    std::fs::write(go, "on\n").unwrap();
    assert_eq!(exited(last(&mut mail).await), (code(0), "on\n".to_owned()));
}

#[tokio::test]
async fn a_nursery_ends_with_the_last_one_who_may_ask_it() {
    let bench = Bench::new();
    let go = bench.meeting("go");
    let place = bench.start("read word < go").await;
    let shim = shim_of(&place);
    let nursery = Process::of(parent_of(shim.pid).unwrap().unwrap()).unwrap();
    let Bench { host, directory: _directory } = bench;
    let other = host.clone();
    drop(host);
    assert!(nursery.runs().unwrap());
    drop(other);
    soon(ended(&nursery)).await.unwrap();
    assert!(shim.runs().unwrap(), "its shims go on");
    std::fs::write(go, "on\n").unwrap();
    soon(ended(&shim)).await.unwrap();
}

#[tokio::test]
async fn l6_an_attempt_that_was_aborted_first_is_never_started() {
    let bench = Bench::new();
    let unopened = Place { task: task(), fence: FENCE, session: None };
    assert_eq!(bench.host.abort(unopened).await, Fact::Stopped);
    let facts = bench.host.open(bench.opening("echo run > ran")).await;
    assert!(matches!(&*facts, [Fact::StartFailed { .. }]), "{facts:?}");
    assert!(!bench.file("ran").exists());
}

#[tokio::test]
async fn r8_an_attempt_that_never_began_leaves_no_values_behind() {
    let bench = Bench::new();
    let run = bench.host.run(task(), 1);
    run.make().unwrap();
    // As one that died between writing it and starting the shim left it.
    let env = vec![("TOKEN".into(), "secret".into())];
    let (spool, grace) = (1 << 20, Duration::ZERO);
    let command = vec!["true".into()];
    Spec { command, env, cwd: None, reads: false, spool, grace }.write(&run).unwrap();
    let unopened = Place { task: task(), fence: FENCE, session: None };
    assert_eq!(bench.host.abort(unopened).await, Fact::Stopped);
    for entry in std::fs::read_dir(run.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"secret"));
    }
}

#[tokio::test]
async fn r1_a_command_goes_on_without_the_process_that_started_it_and_its_end_is_known() {
    let bench = Bench::new();
    bench.meeting("go");
    let place = bench.start("echo before; read x < go; echo $x; exit 3").await;
    let later = bench.restarted();
    let Fact::Looked { picture } = later.look(place.clone()).await else {
        panic!("it is not open");
    };
    assert_eq!((picture.turn, picture.same_host), (TurnRecord::Open, Tri::Yes));
    let mut mail = watch(&later, &place);
    assert!(matches!(mail.recv().await.unwrap(), Fact::Looked { .. }));
    std::fs::write(bench.file("go"), "after\n").unwrap();
    let end = (code(3), "before\nafter\n".to_owned());
    assert_eq!(exited(last(&mut mail).await), end);
    assert_eq!(exited(bench.restarted().look(place.clone()).await), end);
    assert_eq!(self::place(&later.open(bench.opening("echo again >> ran")).await), place);
    assert!(!bench.file("ran").exists());
    assert_eq!(later.abort(place).await, Fact::Stopped);
}

#[tokio::test]
async fn r1_what_a_killed_shim_supervised_is_ended_and_was_interrupted() {
    let bench = Bench::new();
    let up = bench.meeting("up");
    let place = bench.start("(env -i sleep 1000 & echo $! > up) ; sleep 1000").await;
    let orphan: i32 = std::fs::read_to_string(up).unwrap().trim().parse().unwrap();
    let orphan = Process::of(orphan).unwrap();
    let mut mail = watch(&bench.host, &place);
    let shim = shim_of(&place);
    let child = below(&[shim.pid]).unwrap();
    assert!(child.len() >= 2, "{child:?}");
    shim.signal(rustix::process::Signal::KILL).unwrap();
    let end = last(&mut mail).await;
    assert!(matches!(end, Fact::Interrupted { .. }), "{end:?}");
    for process in child.iter().chain([&orphan]) {
        assert!(!process.runs().unwrap(), "{process} is left");
    }
    let facts = bench.restarted().open(bench.opening("echo again > ran")).await;
    assert!(matches!(&*facts, [Fact::Interrupted { .. }]), "{facts:?}");
    assert!(!bench.file("ran").exists());
    assert_eq!(bench.host.abort(place).await, Fact::Stopped);
}

#[tokio::test]
async fn what_goes_into_the_background_for_good_is_ended_too() {
    let bench = Bench::new();
    let script = "setsid sh -c 'setsid sleep 1000 & echo $!' </dev/null & wait";
    let (exit, text) = exited(bench.run(script).await);
    assert_eq!(exit, code(0));
    let left = Process::of(text.trim().parse().unwrap());
    assert!(left.is_err() || !left.unwrap().runs().unwrap());
}

#[tokio::test]
async fn a_prompt_comes_on_standard_input_and_then_its_end() {
    let bench = Bench::new();
    let prompt = vec![b'x'; 300_000];
    let opening = Opening { prompt, ..bench.opening("wc -c; cat") };
    let place = place(&bench.host.open(opening).await);
    let end = last(&mut watch(&bench.host, &place)).await;
    assert_eq!(exited(end), (code(0), "300000\n".to_owned()));
}

#[tokio::test]
async fn a_shim_whose_socket_is_gone_is_gone_around() {
    let bench = Bench::new();
    let place = bench.start("sleep 1000").await;
    std::fs::remove_file(bench.host.run(task(), 1).file("ctl")).unwrap();
    assert_eq!(bench.host.abort(place.clone()).await, Fact::Stopped);
    assert!(!shim_of(&place).runs().unwrap());
}

#[tokio::test]
async fn a_run_whose_directory_is_gone_is_ended_by_its_session() {
    let bench = Bench::new();
    let place = bench.start("sleep 1000").await;
    std::fs::remove_dir_all(bench.host.run(task(), 1).path()).unwrap();
    assert!(matches!(bench.host.look(place.clone()).await, Fact::Looked { .. }));
    assert_eq!(bench.host.abort(place.clone()).await, Fact::Stopped);
    assert!(!shim_of(&place).runs().unwrap());
    assert!(matches!(bench.host.look(place).await, Fact::Interrupted { .. }));
}

#[tokio::test]
async fn an_earlier_processs_command_is_found_by_its_mark_and_ended() {
    let bench = Bench::new();
    let place = bench.start("sleep 1000").await;
    let unnamed = Place { session: None, ..place };
    assert_eq!(bench.restarted().abort(unnamed.clone()).await, Fact::Stopped);
    assert!(matches!(last(&mut watch(&bench.host, &unnamed)).await, Fact::Exited { .. }));
}

#[tokio::test]
async fn r1_a_claim_that_nobody_holds_is_never_started_again() {
    let bench = Bench::new();
    let run = bench.host.run(task(), 1);
    run.make().unwrap();
    let dead = Process { start: 1, ..Process::own().unwrap() };
    drop(claim::take(&run, &dead).unwrap());
    let facts = bench.host.open(bench.opening("echo run > ran")).await;
    assert!(matches!(&*facts, [Fact::Interrupted { .. }]), "{facts:?}");
    assert!(!bench.file("ran").exists());
    let unnamed = Place { task: task(), fence: FENCE, session: None };
    assert_eq!(bench.host.abort(unnamed).await, Fact::Stopped);
}

#[tokio::test]
async fn r4_a_recycled_number_is_not_taken_for_the_command() {
    let bench = Bench::new();
    let running = bench.start("sleep 1000").await;
    let session = running.session.clone().unwrap();
    let [pid, start, boot] = session.split('.').collect::<Vec<_>>()[..] else {
        panic!("{session}");
    };
    let before = format!("{pid}.{}.{boot}", start.parse::<u64>().unwrap() - 1);
    let another = Place { task: TaskId::from_bits(8), fence: FENCE, session: Some(before.into()) };
    let looked = bench.host.look(another.clone()).await;
    assert!(matches!(looked, Fact::Interrupted { .. }), "{looked:?}");
    assert_eq!(bench.host.abort(another).await, Fact::Stopped);
    assert!(shim_of(&running).runs().unwrap());
    assert_eq!(bench.host.abort(running).await, Fact::Stopped);
}
