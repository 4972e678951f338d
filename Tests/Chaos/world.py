"""Everything that a chaos run consists of, and what the faults need from it."""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import psycopg2

import faults
import hands  # it registers more faults
import ledger
import place
import pool
import powerloss
import relay
import schedule
import server
import workload

# The number of the worker that reaches the database through the relay.
RELAYED = 4


class Origin:
    """The process of origin.py. When it restarts, it gets the last orders again."""

    def __init__(self, world):
        self.world, self.process, self.lock, self.orders = world, None, threading.Lock(), {}

    def start(self):
        script = os.path.join(os.path.dirname(__file__), "origin.py")
        with self.lock, open(self.world.site.path("origin.errors"), "a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, script, place.ORIGIN, self.world.site.path("requests"), str(self.world.seed)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
            self.process.stdout.readline()
            for order in self.orders.values():
                self.tell(order)

    def stop(self):
        with self.lock:
            self.process.terminate()
            self.process.wait()

    def order(self, **order):
        with self.lock:
            self.orders[order.get("host", next(iter(order)))] = order
            if self.process.poll() is None:
                self.tell(order)

    def tell(self, order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()


class Nginx:
    def __init__(self, site):
        self.site, self.process = site, None
        with open(site.path("nginx.conf"), "w") as file:
            file.write(workload.nginx_configuration(site.root, site.path("files")))

    def start(self):
        self.process = subprocess.Popen(
            ["/usr/sbin/nginx", "-p", self.site.root, "-c", self.site.path("nginx.conf"), "-e", self.site.path("nginx.log")])

    def stop(self):
        self.process.terminate()
        self.process.wait()


class World:
    def __init__(self, root, haul_path, seed, waves, workers=6, environments=None, in_memory=True, size=None):
        """`size`: bytes of all files; default: those of the waves."""
        self.seed, self.waves, self.ledger = seed, waves, ledger.Ledger()
        self.jobs = [job for wave in waves for job in wave.jobs]
        # Batches whose command to submit succeeded, batches that stay cancelled, and batches that were retried.
        self.submitted, self.cancelled, self.wanted = [], set(), set()
        hosts = {name: place.NGINX if name == "nginx.test" else place.ORIGIN for name in workload.HOSTS}
        size = size or sum(job.file.size for job in self.jobs)
        if in_memory:
            place.put_in_memory(root, 3 * size + (1 << 30))
        self.site = place.Site(root, hosts, 4 * size + (2 << 30))
        self.stores = {
            "disk": self.site.disk("disk", 2 * size + (256 << 20)), "small": self.site.disk("small", size + (256 << 20))}
        self.server = server.Server(self.site)
        self.driver_session, self.session_lock = self.server.session(), threading.Lock()
        # Faults that need the same thing run one after the other, however slow the machine is.
        self.turns = collections.defaultdict(threading.Lock)
        self.relay, self.pooler = relay.Relay(), server.Pooler(self.site)
        # A copy, so that a build meanwhile changes nothing here.
        program = shutil.copy2(haul_path, self.site.path("haul-program"))
        place.run("clang", "-shared", "-fPIC", "-Werror", os.path.join(os.path.dirname(__file__), "wrong-clock.c"),
                  "-o", self.site.path("wrong-clock.so"))
        self.pool = pool.Pool(self.site, self.ledger, program, self.server.conninfo)
        self.origin, self.nginx = Origin(self), Nginx(self.site)
        self.set_up(workers, environments or {})

    def set_up(self, workers, environments):
        os.mkdir(self.site.path("files"))
        workload.serve_files(self.site.path("files"), self.jobs, self.ledger.versions)
        self.pool.must("migrate")
        for name, directory in self.stores.items():
            self.pool.must("store", "init", name, directory)
        self.pool.must("queue", "create", "limited", "--store", "disk")
        self.pool.must("queue", "set", "limited", "--max-running", str(workload.LIMIT))
        for queue in workload.QUEUES:
            self.pool.must("queue", "set", queue, "--max-attempts", "1000")
        for name, (_, cap, interval, _, _) in workload.HOSTS.items():
            self.set_host(name, cap=cap, interval=interval)
        self.origin.orders["rates"] = {"rates": {name: host[0] for name, host in workload.HOSTS.items()}}
        self.origin.start()
        self.nginx.start()
        for _ in range(2):
            self.pool.coordinator()
        for number in range(workers):
            stores = dict(self.stores) if number not in (3, 4) else {"disk": self.stores["disk"]}
            # One worker reaches the database through the relay.
            self.pool.worker(
                stores, "--concurrency", "12", environment=environments.get(number),
                database=self.relay.address if number == RELAYED else None)

    def start(self, programs=None):
        """Starts the pool, and the time of faults and waves."""
        self.ledger.begin = time.time()
        for program in programs or self.pool.programs:
            program.start()

    def sql(self, statement, parameters=None):
        """Returns the rows of a statement of the driver; None if the database is away."""
        with self.session_lock:
            try:
                return self.driver_session.run(statement, parameters)
            except psycopg2.Error:
                return None

    def outage(self):
        """Notes that the database is away while the block runs."""
        return self.ledger.noted(self.ledger.outages)

    def persist(self, *arguments, text=None, limit=90):
        """Repeats a command until it succeeds. It may fail while there is no database."""
        deadline = time.time() + limit
        while time.time() < deadline or ledger.overlap(self.ledger.outages, time.time() - limit, time.time()):
            done = self.pool.haul(*arguments, text=text)
            if done.returncode == 0:
                return True
            if done.returncode not in (69, 75):
                break
            time.sleep(0.5)  # no event reports when the database is back
        self.ledger.violation(
            "command", f"haul {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return False

    def set_host(self, host, cap=None, interval=None):
        """Sets a host's cap and interval. While the order is in progress, both the old and the new value may apply."""
        for histories, name, value, most in (
            (self.ledger.caps, "cap", cap, max), (self.ledger.intervals, "interval", interval, min)):
            if value is None:
                continue
            history = histories[host]
            history.append((time.time(), most(value, history[-1][1]) if history else value))
            self.persist("host", "set", host, f"--{name}", str(value) if name == "cap" else f"{int(1000 * value)}ms")
            history.append((time.time(), value))

    def batches(self):
        """Returns the batches submitted so far. Waits for the first one, which takes a while on a slow machine."""
        while not self.submitted:
            time.sleep(0.2)  # no event reports the first batch
        return list(self.submitted)

    def submit(self):
        """Submits each wave at its time."""
        for wave in self.waves:
            time.sleep(max(0, self.ledger.begin + wave.at - time.time()))  # the plan says when each wave comes
            text = "\n".join(wave.lines())
            try:
                if self.persist(
                    "submit", "--input", "-", "--format", "jsonl", "--batch", wave.batch, "--queue", wave.queue, text=text):
                    self.submitted.append(wave.batch)
            except Exception as error:
                self.ledger.violation("driver", f"the submission of {wave.batch}: {error!r}")

    def power_loss(self):
        """Database and disk lose power together. Checks that the disk has everything that the database calls durable."""
        with self.turns["disk", 0]:
            with self.outage():
                # The database first: the bytes of every commit that it accepted were synced before, so they are in the copy.
                self.server.stop()
                moment = time.time()
                # Nothing may write while the copy is made, as without power: an image whose journal continues meanwhile is not
                # valid.
                workers = [w for w in self.pool.workers if w.is_running and not w.life.troubled(moment, moment)]
                for worker in workers:
                    worker.trouble("stopped")
                    worker.signal(signal.SIGSTOP)
                lost = self.site.after_power_loss("disk")
                for worker in workers:
                    worker.signal(signal.SIGCONT)
                    worker.over()
                self.server.start()
                time.sleep(3)  # each program reconnects at a different time
            powerloss.compare(self, lost, moment)
            self.site.forget_power_loss("disk")

    def relay_is_well(self, life):
        """Returns whether a worker's way to the database works normally."""
        return not self.is_relayed(life) or not (self.relay.delay or self.relay.loses)

    def is_relayed(self, life):
        """Returns whether a worker reaches the database through the relay."""
        return life.name.startswith(f"worker{RELAYED}-")

    def carry_out(self, fault):
        """Carries out one fault, from its beginning to its healing; runs in its own thread."""
        time.sleep(max(0, self.ledger.begin + fault.at - time.time()))  # the plan says when each fault begins
        try:
            with self.turns[schedule.KINDS[fault.kind][0], fault.target]:
                done = faults.DEEDS[fault.kind](self, fault, lambda: time.sleep(fault.duration))
                self.ledger.faults[fault.kind] += done is not False
        except Exception as error:  # a driver that fails must not look like a pool that works
            self.ledger.violation("driver", f"{fault.kind} at {fault.at:.1f}: {error!r}")

    def stop(self):
        """Stops everything except Haul. The pool has stopped before."""
        self.origin.stop()
        self.nginx.stop()
        self.server.stop()
