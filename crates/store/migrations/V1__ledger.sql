-- Every row carries `sum`, its checksum over the table's name and all other columns.

-- One row: what is committed, counted and added up, so that a missing row is noticed.
CREATE TABLE meta (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    commits INTEGER NOT NULL,
    head    INTEGER NOT NULL,
    floor   INTEGER NOT NULL,
    tallies BLOB    NOT NULL,
    boot    TEXT    NOT NULL,
    tick    INTEGER NOT NULL,
    mono    INTEGER NOT NULL,
    sum     INTEGER NOT NULL
) STRICT;

CREATE TABLE journal (
    seq      INTEGER PRIMARY KEY,
    task     INTEGER,
    task_seq INTEGER,
    outbox   TEXT,
    kind     TEXT    NOT NULL,
    tick     INTEGER NOT NULL,
    wall     INTEGER NOT NULL,
    body     BLOB    NOT NULL,
    sum      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX journal_task ON journal (task, task_seq) WHERE task IS NOT NULL;
CREATE INDEX journal_outbox ON journal (outbox) WHERE outbox IS NOT NULL;

-- What retention took from the journal; ranges that touch are merged.
CREATE TABLE taken (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL,
    sum   INTEGER NOT NULL
) STRICT;

CREATE TABLE task (
    id           INTEGER PRIMARY KEY,
    task_seq     INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    living       INTEGER NOT NULL,
    owed         INTEGER NOT NULL,
    parent       TEXT    NOT NULL,
    root         INTEGER NOT NULL,
    session      TEXT,
    name         TEXT,
    key          BLOB,
    created_wall INTEGER NOT NULL,
    ended_wall   INTEGER,
    body         BLOB    NOT NULL,
    sum          INTEGER NOT NULL
) STRICT;
CREATE INDEX task_created ON task (created_wall);
CREATE INDEX task_living ON task (created_wall, living) WHERE living = 1;
CREATE INDEX task_owed ON task (owed, living) WHERE owed = 1 AND living = 0;
CREATE INDEX task_ended ON task (state, created_wall) WHERE living = 0;
CREATE INDEX task_parent ON task (parent, created_wall);
CREATE INDEX task_kin ON task (root) WHERE root <> id;
CREATE INDEX task_session ON task (session) WHERE session IS NOT NULL;
CREATE INDEX task_name ON task (name) WHERE name IS NOT NULL;
CREATE UNIQUE INDEX task_key ON task (key) WHERE key IS NOT NULL;
CREATE INDEX task_purgeable ON task (ended_wall) WHERE living = 0 AND owed = 0;

-- `id` follows from the key: a second way to a row, should the index over keys be damaged.
CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY,
    key         TEXT    NOT NULL UNIQUE,
    kind        INTEGER NOT NULL,
    parent      TEXT    NOT NULL,
    closed_wall INTEGER,
    body        BLOB    NOT NULL,
    sum         INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_open ON outbox (key) WHERE closed_wall IS NULL;
CREATE INDEX outbox_purgeable ON outbox (closed_wall) WHERE closed_wall IS NOT NULL;

-- `id` follows from the name, likewise; `bytes` is null when they lie in a file named by the digest.
CREATE TABLE blob (
    id     INTEGER PRIMARY KEY,
    name   TEXT    NOT NULL UNIQUE,
    task   INTEGER,
    digest BLOB    NOT NULL,
    length INTEGER NOT NULL,
    bytes  BLOB,
    sum    INTEGER NOT NULL
) STRICT;
CREATE INDEX blob_task ON blob (task) WHERE task IS NOT NULL;
CREATE INDEX blob_filed ON blob (digest) WHERE bytes IS NULL;

PRAGMA user_version = 1;
