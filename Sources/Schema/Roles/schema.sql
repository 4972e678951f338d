-- Creates the schema and the two tables that record what has been applied to it.
DO $$
BEGIN
  -- CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if the schema exists.
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
  'Groups of functions and views that were applied to this database, with the digests of their texts. Haul applies a '
  'group again only if its text has changed.';

-- Earlier versions of Haul did not have these columns: the version of the program that applied the functions and views,
-- and the digests of the replaced texts. From these columns, an older program learns that its own texts were replaced.
-- It applies them again only if an operator asks for it.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'haul.repeatable'::regclass AND attname = 'superseded') THEN
    ALTER TABLE haul.repeatable ADD COLUMN program text, ADD COLUMN superseded text[] NOT NULL DEFAULT '{}';
  END IF;
END
$$;
