-- Who did what: entries that are only ever added, each with the hash of the one before, one chain for each environment.

CREATE TABLE audit (
    environment  TEXT NOT NULL,
    number       BIGINT NOT NULL,        -- 1, 2, 3 … without a gap
    moment       TEXT NOT NULL,
    action       TEXT NOT NULL,          -- a verb, or `apply` for what is about to happen to one component
    author       TEXT NOT NULL,
    origin       TEXT NOT NULL,          -- from where: shell, master, minion ID
    host         TEXT NOT NULL,
    run          TEXT NOT NULL,
    content      TEXT NOT NULL,          -- JSON
    previous     TEXT NOT NULL,          -- the hash of the entry before
    hash         TEXT NOT NULL,
    PRIMARY KEY (environment, number)
);

-- Apart from the entries, so that a cut tail shows; and what writers of one chain wait for each other on.
CREATE TABLE audit_heads (
    environment  TEXT PRIMARY KEY,
    number       BIGINT NOT NULL,
    hash         TEXT NOT NULL
);
