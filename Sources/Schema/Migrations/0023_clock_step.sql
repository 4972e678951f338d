-- Every statement may find its work done.

-- Retries that are still to be corrected after the database's clock was set back; no row = none. A crash of the server
-- must not lose this, so it is not in pulse.
CREATE TABLE IF NOT EXISTS haul.clock_step (
  single boolean PRIMARY KEY DEFAULT true CONSTRAINT clock_step_single CHECK (single),
  -- When a round noticed it, and by how much the clock was set back.
  stepped_at timestamptz NOT NULL,
  step interval NOT NULL,
  -- The last job that was checked.
  mended_to bigint NOT NULL
);

-- Hosts whose times are still to be corrected.
CREATE TABLE IF NOT EXISTS haul.clock_host (
  host integer PRIMARY KEY,
  -- The automatic block that is too late by `step`; NULL = none. A host with another block was blocked after the step.
  blocked_until timestamptz,
  step interval NOT NULL
);

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'haul.pulse'::regclass AND a.attname = 'mended_to'
      AND NOT a.attisdropped) THEN
    INSERT INTO haul.clock_step (stepped_at, step, mended_to)
    SELECT p.stepped_at, p.step, p.mended_to FROM haul.pulse p WHERE p.mended_to IS NOT NULL
    ON CONFLICT DO NOTHING;
    INSERT INTO haul.clock_host (host, blocked_until, step)
    SELECT h.id, CASE WHEN h.block_reason IS DISTINCT FROM 'operator' THEN h.blocked_until END, p.step
    FROM haul.pulse p CROSS JOIN LATERAL unnest(p.hosts_left) AS u(id) JOIN haul.host h ON h.id = u.id
    ON CONFLICT DO NOTHING;
  END IF;
END
$$;
ALTER TABLE haul.pulse DROP COLUMN IF EXISTS mended_to, DROP COLUMN IF EXISTS hosts_left;
