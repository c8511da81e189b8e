//! From a child's end to its result in the parent's transcript, on a real OpenCode with a model on loopback: homing, OpenCode's own
//! background mode, and the plugin that people use for it today. Both moments are OpenCode's own, as its messages say them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use homing_testkit::gate::Gate;
use homing_testkit::model::Model;
use homing_testkit::npm::{OH_MY_OPENAGENT, Programs};
use homing_testkit::opencode::{Place, Program, calls, sends, words};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::daemon::{self, Daemon};
use crate::spread::{self, Spread};
use crate::{Table, peers};

/// How many are sent out in one turn, and how often.
const BATCHES: [(usize, usize); 3] = [(1, 12), (5, 4), (20, 2)];
/// The peer takes its time.
const FEW: [(usize, usize); 3] = [(1, 3), (5, 2), (20, 1)];
/// Longer than any of them takes.
const PATIENCE: Duration = Duration::from_secs(180);
/// Nothing new for so long: nothing comes any more.
const QUIET: Duration = Duration::from_secs(3);

const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// A program that is asked while it brings something home does both more slowly: nobody asks for so long after it may begin.
const HANDS_OFF: Duration = Duration::from_millis(1_500);

/// Who brings results home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Homing,
    /// OpenCode's own background mode.
    Own,
    Peer,
}

/// What the rounds of one batch showed.
#[derive(Debug, Default)]
struct Seen {
    /// Milliseconds from the end of the last to the word about it.
    late: Vec<f64>,
    /// How often a result stands in the transcript; of the peer, how often it speaks.
    copies: BTreeSet<usize>,
    /// Milliseconds until all were sent out.
    launch: Vec<f64>,
    /// How often the word came before the parent's turn could end.
    into_turn: usize,
}

/// An OpenCode of nobody's, with a model.
struct Stage {
    dir: TempDir,
    place: Place,
    // What the model listens in.
    _loop: Runtime,
}

impl Stage {
    fn new() -> Self {
        let loop_ = Runtime::new().unwrap();
        let model = loop_.block_on(Model::start()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let place = Place::make(dir.path(), &model.url()).unwrap();
        Self { dir, place, _loop: loop_ }
    }
}

pub fn measure(table: &mut Table) {
    let (homing, shares, daemon, all) = homing();
    let (own, own_used) = others(Who::Own, &BATCHES);
    let (peer, peer_used) = others(Who::Peer, &FEW);
    for (n, (count, _)) in BATCHES.iter().enumerate() {
        for (busy, manner) in [(0, "idle"), (1, "busy")] {
            let [ours, theirs, peers] = [&homing, &own, &peer].map(|all| &all[n][busy]);
            let late = |seen: &Seen| Spread::of(seen.late.clone());
            let into = |seen: &Seen| match seen.into_turn {
                0 => String::new(),
                n => format!(" ({n} of {} put into that turn)", seen.late.len()),
            };
            let what = format!(
                "OpenCode: end of the last of {count} → its result in the transcript of an {manner} parent"
            );
            let what = what.replace("an busy parent", "a busy parent, from when its turn may end");
            let told = format!(
                "{}{}; OpenCode's own mode: {}{}; oh-my-openagent, a word without the result: {}{}",
                late(ours),
                into(ours),
                late(theirs),
                into(theirs),
                late(peers),
                into(peers)
            );
            // What is put into a person's turn is not what is compared with.
            let compares = busy == 0 || theirs.into_turn == 0;
            let met = compares.then(|| late(ours).p50() <= late(theirs).p50());
            let target = if compares { "not above OpenCode's own mode" } else { "" };
            table.row(&what, target, &told, met);
        }
        let [ours, theirs, peers] = [&homing, &own, &peer].map(|all| &all[n][0]);
        let launched = |seen: &Seen| {
            let copies: Vec<String> = seen.copies.iter().map(usize::to_string).collect();
            let took = Spread::of(seen.launch.clone()).p50();
            format!("{took:.0} ms, told {} times", copies.join(" or "))
        };
        let what = format!("OpenCode: {count} sent out in one turn, and how often that is told");
        let told = format!(
            "{}; OpenCode's own mode: {}; oh-my-openagent: {}",
            launched(ours),
            launched(theirs),
            launched(peers)
        );
        let once = ours.copies.iter().all(|copies| *copies == 1);
        table.row(&what, "once", &told, Some(once));
    }
    let share = Spread::of(shares);
    let met = share.p50() <= 10.0 && share.p99() <= 50.0;
    let what = "OpenCode: homing's own share of that, less the time inside OpenCode";
    table.row(what, "p50 ≤ 10 ms, p99 ≤ 50 ms", &share.to_string(), Some(met));
    table.row("OpenCode: what the daemon used for it", "", &daemon, None);
    let told = format!(
        "with both OpenCodes and the daemon {all}; OpenCode's own mode: {own_used}; oh-my-openagent: {peer_used}"
    );
    table.row(
        "OpenCode: what all processes used for it, models and looking on included",
        "",
        &told,
        None,
    );
}

/// All batches, homing's own part of each way home, and what the daemon and all processes used.
fn homing() -> (Vec<[Seen; 2]>, Vec<f64>, String, Used) {
    let stage = Stage::new();
    let settings = format!(
        "[concurrency]\ndefault = 20\n[opencode]\ncommand = [{:?}]\n\
         [log]\nlevel = \"info,opencode=debug,delivery=debug\"\nformat = \"json\"\n",
        stage.place.script().display().to_string()
    );
    let daemon = Daemon::with(&settings);
    let mut setup = daemon::command(daemon.home());
    setup.env("XDG_CONFIG_HOME", stage.place.config().parent().unwrap());
    peers::done(setup.args(["setup", "opencode"]));
    let program = Program::start(&stage.place, &[("HOMING_HOME", daemon.home())]);
    // Its own server is started then, and has read its settings.
    let warm = program.session();
    program.ask(&warm, &format!("{}@say sent", sends("warm", "@say warm")));
    program.debrief(&warm);
    let dirs = [stage.dir.path(), daemon.home()];
    let (before, all_before) = (daemon.computed().0, Used::by(&dirs));
    let all = rounds(&stage, &program, Who::Homing, &BATCHES);
    let tasks = tasks(&BATCHES);
    let everybody = Used::by(&dirs).since(&all_before, tasks);
    let used = format!(
        "{:.1} ms of processor time a task (with its log at debug), {:.0} MB resident",
        (daemon.computed().0 - before) * 1e3 / tasks as f64,
        daemon.status("VmRSS") as f64 / 1024.0
    );
    let log = std::fs::read_to_string(daemon.home().join("daemon.log")).unwrap();
    (all, shares(&log), used, everybody)
}

/// How many tasks these are, with an idle and with a busy parent.
fn tasks(batches: &[(usize, usize)]) -> usize {
    batches.iter().map(|(count, times)| 2 * count * times).sum()
}

/// What processes used.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    /// Milliseconds of processor time.
    cpu: f64,
    /// Bytes that are resident.
    resident: f64,
}

impl Used {
    /// All that have one of these directories in their environment.
    fn by(dirs: &[&Path]) -> Self {
        let mut sum = Self::default();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
            let environ = String::from_utf8_lossy(&read("environ")).into_owned();
            if !dirs.iter().any(|dir| environ.contains(&*dir.to_string_lossy())) {
                continue;
            }
            // After the name, which may hold anything: from the third field on.
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let fields: Vec<f64> = stat
                .rsplit_once(')')
                .map(|(_, rest)| rest.split(' ').skip(1))
                .into_iter()
                .flatten()
                .map(|field| field.parse().unwrap_or_default())
                .collect();
            let field = |n: usize| fields.get(n - 3).copied().unwrap_or_default();
            let (tick, page) =
                (rustix::param::clock_ticks_per_second(), rustix::param::page_size());
            sum.cpu += (field(14) + field(15)) * 1e3 / tick as f64;
            sum.resident += field(24) * page as f64;
        }
        sum
    }

    /// For each of so many tasks since then; what is resident is all of it.
    fn since(self, before: &Self, tasks: usize) -> Self {
        Self { cpu: (self.cpu - before.cpu) / tasks as f64, ..self }
    }
}

impl std::fmt::Display for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} ms of processor time a task, {:.0} MB", self.cpu, self.resident / 1e6)
    }
}

fn others(who: Who, batches: &[(usize, usize)]) -> (Vec<[Seen; 2]>, Used) {
    let stage = Stage::new();
    if who == Who::Peer {
        let plugin = Programs::of(OH_MY_OPENAGENT).unwrap().file("oh-my-openagent/dist/index.js");
        stage.place.add_plugin(&plugin).unwrap();
    }
    let vars = [("OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS", Path::new("true"))];
    let program = Program::start(&stage.place, if who == Who::Own { &vars } else { &[] });
    let dirs = [stage.dir.path()];
    let before = Used::by(&dirs);
    let all = rounds(&stage, &program, who, batches);
    (all, Used::by(&dirs).since(&before, tasks(batches)))
}

fn rounds(
    stage: &Stage,
    program: &Program,
    who: Who,
    batches: &[(usize, usize)],
) -> Vec<[Seen; 2]> {
    let mut all = Vec::new();
    for (count, times) in batches {
        let mut seen = [Seen::default(), Seen::default()];
        for time in 0..*times {
            let round = Round { program, who, count: *count, name: format!("{count}-{time}") };
            round.take(None, &mut seen[0]);
            let gate = Gate::at(stage.dir.path().join(format!("gate-{count}-{time}"))).unwrap();
            round.take(Some(&gate), &mut seen[1]);
        }
        all.push(seen);
    }
    all
}

/// One turn that sends some out.
struct Round<'a> {
    program: &'a Program,
    who: Who,
    count: usize,
    name: String,
}

impl Round<'_> {
    fn result(&self, n: usize) -> String {
        format!("result-{}-{n}.", self.name)
    }

    fn launch(&self, n: usize, delay: usize) -> String {
        let (name, prompt) =
            (format!("{}-{n}", self.name), format!("@delay {delay}\n@say {}", self.result(n)));
        match self.who {
            Who::Homing => sends(&name, &prompt),
            Who::Own => calls(
                "task",
                &json!({"description": name, "prompt": prompt, "subagent_type": "general", "background": true}),
            ),
            Who::Peer => calls(
                "task",
                &json!({
                    "description": name, "prompt": prompt, "subagent_type": "explore",
                    "run_in_background": true, "load_skills": []
                }),
            ),
        }
    }

    /// A busy parent waits for its gate until all have ended.
    fn take(&self, gate: Option<&Gate>, seen: &mut Seen) {
        let session = self.program.session();
        // All are out, and an idle parent's turn is over, before the first of them ends.
        let delay = 800 + 500 * self.count;
        let launches: String = (0..self.count).map(|n| self.launch(n, delay)).collect();
        let waits = gate.map(Gate::wait);
        let waits = waits.map(|wait| json!({"command": wait, "description": "waits"}));
        let waits = waits.map(|wait| calls("bash", &wait)).unwrap_or_default();
        let began = spread::now();
        let asked = self.program.say(&session, &format!("{launches}{waits}@say sent"));
        let out = || (self.program.outputs(&session).len() >= self.count).then_some(());
        until("all are out", out);
        seen.launch.push(spread::since(began));
        std::thread::sleep(Duration::from_millis(delay as u64) + HANDS_OFF); // sleep: nobody asks meanwhile
        let mut last = until("all ends", || self.ends(&session));
        if let Some(gate) = gate {
            last = last.max(wall_ms());
            gate.open().unwrap();
            std::thread::sleep(HANDS_OFF); // sleep: nobody asks meanwhile
        }
        let told = until("a word", || self.told(&session, &asked, last));
        // Put into the person's turn: before it could end.
        seen.into_turn += usize::from(told < last);
        seen.late.push((told - last).max(0.0));
        self.settle(&session);
        let told = self.words(&session, &asked);
        seen.copies.insert(match self.who {
            Who::Peer => told.len(),
            Who::Homing | Who::Own => {
                let of = |n| {
                    let result = self.result(n);
                    told.iter().filter(|word| words(word).contains(&result)).count()
                };
                (0..self.count).map(of).max().unwrap_or_default()
            }
        });
    }

    /// When the last of all children had said its last word.
    fn ends(&self, session: &str) -> Option<f64> {
        let children = self.program.server.get(&format!("/session/{session}/children"))?;
        let children = children.as_array()?;
        let end = |child: &Value| {
            let last = self.program.messages(child["id"].as_str()?).pop()?;
            (last["info"]["finish"] == "stop")
                .then(|| last["info"]["time"]["completed"].as_f64())?
        };
        let ends: Option<Vec<f64>> = children.iter().map(end).collect();
        let ends = ends.filter(|ends| ends.len() >= self.count)?;
        Some(ends.into_iter().fold(0.0, f64::max))
    }

    /// What stands in the transcript as said by somebody, and is not the person's.
    fn words(&self, session: &str, asked: &str) -> Vec<Value> {
        let mut all = self.program.messages(session);
        all.retain(|one| one["info"]["role"] == "user" && one["info"]["id"] != asked);
        all
    }

    /// When the last result came; of the peer, when it first spoke after that end.
    fn told(&self, session: &str, asked: &str, last: f64) -> Option<f64> {
        let all = self.words(session, asked);
        let at = |word: &Value| word["info"]["time"]["created"].as_f64().unwrap_or_default();
        if self.who == Who::Peer {
            return all.iter().map(at).filter(|at| *at >= last).reduce(f64::min);
        }
        let of = |n| all.iter().find(|word| words(word).contains(&self.result(n))).map(at);
        let times: Option<Vec<f64>> = (0..self.count).map(of).collect();
        Some(times?.into_iter().fold(0.0, f64::max))
    }

    /// Until nothing new comes.
    fn settle(&self, session: &str) {
        let (mut count, mut since) = (0, Instant::now());
        while since.elapsed() < QUIET {
            let now = self.program.messages(session).len();
            if now != count {
                (count, since) = (now, Instant::now());
            }
            std::thread::sleep(BETWEEN_LOOKS); // sleep: between two looks
        }
    }
}

/// As messages have it.
fn wall_ms() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64() * 1e3
}

/// Looks seldom: a program that is asked all the time has none for what is measured, and tells the moments afterwards.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: it does not come");
        std::thread::sleep(BETWEEN_LOOKS); // sleep: between two looks
    }
}

/// Of each way home to an idle parent, the milliseconds from the look that an event led to and that showed the last end, to the
/// prompt, in which nothing was asked of OpenCode.
fn shares(log: &str) -> Vec<f64> {
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let (mut homes, mut brings) = (Vec::new(), false);
    for (at, line) in lines.iter().enumerate() {
        brings |= line["message"] == "session resolved";
        let path = line["path"].as_str().unwrap_or_default();
        if path.contains("/prompt_async") && std::mem::take(&mut brings) {
            homes.push(at);
        }
    }
    // One to warm up, then an idle and a busy parent by turns.
    let rounds: usize = BATCHES.iter().map(|(_, times)| times).sum();
    assert_eq!(homes.len(), 1 + 2 * rounds, "each is brought home by one prompt");
    homes.into_iter().skip(1).step_by(2).filter_map(|at| share(&lines[..=at])).collect()
}

/// The last of these lines is the prompt.
fn share(lines: &[Value]) -> Option<f64> {
    let number = |line: &Value, name: &str| line[name].as_f64().unwrap_or_default();
    let last = |word: &str, most: usize, task: Option<&Value>| {
        let is =
            |line: &Value| line["message"] == word && task.is_none_or(|id| line["task"] == *id);
        lines[..most].iter().rposition(is)
    };
    let ended = last("ended", lines.len(), None)?;
    let looked = last("looks", ended, Some(&lines[ended]["task"]))?;
    let (from, to) = (number(&lines[looked], "at"), number(lines.last()?, "from"));
    let mut asked: Vec<(f64, f64)> = lines
        .iter()
        .filter(|line| line["message"] == "asked")
        .map(|line| (number(line, "from").max(from), number(line, "until").min(to)))
        .filter(|(begun, ended)| begun < ended)
        .collect();
    asked.sort_by(|one, two| one.0.total_cmp(&two.0));
    let (mut inside, mut reached) = (0.0, from);
    for (begun, ended) in asked {
        inside += (ended - begun.max(reached)).max(0.0);
        reached = reached.max(ended);
    }
    Some((to - from - inside) / 1e3)
}
