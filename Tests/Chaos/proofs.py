"""Proves that the judge finds faults: scenes in which Haul is broken on purpose or changed by hand, and what it must find.

Each scene runs twice in its own namespaces: unchanged, where the judge must find nothing, and broken.

A scene sleeps where there is no event to wait for. No event reports that nothing was found. A fault must last for several looks
of the judge, which looks once a second, or for longer than the time that the judge allows for a heartbeat.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import broken
import content
import faults
import final
import hands
import judge
import soak
import workload
import world

SCENES = {}


def scene(name, *finds, **options):
    """Registers the scene below. `finds`: what the judge must find in it once it is broken."""
    def add(function):
        SCENES[name] = (function, finds, options)
        return function
    return add


def wave(host, count, size, queue="disk", first=1):
    jobs = tuple(workload.Job(host, content.File(first + n, size), queue, f"wave-{host}") for n in range(count))
    return workload.Wave(0, f"wave-{host}", queue, jobs, ())


def until(what, condition, limit=60):
    """Waits for a condition without which the scene cannot continue."""
    deadline = time.time() + limit
    while not condition():
        if time.time() > deadline:
            raise RuntimeError(f"{what} has not come about in {limit} s")
        time.sleep(0.1)  # the condition is a question to the database


def leases(stage):
    rows = stage.sql("SELECT count(*) FROM haul.lease")
    return rows[0][0] if rows else 0


@scene("a cap that is off by one", "cap", "cap at the origin", waves=[wave("capped.test", 40, 40000)])
@scene("lanes that nobody arms when a host is free again", "parked lane", "settled", waves=[wave("capped.test", 40, 40000)])
def _(stage):
    stage.submit()


@scene("intervals that are not kept", "interval", "interval at the origin", waves=[wave("polite.test", 30, 5000)])
def _(stage):
    stage.set_host("polite.test", interval=0.5)
    stage.ledger.intervals["polite.test"] = stage.ledger.intervals["polite.test"][-1:]
    stage.submit()


@scene("a claim that looks at the host of each job that waits", "claim",
       waves=[wave("polite.test", 10000, 10), wave("plain.test", 1500, 100, first=20000)])
def _(stage):
    # Only the first of these begins, and all others wait.
    stage.set_host("polite.test", interval=3600)
    stage.submit()
    until("small files", lambda: (stage.sql("SELECT count(*) FROM haul.outcome") or [[0]])[0][0] >= 1501)
    stage.persist("cancel", "--batch", "wave-polite.test")
    stage.cancelled.add("wave-polite.test")


@scene("a limit of a queue that is not kept", "queue limit", waves=[wave("capped.test", 30, 40000, "limited")])
def _(stage):
    stage.set_host("capped.test", cap=20)
    stage.submit()


@scene("a place that a rescue does not give back", "in flight", waves=[wave("large.test", 8, 8 << 20)])
def _(stage):
    stage.submit()
    until("a worker's lease", lambda: leases(stage) >= 6)
    for worker in stage.pool.workers:
        worker.signal(signal.SIGKILL, "killed")
        worker.wait()
        worker.start()
    time.sleep(10)  # the judge must see that nothing is given back: wait for as long as a rescue takes


@scene("a claim in one statement", "parked lane", waves=[wave("plain.test", 1, 10)])
def _(stage):
    stage.set_host("plain.test", cap=50)
    stage.submit()

    def trickle(name):
        for number in range(80):
            stage.pool.haul("submit", "--queue", "disk", f"http://plain.test/nothing-{name}-{number}")
    threads = [threading.Thread(target=trickle, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def stopped_at(stage, point):
    """Submits a job while only the first worker runs. Waits until that worker has stopped itself at `point` and the pool has
    taken its lease back. Returns the worker."""
    stage.submit()
    worker = stage.pool.workers[0]
    until(f"{worker.life.name} at {point}", lambda: is_stopped(worker))
    worker.trouble(f"stopped at {point}")
    until("the rescue of its job", lambda: leases(stage) == 0, 90)
    return worker


def is_stopped(worker):
    with open(f"/proc/{worker.life.pid}/status") as file:
        return "State:\tT" in file.read()


def wake(worker):
    worker.signal(signal.SIGCONT)
    worker.over()


@scene("tokens that are not compared", "fencing", waves=[wave("plain.test", 1, 5000)], alone=True,
       environments={0: {"HAUL_FAILPOINT": "before_settle=stop"}, 1: {"HAUL_FAILPOINT": "after_claim=stop"}})
def _(stage):
    first, second = stopped_at(stage, "before_settle"), stage.pool.workers[1]
    second.start()
    until("a second lease", lambda: leases(stage) == 1 and is_stopped(second))
    second.trouble("stopped at after_claim")
    # The first worker reports about a lease that it no longer has.
    wake(first)
    time.sleep(3)  # as long as its late report takes; no event tells when the report is refused
    wake(second)


@scene("a rename without a look at the lease", "name", waves=[wave("plain.test", 1, 5000)],
       environments={0: {"HAUL_FAILPOINT": "after_sync=stop"}}, breaks={"HAUL_BROKEN": "fence"}, alone=True)
def _(stage):
    worker = stopped_at(stage, "after_sync")
    # No worker has a lease of the job now. Then cancel the job.
    stage.persist("cancel", "--batch", "wave-plain.test")
    stage.cancelled.add("wave-plain.test")
    wake(worker)
    time.sleep(5)  # as long as it would take to rename the file, which it must not do


@scene("a rescue of those that live", "twice at once", waves=[wave("large.test", 6, 12 << 20)])
def _(stage):
    stage.submit()
    until("leases", lambda: leases(stage) == 6)
    time.sleep(10)  # some rounds of the rescuer


@scene("submissions that are taken for dead", "command", waves=[wave("plain.test", 1, 10)])
def _(stage):
    stage.submit()
    faults.submit_through_pooler(stage, 1, lambda: time.sleep(4))  # some rounds of the leader


@scene("sessions that wait for an open transaction", "other hosts", alone=True,
       waves=[wave("large.test", 4, 12 << 20), wave("polite.test", 100, 1000, first=100)])
def _(stage):
    stage.set_host("polite.test", interval=0.5)
    stage.submit()
    until("large files", lambda: stage.sql(hands.RUNNING, ["large.test"]))
    # The large files take eight seconds.
    hands.leave_open(stage, "large.test", "row", lambda: time.sleep(15 + judge.STILL))


@scene("a row that stops all claims", "settled", waves=[wave("capped.test", 40, 40000)])
def _(stage):
    stage.submit()
    # Choose a job near the end of the queue, because it waits for a while.
    until("a job that waits", lambda: hands.poison(stage, hands.OLDER_ROWS[0], 0.99))


@scene("stamps of a clock that was ahead", "settled", waves=[wave("polite.test", 40, 1000)])
def _(stage):
    stage.submit()
    until("the first files", lambda: (stage.sql("SELECT count(*) FROM haul.outcome") or [[0]])[0][0] > 3)
    # The next start of a host with an interval is now two hours away.
    until("a step of the clock", lambda: hands.step_clock(stage, 2, lambda: None) is not False)


@scene("a failover that loses commits", "no longer completed", waves=[wave("capped.test", 200, 40000)], by_hand=True)
def _(stage):
    stage.submit()
    until("the first files", lambda: (stage.sql("SELECT count(*) FROM haul.outcome") or [[0]])[0][0] > 3)
    faults.fail_over(stage, stage.server.standby())
    until("a session after the failover", lambda: stage.sql("SELECT 1"))
    yield
    standby = stage.server.standby(synchronous=False)
    # From now on the standby receives nothing.
    stage.server.program("pg_ctl", "--mode", "immediate", "--wait", "--silent", "stop", data=standby)
    before = stage.sql("SELECT count(*) FROM haul.outcome")[0][0]
    until("more files", lambda: (stage.sql("SELECT count(*) FROM haul.outcome") or [[0]])[0][0] > before + 3)
    time.sleep(3)  # the judge has seen them
    os.remove(os.path.join(standby, "postgresql.auto.conf"))
    stage.server.program("pg_ctl", "--log", stage.server.log, "--wait", "--silent", "--options", "-p 5433", "start", data=standby)
    faults.fail_over(stage, standby)


@scene("a wait that is not kept", "asked too early", waves=[wave("plain.test", 20, 5000)])
def _(stage):
    # Start jobs one after the other, so that some would still begin in the time that must stay free of requests.
    stage.set_host("plain.test", interval=0.5)
    stage.origin.order(host="plain.test", deed="429", chance=1.0, wait=6)
    stage.submit()
    time.sleep(6)  # the host wants no requests for this long; a request meanwhile is noticed
    stage.origin.order(host="plain.test", deed=None)


# Slow, so that a process lives long enough to tell growth from work.
@scene("memory that is not given back", "growth", "bound of memory", waves=[wave("polite.test", 2, 3 << 20)], breaks={"HAUL_KEEPS": str(6 << 20)})
def _(stage):
    stage.submit()
    final.settle(stage, 60)


@scene("descriptors that are not given back", "bound of descriptors", waves=[wave("polite.test", 2, 3 << 20)],
       breaks={"HAUL_BROKEN": "descriptors"})
@scene("threads that do not end", "bound of threads", waves=[wave("polite.test", 2, 3 << 20)], breaks={"HAUL_BROKEN": "threads"})
def _(stage):
    stage.submit()
    final.settle(stage, 60)


@scene("nothing that is synced", "file after a loss of power", "checkpoint after a loss of power",
       waves=[wave("plain.test", 20, 5000, first=100), wave("large.test", 3, 40 << 20)], breaks={"HAUL_BROKEN": "sync"})
def _(stage):
    stage.submit()
    until("small files", lambda: (stage.sql("SELECT count(*) FROM haul.outcome") or [[0]])[0][0] == 20)
    until("checkpoints", lambda: (stage.sql("SELECT count(*) FROM haul.checkpoint") or [[0]])[0][0] == 3)
    stage.power_loss()


@scene("a hand in the stores", "file", "missing file", "name", "part", "part of an ended job", "rename",
       waves=[wave("plain.test", 10, 5000)], by_hand=True)
def _(stage):
    stage.submit()
    final.settle(stage, 30)
    yield
    names = [os.path.join(stage.stores["disk"], job.path) for job in stage.jobs]
    with open(names[0], "r+b") as file:  # change one byte
        file.seek(4321)
        byte = file.read(1)
        file.seek(4321)
        file.write(bytes([byte[0] ^ 1]))
    os.remove(names[1])
    os.truncate(names[2], 4000)
    os.chmod(names[3], 0o600)
    open(os.path.join(stage.stores["small"], "stray"), "w").close()
    parts = next(place for place, _, _ in os.walk(os.path.join(stage.stores["disk"], ".haul", "parts")))
    open(os.path.join(parts, "99999.99999"), "w").close()
    # A worker that stops removes such a file. Make it immutable, so that the worker cannot.
    left = os.path.join(parts, f"{stage.sql('SELECT max(job) FROM haul.outcome')[0][0]}.99999")
    open(left, "w").close()
    subprocess.run(["chattr", "+i", left], check=True)


@scene("a hand in the database", "one state", "no longer completed", "in flight", "once", "twice", "outcome",
       "outcome without origin", "token", "parked lane", "cap", "one row", "batch totals", "digest", "length", "place",
       waves=[wave("plain.test", 10, 5000), wave("large.test", 3, 20 << 20, first=100)], by_hand=True)
def _(stage):
    stage.submit()
    until("small files", lambda: stage.sql("SELECT count(*) FROM haul.outcome") == [(10,)])
    until("leases", lambda: leases(stage) == 3)
    time.sleep(2)  # the judge has seen which jobs are completed
    yield
    stage.sql("INSERT INTO haul.held SELECT id, queue, host, 0, 5, NULL, now() FROM haul.job WHERE path LIKE '%%/1'")
    stage.sql("DELETE FROM haul.outcome WHERE job IN (SELECT id FROM haul.job WHERE path LIKE '%%/2')")
    stage.sql("UPDATE haul.outcome SET state = 'failed', error = 'io' WHERE job IN (SELECT id FROM haul.job WHERE path LIKE '%%/3')")
    stage.sql("UPDATE haul.outcome SET digest = 'sha-256=' || repeat('0', 64) WHERE job IN (SELECT id FROM haul.job WHERE path LIKE '%%/5')")
    stage.sql("UPDATE haul.outcome SET bytes = bytes + 1 WHERE job IN (SELECT id FROM haul.job WHERE path LIKE '%%/6')")
    stage.sql("UPDATE haul.outcome SET path = 'elsewhere' WHERE job IN (SELECT id FROM haul.job WHERE path LIKE '%%/7')")
    stage.sql("CREATE TEMP TABLE twin AS SELECT * FROM haul.job WHERE path LIKE '%%/8'")
    stage.sql("UPDATE twin SET id = id + 1000000")
    stage.sql("INSERT INTO haul.job SELECT * FROM twin")
    stage.sql("INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes) VALUES (1, now(), 1, 0, 0, 0, 0)")
    stage.sql("UPDATE haul.host SET in_flight = in_flight + 1 WHERE name = 'plain.test'")
    stage.sql("""INSERT INTO haul.attempt (job, token, worker, result, charged, started_at, ended_at)
        SELECT job, token + 1000000, worker, 'released', false, started_at, now() FROM haul.lease LIMIT 1""")
    stage.ledger.caps["large.test"] = [(0, 2)]
    stage.sql("UPDATE haul.queue SET paused = true WHERE name = 'small'")
    stage.pool.must("submit", "--queue", "small", "http://plain.test/nothing-here")
    stage.sql("INSERT INTO haul.lane SELECT * FROM haul.lane LIMIT 1")
    stage.sql("UPDATE haul.lane SET next_at = NULL WHERE head IS NOT NULL")
    time.sleep(3)  # the judge looks once a second
    stage.sql("DELETE FROM haul.job WHERE path LIKE '%%/4'")


@scene("a hand among the processes", "worker", "dead worker", "ended", "exit code", "address", "refetched",
       waves=[wave("large.test", 2, 30 << 20)], by_hand=True)
def _(stage):
    stage.submit()
    until("checkpoints", lambda: (stage.sql("SELECT count(*) FROM haul.checkpoint") or [[0]])[0][0] == 2)
    time.sleep(6)  # so that there is much to download again
    yield
    first, second = stage.pool.workers
    for worker in (first, second):
        worker.signal(signal.SIGSTOP)
    stage.sql("DELETE FROM haul.checkpoint")
    for worker in (first, second):
        worker.signal(signal.SIGKILL, "killed")
        worker.wait()
        worker.start()
    subprocess.run(["curl", "-s", "-o", "/dev/null", "http://plain.test/1-10"], check=True)
    time.sleep(3)  # both have registered, and the judge has seen it
    first.process.kill()
    second.process.send_signal(signal.SIGSTOP)
    # Prevent a rescue: this makes the pool take the dead worker for alive.
    stage.sql("UPDATE haul.worker SET expires_at = 'infinity', heartbeat_at = 'infinity' WHERE pid = %s", [first.life.pid])
    time.sleep(30)  # twice as long as a lease lasts
    second.process.send_signal(signal.SIGCONT)
    second.signal(signal.SIGUSR2, "drained")  # the signal ends it, but not gracefully
    second.wait()


@scene("a hand among the requests", "again", waves=[wave("plain.test", 1, 5000)], by_hand=True)
def _(stage):
    stage.submit()
    final.settle(stage, 30)
    time.sleep(2)  # a request within a second of the end may have been in flight
    yield
    stage.pool.workers[0].wire.inside("curl", f"-s -o /dev/null {stage.jobs[0].url}")


@scene("a worker that is not drained when it is to end", "drain", "late drain", waves=[wave("plain.test", 1, 5000)],
       breaks={"HAUL_BROKEN": "drain"})
def _(stage):
    stage.submit()
    final.settle(stage, 30)
    faults.drain(stage, stage.pool.workers[0], lambda: None, lambda worker: worker.signal(signal.SIGTERM, "drained"))


@scene("changes of batches that nobody adds up", "totals not added up", waves=[wave("plain.test", 5, 5000)])
def _(stage):
    stage.submit()


@scene("a server that is away, and a command that is refused", "database", "command", waves=[wave("plain.test", 1, 5000)], by_hand=True)
def _(stage):
    stage.submit()
    yield
    stage.persist("submit", "--queue", "nobody-has-made-it", "http://plain.test/1")
    stage.server.stop()
    time.sleep(3)  # the judge looks once a second
    stage.server.start()
    time.sleep(5)  # each program reconnects at a different time


@scene("a snapshot that somebody holds", "hot tables", soak=True)
def _(stage):
    session = stage.server.session()
    session.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.run("SELECT 1")
    stage.kept = session


@scene("a session that keeps its memory", "growth", soak=True)
def _(stage):
    stage.kept = stage.server.session()
    stage.kept.run("SELECT set_config('chaos.kept', repeat('x', 100000000), false)")


@scene("a job that leaves more behind", "history", soak=True)
def _(stage):
    stage.sql("CREATE INDEX ON haul.outcome (path, digest, message, bytes, finished_at, state, job)")
    stage.sql("CREATE INDEX ON haul.attempt (started_at, ended_at, worker, token, job)")


@scene("memory that small files do not give back", "growth", soak=True, breaks={"HAUL_KEEPS": "2000"})
def _(stage):
    pass


@scene("a pool that becomes slower", "throughput", "backlog", "settled", "claim", soak=True)
def _(stage):
    stage.set_host("nginx.test", interval=0.05)


def play(options, root):
    """Runs one scene; prints what the judge has found as JSON in the last line."""
    function, _, more = SCENES[options.scene]
    environments = dict(more.get("environments", {}))
    if options.broken and "breaks" in more:
        environments = {number: environments.get(number, {}) | more["breaks"] for number in range(2)}
    if "soak" in more:
        # Periods of a minute include other work of the machine, so the spread is wide.
        long = soak.Soak(options, root, 90, soak.STEP, 0.3, function if options.broken else None, environments)
        # An hour's worth of vacuuming in less than two minutes.
        long.stage.sql("ALTER SYSTEM SET autovacuum_naptime = '1s'")
        long.stage.sql("SELECT pg_reload_conf()")
        long.run()
        return tell(long.stage)
    workers = 4 if options.scene == "a claim in one statement" else 2
    stage = world.World(root, options.haul, 1, more["waves"], workers, environments, in_memory=not options.keep)
    if options.broken and options.scene in broken.SQL:
        with stage.server.session() as session:
            broken.patch_functions(session, options.scene)
    stage.start(stage.pool.coordinators + stage.pool.workers[:1] if more.get("alone") else None)
    watcher = judge.Judge(stage)
    watcher.start()
    steps = function(stage)
    if more.get("by_hand"):
        next(steps)
        if options.broken:
            next(steps, None)
    time.sleep(2)  # the judge looks once a second
    final.finish(stage, watcher, 40)
    return tell(stage)


def tell(stage):
    print(json.dumps(sorted({check for _, check, _ in stage.ledger.violations})))
    return 0


def prove(options, root):
    """Runs every scene, unchanged and broken, and prints what was found."""
    script = os.path.abspath(sys.argv[0])
    top = os.path.dirname(os.path.dirname(os.path.dirname(script)))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # the package manager needs it
    chosen = {name: scene for name, scene in SCENES.items() if not options.only or options.only in name}
    if not chosen:
        print(f"chaos: no scene has '{options.only}' in its name", file=sys.stderr)
        return 64
    program = None
    if any("breaks" in more for _, _, more in chosen.values()):
        print("chaos: building a broken program beside the real one", flush=True)
        program = broken.build(top, root)
    missed = 0
    for name, (_, finds, more) in chosen.items():
        for is_broken in (False, True):
            haul = program if is_broken and "breaks" in more else options.haul
            command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B",
                       script, "--haul", haul, "--scene", name] + ["--broken"] * is_broken
            done = subprocess.run(command, capture_output=True, text=True)
            found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
            is_right = found is not None and (set(finds) <= set(found) if is_broken else not found)
            missed += not is_right
            print(f"  {'as it is' if not is_broken else 'broken  '}  {name}: {', '.join(found) if found else found}"
                  f"{'' if is_right else '  WRONG, wanted: ' + ', '.join(finds if is_broken else [])}", flush=True)
            if not is_right:
                print(done.stdout[-3000:], done.stderr[-3000:], sep="\n", flush=True)
    print(f"{missed} of {2 * len(chosen)} were not as they had to be")
    return 1 if missed else 0
