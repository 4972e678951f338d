"""The judge after everything has settled: checks every job, every file, every part file, every process."""

import hashlib
import json
import os
import re
import time

import judge
import ledger
import pool
import powerloss
import traffic
import workload

JOBS = """
SELECT j.id, j.url, j.path, b.name, q.name, o.state::text, o.bytes, o.path, o.error, o.message,
  (SELECT count(*) FROM haul.attempt a WHERE a.job = j.id AND a.result = 'rescued' AND a.charged),
  extract(epoch FROM o.finished_at)::float8, coalesce(o.digest, 'sha-256=' || encode(o.sha256, 'hex'))
FROM haul.job j JOIN haul.queue q ON q.id = j.queue LEFT JOIN haul.batch b ON b.id = j.batch
LEFT JOIN haul.outcome o ON o.job = j.id"""
UNFINISHED = """
SELECT (SELECT count(*) FROM haul.job) - (SELECT count(*) FROM haul.outcome),
  (SELECT coalesce(sum(bytes), 0)::float8 FROM haul.progress), (SELECT count(*) FROM haul.held), (SELECT count(*) FROM haul.scheduled),
  (SELECT coalesce(extract(epoch FROM max(run_at) - clock_timestamp()), 0)::float8 FROM haul.scheduled),
  (SELECT coalesce(extract(epoch FROM max(blocked_until) - clock_timestamp()), 0)::float8 FROM haul.host)"""
CANCELLED = """
SELECT j.id FROM haul.outcome o JOIN haul.job j ON j.id = o.job JOIN haul.batch b ON b.id = j.batch
WHERE o.state = 'cancelled' AND b.name = ANY (%s) LIMIT 1"""
ATTEMPTS = """
SELECT job, token, worker, result::text, resumed_at, extract(epoch FROM started_at)::float8,
  extract(epoch FROM ended_at)::float8, error FROM haul.attempt ORDER BY job, token"""
STARTS = """
SELECT extract(epoch FROM a.started_at)::float8 FROM haul.attempt a JOIN haul.job j ON j.id = a.job
JOIN haul.host h ON h.id = j.host WHERE h.name = %s ORDER BY 1"""
# Failed and cancelled jobs keep their durable data for a retry; completed jobs keep nothing.
KEPT = "SELECT c.job FROM haul.checkpoint c JOIN haul.outcome o ON o.job = c.job WHERE o.state IN ('failed', 'cancelled')"
# The file system sets the time of a rename; its clock ticks every 4 ms.
TICK = 0.05
# The maximum for each process, and how much more it may use late in its life than before.
USE = ((1, "memory", " bytes", 64 << 20, 16 << 20), (2, "descriptors", "", 96, 24), (3, "threads", "", 48, 8))
# A life of this many seconds is long enough to tell growth from work: no worker is held up for a third of it.
LONG = 120


def settle(world, limit, longest=300):
    """Waits until every job has ended. Continues while jobs end or bytes arrive. It is a violation if neither happens for
    `limit` seconds, or if the wait exceeds `longest` seconds. Delays that the rules impose on a host or a job are added to
    `limit`."""
    book, left, fetched, since = world.ledger, None, None, time.time()
    with world.server.session() as session:
        begin = time.time()
        while True:
            before = left, fetched
            left, fetched, held, scheduled, due, blocked = session.run(UNFINISHED)[0]
            if not left:
                # A worker may have got the order to cancel only after the jobs were retried.
                if not session.run(CANCELLED, [list(world.wanted - world.cancelled)]):
                    return
                for batch in world.wanted - world.cancelled:
                    world.persist("retry", "--batch", batch, "--state", "cancelled")
            if (left, fetched) != before:
                since = time.time() + max(due, blocked, 0)
            if time.time() > since + limit or time.time() > begin + longest:
                book.violation(
                    "settled", f"{left} jobs have not ended {time.time() - begin:.0f} s after all was healed; {held} held, {scheduled} scheduled")
                return
            time.sleep(0.5)  # no event reports that the last job has ended


def finish(world, watcher, limit, longest=300):
    """Runs all checks after the faults: first while the pool runs, then after it has stopped."""
    settle(world, limit, longest)
    last = Final(world)
    last.check()
    check_totals(world, last.session)
    watcher.stop()
    # Look once more, because nothing changes any more.
    watcher.look()
    check_processes(world, watcher)
    world.ledger.figures["replies lost"] = world.relay.lost
    world.pool.stop()
    last.check_parts()
    world.stop()
    traffic.Traffic(world, last.finished).check()


class Final:
    def __init__(self, world):
        self.world, self.book = world, world.ledger
        self.session = world.server.session()
        self.rows = self.session.run(JOBS)
        self.finished = {row[1]: row[11] for row in self.rows if row[5] == "completed"}
        self.attempts, self.life_of, self.lost = {}, {}, []
        with open(self.world.site.path("attempts"), "w") as file:
            for job, token, *rest in self.session.run(ATTEMPTS):
                self.attempts.setdefault(job, []).append((token, *rest))
                file.write(json.dumps([job, token, *rest]) + "\n")

    def check(self):
        self.read_logs()
        self.check_jobs()
        self.check_names()
        self.check_fencing()
        self.check_starts()
        self.count_handoffs()

    def check_jobs(self):
        submitted = {(job.url, job.path): job for job in self.world.jobs if job.batch in self.world.submitted}
        seen = set()
        states = self.book.figures["jobs"] = {}
        for number, url, path, batch, queue, state, length, placed, error, message, rescues, _, digest in self.rows:
            states[state] = states.get(state, 0) + 1
            if (url, path) in seen:
                self.book.violation("twice", f"{url} was submitted once, and is there twice")
            seen.add((url, path))
            if "/nothing-" in url:
                if not (state == "failed" and error == "http_404" or state == "cancelled" and batch in self.world.cancelled):
                    self.book.violation("outcome without origin", f"job {number}, which no origin has, is {state} {error}")
                continue
            job = submitted.get((url, path))
            if state == "completed":
                if job is not None:
                    self.check_file(number, job, length, placed, digest)
            elif state == "cancelled" and batch in self.world.cancelled:
                pass
            elif state == "failed" and error == "rescued_too_often" and rescues >= 4:
                self.book.figures["rescued too often"] = self.book.figures.get("rescued too often", 0) + 1
            elif state == "failed" and error == "internal" and number in self.book.poisoned:
                self.book.figures["set aside"] = self.book.figures.get("set aside", 0) + 1
            elif state is not None:
                self.book.violation("outcome", f"job {number} {url} is {state}: {error}, {message}")
        for url, path in set(submitted) - seen:
            self.book.violation("once", f"{url} was submitted, and is not there")

    def check_file(self, number, job, length, placed, digest):
        name = os.path.join(self.world.stores[workload.STORE[job.queue]], job.path)
        self.book.checks["files compared"] += 1
        if placed != job.path:
            self.book.violation("place", f"job {number} is completed as {placed}, and was to be {job.path}")
        if not os.path.isfile(name):
            self.book.violation("missing file", f"job {number} is completed, and there is no {job.path}")
            return
        versions = range(self.book.versions[job.file.number] + 1)
        if not any(powerloss.whole(job.file, version, name) for version in versions):
            self.book.violation("file", f"{job.path} is no version of {job.url} that its origin has had")
        elif os.path.getsize(name) != length:
            self.book.violation("length", f"{job.path} has {os.path.getsize(name)} bytes, and its job says {length}")
        if job.records_digest or job.digest:
            self.book.checks["digests compared"] += 1
            with open(name, "rb") as file:
                found = hashlib.file_digest(file, "sha256").digest()
            if digest_of(digest) != found:
                self.book.violation("digest", f"{job.path} has the SHA-256 {found.hex()}, and its job says {digest}")
        self.book.figures["bytes"] = self.book.figures.get("bytes", 0) + os.path.getsize(name)
        # A rename changes the inode's ctime (rename(2) on ext4 and tmpfs). Check that a worker had a lease at that time.
        renamed = os.stat(name).st_ctime
        if not self.had_right(number, renamed):
            self.book.violation("rename", f"{job.path} got its name at {self.book.at(renamed)}, when nobody had a lease of job {number}")

    def check_names(self):
        """Finds files under a final name that belong to no completed job."""
        wanted = {"disk": {"ballast"}, "small": {"ballast"}}
        for _, _, _, _, queue, state, _, placed, *_ in self.rows:
            if state == "completed":
                wanted[workload.STORE[queue]].add(placed)
        owner = {(workload.STORE[row[4]], row[2]): row for row in self.rows}
        for store, directory in self.world.stores.items():
            for place, directories, names in os.walk(directory):
                directories[:] = [d for d in directories if d not in (".haul", "lost+found")]
                for name in names:
                    path = os.path.relpath(os.path.join(place, name), directory)
                    if path not in wanted[store]:
                        self.stray(store, path, owner.get((store, path)))

    def stray(self, store, path, row):
        """Reports a stray file. A worker that is killed between its rename and its report leaves a file. The job's next worker
        finds it, unless the job is cancelled or set aside meanwhile: then the file is allowed."""
        if row is not None and (row[5] == "cancelled" or row[0] in self.book.poisoned):
            if self.had_right(row[0], os.stat(os.path.join(self.world.stores[store], path)).st_ctime):
                return
        self.book.violation("name", f"{store} has {path}, and its job is {row and row[5]}")

    def had_right(self, job, moment):
        """Returns whether a worker had a lease of a job when its file got its name. Also returns True for late renames that
        nothing can prevent and that leave the file whole. In these, the worker was stopped between its check of the lease and the
        rename, was stopped with bytes in memory that it then writes again to the same place, or was killed while the disk
        hung."""
        for _, worker, _, _, begin, end, _ in self.attempts.get(job, []):
            if begin - TICK <= moment <= end + TICK:
                return True
            life = self.life_of.get(worker)
            late = [entry[1:] for entry in life.trouble if entry[0] == "stopped"] if life else []
            if life and life.told == "killed" and life.end:
                late += [window for window in self.book.frozen if ledger.overlap([window], life.end - 30, life.end)]
            if any(start <= end and stop and stop - TICK <= moment <= self.thawed(stop + 2) for start, stop in late):
                self.book.figures["late renames"] = self.book.figures.get("late renames", 0) + 1
                return True
        return False

    def thawed(self, moment):
        """Returns the moment; if a disk hangs at that moment, the end of the hang. Work that a stopped worker had begun waits for
        the disk too."""
        for start, stop in sorted(self.book.frozen):
            if start <= moment:
                moment = max(moment, (stop or moment) + 2)
        return moment

    def read_logs(self):
        """Reads what only the workers know: their numbers, and the leases that they found lost. Trusts nothing in their
        favour."""
        for life in self.book.lives:
            worker = None
            for line in pool.log_lines(life.log):
                if line["event"] == "worker.registered":
                    worker = int(line["worker"])
                    self.life_of[worker] = life
                elif line["event"] in ("lease.lost", "job.stale"):
                    self.lost.append((worker, int(line["job"]), int(line["token"])))

    def check_fencing(self):
        """Checks that a lease that ended as completed was ended by its holder."""
        self.book.figures["leases lost"] = self.book.figures.get("leases lost", 0) + len(self.lost)
        for worker, job, token in self.lost:
            for other, holder, result, *_ in self.attempts.get(job, []):
                if other == token and holder == worker and result == "completed":
                    self.book.violation(
                        "fencing", f"lease {token} of job {job} ended as completed, and its holder {self.life_of[worker].name} had lost it")

    def check_starts(self):
        """Checks that, by the database's clock, starts on a host are at least its interval apart, exactly."""
        for host, history in self.book.intervals.items():
            starts = [begin for begin, in self.session.run(STARTS, [host])]
            for before, begin in zip(starts, starts[1:]):
                interval = judge.largest(history, before - 1, begin, min)
                if interval > 0:
                    self.book.checks["starts against intervals"] += 1
                    if begin - before < interval - 0.001 and not ledger.overlap(self.book.steps, before - 1, begin + 1):
                        self.book.violation(
                            "interval", f"{host} had starts {begin - before:.3f} s apart at {self.book.at(begin)}; interval {interval}")

    def check_parts(self):
        """Finds part files that remain after all workers have stopped. Each worker removes such files when it stops."""
        known = {row[0] for row in self.rows}
        kept = {job for job, in self.session.run(KEPT)}
        for directory in self.world.stores.values():
            for _, _, names in os.walk(os.path.join(directory, ".haul", "parts")):
                for name in names:
                    match = re.match(r"(\d+)\.", name)
                    job = int(match[1]) if match else None
                    if job not in known:
                        self.book.violation("part", f"{name} belongs to no job")
                    elif job not in kept:
                        self.book.violation("part of an ended job", f"{name} is there, and its job has ended")

    def count_handoffs(self):
        figures = self.book.figures
        for attempts in self.attempts.values():
            for before, after in zip(attempts, attempts[1:]):
                if before[2] in ("released", "rescued"):
                    figures["hand-offs"] = figures.get("hand-offs", 0) + 1
                    if after[3]:
                        figures["hand-offs resumed"] = figures.get("hand-offs resumed", 0) + 1
                        figures["bytes resumed"] = figures.get("bytes resumed", 0) + after[3]


def digest_of(text):
    """Returns the bytes of a SHA-256 as Haul records it; None for anything else."""
    match = re.fullmatch(r"sha-256=([0-9a-f]{64})", text or "")
    return bytes.fromhex(match[1]) if match else None


def check_totals(world, session):
    """Checks that Haul adds up all changes of batches soon after the last change."""
    deadline = time.time() + 30
    while (count := session.run("SELECT count(*) FROM haul.batch_change")[0][0]) and time.time() < deadline:
        time.sleep(0.5)  # no event reports that the leader has added up
    if count:
        world.ledger.violation("totals not added up", f"{count} changes are not added up 30 s after the last job has ended")


def check_processes(world, watcher):
    """Checks that the resources of every process are bounded and do not grow."""
    for name, samples in watcher.samples.items():
        third = len(samples) // 3
        for index, what, unit, bound, allowance in USE:
            most = max(sample[index] for sample in samples)
            world.ledger.checks["processes against bounds"] += 1
            if most > bound:
                world.ledger.violation(f"bound of {what}", f"{name} had {most}{unit} of {what}; {bound} are the most")
            if len(samples) < LONG:
                continue
            # Compare the end with the second third. In the first third the process fills its pools.
            early = max(sample[index] for sample in samples[third : 2 * third])
            late = sorted(sample[index] for sample in samples[2 * third :])[third // 2]
            world.ledger.checks["growth of a process"] += 1
            if late > early + allowance:
                world.ledger.violation("growth", f"{name} had at most {early}{unit} of {what} in its second third, and {late} in its last")
