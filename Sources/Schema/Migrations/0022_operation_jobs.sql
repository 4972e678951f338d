-- Every statement may find its work done.

-- The first jobs that a command changed; see note_operation().
ALTER TABLE haul.operation ADD COLUMN IF NOT EXISTS first_jobs bigint[] NOT NULL DEFAULT '{}';

-- These functions return or take something else than before.
DROP FUNCTION IF EXISTS haul.note_operation(text, text, bigint, interval);
DROP FUNCTION IF EXISTS haul.take_back_command(jsonb, text, text, integer);
