"""Carries out each kind of fault: begins it, holds it for its time, and heals it."""

import contextlib
import os
import random
import signal
import subprocess
import time

import ledger
import pool
import workload

DEEDS = {}
# The lines that haul submit stages in one piece, and a few more, because it knows a line's end only from the next line.
PIECE = 10_000 + 10
# Sessions of the pool: not of the driver or the judge, and not the server's helpers for their statements.
SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE datname = 'haul' AND application_name <> 'chaos' AND backend_type = 'client backend' ORDER BY pid"""


def deed(kind):
    """Registers the function below as the one that carries out this kind. It gets the world, the fault, and a function that
    waits for the fault's time. It returns False if there was nothing to act on; the fault then does not count."""
    def add(function):
        DEEDS[kind] = function
        return function
    return add


@deed("worker kill -9")
def _(world, fault, hold):
    worker = world.pool.workers[fault.target]
    was_there = worker.signal(signal.SIGKILL, "killed")
    worker.wait(120)  # a hanging disk delays the end
    hold()
    worker.start()
    return was_there


@deed("worker SIGTERM")
def _(world, fault, hold):
    return drain(world, world.pool.workers[fault.target], hold, lambda worker: worker.signal(signal.SIGTERM, "drained"))


@deed("worker haul drain")
def _(world, fault, hold):
    def ask(worker):
        number = worker_number(worker)
        worker.life.told = "drained"
        if number is not None and world.pool.haul("drain", str(number)).returncode == 0:
            return True
        worker.signal(signal.SIGTERM, "drained")
        return False
    return drain(world, world.pool.workers[fault.target], hold, ask)


@deed("worker's clock three hours fast")
def _(world, fault, hold):
    worker = world.pool.workers[fault.target]
    shifted = {"LD_PRELOAD": world.site.path("wrong-clock.so")}
    true, worker.environment = worker.environment, worker.environment | shifted
    drain(world, worker, lambda: None, lambda worker: worker.signal(signal.SIGTERM, "drained"))
    hold()
    worker.environment = true
    drain(world, worker, lambda: None, lambda worker: worker.signal(signal.SIGTERM, "drained"))


def drain(world, worker, hold, ask):
    was_asked = ask(worker)
    # The worker cannot give back what an open transaction locks before the transaction ends.
    was_held = any(ledger.overlap(windows, time.time(), time.time()) for windows in list(world.ledger.held.values()))
    if not worker.wait(120 if was_held else 60):
        world.ledger.violation("late drain", f"{worker.life.name} does not end within 60 s of being asked")
        worker.signal(signal.SIGKILL, "killed")
        worker.wait(120)
    hold()
    worker.start()
    return was_asked


def worker_number(worker):
    """Returns the worker's number in the database, from its log."""
    for line in pool.log_lines(worker.life.log):
        if line.get("event") == "worker.registered":
            return int(line["worker"])
    return None


@deed("worker SIGSTOP")
@deed("worker SIGSTOP past its lease")
def _(world, fault, hold):
    return stop(world.pool.workers[fault.target], hold)


@deed("coordinator SIGSTOP")
def _(world, fault, hold):
    return stop(world.pool.coordinators[fault.target], hold)


def stop(program, hold):
    program.trouble("stopped")
    was_there = program.signal(signal.SIGSTOP)
    hold()
    # Note this first: the program may write before this thread runs again.
    program.over()
    program.signal(signal.SIGCONT)
    return was_there


LOSSES = {
    "worker cut off": "all",
    "worker loses what it sends to the database": "to_database",
    "worker loses what the database sends": "from_database",
    "worker loses what origins send": "from_origins",
}


@deed("worker cut off")
@deed("worker loses what it sends to the database")
@deed("worker loses what the database sends")
@deed("worker loses what origins send")
def _(world, fault, hold):
    worker = world.pool.workers[fault.target]
    worker.trouble("cut off")
    worker.wire.lose(LOSSES[fault.kind])
    hold()
    worker.wire.heal()
    worker.over()


@deed("worker killed while cut off")
def _(world, fault, hold):
    # No other process learns of its end: the server keeps its sessions, and origins keep the data in flight.
    worker = world.pool.workers[fault.target]
    worker.trouble("cut off")
    worker.wire.lose("all")
    hold()
    was_there = worker.signal(signal.SIGKILL, "killed")
    worker.wait(120)
    worker.wire.heal()
    worker.over()
    worker.start()
    return was_there


@deed("worker on a slow line")
def _(world, fault, hold):
    worker = world.pool.workers[fault.target]
    worker.trouble("slow")
    worker.wire.narrow("3mbit")
    hold()
    worker.wire.heal()
    worker.over()


@deed("database on a slow line")
def _(world, fault, hold):
    world.relay.delay = random.Random(fault.dice).uniform(0.02, 0.3)
    with world.ledger.noted(world.ledger.breaks):
        hold()
    world.relay.delay = 0


@deed("database replies lost")
def _(world, fault, hold):
    lost = world.relay.lost
    world.relay.loses = True
    with world.ledger.noted(world.ledger.breaks), world.ledger.noted(world.ledger.unheard):
        hold()
    world.relay.loses = False
    return world.relay.lost > lost


@deed("lists submitted through a pooler")
def _(world, fault, hold):
    submit_through_pooler(world, fault.dice, hold)


def submit_through_pooler(world, number, hold):
    """Submits two lists concurrently through a transaction pooler. The first lines of each fill one piece that is staged
    together. The last line follows later, so that the leader has time to take the submission for dead."""
    world.pooler.start()
    try:
        lists = [subprocess.Popen(
            [world.pool.haul_path, "submit", "--input", "-", "--batch", f"pooled-{number}-{name}", "--queue", "disk", "--not-before", "3h"],
            env=world.pool.environment | {"HAUL_DATABASE_URL": world.pooler.conninfo}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for name in range(2)]
        # All jobs of the lists are cancelled in the end, including those of a failed submission.
        world.cancelled.update(f"pooled-{number}-{name}" for name in range(2))
        for name, process in enumerate(lists):
            process.stdin.writelines(f"http://plain.test/nothing-{number}-{name}-{line}\n" for line in range(PIECE))
            process.stdin.flush()
        hold()
        for name, process in enumerate(lists):
            _, said = process.communicate(f"http://plain.test/nothing-{number}-{name}-{PIECE}\n", timeout=120)
            if process.returncode:
                world.ledger.violation("command", f"haul submit through a pooler ended with {process.returncode}: {said[-300:]}")
            count = "SELECT count(*) FROM haul.jobs WHERE batch = %s", [f"pooled-{number}-{name}"]
            # The driver's session may have ended with the server: the first statement then fails.
            rows = world.sql(*count) or world.sql(*count)
            if not process.returncode and rows and rows != [(PIECE + 1,)]:
                world.ledger.violation("once", f"of {PIECE + 1} lines through a pooler {rows[0][0]} are there")
            # Without an answer, the list exists if its command succeeded.
            if rows[0][0] if rows else not process.returncode:
                world.persist("cancel", "--batch", f"pooled-{number}-{name}")
    finally:
        world.pooler.stop()


@deed("coordinator kill -9")
def _(world, fault, hold):
    coordinator = world.pool.coordinators[fault.target]
    was_there = coordinator.signal(signal.SIGKILL, "killed")
    coordinator.wait()
    hold()
    coordinator.start()
    return was_there


@deed("coordinator SIGTERM")
def _(world, fault, hold):
    return drain(world, world.pool.coordinators[fault.target], hold, lambda program: program.signal(signal.SIGTERM, "drained"))


@deed("sessions terminated")
def _(world, fault, hold):
    dice = random.Random(fault.dice)
    with world.ledger.noted(world.ledger.breaks):
        chosen = [pid for pid, in world.sql(SESSIONS) or [] if dice.random() < 0.4]
        return any([world.sql("SELECT pg_terminate_backend(%s)", [pid]) == [(True,)] for pid in chosen])


@deed("one backend kill -9")
def _(world, fault, hold):
    with world.outage():
        sessions = world.sql(SESSIONS)
        if sessions:
            world.server.kill_backend(random.Random(fault.dice).choice(sessions)[0])
        hold()
        return bool(sessions)


@deed("one backend SIGSTOP")
def _(world, fault, hold):
    with world.outage():
        # Everything that it has locked stays locked.
        sessions = world.sql(SESSIONS)
        if sessions:
            server_stands_still(world, [random.Random(fault.dice).choice(sessions)[0]], hold)
        return bool(sessions)


@deed("server SIGSTOP")
def _(world, fault, hold):
    with world.outage():
        # Stop the first process before listing the others, so that none begins meanwhile.
        os.kill(world.server.processes()[0], signal.SIGSTOP)
        server_stands_still(world, world.server.processes(), hold)


def server_stands_still(world, processes, hold):
    """Stops and continues processes. Connections stay open, because the kernel answers for them; statements wait."""
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number == signal.SIGSTOP:
            hold()
    time.sleep(3)  # each program notices the end of the stop at a different time


@deed("server restarted")
def _(world, fault, hold):
    with world.outage():
        world.server.stop()
        world.server.start()
        hold()


@deed("server stopped for a while")
def _(world, fault, hold):
    with world.outage():
        world.server.stop()
        hold()
        world.server.start()
        time.sleep(3)  # each program reconnects at a different time; until then the database counts as away


@deed("failover to a standby")
def _(world, fault, hold):
    standby = world.server.standby()
    hold()
    fail_over(world, standby)


def fail_over(world, standby):
    with world.outage():
        world.server.fail_over(standby)
        time.sleep(3)  # each program reconnects at a different time


@deed("origin restarted")
def _(world, fault, hold):
    world.origin.stop()
    hold()
    world.origin.start()


@deed("nginx restarted")
def _(world, fault, hold):
    world.nginx.stop()
    hold()
    world.nginx.start()


@deed("origin misbehaves")
def _(world, fault, hold):
    dice = random.Random(fault.dice)
    misbehave(world, hold, "odd.test", "any", dice.uniform(0.2, 0.6), dice.choice([1, 2, 3]))


@deed("storm of 429")
def _(world, fault, hold):
    misbehave(world, hold, "odd.test", "429", 0.9, 5)


@deed("storm of 503")
def _(world, fault, hold):
    misbehave(world, hold, "odd.test", "503", 0.9, 5)


@deed("connections for large files reset")
def _(world, fault, hold):
    misbehave(world, hold, "large.test", "reset", 0.7, 1)


def misbehave(world, hold, host, word, chance, wait):
    world.origin.order(host=host, deed=word, chance=chance, wait=wait)
    hold()
    world.origin.order(host=host, deed=None)


@deed("files replaced")
def _(world, fault, hold):
    dice = random.Random(fault.dice)
    candidates = [job for job in world.jobs if job.host in ("large.test", "odd.test", "nginx.test")]
    for job in dice.sample(candidates, len(candidates) // 12):
        # Note this first: a version counts as the origin's from the moment it may have been served.
        world.ledger.versions[job.file.number] += 1
        if job.host == "nginx.test":
            workload.put_file(world.site.path("files"), job.file, world.ledger.versions[job.file.number])
    world.origin.order(versions=dict(world.ledger.versions))


@deed("disk full")
def _(world, fault, hold):
    ballast = world.site.path("small", "ballast")
    with open(ballast, "wb") as file:
        # Reserve space without writing it (fallocate(2)): this fills the disk to its last block, but does not load the
        # machine's disk.
        for size in (64 << 20, 1 << 20, 4096):
            try:
                while True:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
            except OSError:
                pass
    hold()
    os.remove(ballast)


@deed("disk hangs")
def _(world, fault, hold):
    place = world.site.path("disk")
    with world.ledger.noted(world.ledger.frozen):
        subprocess.run(["fsfreeze", "-f", place], check=True)
        try:
            hold()
        finally:
            subprocess.run(["fsfreeze", "-u", place], check=True)


@deed("loss of power")
def _(world, fault, hold):
    world.power_loss()


@deed("cap changed")
def _(world, fault, hold):
    cap = random.Random(fault.dice).randint(1, 6)
    world.set_host("capped.test", cap=cap)


@deed("interval changed")
def _(world, fault, hold):
    interval = random.Random(fault.dice).choice([0.1, 0.2, 0.4])
    world.set_host("polite.test", interval=interval)


@deed("queue paused")
def _(world, fault, hold):
    queue = random.Random(fault.dice).choice(["disk", "small", "limited"])
    world.persist("queue", "pause", queue)
    hold()
    world.persist("queue", "resume", queue)


@deed("batch paused")
def _(world, fault, hold):
    batch = random.Random(fault.dice).choice(world.batches())
    world.persist("pause", "--batch", batch)
    hold()
    world.persist("resume", "--batch", batch)


@deed("batch cancelled")
def _(world, fault, hold):
    batch = random.Random(fault.dice).choice(world.batches())
    world.persist("cancel", "--batch", batch)
    hold()
    # Most batches are retried later; some stay cancelled, chosen by the fault's random numbers.
    if fault.dice % 3:
        world.persist("retry", "--batch", batch, "--state", "cancelled")
        world.wanted.add(batch)
    else:
        world.cancelled.add(batch)


@deed("jobs prioritised")
def _(world, fault, hold):
    dice = random.Random(fault.dice)
    world.persist("prioritize", "--batch", dice.choice(world.batches()), "--priority", str(dice.randint(0, 9)))


@deed("haul migrate")
def _(world, fault, hold):
    # As if an older version had created the functions and views: migrate replaces all of them while the pool runs.
    world.sql("UPDATE haul.repeatable SET digest = 'older'")
    world.persist("migrate")
