//! The page that holds the figures: the table, how each was taken, and how cost grows.

/// All of docs/performance.md.
pub fn page(table: &str) -> String {
    format!("{HEAD}{table}\n{TAKEN}\n{GROWS}")
}

/// The rows of a page, with those that were just measured in the place of the same ones.
pub fn renewed(page: &str, table: &str) -> String {
    let what = |row: &str| row.split('|').nth(1).map(str::trim).unwrap_or_default().to_owned();
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut rows: Vec<&str> = rows.collect();
    for new in table.lines() {
        match rows.iter_mut().find(|row| what(row) == what(new)) {
            Some(row) => *row = new,
            None => rows.push(new),
        }
    }
    rows.into_iter().flat_map(|row| [row, "\n"]).collect()
}

const HEAD: &str = "\
# Performance

Made by `cargo run --release -p homing-bench -- --write`, or of a part by its name behind that; each row is of one run on one
machine, which did other work meanwhile; rows may be of different commits. Read the ratios: each is of two things measured in that run.

| what | target | figure | met |
|---|---|---|---|
";

const TAKEN: &str = "\
How each was taken:

- **One event**: `step` alone, without engine, commit and encoding. Every task in turn, in a random
  order, round after round, after one round that is not counted. Time is what the thread computed, not
  the clock on the wall; the least of 21 takes, at few and many tasks by turns. *Activity* is the ordinary
  observation: it stays in memory. A *journaled* event is a tool call that begins or ends: a line
  is written and the task is judged.
- **Durable decisions**: journaled events through the engine, in groups of 64, one thread decides
  and one commits. The bare committer writes the same rows with nobody deciding; the raw limit appends
  the same bytes to a file and syncs it.
- **Restart and memory**: a fresh process opens a store with 100,000 running tasks; three times, by
  the clock on the wall; the quickest counts, and what it computed is told beside it. It serves when the
  first input could be taken: rows read and verified, indexes built, every watch and look derived. Then
  it takes 100,000 events, and its resident memory is read from `/proc/self/status`. The file was in
  the page cache. Hosts and watchers are not part of it: their sessions cost what the host's driver
  holds for them.
- **1,000 × `true`**: a daemon with a fresh home, as people run it. *By a program*: the client library,
  one launch after the other over one connection, each durable when its id comes back; the clock stops
  when the last end was told to one who follows them. The quickest of three takes counts. *By the command
  line*: `homing launch -- true`, `pueue add -- true` and `tsp true`, a thousand processes one after the
  other, each program with eight slots; then `pueue wait`, and `tsp -w` on the last eight. pueue keeps its
  state in a file without syncing it, task-spooler keeps none. The bench fetches both into its cache.
- **Launch to start, end to told**: the child is a program that writes CLOCK_MONOTONIC when its `main`
  begins and just before it ends, and whoever launched it reads the same clock: before it asks for the
  launch, and when the result is there. So the first includes request, commit, shim, and the child's own
  start as a small program; the second includes the child's exit, its reaping, the exit
  record, the decision, its commit, and the answer. 200 commands, one at a time, three takes; the take with
  the least p99 counts. *Under load*: four others launch and wait for `true` without a pause meanwhile, on
  the same two cores.
- **`homing ls`**: 200 calls, from the start of the process to its end, as a parent sees it.
- **Watchers**: a thousand connections of one program, which follow `/v1/events`. How late each of them
  saw a launch counts from before that launch was asked for, so commit and answer are in it. The commands
  run a second are of 300 × `true`, before and while all of them watch; the program that reads for a thousand
  shares the cores with the daemon and takes most of them. So what the watchers cost the core is told apart: the
  processor time of the two threads that decide and commit, a command, 100 of them one after the other.
- **OpenCode**: the real one, one after the other: homing with its plugin, OpenCode's own background mode
  (`OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS`), and the plugin oh-my-openagent, each on data of its own, with a model on
  loopback that answers at once. A turn sends 1, 5 or 20 out. Both moments are OpenCode's own, in whole milliseconds: the last
  child's `time.completed`, and `time.created` of the message that holds the last result; of the peer, which tells that something
  is done and not what, of its first word after that end. A *busy* parent waits in a tool until all have ended; then the
  clock begins when the tool is let go, so the rest of that turn is in it. What comes before that was put into the
  person's turn, and is said so. *Told* counts how often one result stands in the transcript; of the peer, how often it
  speaks. *homing's own share* is of ways home to an idle parent, from the look that showed the last end to the prompt that
  brings the debrief, less all time in which OpenCode was asked for something, by the daemon's log at debug. OpenCode's own
  mode runs children in the parent's process and writes the message there; homing's run in a server of their own, so that they
  outlive the terminal, and their end is heard, looked up and brought over by requests.
- **Idle**: resident memory as `/proc/PID/status` says; processor time and context switches of all
  threads over 20 s, after threads without work have ended. A test holds the same against every change:
  `crates/cli/tests/cli/idle.rs`.
";

const GROWS: &str = "\
How cost grows: a decision touches one task and the few indexes it stands in, each a hash or a
tree look-up; nothing walks all tasks. What grows with the number of tasks is memory, and with it
the cache misses of a look-up. A group's cost is one sync, shared by every decision in it.

A command costs two processes, its shim and itself. A shim is a copy of a small process and loads no program. It
looks at other processes only if the command left some behind, or is stopped. A run is a directory with a few small
files, none of them synced, none deleted while it runs. Where many files were just deleted, ext4 looks long for a
place for new ones: the bench deletes its homes when it has all figures.

Whoever waits for deliveries is woken by each group that is written, and asks once; nobody is woken by a group that
writes nothing.

A request costs one look at who calls a connection, by the processes above it; the next ones over the same
connection cost none. A reader at the end of the journal costs one write a page: lines are read and written out
once for all of them, and after each page gathered for 5 ms, or 45 for a thousand readers. One who is behind reads
the ledger by itself, at its own pace.

A daemon without work sleeps: no thread has a tick. A task that has ended and is not acknowledged can wake it
once more, when the time its start had is up.
";
