-- Completed jobs that are asked for again, and operators' words that are told apart. Columns without a stored default rewrite
-- nothing.

-- What the source said of the file: the transfer's own record, by which the source can be asked whether it still has the
-- same. NULL where an earlier version brought the file, or nothing was brought.
ALTER TABLE haul.outcome ADD COLUMN source jsonb;

-- What a completed job has brought that is asked for again: from its outcome, until it has completed again. The file stays
-- meanwhile.
CREATE TABLE haul.refresh (
  job bigint PRIMARY KEY,
  path text NOT NULL,
  bytes bigint,
  digest text,
  source jsonb
);

-- How many words on the whole batch there have been; the last one's number.
ALTER TABLE haul.batch ADD COLUMN sweeps bigint NOT NULL DEFAULT 0;
