-- Who works on what, for people and for those who come later. What keeps others out is not in here: see holding.py.

CREATE TABLE locks (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    number       BIGINT NOT NULL,        -- grows by one with every holder: a write that names an older one is refused
    run          TEXT NOT NULL,          -- '' when nobody holds it
    author       TEXT NOT NULL,
    host         TEXT NOT NULL,
    process      INTEGER NOT NULL,
    since        TEXT NOT NULL,
    heartbeat    TEXT NOT NULL,
    PRIMARY KEY (environment, component)
);

CREATE TABLE lock_queue (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    ticket       BIGINT NOT NULL,
    run          TEXT NOT NULL,
    author       TEXT NOT NULL,
    host         TEXT NOT NULL,
    since        TEXT NOT NULL,
    PRIMARY KEY (environment, component, ticket)
);

-- How often it was begun or resumed: what an earlier turn of it still wants to write is refused.
ALTER TABLE runs ADD COLUMN turn INTEGER NOT NULL DEFAULT 1;

-- What a cancel from another master asked for, as it stands in the file `cancel` of a run's own folder.
ALTER TABLE runs ADD COLUMN cancel TEXT NOT NULL DEFAULT '';
