-- The schema and the record of what has been applied to it.
DO $$
BEGIN
  -- IF NOT EXISTS would ask for the right to create schemas where there is nothing to create.
  IF to_regnamespace('haul') IS NULL THEN
    CREATE SCHEMA haul AUTHORIZATION haul_admin;
  END IF;
END
$$;
SET LOCAL ROLE haul_admin;

CREATE TABLE IF NOT EXISTS haul.migration (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE haul.migration IS
  'Numbered migrations that were applied to this database. Each migration is applied once.';

CREATE TABLE IF NOT EXISTS haul.repeatable (
  name text COLLATE "C" PRIMARY KEY,
  digest text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE haul.repeatable IS
  'Files of functions and views that were last applied, with their digests. A file is applied again only if its text '
  'has changed.';

-- What older programs did not record: the version of the program that applied the functions and views, and the digests
-- of those that were replaced. An older program does not put its own back unasked.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'haul.repeatable'::regclass AND attname = 'superseded') THEN
    ALTER TABLE haul.repeatable ADD COLUMN program text, ADD COLUMN superseded text[] NOT NULL DEFAULT '{}';
  END IF;
END
$$;
