"""The measurements of scripts/parts/bench/queue, one function each."""

import itertools
import os
import statistics
import subprocess
import tempfile
import threading
import time

import queries
from load import HOSTS, PROGRAMS, Run, SERVER_DIRECTORY, Trouble, conninfo, copy_of, haul, migrate, psql, submit, zipf


def require_health(database):
    psql(database, "ANALYZE")  # the view joins whole tables
    complaints = psql(database, 'SELECT "check", violations FROM haul.health WHERE violations <> 0')
    if complaints:
        raise Trouble("haul.health has violations:\n" + complaints)


def measure_claims(table, database, waiting, base=None, times="a tenth"):
    """Measures claims of 1 and of 64. `base`, the p50 with fewer waiting jobs, bounds the p50 of claims of 1."""
    run = Run(copy_of(database), "bench", room=1, settle=0, calls=1000)
    p50 = table.add(f"claim of 1, {waiting:,} waiting, p50", run.percentile(0.5), "ms", most=2)
    table.add(f"claim of 1, {waiting:,} waiting, p99", run.percentile(0.99), "ms")
    if base:
        table.add(f"  p50 divided by that of {times} waiting", p50 / base, "times", most=1.2)
    run = Run("bench_run", "bench", settle=0, calls=300)
    table.add(f"claim of 64, {waiting:,} waiting, p50", run.percentile(0.5), "ms")
    table.add(f"claim of 64, {waiting:,} waiting, p99", run.percentile(0.99), "ms")
    require_health("bench_run")
    return p50


class Reader(threading.Thread):
    """A session that runs its queries in turn, again and again, while the body of `with` runs."""

    def __init__(self, questions):
        super().__init__()
        self.questions, self.slowest, self.is_over = questions, dict.fromkeys(questions, 0), threading.Event()

    def run(self):
        for name in itertools.cycle(self.questions):
            if self.is_over.is_set():
                return
            begin = time.monotonic()
            psql("bench_run", self.questions[name])
            self.slowest[name] = max(self.slowest[name], time.monotonic() - begin)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()


def measure_views(table, database, seconds):
    """Measures claims while a session reads every view, and how long each view takes."""
    copy_of(database)
    Run("bench_run", "bench", clients=4, seconds=seconds)
    psql("bench_run", "ANALYZE")
    # Compare with a session that only computes, because two cores of a virtual machine may be halves of one core.
    numbers = {"numbers": "SELECT sum(i) FROM generate_series(1, 1000000) i"}
    views = {view: f"SELECT * FROM haul.{view} " + ("WHERE \"check\" = 'lost_lane'" if view == "health" else "LIMIT 50")
             for view in psql("bench_run", "SELECT viewname FROM pg_views WHERE schemaname = 'haul'").split()}
    ratios, slowest = [], {}
    for _ in range(3):
        with Reader(numbers):
            without = Run("bench_run", "bench", room=1, seconds=seconds)
        with Reader(views) as reader:
            run = Run("bench_run", "bench", room=1, seconds=seconds)
        ratios.append(run.percentile(0.5) / without.percentile(0.5))
        slowest = {view: max(took, slowest.get(view, 0)) for view, took in reader.slowest.items()}
    table.add("claim of 1 while all views are read, p50", run.percentile(0.5), "ms")
    table.add("  divided by that while a session only computes", statistics.median(ratios), "times", most=1.5)
    name = max(slowest, key=slowest.get)
    table.add(f"  the slowest view, haul.{name}", slowest[name], "s", most=1)


def measure_queries(table, database, seconds):
    """Runs the queries of operators, on a pool with jobs in every state."""
    copy_of(database)
    Run("bench_run", "bench", clients=4, seconds=seconds)
    queries.measure(table, psql)
    require_health("bench_run")


def measure_finish(table, database, what, queue, clients, seconds, least=None):
    run = Run(copy_of(database), queue, clients=clients, seconds=seconds)
    table.add(what, run.rate, "jobs/s", least=least)
    table.add("  server's CPU", run.cpu, "us/job")
    if run.retried:
        table.add("  deadlocks", run.retried, "calls")
    require_health("bench_run")
    return run


def measure_snapshot(table, database, seconds):
    without = measure_finish(table, database, "claim+finish, 4 clients", "bench", 4, seconds, 10_000)
    table.add("  WAL", without.wal, "B/job")
    copy_of(database)
    holder = subprocess.Popen([PROGRAMS + "/psql", "-Xqd", conninfo("bench_run")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    holder.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM haul.queue;\n\\echo held\n")
    holder.stdin.flush()
    while "held" not in (line := holder.stdout.readline()):
        if not line:
            raise Trouble("the session that should hold a snapshot has ended")
    run = Run("bench_run", "bench", clients=4, seconds=seconds)
    holder.communicate("COMMIT;\n")
    table.add(f"the same, with a snapshot for {seconds} s", run.rate, "jobs/s")
    table.add("  server's CPU", run.cpu, "us/job")
    table.add("  rate in the last quarter, relative to no snapshot", 100 * run.last_rate / without.last_rate, "%", least=80)
    require_health("bench_run")


def measure_program(table, jobs):
    """Measures submission and cancellation by the program itself."""
    migrate("bench_run2")
    submit("bench_run2", "few", [f"few{n % 200}.test" for n in range(100_000)])
    with tempfile.NamedTemporaryFile("w", prefix="haul-bench.") as file:
        file.writelines(f"https://h{n * 7919 % HOSTS}.test/files/{n}\n" for n in range(jobs))
        file.flush()
        psql("postgres", "CHECKPOINT")
        took, memory = haul("bench_run2", "submit", "-i", file.name, "--queue", "bench", "--batch", "all")
    table.add(f"haul submit of {jobs:,} lines", jobs / took, "lines/s", least=25_000)
    table.add("  memory of the program", memory, "MiB", most=64)
    psql("postgres", "CHECKPOINT")
    took = []
    cancel = threading.Thread(target=lambda: took.append(haul("bench_run2", "cancel", "--batch", "all")[0]))
    cancel.start()
    claims = Run("bench_run2", "few", room=1, seconds=max(3, jobs // 150_000))
    cancel.join()
    if not took:
        raise Trouble("haul cancel has failed")
    table.add(f"haul cancel of {jobs:,} jobs", took[0], "s", most=10)
    table.add("  claim of 1 job during the cancel, p99", claims.percentile(0.99), "ms", most=50)
    require_health("bench_run2")


def measure_large(table, lines):
    """Measures claims while a hundredth of the lines waits, submits all lines with the program, and measures claims again."""
    migrate("bench_large")
    submit("bench_large", "bench", ["full.test"])
    Run("bench_large", "bench", room=1, settle=0, calls=0)
    hundredth = lines // 100
    submit("bench_large", "bench", ["full.test"] * (hundredth // 5) + zipf(hundredth * 4 // 5))
    base = measure_claims(table, "bench_large", hundredth)
    with tempfile.NamedTemporaryFile("w", prefix="haul-bench.") as file:
        file.writelines(f"https://full.test/large/{n}\n" for n in range(lines // 5))
        file.writelines(f"https://{host}/large/{n}\n" for n, host in enumerate(zipf(lines * 4 // 5)))
        file.flush()
        took, memory = haul("bench_large", "submit", "-i", file.name, "--queue", "bench", "--batch", "all")
    table.add(f"haul submit of {lines:,} lines", lines / took, "lines/s", least=25_000)
    table.add("  memory of the program", memory, "MiB", most=64)
    measure_claims(table, "bench_large", lines, base, times="a hundredth")


def measure_idle(table):
    """Counts the statements of an idle worker's sessions in the server's log within a minute, except heartbeats."""
    migrate("bench_idle")
    environment = os.environ | {"HAUL_DATABASE_URL": conninfo("bench_idle")}
    with tempfile.TemporaryDirectory(prefix="haul-bench.") as store:
        haul("bench_idle", "store", "init", "idle", store)
        psql("postgres", "ALTER DATABASE bench_idle SET log_statement = 'all'")
        programs = []
        for arguments in (["coordinator"], ["worker", "--store", f"idle={store}"]):
            programs.append(subprocess.Popen([os.environ["HAUL"], *arguments], env=environment, stderr=subprocess.DEVNULL))
            time.sleep(5)  # so that the coordinator leads, not the worker
        pids = psql("bench_idle", """SELECT pid FROM pg_stat_activity
            WHERE datname = 'bench_idle' AND application_name LIKE 'haul-worker%'""").split()
        with open(SERVER_DIRECTORY + "/log", encoding="utf-8") as log:
            log.seek(0, os.SEEK_END)
            time.sleep(60)
            asked = [line for line in log if "LOG:  execute" in line and any(f"[{pid}]" in line for pid in pids)]
        for program in programs:
            program.terminate()
            program.wait()
    beats = sum("haul.heartbeat" in line for line in asked)
    if not beats:
        raise Trouble("the worker has sent no heartbeat")
    table.add("calls of an idle worker, besides heartbeats", (len(asked) - beats) / 60, "calls/s", most=1)
