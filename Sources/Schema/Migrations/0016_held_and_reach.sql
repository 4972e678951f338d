-- So that haul.hosts can say of a host that its jobs are held, and of how many.
CREATE INDEX IF NOT EXISTS held_by_host ON haul.held (host);
-- What a worker may fetch, by its own word: NULL where it has not said.
ALTER TABLE haul.worker ADD COLUMN IF NOT EXISTS schemes text[], ADD COLUMN IF NOT EXISTS networks inet[];
