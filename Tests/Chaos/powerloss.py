"""Compares what a loss of power left with what the database calls durable."""

import os
import re



def compare(world, lost, moment):
    """`lost`: where the disk is mounted as the loss left it. `moment`: when the database had stopped. The database has
    restarted since, so this checks only what is older."""
    book = world.ledger
    with world.server.session() as session:
        rows = session.run("""
            SELECT j.id, j.url, o.bytes, o.path, NULL, NULL FROM haul.outcome o JOIN haul.job j ON j.id = o.job
            JOIN haul.queue q ON q.id = j.queue JOIN haul.store s ON s.id = q.store
            WHERE o.state = 'completed' AND s.name = 'disk' AND o.finished_at < to_timestamp(%s)
            UNION ALL
            SELECT j.id, j.url, NULL, NULL, c.durable::text, c.resume ->> 'part'
            FROM haul.checkpoint c JOIN haul.job j ON j.id = c.job JOIN haul.queue q ON q.id = j.queue
            JOIN haul.store s ON s.id = q.store
            WHERE s.name = 'disk' AND c.saved_at < to_timestamp(%s)""", [moment, moment])
    jobs = {job.url: job for job in world.jobs}
    parts = {}
    for directory, _, names in os.walk(os.path.join(lost, ".haul", "parts")):
        for name in names:
            parts.setdefault(name.split(".")[0], []).append(os.path.join(directory, name))
    for number, url, length, path, durable, part in rows:
        file = jobs[url].file
        versions = range(book.versions[file.number] + 1)
        if path is not None:
            name = os.path.join(lost, path)
            book.checks["files after a loss of power"] += 1
            if not (os.path.exists(name) and any(whole(file, version, name) for version in versions)):
                book.violation("file after a loss of power", f"job {number} is completed, and a loss of power leaves no whole {path}")
            continue
        book.checks["checkpoints after a loss of power"] += 1
        ranges = [(int(a), int(b)) for a, b in re.findall(r"\[(\d+),(\d+)\)", durable)]
        # Look up parts by job: a part may already have the name of a later token, or have been published.
        names = parts.get(str(number), []) + [os.path.join(lost, jobs[url].path)]
        if not any(
            has(file, version, name, ranges) for version in versions for name in names if os.path.exists(name)):
            book.violation("checkpoint after a loss of power", f"job {number}: a loss of power leaves less than its checkpoint {durable} of {part}")


def whole(file, version, name):
    with open(name, "rb") as found:
        return os.fstat(found.fileno()).st_size == file.length(version) and file.differs(version, found) is None


def has(file, version, name, ranges):
    with open(name, "rb") as found:
        return all(file.differs(version, found, begin, end) is None for begin, end in ranges)
