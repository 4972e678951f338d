-- Since when a host could not be reached or has refused to serve, without a success in between. Adding a column
-- without default rewrites nothing; claims wait for it as for any short lock.
ALTER TABLE haul.host ADD COLUMN trouble_since timestamptz;
