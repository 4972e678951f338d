-- What keeps a worker from claiming for a store instance it mounts: {"instance id": "reason"}; NULL where nothing does.
-- Adding a column without default rewrites nothing.
ALTER TABLE haul.worker ADD COLUMN closed_stores jsonb;
