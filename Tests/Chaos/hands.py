"""Faults by manual changes of the database: transactions that stay open, rows of older versions, stamps of a wrong clock."""

import datetime
import json
import random
import re
import time

import psycopg2

from faults import deed

# Hosts whose rows a transaction may lock. Not odd.test, which asks Haul to wait: Haul cannot record that while
# the row is locked.
HOSTS = ["plain.test", "capped.test", "polite.test", "nginx.test", "large.test"]
RUNNING = "SELECT l.job FROM haul.lease l JOIN haul.host h ON h.id = l.host WHERE h.name = %s ORDER BY l.job LIMIT 1"
# The statement of an operator's transaction, which then stays open.
ORDERS = {
    "cancel": "SELECT haul.cancel(jsonb_build_object('ids', ARRAY[%(job)s]), 10)",
    "pause": "SELECT haul.pause(jsonb_build_object('ids', ARRAY[%(job)s]), 10)",
    "rule": "SELECT haul.set_host(%(host)s, 5, 0.5, 1)",
    "row": "SELECT id FROM haul.host WHERE name = %(host)s FOR UPDATE",
    "submission": "SELECT haul.submit(%(submission)s::uuid, 'disk', NULL, 5::smallint, '{}', NULL, 'skip', false, 10)",
}
# Statements that give a job what earlier versions accepted, each with the table that lists jobs for it. A claim cannot read such
# options.
WAITING, LEASED = "ready", "lease"
OLDER_ROWS = [
    (WAITING, """UPDATE haul.job SET options = options || '{"max_attempts": 1.0}' WHERE id = %s RETURNING id"""),
    (WAITING, """UPDATE haul.job SET options = options || '{"max_host_wait": 1e300}' WHERE id = %s RETURNING id"""),
    (WAITING, """UPDATE haul.job SET options = options || '{"mirrors": [7, null]}' WHERE id = %s RETURNING id"""),
    (WAITING, "UPDATE haul.job SET options = '7' WHERE id = %s RETURNING id"),
    (LEASED, """UPDATE haul.job SET options = options || '{"max_rescues": 1e300}' WHERE id = %s RETURNING id"""),
    (LEASED, "UPDATE haul.lease SET attempt = 32767 WHERE job = %s RETURNING job"),
]
UNFINISHED = "SELECT t.job FROM haul.{} t JOIN haul.job j ON j.id = t.job WHERE j.url NOT LIKE '%%/nothing-%%' ORDER BY t.job"
# All stamps of the database's clock that Haul compares with the time, in the order in which Haul locks their rows.
STAMPS = {
    "pulse": ["round_at", "grace_until", "watched_since"],
    "worker": ["heartbeat_at", "expires_at", "steady_since", "stopped_at"],
    "held": ["run_at"], "scheduled": ["run_at"], "ready": ["hold_until"], "submission": ["renewed_at"],
    "host": ["next_start", "last_start", "blocked_until", "trouble_since"], "lane": ["next_at"],
}
# If a job has no attempt, its time comes from a person, not from the clock.
TRIED = {table: f" WHERE EXISTS (SELECT FROM haul.attempt a WHERE a.job = haul.{table}.job)" for table in ("held", "scheduled")}


@deed("transaction left open")
def _(world, fault, hold):
    dice = random.Random(fault.dice)
    order = dice.choice(list(ORDERS))
    host = "plain.test" if order == "submission" else dice.choice(HOSTS)
    return leave_open(world, host, order, hold, fault.dice, commits=order == "submission" and dice.random() < 0.5)


def leave_open(world, host, order, hold, number=0, commits=False):
    """Runs an operator's order about a host in a session, and ends its transaction much later."""
    is_open = False
    with world.server.session() as session, world.ledger.noted(world.ledger.held[host]):
        try:
            values = {"host": host}
            if order in ("cancel", "pause"):
                for _ in range(100):
                    if running := session.run(RUNNING, [host]):
                        break
                    time.sleep(0.1)  # no event reports when a job begins
                else:
                    return False
                values["job"] = running[0][0]
            elif order == "submission":
                values["submission"] = session.run("SELECT haul.begin_submission('disk', true)")[0][0]
                session.run(
                    "INSERT INTO haul.staging (submission, line, url, host, path) VALUES (%s, 1, %s, %s, %s)",
                    [values["submission"], f"http://{host}/nothing-open-{number}", host, f"open/{number}"])
            session.run("BEGIN")
            session.run(ORDERS[order], values)
            is_open = True
            hold()
            session.run("COMMIT" if commits else "ROLLBACK")
        except psycopg2.OperationalError:
            pass  # the database went away, and the transaction with it
    return is_open


@deed("job with options of an older version")
def _(world, fault, hold):
    dice = random.Random(fault.dice)
    row, place = dice.choice(OLDER_ROWS), dice.random()
    return any(poison(world, row, place) or time.sleep(0.1) for _ in range(100))  # no event reports when a job waits


def poison(world, row, place):
    """Gives an unfinished job a value that current versions reject, and returns whether there was a job. `place`: selects the
    job, from 0 (first) to 1 (last)."""
    table, statement = row
    jobs = world.sql(UNFINISHED.format(table))
    if not jobs:
        return False
    (job,) = jobs[int(place * len(jobs))]
    # Note this first: the job may fail before this thread runs again.
    world.ledger.poisoned.add(job)
    return world.sql(statement, [job]) == [(job,)]


@deed("database's clock set back")
def _(world, fault, hold):
    return step_clock(world, 2, hold)


@deed("database's clock set forward")
def _(world, fault, hold):
    return step_clock(world, -2, hold)


def step_clock(world, hours, hold):
    """Moves all stamps by this many hours, as if the clock had been ahead by that time and were now right again."""
    with world.ledger.noted(world.ledger.steps):
        with world.server.session() as session:
            for _ in range(50):
                try:
                    move_stamps(session, hours)
                    break
                except psycopg2.OperationalError:
                    continue  # another session held a lock, or the database is away
            else:
                return False
        hold()


def move_stamps(session, hours):
    session.run("BEGIN")
    # The lock times out before the server looks for deadlocks, so no session of the pool has to give way.
    session.run("SET LOCAL lock_timeout = '300ms'")
    ahead = datetime.timedelta(hours=hours)
    for worker, seen in session.run("SELECT worker, seen::text FROM haul.worker_call WHERE seen <> '{}' ORDER BY worker FOR UPDATE"):
        moved = re.sub(r'"(\d{4}-\d\d-\d\d[T ][^"]+)"', lambda found: json.dumps(
            (datetime.datetime.fromisoformat(found[1]) + ahead).isoformat()), seen)
        session.run("UPDATE haul.worker_call SET seen = %s::jsonb WHERE worker = %s", [moved, worker])
    for table, columns in STAMPS.items():
        changes = ", ".join(f"{column} = {column} + %(ahead)s" for column in columns)
        session.run(f"UPDATE haul.{table} SET {changes}{TRIED.get(table, '')}", {"ahead": ahead})
    session.run("COMMIT")
