-- Where each component's state is: what pillar says may have changed since.
ALTER TABLE components ADD COLUMN backend TEXT NOT NULL DEFAULT '';
