-- What operators did, for haul.operations. The newest rows are kept, see note_operation().
CREATE TABLE IF NOT EXISTS haul.operation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  -- When the last step of a command with several steps was done.
  ended_at timestamptz NOT NULL,
  login text NOT NULL,
  pid integer NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  jobs bigint
);
