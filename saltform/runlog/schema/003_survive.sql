-- What a run can be undone by, and who undid it.

-- The last good release before `run` touched the component, and the binary that applied it: '' when there was none.
ALTER TABLE components ADD COLUMN previous_release TEXT NOT NULL DEFAULT '';
ALTER TABLE components ADD COLUMN previous_binary TEXT NOT NULL DEFAULT '';

-- The run that undid this one, as soon as it begins.
ALTER TABLE runs ADD COLUMN rolled_back_by TEXT NOT NULL DEFAULT '';
