-- Rows of `host` and `lane` change with every claim. While any transaction keeps an old snapshot none of their versions can
-- go, and a unique index compares each new version with all that the row has had: after five minutes of a dump a claim read ten
-- thousand pages. So what is unique of them stands in tables of its own, whose rows never change.

-- What others are adding at this moment must be among the rows that are read. In the order in which a claim takes them.
LOCK TABLE haul.worker_call, haul.lane, haul.host IN ACCESS EXCLUSIVE MODE;

CREATE TABLE haul.host_name (
  name text PRIMARY KEY,
  id integer NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE
);
INSERT INTO haul.host_name (id, name) OVERRIDING SYSTEM VALUE SELECT id, name FROM haul.host;
SELECT setval(pg_get_serial_sequence('haul.host_name', 'id'), coalesce(max(id), 0) + 1, false) FROM haul.host_name;
ALTER TABLE haul.host ALTER id DROP IDENTITY, DROP CONSTRAINT host_pkey, DROP CONSTRAINT host_name_key;
CREATE INDEX host_id ON haul.host (id);
CREATE INDEX host_named ON haul.host (name);
-- Without a unique index no publication could say which row has changed.
ALTER TABLE haul.host REPLICA IDENTITY FULL;

CREATE TABLE haul.lane_key (
  host integer NOT NULL,
  queue integer NOT NULL,
  instance integer NOT NULL,
  PRIMARY KEY (host, queue, instance)
);
INSERT INTO haul.lane_key SELECT host, queue, instance FROM haul.lane;
ALTER TABLE haul.lane DROP CONSTRAINT lane_pkey;
CREATE INDEX lane_host ON haul.lane (host, queue, instance);
ALTER TABLE haul.lane REPLICA IDENTITY FULL;

-- When the next complete look is due stands in `seen` now, by queue.
ALTER TABLE haul.worker_call DROP COLUMN looked_at;
