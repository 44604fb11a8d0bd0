-- Provider versions that `upgrade` chose and no apply has used yet: for all masters, not only for the one it ran on.
ALTER TABLE components ADD COLUMN next_lock TEXT NOT NULL DEFAULT '';
