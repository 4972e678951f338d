"""The steps of a run: what operators and failures do to the machines, and what must follow."""

import dataclasses
import signal
import subprocess
import time

import logins

# Jobs of a worker that have a checkpoint, from which another worker can resume, and that will not end within two seconds.
DURABLE = """
SELECT l.job, l.token, s.name FROM haul.lease l JOIN haul.checkpoint c ON c.job = l.job AND c.token = l.token
JOIN haul.queue q ON q.id = l.queue JOIN haul.store s ON s.id = q.store
WHERE l.worker = %s AND NOT isempty(c.durable) AND c.length - upper(c.durable) > 500000 ORDER BY l.job"""
LEASES = "SELECT count(*) FROM haul.lease WHERE worker = %s"
# How many of these jobs have, or had, a lease with a higher token.
TAKEN = """
SELECT count(*) FROM unnest(%s::bigint[], %s::bigint[]) AS h(job, token)
WHERE EXISTS (SELECT FROM haul.lease l WHERE l.job = h.job AND l.token > h.token)
  OR EXISTS (SELECT FROM haul.attempt a WHERE a.job = h.job AND a.token > h.token)"""
TLS = """
SELECT count(*), count(*) FILTER (WHERE s.ssl) FROM pg_stat_activity a JOIN pg_stat_ssl s ON s.pid = a.pid
WHERE a.client_addr = ANY (%s::inet[])"""
UNFINISHED = "SELECT (SELECT count(*) FROM haul.job) - (SELECT count(*) FROM haul.outcome)"
CONFIGURATION = 78  # the exit code


@dataclasses.dataclass
class Handover:
    """A job that a worker had to give up after it had saved a part of it."""

    step: str
    job: int
    token: int
    store: str
    machine: str


def play(stage):
    for step in (begin, cut_off, drain, kill, upgrade):
        step(stage)
        print(f"  {time.time() - stage.ledger.begin:5.1f} s  {step.__doc__}", flush=True)
    stage.wait("all jobs end", lambda: not stage.sql(UNFINISHED)[0][0])
    print(f"  {time.time() - stage.ledger.begin:5.1f} s  All jobs have ended.", flush=True)


def begin(stage):
    """Wrong logins and a machine without its mount are refused. Workers start."""
    refused(stage, "a worker without a certificate", "certificate", "alpha", "workers", service="no_certificate")
    refused(stage, "a server under another name", logins.OTHER_NAME, "beta", "workers", service="wrong_name")
    without_mount(stage, "beta")
    for name in stage.machines:
        stage.must(name, "check", *stage.mounts(name), service="haul_worker")
    stage.pool.coordinators[0].start()
    for worker in stage.pool.workers:
        start(stage, worker)
    sessions, encrypted = stage.sql(TLS, list(stage.addresses))[0]
    if encrypted < sessions or encrypted < len(stage.machines):
        stage.violation("TLS", f"{encrypted} of {sessions} sessions of the machines are encrypted")


def cut_off(stage):
    """Alpha lost its network, and came back."""
    stage.submit(1)
    worker, number = stage.worker("alpha"), busy(stage, "cut off", "alpha")
    worker.trouble("cut off")
    stage.cut("alpha")
    taken(stage, number)
    stage.cut()
    worker.over()
    stage.submit(2)
    stage.wait("alpha works again", lambda: stage.sql(LEASES, stage.number(worker))[0][0])


def drain(stage):
    """Beta was drained with 'haul drain', and started again."""
    worker, number = stage.worker("beta"), busy(stage, "drain", "beta")
    worker.life.told = "drained"
    stage.must("alpha", "drain", str(number))
    ended(stage, worker)
    taken(stage, number)
    start(stage, worker)
    stage.submit(3)


def kill(stage):
    """Alpha's worker was killed with SIGKILL, and started again."""
    worker, number = stage.worker("alpha"), busy(stage, "kill", "alpha")
    worker.signal(signal.SIGKILL, "killed")
    worker.wait()
    taken(stage, number)
    start(stage, worker)
    stage.submit(4)


def upgrade(stage):
    """The database was upgraded, then both machines, one after the other. Beta was first refused without its mount."""
    stage.pool.haul_path = stage.site.path("programs", "2", "haul")
    stage.migrate()
    for name in stage.machines:
        worker, number = stage.worker(name), busy(stage, f"upgrade of {name}", name)
        worker.signal(signal.SIGTERM, "drained")
        ended(stage, worker)
        taken(stage, number)
        if name == "beta":
            without_mount(stage, name)
        worker.haul_path = stage.machines[name].program(2)
        start(stage, worker)
    stage.submit(5)


def start(stage, worker):
    """Starts a worker, and waits until it can get jobs: otherwise the other worker gets all of the next wave."""
    worker.start()
    stage.wait(f"{worker.life.name} registers", lambda: stage.number(worker))


def busy(stage, step, name):
    """Waits until a worker has saved parts of files, and returns its number."""
    number = stage.number(stage.worker(name))
    rows = stage.wait(f"{name} has saved a part of a file", lambda: stage.sql(DURABLE, number))
    stage.handovers += [Handover(step, job, token, store, name) for job, token, store in rows]
    return number


def taken(stage, number):
    """Waits until a worker that is away has no leases, and the other one has taken a job whose part it can reach."""
    stage.wait(f"the pool takes the jobs of worker {number}", lambda: stage.sql(LEASES, number)[0][0] == 0)
    step = stage.handovers[-1].step
    shared = [h for h in stage.handovers if h.step == step and stage.stores[h.store].shared]
    if shared:
        jobs, tokens = [h.job for h in shared], [h.token for h in shared]
        stage.wait(f"the other worker takes a job of worker {number}", lambda: stage.sql(TAKEN, jobs, tokens)[0][0])


def ended(stage, worker):
    """Waits until a worker that was asked to drain ends."""
    if not worker.wait(60):
        stage.violation("drain", f"{worker.life.name} does not end within 60 s")
        worker.signal(signal.SIGKILL)
        worker.wait()
    elif worker.process.returncode:
        stage.violation("exit code", f"{worker.life.name} ended with {worker.process.returncode} after a drain")


def without_mount(stage, name):
    """Tries to start a worker while a store of the machine is not mounted."""
    store = next(store for store in stage.stores.values() if name in store.machines)
    stage.machines[name].unmount(store)
    refused(
        stage, f"a worker without {store.directory}", f"{store.directory} has no store marker", name,
        "worker", *stage.mounts(name), code=CONFIGURATION)
    stage.machines[name].mount(store)


def refused(stage, what, words, name, *arguments, code=None, service="haul_worker"):
    """Runs a command that must be refused in one line with these words."""
    try:
        done = stage.command(name, *arguments, service=service)
    except subprocess.TimeoutExpired:
        return stage.violation("refusal", f"{what} is not refused")
    said = done.stderr.strip()
    if done.returncode == 0 or code not in (None, done.returncode) or words not in said or "\n" in said:
        stage.violation("refusal", f"{what}: exit code {done.returncode}, {said!r}")
    stage.ledger.figures[what] = said
