"""What must be true at the end: for every job, every file, every hand-off, and nothing outside the stores."""

import collections
import hashlib
import json
import os

import judge
import logins
import machine

JOBS = """
SELECT j.id, j.url, s.name, j.path, o.state::text, o.path, o.error, o.message FROM haul.job j
JOIN haul.queue q ON q.id = j.queue JOIN haul.store s ON s.id = q.store LEFT JOIN haul.outcome o ON o.job = j.id"""
# The query that docs/machines.md gives to find a file: the last row is the machine that has it.
WHERE_IS = "SELECT machine FROM haul.attempts WHERE job = %s AND result = 'completed' ORDER BY attempt"
# Each attempt with the machine of its worker.
ATTEMPTS = """
SELECT a.job, a.token, a.result::text, a.resumed_at, w.machine FROM haul.attempt a JOIN haul.worker w ON w.id = a.worker
ORDER BY a.job, a.token"""
# Files that a machine may have without the pool's knowledge: its worker finished the download, and lost its lease before it
# could report that. If the directory is not shared, another machine then downloads the file too.
LEFT = """
SELECT DISTINCT s.name, w.machine, j.path FROM haul.attempt a JOIN haul.worker w ON w.id = a.worker JOIN haul.job j ON j.id = a.job
JOIN haul.queue q ON q.id = j.queue JOIN haul.store s ON s.id = q.store WHERE a.result = 'rescued'"""
FAILED = "SELECT job, error, message FROM haul.attempt WHERE result = 'failed'"
# Rows of these queries report broken promises: see judge.
INVARIANTS = {"one state": judge.STATES, "in flight": judge.HOSTS, "one row": judge.TWINS, "token": judge.TOKENS,
              "batch totals": judge.TOTALS}


class Proof:
    def __init__(self, stage):
        self.stage, self.checks = stage, collections.Counter()
        self.wanted = {(job.url, job.path): job for job in stage.jobs}
        # For each (store, machine): the paths of the files that its directory must have.
        self.paths = collections.defaultdict(set)
        self.left = set()

    def violation(self, check, text):
        self.stage.violation(check, text)

    def check_database(self):
        """Reads the tables while the server still runs, and the files that they name."""
        for check, query in INVARIANTS.items():
            for row in self.stage.sql(query):
                self.violation(check, str(row))
        for job, error, message in self.stage.sql(FAILED):
            self.violation("failed attempt", f"job {job}: {error}, {message}")
        self.left = {(store, name, path) for store, name, path in self.stage.sql(LEFT) if not self.stage.stores[store].shared}
        self.check_jobs()
        self.check_handovers()
        self.check_machines()

    def check_jobs(self):
        rows = self.stage.sql(JOBS)
        found = {(url, path) for _, url, _, path, *_ in rows}
        for url, path in set(self.wanted) - found:
            self.violation("once", f"{url} was submitted, and is not there")
        if len(rows) != len(self.wanted):
            self.violation("once", f"{len(self.wanted)} files were submitted, and there are {len(rows)} jobs")
        for number, url, store, path, state, placed, error, message in rows:
            if state != "completed":
                self.violation("outcome", f"job {number} {url} is {state}: {error}, {message}")
                continue
            if placed != path:
                self.violation("place", f"job {number} is completed as {placed}, and was to be {path}")
            for name in self.machines_of(number, store):
                self.paths[store, name].add(path)
                self.check_file(number, self.wanted[url, path], store, name)

    def machines_of(self, job, store):
        """Returns the machines whose directory must have the file of a completed job."""
        if self.stage.stores[store].shared:
            return self.stage.stores[store].machines
        return [self.stage.sql(WHERE_IS, job)[-1][0]]

    def check_file(self, number, job, store, name):
        """Compares a file, as that machine sees it, with the origin's file."""
        self.checks["files compared by SHA-256"] += 1
        path = os.path.join(self.directory(store, name), job.path)
        if not os.path.isfile(path):
            self.violation("missing file", f"job {number} is completed, and {name} has no {job.path} in {store}")
            return
        origin, found = job.digest, digest(path)
        if found != origin:
            self.violation("file", f"{job.path} of {store} on {name} has the SHA-256 {found}, and {job.url} has {origin}")

    def check_handovers(self):
        """Checks that each job with a saved part resumed it, on a machine that reaches the part."""
        attempts, resumed = collections.defaultdict(list), collections.Counter()
        for job, *attempt in self.stage.sql(ATTEMPTS):
            attempts[job].append(attempt)
        # The origin sends these files only from their first byte.
        origins = {url for url, path in self.wanted if self.wanted[url, path].file.number % 10 == 8}
        whole = {job for job, url, *_ in self.stage.sql(JOBS) if url in origins}
        for handover in self.stage.handovers:
            tokens = [token for token, *_ in attempts[handover.job]]
            index = tokens.index(handover.token)
            if attempts[handover.job][index][1] == "completed":
                continue  # it was complete before the step began
            token, _, resumed_at, name = attempts[handover.job][index + 1]
            shared = self.stage.stores[handover.store].shared
            self.checks["hand-overs"] += 1
            self.checks["hand-overs to the other machine"] += name != handover.machine
            if not shared and name != handover.machine:
                self.violation("hand-over", f"{handover}: {name} took it, and cannot reach its part")
            if resumed_at == 0 and handover.job not in whole:
                self.violation("hand-over", f"{handover}: {name} began at the first byte")
            resumed[handover.step] += 1
        for step in {handover.step for handover in self.stage.handovers} - set(resumed):
            self.violation("driver", f"no job was handed over in the step: {step}")

    def check_machines(self):
        """Checks that origins answered both machines, and that no worker had the address of another machine."""
        with open(self.stage.site.path("requests")) as file:
            clients = collections.Counter(record["client"] for record in map(json.loads, file) if "client" in record)
        if set(clients) != set(self.stage.addresses):
            self.violation("machines", f"requests came from {dict(clients)}")
        self.checks["requests"] = sum(clients.values())

    def check_directories(self):
        """Checks the files in the stores and outside after all workers have stopped."""
        for store in self.stage.stores.values():
            for name in store.machines:
                self.check_directory(store, name)
        for machine_ in self.stage.machines.values():
            for store in list(machine_.mounted.values()):
                machine_.unmount(store)
            own = {os.path.join(machine.HOME, name) for name in logins.FILES}
            for path in set(machine_.left_behind()) - own:
                self.violation("outside the stores", f"{machine_.name} has {path}")
            self.checks["machines searched"] += 1

    def check_directory(self, store, name):
        root, found = self.directory(store.name, name), set()
        for folder, folders, names in os.walk(root):
            relative = os.path.relpath(folder, root)
            if relative.startswith(".haul/parts"):
                for part in names:
                    self.violation("part", f"{store.name} on {name} still has {relative}/{part}")
            if relative == ".":
                folders[:] = [folder for folder in folders if folder != "lost+found"]
            if relative.split("/")[0] != ".haul":
                found |= {os.path.normpath(os.path.join(relative, file)) for file in names}
        jobs = {path: job for (_, path), job in self.wanted.items()}
        for path in found - self.paths[store.name, name]:
            if (store.name, name, path) not in self.left:
                self.violation("name", f"{store.name} on {name} has {path}, which no job put there")
            elif digest(os.path.join(root, path)) != jobs[path].digest:
                self.violation("file", f"{store.name} on {name} has {path} of a rescued attempt, and it is not the origin's")
            else:
                self.checks["second copies that a rescued attempt left"] += 1

    def directory(self, store, name):
        return self.stage.machines[name].path(self.stage.stores[store].directory)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
