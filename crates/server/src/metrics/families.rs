//! Every family that is printed, in order, with what it means. `docs/observing.md` has the same table, and a test says so.

use super::text::{Family, Kind};

macro_rules! families {
    ($($name:ident: $kind:ident $full:literal [$($label:literal),*] $help:literal;)+) => {
        $(pub(crate) const $name: Family =
            Family { name: $full, kind: Kind::$kind, labels: &[$($label),*], help: $help };)+

        #[cfg(test)]
        pub(crate) const ALL: &[Family] = &[$($name),+];
    };
}

families! {
    BUILD: Gauge "homing_build_info" ["version"] "The version that runs; always 1.";
    STARTED: Gauge "process_start_time_seconds" [] "When the daemon began, in seconds since the epoch.";
    RESIDENT: Gauge "process_resident_memory_bytes" [] "Resident memory of the daemon alone.";
    FILES: Gauge "process_open_fds" [] "Open files of the daemon alone.";
    TASKS: Gauge "homing_tasks" ["state"] "Living tasks by state, as committed.";
    ENDED: Counter "homing_tasks_ended_total" ["state", "cause"] "Generations that ended, by how and why.";
    ATTEMPTS: Counter "homing_next_attempts_total" [] "Attempts that were opened after a task's first.";
    LAUNCHES: Counter "homing_launches_total" ["result"] "Launches: accepted, existing (their key was known) or refused.";
    REFUSED: Counter "homing_launches_refused_total" ["code"] "Launches that were refused, by code.";
    HELD: Gauge "homing_slots_held" ["key"] "Slots that are held, by key; keys that no setting names are one: other.";
    LIMIT: Gauge "homing_slots_limit" ["key"] "Slots that a key has; of other: that each of them has; 0: no limit.";
    LENT: Gauge "homing_slots_lent" ["key"] "Slots that are lent by tasks that wait for their own descendants.";
    QUEUE: Gauge "homing_queue_length" ["key"] "Tasks that wait for a slot, by key.";
    ASKS: Gauge "homing_asks_open" [] "Asks that wait for somebody.";
    NOTICES: Gauge "homing_notices" ["state"] "Notices without their receipt, by what they have reached.";
    DEBRIEFS: Gauge "homing_debriefs" ["state"] "Debriefs that are not over; resting: kept until somebody acknowledges or redrives them.";
    POSTS: Gauge "homing_posts" ["state"] "Posts that are not over; resting: their room would not take them.";
    DEBRIEF_STEPS: Counter "homing_debriefs_total" ["step"] "What became of debriefs, as the journal tells it.";
    POST_STEPS: Counter "homing_posts_total" ["step"] "What became of posts, as the journal tells it.";
    DEBRIEF_SENDS: Counter "homing_debrief_sends_total" ["result"] "Sends of debriefs to parents that are pushed to, by what they came to.";
    POST_SENDS: Counter "homing_post_sends_total" ["result"] "Sends of posts to rooms, by what they came to.";
    DECISIONS: Counter "homing_decisions_total" [] "Inputs that were decided; deadlines apart.";
    COMMITS: Counter "homing_commits_total" ["result"] "Groups that were committed, or failed.";
    COMMIT_SECONDS: Histogram "homing_commit_duration_seconds" [] "How long a commit took the store.";
    GROUP: Histogram "homing_commit_lines" [] "Journal lines of a group that was committed.";
    REBUILDS: Counter "homing_rebuilds_total" [] "How often memory was read anew because a commit failed.";
    HEAD: Gauge "homing_journal_head" [] "Number of the last durable line of the journal.";
    EFFECTS: Counter "homing_effects_total" ["kind"] "Effects that were begun, by kind.";
    IN_FLIGHT: Gauge "homing_effects_in_flight" ["kind"] "Effects that are being performed, by kind.";
    REQUESTS: Counter "homing_http_requests_total" ["route", "method", "status"] "Requests by the pattern of their route; none: nothing is served there.";
    REQUEST_SECONDS: Histogram "homing_http_request_duration_seconds" ["route", "method"] "From a request's head to the beginning of its answer.";
    READERS: Gauge "homing_stream_readers" [] "Readers of server-sent events that are connected.";
    DROPPED: Counter "homing_stream_readers_dropped_total" [] "Readers that were let go of, because they took nothing for too long.";
}
