//! The page that holds the figures: the table, how each was taken, and how cost grows.

pub fn page(table: &str) -> String {
    format!(
        "# Performance\n\nMade by `cargo run --release -p homing-bench -- --write`; numbers are of one run on one\n\
         machine, which did other work meanwhile. Read the ratios: each is of two things measured in that run.\n\n\
         | what | target | figure | met |\n|---|---|---|---|\n{table}\n\
         How each was taken:\n\n\
         - **One event**: `step` alone, without engine, commit and encoding. Every task in turn, in a random\n  \
         order, round after round, after one round that is not counted. Time is what the thread computed, not\n  \
         the clock on the wall; the least of three takes. *Activity* is the ordinary\n  \
         observation: it stays in memory. A *journaled* event is a tool call that begins or ends: a line\n  \
         is written and the task is judged.\n\
         - **Durable decisions**: journaled events through the engine, in groups of 64, one thread decides\n  \
         and one commits. The bare committer writes the same rows with nobody deciding; the raw limit appends\n  \
         the same bytes to a file and syncs it.\n\
         - **Restart and memory**: a fresh process opens a store with 100,000 running tasks; three times, by\n  \
         the clock on the wall; the quickest counts, and what it computed is told beside it. It serves when the\n  \
         first input could be taken: rows read and verified, indexes built, every watch and look derived. Then\n  \
         it takes 100,000 events, and its resident memory is read from `/proc/self/status`. The file was in\n  \
         the page cache. Hosts and watchers are not part of it: their sessions cost what the host's driver\n  \
         holds for them.\n\n\
         How cost grows: a decision touches one task and the few indexes it stands in, each a hash or a\n\
         tree look-up; nothing walks all tasks. What grows with the number of tasks is memory, and with it\n\
         the cache misses of a look-up. A group's cost is one sync, shared by every decision in it.\n\n\
         CLI, launch and delivery figures follow with the parts that they measure.\n"
    )
}
