-- So that haul.hosts can say of a host that its jobs are held, and of how many.
CREATE INDEX IF NOT EXISTS held_by_host ON haul.held (host);
