-- What happened: runs, their steps, and where each component stands after its last good apply.

CREATE TABLE runs (
    id           TEXT PRIMARY KEY,
    environment  TEXT NOT NULL,
    verb         TEXT NOT NULL,
    author       TEXT NOT NULL,
    options      TEXT NOT NULL,          -- JSON
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    started      TEXT NOT NULL,
    ended        TEXT,
    status       TEXT NOT NULL,          -- running, done, failed, cancelled
    exit_code    INTEGER,
    summary      TEXT NOT NULL DEFAULT '',
    notes        TEXT NOT NULL DEFAULT '[]',
    graph        TEXT NOT NULL DEFAULT '{}'  -- JSON: component → what it needs, for reports
);
CREATE INDEX runs_of_environment ON runs (environment, id);

CREATE TABLE steps (
    run          TEXT NOT NULL REFERENCES runs (id),
    component    TEXT NOT NULL,
    position     INTEGER NOT NULL,       -- the order in which steps began
    status       TEXT NOT NULL,
    reason       TEXT NOT NULL DEFAULT '',
    started      TEXT,
    ended        TEXT,
    fingerprint  TEXT NOT NULL DEFAULT '',
    release      TEXT NOT NULL DEFAULT '',
    serial       INTEGER,
    exit_code    INTEGER,                -- of the last terraform process, if one ran
    log          TEXT NOT NULL DEFAULT '',
    details      TEXT NOT NULL DEFAULT '{}',  -- JSON: counts, changes, error
    PRIMARY KEY (run, component)
);

CREATE TABLE releases (
    digest       TEXT PRIMARY KEY,
    content      TEXT NOT NULL,          -- JSON
    first_run    TEXT NOT NULL
);

CREATE TABLE components (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    release      TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,          -- '' after a failed apply: never unchanged until the next good one
    lineage      TEXT NOT NULL,
    serial       INTEGER NOT NULL,
    run          TEXT NOT NULL,          -- the run that applied it last
    born         TEXT NOT NULL,          -- the run that created it; it is in the tags of what it made
    applied      TEXT NOT NULL,
    binary_path  TEXT NOT NULL,          -- `binary: auto` is resolved once and pinned
    PRIMARY KEY (environment, component)
);

CREATE TABLE leases (
    id           TEXT PRIMARY KEY,       -- the lease's id, never its value
    run          TEXT NOT NULL,
    component    TEXT NOT NULL,
    taken        TEXT NOT NULL
);
