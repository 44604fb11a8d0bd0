-- The releases that an environment with `promoted_from:` is made of: what its next deploy deploys.

CREATE TABLE promoted (
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    release      TEXT NOT NULL,          -- of the environment that proved it
    binary_path  TEXT NOT NULL,          -- that applied it there
    run          TEXT NOT NULL,          -- the run that brought it here
    since        TEXT NOT NULL,
    PRIMARY KEY (environment, component)
);

-- The binary that a step's release was applied with, for whoever goes back to it.
ALTER TABLE steps ADD COLUMN binary_path TEXT NOT NULL DEFAULT '';
