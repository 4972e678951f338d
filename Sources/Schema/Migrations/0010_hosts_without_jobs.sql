-- Whether a job has named the host. Operators may block one before that, and misspell it: once it is free again such a host is none.
ALTER TABLE haul.host_name ADD COLUMN used boolean NOT NULL DEFAULT true;
CREATE INDEX host_name_unused ON haul.host_name (id) WHERE NOT used;
