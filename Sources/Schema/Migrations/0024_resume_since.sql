-- Each statement also works on a database where its change was made already.

-- The names of the batches that the command named; NULL = an earlier version of Haul recorded the command.
ALTER TABLE haul.operation ADD COLUMN IF NOT EXISTS batches text[];

-- The new versions of these functions have other arguments or results.
DROP FUNCTION IF EXISTS haul.take_back_command(jsonb, text, text, integer);
DROP FUNCTION IF EXISTS haul.resume(jsonb, integer, bigint);
DROP FUNCTION IF EXISTS haul.note_operation(text, text, bigint, bigint[], interval);
