"""The databases that scripts/parts/bench/queue measures: fills them, and runs clients that work on them."""

import bisect
import glob
import itertools
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

SERVER = os.environ["HAUL_TEST_POSTGRES"]
SERVER_DIRECTORY = re.search(r"host=(\S+)", SERVER)[1]
PROGRAMS = os.environ["HAUL_TEST_PGBIN"]
HOSTS = 100_000

# One call of a client. The SQL also makes the argument `endings` of the next call, which ends the jobs that this call claimed:
# pgbench cannot read JSON.
# If another session has locked the due jobs, the client asks again a little later, as a worker does.
CALL = """
\\if :worker = 0
SELECT r->>'worker' AS worker, r->>'secret' AS secret
FROM haul.register(haul.schema_version(), 'bench', 'bench', 1, 64, (
  SELECT jsonb_agg(jsonb_build_object('store', 'bench', 'marker', marker)) FROM haul.store_instance)) r \\gset
UPDATE haul.worker SET expires_at = 'infinity', heartbeat_at = 'infinity' WHERE id = :worker;
\\endif
\\set call :call + 1
WITH reply AS MATERIALIZED (SELECT haul.work(:worker, :secret, :call, :endings::jsonb, ARRAY[:queue], :room) AS r)
SELECT jsonb_array_length(r->'claimed') AS got, CASE WHEN :settle = 1 THEN (
    SELECT coalesce(jsonb_agg(jsonb_build_object(
      'job', c->'job', 'token', c->'token', 'result', 'completed', 'status', 200, 'bytes', 16384, 'fetched', 16384,
      'digest', 'sha-256=n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=')), '[]')
    FROM jsonb_array_elements(r->'claimed') c) ELSE '[]' END AS endings
FROM reply \\gset
\\if :got = 0
\\sleep 2 ms
\\endif
"""


class Trouble(Exception):
    """A failure other than an exceeded bound."""


def conninfo(database):
    return re.sub(r"dbname=\S+", f"dbname={database}", SERVER)


def psql(database, script, source=None):
    """Runs SQL and returns its output, unaligned."""
    command = [PROGRAMS + "/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo(database)]
    command += ["-c", script] if source is None else ["-f", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode:
        raise Trouble(done.stderr)
    return done.stdout.strip()


def copy_of(database):
    """Makes a fresh copy of a database and writes its pages to disk, so that earlier work does not slow down the run."""
    psql("postgres", "DROP DATABASE IF EXISTS bench_run")
    psql("postgres", f"CREATE DATABASE bench_run TEMPLATE {database} STRATEGY file_copy")
    psql("postgres", "CHECKPOINT")
    return "bench_run"


def haul(database, *arguments):
    """Runs the program; returns how many seconds it took, and its peak memory in MiB."""
    begin = time.monotonic()
    done = subprocess.run(["/usr/bin/time", "-qf", "%M", os.environ["HAUL"], *arguments], capture_output=True, text=True,
                          env=os.environ | {"HAUL_DATABASE_URL": conninfo(database)})
    if done.returncode:
        raise Trouble(done.stderr)
    return time.monotonic() - begin, int(done.stderr.split()[-1]) / 1024


def migrate(database):
    psql("postgres", f"CREATE DATABASE {database}")
    haul(database, "migrate", "--share-roles")
    psql(database, """
        SELECT haul.init_store('bench', gen_random_uuid(), 'bench', '/bench');
        SELECT haul.create_queue('few', 'bench'), haul.create_queue('one', 'bench');
        SELECT haul.set_host(name, cap, NULL, NULL)
        FROM (VALUES ('*', 256), ('full.test', 1), ('one.test', 10000)) AS h(name, cap)""")


numbers = itertools.count(1)


def submit(database, queue, hosts, batch="NULL"):
    """Submits a job with a new path for each entry of `hosts`, as haul submit does. `batch`: the name as an SQL literal."""
    key = "00000000-0000-0000-0000-000000000001"
    step = f"SELECT haul.submit('{key}', '{queue}', {batch}, 5::smallint, '{{}}', NULL, 'skip', false, 100000);\n"
    while hosts:
        part, hosts = hosts[:1_000_000], hosts[1_000_000:]
        lines = "".join(
            f"{key}\t{n}\thttps://{host}/files/{n}\t{host}\t{host}/files/{n}\n" for n, host in zip(numbers, part))
        psql(database, "", f"INSERT INTO haul.submission (id) VALUES ('{key}');\n"
             "COPY haul.staging (submission, line, url, host, path) FROM STDIN;\n" + lines + "\\.\n"
             + step * -(-len(part) // 100000) + f"SELECT haul.end_submission('{key}');")


def zipf(count):
    weights = list(itertools.accumulate(1 / rank for rank in range(1, HOSTS + 1)))
    chosen = random.Random(1)
    return [f"h{bisect.bisect(weights, chosen.random() * weights[-1])}.test" for _ in range(count)]


class Run:
    """The figures of one run from pgbench and the server."""

    def __init__(self, database, queue, *, clients=1, room=64, settle=1, seconds=None, calls=None):
        before = self.counters(database, queue)
        directory = tempfile.TemporaryDirectory(prefix="haul-bench.")
        script = directory.name + "/call"
        with open(script, "w", encoding="utf-8") as file:
            file.write(CALL)
        variables = dict(worker=0, secret="-", call=0, endings="[]", got=0, settle=settle, room=room, queue=queue)
        command = [PROGRAMS + "/pgbench", "-n", "-M", "extended", "-f", script, "-c", str(clients), "-j", "1",
                   "--max-tries=20", "-P", "1", "-l", "--log-prefix", script]
        command += ["-T", str(seconds)] if seconds else ["-t", str(calls + 1)]
        for name, value in variables.items():
            command += ["-D", f"{name}={value}"]
        done = subprocess.run([*command, conninfo(database)], capture_output=True, text=True)
        logs = glob.glob(script + ".*")
        # In ms, without the first call of each client, which registers it.
        lines = [line.split() for log in logs for line in open(log, encoding="utf-8")]
        self.times = sorted(int(line[2]) / 1000 for line in lines if line[1] != "1")
        directory.cleanup()
        tps = re.search(r"^tps = ([\d.]+)", done.stdout, re.M)
        if done.returncode or not tps:
            raise Trouble(done.stdout + done.stderr)
        calls = int(re.search(r"actually processed: (\d+)", done.stdout)[1])
        after = self.counters(database, queue)
        self.jobs = after["finished"] - before["finished"]
        self.wal = (after["wal"] - before["wal"]) / max(self.jobs, 1)
        self.cpu = (after["cpu"] - before["cpu"]) / max(self.jobs, 1)
        if not seconds:
            return
        shares = [float(s) for s in re.findall(r"^progress: .*? s, ([\d.]+) tps", done.stderr, re.M)]
        self.rate = statistics.median(shares[3:] or shares) * self.jobs / calls
        self.last_rate = statistics.median(shares[-max(len(shares) // 4, 1):]) * self.jobs / calls
        self.retried = int((re.search(r"total number of retries: (\d+)", done.stdout) or [0, 0])[1])
        if not after["waiting"]:
            raise Trouble(f"the queue {queue} has no more jobs to start: use more --jobs or fewer --seconds")

    @staticmethod
    def counters(database, queue):
        # The jobs of the full host wait forever.
        out = psql(database, f"""SELECT (SELECT count(*) FROM haul.outcome), pg_current_wal_lsn() - '0/0', EXISTS (
            SELECT FROM haul.ready r JOIN haul.queue q ON q.id = r.queue JOIN haul.host h ON h.id = r.host
            WHERE q.name = '{queue}' AND h.in_flight < h.cap)""").split("|")
        with open(SERVER_DIRECTORY + "/data/postmaster.pid", encoding="utf-8") as file:
            pid = file.readline().strip()
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            ended = file.read().rsplit(")", 1)[1].split()[13:15]  # of sessions that have ended: proc(5), cutime and cstime
        ticks = sum(int(time) for time in ended)
        return dict(finished=int(out[0]), wal=int(out[1]), waiting=out[2] == "t", cpu=ticks * 1e6 / os.sysconf("SC_CLK_TCK"))

    def percentile(self, share):
        return self.times[min(int(len(self.times) * share), len(self.times) - 1)]
