-- When a run was last at it, by its own word: of a dead one, about when it died.
ALTER TABLE runs ADD COLUMN heartbeat TEXT NOT NULL DEFAULT '';
