-- Where reality differs from the states: one row for each attribute, and how each component's last check ended.

CREATE TABLE drift_findings (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    address      TEXT NOT NULL,
    attribute    TEXT NOT NULL,          -- '': the resource itself is gone
    before_value TEXT NOT NULL,          -- JSON, as in the state; sensitive ones masked
    after_value  TEXT NOT NULL,          -- JSON, as in reality
    first_seen   TEXT NOT NULL,
    last_seen    TEXT NOT NULL,
    run          TEXT NOT NULL,          -- the last run that saw it
    resolved     TEXT NOT NULL DEFAULT '',
    known_until  TEXT NOT NULL DEFAULT '',   -- acknowledged: no news until then
    known_by     TEXT NOT NULL DEFAULT '',
    known_reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (environment, component, address, attribute)
);

CREATE TABLE drift_checks (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    status       TEXT NOT NULL,          -- clean, drifted, acknowledged, unknown, never applied
    since        TEXT NOT NULL,          -- when it became that
    checked      TEXT NOT NULL,
    run          TEXT NOT NULL,
    PRIMARY KEY (environment, component)
);

-- What each state said when it was last looked at: for backends that only terraform can read, and to tell what changed.
CREATE TABLE state_copies (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    serial       INTEGER NOT NULL,
    lineage      TEXT NOT NULL,
    outputs      TEXT NOT NULL,          -- JSON: name → digest of the value; ordinary values are beside it
    ordinary     TEXT NOT NULL,          -- JSON: name → value, of outputs that are not sensitive
    resources    TEXT NOT NULL,          -- JSON: addresses
    copied       TEXT NOT NULL,
    PRIMARY KEY (environment, component)
);
