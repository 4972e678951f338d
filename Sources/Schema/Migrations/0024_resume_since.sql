-- Every statement may find its work done.

-- These functions return or take something else than before.
DROP FUNCTION IF EXISTS haul.take_back_command(jsonb, text, text, integer);
DROP FUNCTION IF EXISTS haul.resume(jsonb, integer, bigint);
