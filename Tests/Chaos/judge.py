"""The judge while the pool runs. Every second it looks at the database and at the processes by itself.

It trusts nothing that Haul says about itself: it uses no view and no function, only tables and the record of the driver's
actions. From the logs it takes a worker's number and its start, and otherwise only what incriminates the writer: lost leases.

Nothing here checks the order of priorities, the weights of queues, TLS, or what NFS does to renames. Of adaptive caps it checks
only that they do not exceed the policy's cap.
"""

import contextlib
import os
import re
import threading
import time

import psycopg2

import calls
import ledger
import workload

# A healthy worker sends a heartbeat every 2 s. A silent one is given up after 15 s, by a round that runs every second.
HEARTBEAT, GIVEN_UP = 12, 25
# After an outage of the database the rescuer waits one expiry, and sessions need a while to reconnect.
RECOVERY, BACK = 20, 8
# While an open transaction locks rows of one host, jobs of other hosts must end at least this often, in seconds.
STILL = 30

STATES = """
SELECT j.id, count(s.job), string_agg(s.state, '+') FROM haul.job j LEFT JOIN (
  SELECT job, 'ready' AS state FROM haul.ready UNION ALL SELECT job, 'scheduled' FROM haul.scheduled
  UNION ALL SELECT job, 'held' FROM haul.held UNION ALL SELECT job, 'lease' FROM haul.lease
  UNION ALL SELECT job, state::text FROM haul.outcome) s ON s.job = j.id
GROUP BY j.id HAVING count(s.job) <> 1"""
HOSTS = """
SELECT h.name, h.in_flight, count(l.job) FROM haul.host h LEFT JOIN haul.lease l ON l.host = h.id
GROUP BY h.id, h.name, h.in_flight HAVING h.in_flight <> count(l.job)"""
# Hosts (by name and by id) and lanes that have more than one row. Each must have one.
TWINS = """
SELECT 'host ' || name, count(*) FROM haul.host GROUP BY name HAVING count(*) > 1
UNION ALL SELECT 'host ' || id, count(*) FROM haul.host GROUP BY id HAVING count(*) > 1
UNION ALL SELECT format('lane %s, %s, %s', host, queue, instance), count(*) FROM haul.lane
GROUP BY host, queue, instance HAVING count(*) > 1"""
# For each current lease: the number of current leases of the same host that began before it.
STARTS = """
SELECT h.name, l.job, extract(epoch FROM l.started_at)::float8,
  (SELECT count(*) FROM haul.lease e WHERE e.host = l.host AND e.token < l.token) FROM haul.lease l JOIN haul.host h ON h.id = l.host"""
LIMITED = """
SELECT q.name, count(*) FROM haul.lease l JOIN haul.queue q ON q.id = l.queue GROUP BY q.id, q.max_running
HAVING count(*) > q.max_running"""
PARKED = """
SELECT h.name, r.queue, r.instance, min(r.job) FROM haul.ready r JOIN haul.host h ON h.id = r.host
LEFT JOIN haul.lane l ON l.host = r.host AND l.queue = r.queue AND l.instance = r.instance
WHERE l.head IS NULL OR (r.priority, r.job) < (l.priority, l.head)
  OR l.next_at IS NULL AND h.in_flight < CASE WHEN h.failures <> 0 THEN 1 ELSE h.cap END
GROUP BY 1, 2, 3"""
TOKENS = """
SELECT l.job, l.token, max(a.token) FROM haul.lease l JOIN haul.attempt a ON a.job = l.job
GROUP BY 1, 2 HAVING l.token <= max(a.token)"""
WORKERS = """
SELECT w.pid, w.id, extract(epoch FROM w.registered_at)::float8, extract(epoch FROM w.heartbeat_at)::float8,
  w.stopped_at IS NOT NULL, w.expires_at <= clock_timestamp(),
  ARRAY(SELECT h.name FROM haul.lease l JOIN haul.host h ON h.id = l.host WHERE l.worker = w.id)
FROM haul.worker w"""
# How many attempts have ended on other hosts than these, and how many jobs of small files wait for other hosts.
OTHERS = """
SELECT (SELECT count(*) FROM haul.attempt a JOIN haul.job j ON j.id = a.job JOIN haul.host h ON h.id = j.host WHERE h.name <> ALL (%(held)s)),
  (SELECT count(*) FROM haul.ready r JOIN haul.host h ON h.id = r.host JOIN haul.queue q ON q.id = r.queue
   WHERE h.name <> ALL (%(held)s) AND h.name NOT IN ('large.test', 'odd.test') AND r.instance = 0
     AND NOT q.paused AND q.max_running IS NULL AND coalesce(h.blocked_until <= clock_timestamp(), true))"""
COMPLETED = "SELECT job FROM haul.outcome WHERE state = 'completed'"
# The real figures of each batch, and its stored figures: those already added up plus the changes not yet added up.
TOTALS = """
WITH there AS (
  SELECT coalesce(j.batch, 0) AS batch, count(*) AS jobs, count(*) FILTER (WHERE o.state = 'completed') AS completed,
    count(*) FILTER (WHERE o.state = 'failed') AS failed, count(*) FILTER (WHERE o.state = 'cancelled') AS cancelled,
    coalesce(sum(o.bytes), 0) AS bytes
  FROM haul.job j LEFT JOIN haul.outcome o ON o.job = j.id GROUP BY 1
), said AS (
  SELECT t.batch, sum(t.jobs) AS jobs, sum(t.completed) AS completed, sum(t.failed) AS failed, sum(t.cancelled) AS cancelled,
    sum(t.bytes) AS bytes
  FROM (SELECT batch, jobs, completed, failed, cancelled, bytes FROM haul.batch_total
    UNION ALL SELECT batch, jobs, completed, failed, cancelled, bytes FROM haul.batch_change) t GROUP BY 1)
SELECT coalesce(t.batch, s.batch), t::text, s::text FROM there t FULL JOIN said s ON s.batch = t.batch
WHERE (coalesce(t.jobs, 0), coalesce(t.completed, 0), coalesce(t.failed, 0), coalesce(t.cancelled, 0), coalesce(t.bytes, 0))
  <> (coalesce(s.jobs, 0), coalesce(s.completed, 0), coalesce(s.failed, 0), coalesce(s.cancelled, 0), coalesce(s.bytes, 0))"""


class DiskGauge(threading.Thread):
    """Writes a little to one of the disks every second, into a file without a name, and notes how long that takes to become
    durable. The pool's writes may take as long."""

    def __init__(self, world, name, over):
        super().__init__(daemon=True)
        self.book, self.over = world.ledger, over
        # No write while the disk is frozen or copied.
        self.turn = world.turns[name, 0]
        self.file = os.open(world.stores[name], os.O_TMPFILE | os.O_WRONLY, 0o600)

    def run(self):
        while not self.over.wait(1):
            with self.turn, self.book.noted(self.book.writes):
                # A full disk is not a slow disk.
                with contextlib.suppress(OSError):
                    os.pwrite(self.file, os.urandom(4096), 0)
                    os.fdatasync(self.file)


class Judge(threading.Thread):
    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.book = world, world.ledger
        self.session = world.server.session()
        self.over = threading.Event()
        self.gauges = [DiskGauge(world, name, self.over) for name in world.stores]
        self.completed, self.samples, self.calls = set(), {}, calls.Calls(self.session)
        self.counted = time.time()
        # How many attempts have ended on hosts that no open transaction locks, and since when the number has not changed.
        self.others = None

    def run(self):
        for gauge in self.gauges:
            gauge.start()
        while not self.over.wait(1):
            self.book.looks.append(time.time())
            try:
                self.look()
            except Exception as error:  # a judge that cannot look must not look like a pool without faults
                self.book.violation("judge", repr(error))

    def look(self):
        for program in self.world.pool.programs:
            program.watch()
            self.measure(program)
        try:
            self.look_at_jobs()
            self.look_at_hosts()
            self.look_at_workers()
            self.look_at_calls()
            self.look_at_others()
            self.book.checks["looks at the database"] += 1
        except psycopg2.Error as error:
            self.book.checks["looks without a database"] += 1
            if not ledger.overlap(self.book.outages, time.time() - RECOVERY, time.time()):
                self.book.violation("database", f"{type(error).__name__}: {error}")

    def look_at_jobs(self):
        for job, count, states in self.session.run(STATES):
            self.book.violation("one state", f"job {job} is in {count} states: {states}")
        completed = {job for job, in self.session.run(COMPLETED)}
        for job in self.completed - completed:
            self.book.violation("no longer completed", f"job {job} was completed, and is not any more")
        self.completed = completed
        for job, token, last in self.session.run(TOKENS):
            self.book.violation("token", f"job {job} has the token {token} after {last}")
        for batch, there, said in self.session.run(TOTALS):
            self.book.violation("batch totals", f"batch {batch} has {there}, and its totals are {said}")

    def look_at_calls(self):
        found = self.calls.look()
        if found:
            # During an open transaction calls end jobs host by host, and dead rows stay until it ends and a while longer.
            held, self.counted = self.held(self.counted - BACK, time.time()), time.time()
            if held:
                return
            self.book.checks["blocks of calls against their bound"] += 1
            if found[0] > calls.MOST:
                self.book.violation(
                    "claim", f"{found[0]:.0f} blocks for a call or a job that it begins while {found[1]} waited; {calls.MOST} are the most")

    def look_at_others(self):
        """Checks that an open transaction holds up the jobs of its host, but no others."""
        now = time.time()
        held = self.held(now, now)
        if not held or ledger.overlap(self.book.outages, now - RECOVERY, now) or ledger.overlap(self.book.frozen, now - BACK, now):
            self.others = None
            return
        ended, waiting = self.session.run(OTHERS, {"held": held})[0]
        if self.others is None or self.others[0] != ended or not waiting:
            self.others = ended, now
        self.book.checks["looks at other hosts than that of an open transaction"] += 1
        if now - self.others[1] > STILL + self.book.lateness(self.others[1], now):
            self.book.violation(
                "other hosts", f"{waiting} jobs wait for other hosts than {', '.join(held)}, whose rows a transaction keeps, and none has ended since "
                f"{self.book.at(self.others[1])}")

    def held(self, begin, end):
        """Returns the hosts whose rows an open transaction locked at any time between `begin` and `end`."""
        return [host for host, windows in list(self.book.held.items()) if ledger.overlap(windows, begin, end)]

    def look_at_hosts(self):
        for host, counted, there in self.session.run(HOSTS):
            self.book.violation("in flight", f"{host} counts {counted} running jobs and has {there}")
        for host, job, begin, before in self.session.run(STARTS):
            cap = largest(self.book.caps[host], begin - 1, begin)
            if before >= cap:
                self.book.violation("cap", f"job {job} was begun on {host} when {before} ran; its cap was {cap}")
        for what, count in self.session.run(TWINS):
            self.book.violation("one row", f"{what} has {count} rows")
        for queue, count in self.session.run(LIMITED):
            self.book.violation("queue limit", f"{count} jobs of {queue} run, and {workload.LIMIT} may")
        for host, queue, instance, job in self.session.run(PARKED):
            self.book.violation("parked lane", f"no claim would find job {job} in lane {host}, {queue}, {instance}")

    def look_at_workers(self):
        now = time.time()
        # Processes have their own numbers here, which are not reused soon.
        rows = {row[0]: row for row in self.session.run(WORKERS)}
        may_be_heard = not ledger.overlap(self.book.outages, now - BACK - HEARTBEAT, now) and not ledger.overlap(self.book.steps, now - HEARTBEAT, now)
        must_be_given_up = not ledger.overlap(self.book.outages + self.book.steps, now - GIVEN_UP, now)
        held = self.held(now - GIVEN_UP, now)
        for life in self.book.lives:
            row = rows.get(life.pid)
            if life.address is None:
                continue
            if life.end is None and life.told is None and may_be_heard:
                # A worker that has registered has begun, even if its disks hang.
                begun = self.begun(life) if row is None else life.begin
                if now - begun > HEARTBEAT and not life.troubled(now - GIVEN_UP, now) and self.world.relay_is_well(life):
                    self.book.checks["workers heard of"] += 1
                    if row is None or now - row[3] > HEARTBEAT:
                        self.book.violation("worker", f"{life.name} is alive, and the database last heard of it {row and now - row[3]} s ago")
            elif life.end is not None and row is not None and now - life.end > GIVEN_UP and must_be_given_up:
                self.book.checks["dead workers given up"] += 1
                leases = sum(host not in held for host in row[6])
                if not (row[4] or row[5]) or leases:
                    self.book.violation("dead worker", f"{life.name} ended at {self.book.at(life.end)}, and holds {leases} leases")

    def begun(self, life):
        """Returns when a worker could begin: it opens its stores first, and waits for a frozen disk."""
        moment = life.begin
        for start, stop in self.book.frozen:
            if start - 2 <= moment and (stop is None or moment <= stop):
                moment = stop or time.time()
        return moment

    def measure(self, program):
        """Records memory in bytes, descriptors and threads."""
        life = program.life
        if life is None or life.end is not None:
            return
        has = use_of(life.pid)
        if has:
            self.samples.setdefault(life.name, []).append((time.time() - life.begin, *has))

    def stop(self):
        self.over.set()
        self.join()


def use_of(pid, memory="VmRSS"):
    """Returns the bytes of memory in that field of /proc/PID/status, descriptors and threads; None if the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        return (int(fields[memory].split()[0]) << 10, open_files(pid), int(fields["Threads"])) if memory in fields else None
    except (OSError, ValueError):
        return None


def open_files(pid):
    """Counts descriptors of a process. The directories of part files stay open: one for 1024 jobs, at most 256 per store. They
    count only if one is open twice."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except FileNotFoundError:
            continue  # it was closed meanwhile
    kept = [link for link in links if re.search(r"/\.haul/parts/[^/]+/[0-9a-f]{2}$", link)]
    return len(links) - len(set(kept))


def largest(history, begin, end, most=max):
    """Returns the largest value that was set at any time between `begin` and `end`; the smallest if `most` is min."""
    values = [value for (start, value), (stop, _) in zip(history, history[1:] + [(float("inf"), None)])
              if start <= end and stop >= begin]
    return most(values) if values else float("inf")
