"""A pool on three machines: one with the database, the coordinator and the origin, two with workers."""

import dataclasses
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time

import content
import ledger
import links
import logins
import machine
import place
import pool
import server
import world

ADDRESSES = {"base": f"{place.SERVER},{place.ORIGIN}", "alpha": "10.77.2.1", "beta": "10.77.3.1"}
WORKERS = ["alpha", "beta"]
# For each flavour and store: whether the machines share its directory, and the machines that have it.
FLAVOURS = {
    "shared": {"main": (True, WORKERS)},
    "separate": {"alpha": (False, ["alpha"]), "beta": (False, ["beta"])},
    "mixed": {"main": (True, WORKERS), "scratch": (False, WORKERS)},
}
# Each packet takes 20 ms from one machine to another, and one in a hundred is lost.
MILLISECONDS, PERCENT = 20, 1
WAVES = 5
# A large file takes longer than the five seconds between two checkpoints.
RATES = {"large.test": 200 << 10}
SIZES = {"large": (2_000_000, 2_600_000), "medium": (200_000, 900_000), "small": (0, 60_000)}
# Each wave has more large files than one worker can take, so both workers get some.
LARGE, CONCURRENCY = 8, 6
# How long to wait for an event, in seconds.
LIMIT = 90


class Late(Exception):
    """An event did not come in time."""


@dataclasses.dataclass(frozen=True)
class Job:
    file: content.File
    host: str
    store: str
    wave: int

    @property
    def url(self):
        return f"http://{self.host}{self.file.path}"

    @property
    def path(self):
        return f"wave-{self.wave}/{self.file.number}"

    @property
    def digest(self):
        """Returns the SHA-256 of the origin's file."""
        return hashlib.sha256(self.file.piece(0, 0, self.file.size)).hexdigest()


class Site:
    """The directory of the run."""

    def __init__(self, root):
        self.root = root

    def path(self, *names):
        return os.path.join(self.root, *names)


class Stage:
    def __init__(self, root, haul_path, flavour, seed, count):
        self.site, self.flavour, self.seed, self.ledger = Site(root), flavour, seed, ledger.Ledger()
        # The jobs that each step saw on the worker that it took out of service, for the proof at the end.
        self.handovers = []
        self.prepare(haul_path)
        self.logins = logins.Logins(self.site)
        self.machines = {name: machine.Machine(self.site, name, ADDRESSES[name]) for name in WORKERS}
        self.links = self.connect()
        self.server = server.Server(self.site, self.logins.settings, logins.ACCESS)
        self.session = self.server.session()
        self.stores = {
            name: machine.Store(self.site, name, shared, machines)
            for name, (shared, machines) in FLAVOURS[flavour].items()}
        self.pool = pool.Pool(self.site, self.ledger, self.site.path("programs", "1", "haul"), "service=haul_admin")
        self.origin = world.Origin(self)
        self.jobs = self.plan(count)
        self.set_up()

    def prepare(self, haul_path):
        place.put_in_memory(self.site.root, 1 << 30)
        # The machines are upgraded to the second copy.
        for version in ("1", "2"):
            os.makedirs(self.site.path("programs", version))
            shutil.copy2(haul_path, self.site.path("programs", version, "haul"))
        with open(self.site.path("hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in logins.HOSTS.items()))
        place.run("mount", "--bind", self.site.path("hosts"), "/etc/hosts")

    def connect(self):
        """Starts the process that carries packets, and gives each machine its end."""
        process = subprocess.Popen(
            [sys.executable, links.__file__, str(self.seed), str(MILLISECONDS), str(PERCENT),
             *(f"{name}={addresses}" for name, addresses in ADDRESSES.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            raise place.CannotRun("this machine has no TUN devices")
        place.run("ip", "link", "set", "lo", "up")
        for address in ADDRESSES["base"].split(","):
            place.run("ip", "address", "add", f"{address}/16", "dev", "base")
        place.run("ip", "link", "set", "base", "up")
        for name in WORKERS:
            self.machines[name].connect(name)
        return process

    def plan(self, count):
        """Computes the jobs from the seed alone. Each wave has files of all sizes for each store."""
        dice, jobs, stores = random.Random(f"{self.seed} files"), [], list(self.stores)
        for number in range(count):
            wave, position = divmod(number, -(-count // WAVES))
            kind = "large" if position < LARGE else dice.choice(["medium", "small", "small"])
            host = "large.test" if kind == "large" else "plain.test"
            jobs.append(Job(content.File(number, dice.randint(*SIZES[kind])), host, stores[number % len(stores)], wave + 1))
        return jobs

    def set_up(self):
        found = self.command("alpha", "--version")
        if found.returncode:
            raise place.CannotRun(f"the user {machine.USER} cannot run this program: {found.stderr.strip()}")
        self.origin.orders["rates"] = {"rates": RATES}
        self.origin.start()
        self.migrate()
        self.logins.create(self.session)
        self.logins.install(self.site.root, self.site.root, os.getuid())
        for name in WORKERS:
            self.logins.install(self.machines[name].path(machine.HOME), machine.HOME, machine.USER)
        for store in self.stores.values():
            for name in store.machines:
                self.machines[name].mount(store)
            for name in store.machines[:1] if store.shared else store.machines:
                self.must(name, "store", "init", store.name, store.directory)
        for host in ("plain.test", "large.test"):
            self.pool.must("host", "set", host, "--cap", "16")
        service = {"HAUL_DATABASE_URL": "service=haul_worker"}
        self.pool.coordinators.append(pool.Program(self.pool, "coordinator", ["coordinator"], service))
        for name in WORKERS:
            arguments = ["worker", "--allow-net", "10.77.0.0/16", "--concurrency", str(CONCURRENCY), *self.mounts(name)]
            worker = pool.Program(self.pool, name, arguments, service | {"HOME": machine.HOME}, self.machines[name])
            worker.haul_path = self.machines[name].program(1)
            self.pool.workers.append(worker)

    def migrate(self):
        """Upgrades the schema as PostgreSQL's superuser, as in install.md."""
        self.pool.must("migrate", "--database", f"host={place.SERVER} user=postgres dbname=haul")

    def mounts(self, name):
        return [word for store in self.stores.values() if name in store.machines
                for word in ("--store", f"{store.name}={store.directory}")]

    def worker(self, name):
        return self.pool.workers[WORKERS.index(name)]

    def command(self, name, *arguments, service="haul_admin", text=None):
        """Runs a command on a machine, as the user that workers run as."""
        environment = self.pool.environment | {"HOME": machine.HOME, "HAUL_DATABASE_URL": f"service={service}"}
        program = [*self.machines[name].enter, self.machines[name].program(1)]
        return subprocess.run(
            [*program, *arguments], env=environment, capture_output=True, text=True, timeout=LIMIT, input=text)

    def must(self, name, *arguments, service="haul_admin", text=None):
        done = self.command(name, *arguments, service=service, text=text)
        if done.returncode:
            self.violation("command", f"haul {' '.join(arguments)} on {name}: {done.returncode} {done.stdout}{done.stderr}")

    def submit(self, wave):
        """Submits a wave from one of the workers' machines."""
        for store in self.stores:
            jobs = [job for job in self.jobs if (job.wave, job.store) == (wave, store)]
            lines = [json.dumps({"url": job.url, "path": job.path}) for job in jobs]
            self.must(
                "beta", "submit", "--input", "-", "--format", "jsonl", "--queue", store, "--batch", f"wave-{wave}-{store}",
                service="haul_submitter", text="\n".join(lines))

    def cut(self, *names):
        """Cuts these machines off, and no others."""
        self.links.stdin.write(json.dumps({"cut": names}) + "\n")
        self.links.stdin.flush()

    @property
    def addresses(self):
        """Returns the machine of each address, for the machines with workers."""
        return {machine_.address: name for name, machine_ in self.machines.items()}

    def sql(self, statement, *parameters):
        return self.session.run(statement, parameters or None)

    def number(self, worker):
        """Returns the worker's number in the database; None until it has registered."""
        numbers = [line["worker"] for line in pool.log_lines(worker.life.log) if line.get("event") == "worker.registered"]
        return int(numbers[-1]) if numbers else None

    def wait(self, what, condition):
        """Waits until a condition is not false, and returns its value. Notes a process that ends by itself meanwhile."""
        deadline = time.time() + LIMIT
        while not (value := condition()):
            for program in self.pool.programs:
                program.watch()
            if time.time() > deadline:
                raise Late(f"not within {LIMIT} s: {what}")
            time.sleep(0.1)  # no event reports when it is true
        return value

    def violation(self, check, text):
        self.ledger.violation(check, text)

    def stop(self):
        """Stops everything except Haul, and returns the counters of the links."""
        self.origin.stop()
        self.session.close()
        self.server.stop()
        self.links.stdin.close()
        return json.loads(self.links.stdout.read())
