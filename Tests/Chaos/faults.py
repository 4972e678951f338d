"""How each kind of fault is carried out: begun, held for its time, healed."""

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
# Lines that haul submit stages at once, and some more: it knows a line's end by the next one.
PIECE = 10_000 + 10
# Of the pool: neither the driver's and the judge's nor what the server starts to help with their statements.
SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE datname = 'haul' AND application_name <> 'chaos' AND backend_type = 'client backend' ORDER BY pid"""


def deed(kind):
    """Says that the function below carries out this kind. It gets the world, the fault, and a way to wait for its time; it
    returns False where there was nothing to do it to, which does not count."""
    def add(function):
        DEEDS[kind] = function
        return function
    return add


@deed("worker kill -9")
def _(world, fault, hold):
    worker = world.pool.workers[fault.target]
    was_there = worker.signal(signal.SIGKILL, "killed")
    worker.wait(120)  # not before a disk that hangs lets it go
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
    # What an open transaction keeps it can give back no earlier.
    was_held = any(ledger.overlap(windows, time.time(), time.time()) for windows in list(world.ledger.held.values()))
    if not worker.wait(120 if was_held else 60):
        world.ledger.violation("late drain", f"{worker.life.name} does not end within 60 s of being asked")
        worker.signal(signal.SIGKILL, "killed")
        worker.wait(120)
    hold()
    worker.start()
    return was_asked


def worker_number(worker):
    """The number that the database gave it, from its log."""
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
    # Noted first: it may write before this thread has its turn again.
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
    # Nobody hears of its end: the server keeps its sessions, origins keep what they were sending.
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


@deed("worker on a narrow line")
def _(world, fault, hold):
    worker = world.pool.workers[fault.target]
    worker.trouble("slow")
    worker.wire.narrow("3mbit")
    hold()
    worker.wire.heal()
    worker.over()


@deed("database far away")
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


@deed("lists through a pooler")
def _(world, fault, hold):
    submit_through_pooler(world, fault.dice, hold)


def submit_through_pooler(world, number, hold):
    """Two lists at once through a transaction pooler. Each is as long as what is staged at once and a line; between the two the
    leader has time to take it for dead."""
    world.pooler.start()
    try:
        lists = [subprocess.Popen(
            [world.pool.haul_path, "submit", "--input", "-", "--batch", f"pooled-{number}-{name}", "--queue", "disk", "--not-before", "3h"],
            env=world.pool.environment | {"HAUL_DATABASE_URL": world.pooler.conninfo}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for name in range(2)]
        # What comes to nothing is cancelled, as is all else of it in the end.
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
            # The driver's session may have ended with the server: the first statement finds that out.
            rows = world.sql(*count) or world.sql(*count)
            if not process.returncode and rows and rows != [(PIECE + 1,)]:
                world.ledger.violation("once", f"of {PIECE + 1} lines through a pooler {rows[0][0]} are there")
            # Without an answer, the list is there if its command ended well.
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
        # Whatever it has locked stays locked.
        sessions = world.sql(SESSIONS)
        if sessions:
            server_stands_still(world, [random.Random(fault.dice).choice(sessions)[0]], hold)
        return bool(sessions)


@deed("server SIGSTOP")
def _(world, fault, hold):
    with world.outage():
        # Its first process before it is asked for the others, so that none begins meanwhile.
        os.kill(world.server.processes()[0], signal.SIGSTOP)
        server_stands_still(world, world.server.processes(), hold)


def server_stands_still(world, processes, hold):
    """Connections live on, since the kernel answers for them; statements wait."""
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number == signal.SIGSTOP:
            hold()
    time.sleep(3)  # programs hear again each in its own time


@deed("server restarted at once")
def _(world, fault, hold):
    with world.outage():
        world.server.stop()
        world.server.start()
        hold()


@deed("server away")
def _(world, fault, hold):
    with world.outage():
        world.server.stop()
        hold()
        world.server.start()
        time.sleep(3)  # programs connect again each in its own time: until then it counts as away


@deed("failover to a standby")
def _(world, fault, hold):
    standby = world.server.standby()
    hold()
    fail_over(world, standby)


def fail_over(world, standby):
    with world.outage():
        world.server.fail_over(standby)
        time.sleep(3)  # programs connect again each in its own time


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


@deed("large files reset")
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
        # Noted first: a version counts as the origin's from the moment it may have been served.
        world.ledger.versions[job.file.number] += 1
        if job.host == "nginx.test":
            workload.put_file(world.site.path("files"), job.file, world.ledger.versions[job.file.number])
    world.origin.order(versions=dict(world.ledger.versions))


@deed("disk full")
def _(world, fault, hold):
    ballast = world.site.path("small", "ballast")
    with open(ballast, "wb") as file:
        # Room that is set aside is not written (fallocate(2)): down to the last block, and nothing of it goes to the machine's disk.
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
    # Most are wanted after all; those of an unlucky number stay cancelled.
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
    # As from a version whose functions and views were others: all of them are made anew beneath the pool.
    world.sql("UPDATE haul.repeatable SET digest = 'older'")
    world.persist("migrate")
