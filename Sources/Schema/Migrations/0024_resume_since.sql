-- Each statement also works on a database where its change was made already.

-- The new versions of these functions have other arguments or results.
DROP FUNCTION IF EXISTS haul.take_back_command(jsonb, text, text, integer);
DROP FUNCTION IF EXISTS haul.resume(jsonb, integer, bigint);
