"""What calls that claim and settle look at, which must not depend on how much waits: counted in blocks by the server, since time
says more of the machine."""

# How many calls, blocks that they have looked at, jobs that began, and how many wait.
COUNTS = """
SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint,
  (SELECT n_tup_ins FROM pg_stat_user_tables WHERE relid = 'haul.lease'::regclass), (SELECT count(*) FROM haul.ready)
FROM pg_stat_statements WHERE query LIKE 'SELECT haul.work(%'"""
# Blocks for each call and each job that begins in it: 60 to 250 are usual, with nothing waiting or with ten thousands; where sessions
# stand still and rows that are gone cannot be tidied away, 400.
MOST = 500
# So many calls make a mean; the server tells of rows a second late.
ENOUGH = 100


class Calls:
    def __init__(self, session):
        self.session, self.before, self.waiting = session, None, 0
        self.most, self.most_waiting = 0, 0

    def look(self):
        """Blocks for each call and each job that began since the last answer, and the most that waited meanwhile; None until
        there have been enough calls, or where the server has begun to count anew."""
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
