-- One-time tokens that let the minion of an instance in. Of a token only its digest is here.

CREATE TABLE minion_tokens (
    digest       TEXT PRIMARY KEY,       -- SHA-256
    environment  TEXT NOT NULL,
    component    TEXT NOT NULL,
    minion       TEXT NOT NULL,          -- the one id that it is good for
    run          TEXT NOT NULL,          -- the run that put it into the instance's user data
    expires      TEXT NOT NULL,          -- '' until the plan that it is in is applied
    used         TEXT NOT NULL DEFAULT ''  -- when it let a key in
);
CREATE INDEX minion_tokens_of_component ON minion_tokens (environment, component);
