-- What waits for a person, and what people said.

CREATE TABLE requests (
    run          TEXT NOT NULL,
    component    TEXT NOT NULL,
    environment  TEXT NOT NULL,
    plan         TEXT NOT NULL,          -- the digest of the plan file that is kept; '' for a preview, which has none
    digest       TEXT NOT NULL,          -- of what the plan means, keyed
    fingerprint  TEXT NOT NULL,          -- what the plan was made of
    serial       BIGINT NOT NULL,        -- of the state that it was made from, and its lineage
    lineage      TEXT NOT NULL,
    details      TEXT NOT NULL,          -- JSON: what was shown of it
    asked        TEXT NOT NULL,
    expires      TEXT NOT NULL,
    reminded     TEXT NOT NULL DEFAULT '',   -- what was last told about its time: expiring, expired
    PRIMARY KEY (run, component)
);

CREATE TABLE decisions (
    run          TEXT NOT NULL,
    component    TEXT NOT NULL,
    digest       TEXT NOT NULL,          -- of the plan that it was about
    author       TEXT NOT NULL,
    origin       TEXT NOT NULL,
    decision     TEXT NOT NULL,          -- approved, rejected
    comment      TEXT NOT NULL,
    moment       TEXT NOT NULL,
    PRIMARY KEY (run, component, digest, author)
);
