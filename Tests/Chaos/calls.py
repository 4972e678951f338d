"""Counts the blocks that calls read to claim and settle jobs, which must not depend on the number of waiting jobs. The server
counts the blocks, because times depend more on the machine."""

# The number of calls, the blocks that they have read, the jobs that began, and the waiting jobs.
COUNTS = """
SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint,
  (SELECT n_tup_ins FROM pg_stat_user_tables WHERE relid = 'haul.lease'::regclass), (SELECT count(*) FROM haul.ready)
FROM pg_stat_statements WHERE query LIKE 'SELECT haul.work(%'"""
# Blocks for each call and each job that begins in it: usually 60 to 250, both with no waiting job and with tens of thousands.
# While sessions are stopped and dead rows cannot be vacuumed: 400.
MOST = 500
# The mean is over at least this many calls, because the server reports inserted rows up to a second late.
ENOUGH = 100


class Calls:
    def __init__(self, session):
        self.session, self.before, self.waiting = session, None, 0
        self.most, self.most_waiting = 0, 0

    def look(self):
        """Returns the blocks for each call and each job that began since the last result, and the largest number of waiting
        jobs meanwhile. Returns None before there have been enough calls, or after the server has restarted its counters."""
        *now, waiting = self.session.run(COUNTS)[0]
        self.waiting = max(self.waiting, waiting)
        calls, blocks, begun = (there - then for there, then in zip(now, self.before or now))
        if self.before is not None and min(calls, blocks, begun) >= 0 and calls < ENOUGH:
            return None
        found = (blocks / (calls + begun), self.waiting) if calls >= ENOUGH and min(blocks, begun) >= 0 else None
        self.before, self.waiting = now, waiting
        if found:
            self.most, self.most_waiting = max(self.most, found[0]), max(self.most_waiting, found[1])
        return found
