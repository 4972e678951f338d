-- Bytes a second that a worker receives, by queue and batch, with the files that have ended meanwhile: most small ones end before
-- a heartbeat could tell of them.
ALTER TABLE haul.worker ADD COLUMN received jsonb NOT NULL DEFAULT '[]';
