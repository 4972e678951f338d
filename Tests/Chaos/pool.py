"""The pool as an operator runs it: workers, coordinators, and `haul` commands."""

import json
import os
import signal
import subprocess
import time

import ledger
import place


class Program:
    """A process of the pool that is started again and again."""

    def __init__(self, pool, name, arguments, environment=None, wire=None):
        self.pool, self.name, self.arguments, self.wire = pool, name, arguments, wire
        self.environment, self.haul_path = environment or {}, pool.haul_path
        self.process, self.life, self.uses = None, None, 0

    def start(self):
        if self.life is not None:
            self.ended()
        self.uses += 1
        if self.wire:
            self.wire.renew()
        log = self.pool.site.path(f"{self.name}-{self.uses}.log")
        inside = self.wire.enter if self.wire else []
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                [*inside, self.haul_path, *self.arguments], env=self.pool.environment | self.environment,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.pool.site.root)
        address = self.wire.address if self.wire else None
        # A wire that is cut stays cut for the next process on it.
        lasting = [entry for entry in self.life.trouble if entry[2] is None] if self.life else []
        self.life = ledger.Life(f"{self.name}-{self.uses}", address, self.process.pid, log, time.time(), trouble=lasting)
        self.pool.ledger.lives.append(self.life)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number, told=None):
        """Sends a signal. Returns whether there was a process to receive it."""
        if not self.is_running:
            return False
        self.life.told = told or self.life.told
        if number == signal.SIGKILL:
            self.life.killed = time.time()
        self.process.send_signal(number)
        return True

    def wait(self, limit=30):
        """Waits until the process ends. Returns False if it does not."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            return False
        self.ended()
        return True

    def ended(self):
        if self.life.end is None:
            self.life.end = time.time()

    def trouble(self, what):
        self.life.trouble.append([what, time.time(), None])

    def over(self):
        for entry in self.life.trouble:
            entry[2] = entry[2] or time.time()

    def watch(self):
        """Notes an end that the driver did not order, and starts the program again."""
        if self.process is None or self.process.poll() is None or self.life.end is not None:
            return
        self.ended()
        if self.life.told is not None:
            return
        book = self.pool.ledger
        # It started without a database, or could not reach it: it prints that and ends, and is started again.
        with open(self.life.log, errors="replace") as file:
            said = file.read()
        has_begun = '"worker.started"' in said or '"coordinator.started"' in said
        kept_away = book.outages + book.breaks + [entry[1:] for entry in self.life.trouble if entry[0] == "cut off"]
        if not has_begun and self.process.returncode in (69, 75) and ledger.overlap(kept_away, self.life.begin, self.life.end):
            book.figures["started without a database"] = book.figures.get("started without a database", 0) + 1
            self.start()
        else:
            book.violation("ended", f"{self.life.name} ended by itself with {self.process.returncode}: {said[-600:]}")
            self.start()


class Pool:
    def __init__(self, site, book, haul_path, conninfo):
        self.site, self.ledger, self.haul_path = site, book, haul_path
        self.environment = {
            "PATH": os.environ["PATH"], "HAUL_DATABASE_URL": conninfo, "HAUL_LOG_FORMAT": "json", "HOME": site.root}
        self.workers, self.coordinators = [], []

    def worker(self, stores, *more, environment=None, database=None):
        number = len(self.workers)
        arguments = ["worker", "--allow-net", "10.77.0.0/16", *more]
        for name, directory in stores.items():
            arguments += ["--store", f"{name}={directory}"]
        environment = (environment or {}) | ({"HAUL_DATABASE_URL": database} if database else {})
        self.workers.append(Program(self, f"worker{number}", arguments, environment, place.Wire(number)))

    def coordinator(self):
        self.coordinators.append(Program(self, f"coordinator{len(self.coordinators)}", ["coordinator"]))

    @property
    def programs(self):
        return self.workers + self.coordinators

    def haul(self, *arguments, limit=120, text=None):
        """Runs a command to its end; any exit code is allowed."""
        return subprocess.run(
            [self.haul_path, *arguments], env=self.environment, capture_output=True, text=True, timeout=limit, input=text)

    def must(self, *arguments, text=None):
        done = self.haul(*arguments, text=text)
        if done.returncode:
            raise RuntimeError(f"haul {' '.join(arguments)}: {done.returncode} {done.stderr}")
        return done.stdout

    def stop(self):
        """Stops all programs gracefully. A program that runs longer than half a minute breaks a promise."""
        for program in self.programs:
            program.signal(signal.SIGCONT)
            program.signal(signal.SIGTERM, "drained")
        for program in self.programs:
            if program.process is None:
                continue
            if not program.wait(30):
                self.ledger.violation("drain", f"{program.life.name} does not end within 30 s of SIGTERM")
                program.process.kill()
            elif program.process.returncode not in (0, -signal.SIGKILL):
                self.ledger.violation("exit code", f"{program.life.name} ended with {program.process.returncode} after SIGTERM")


def log_lines(path):
    """Yields the complete JSON lines of a log."""
    with open(path, errors="replace") as file:
        for line in file:
            if line.startswith("{") and line.endswith("\n"):
                try:
                    yield json.loads(line)
                except ValueError:
                    continue
