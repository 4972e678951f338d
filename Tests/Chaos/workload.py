"""The work of the pool: waves of jobs, computed from the seed alone."""

import dataclasses
import hashlib
import json
import os
import random

import content
import place

# For each host: rate of one transfer in bytes per second (None: unlimited), cap, seconds between starts, sizes, share of jobs.
HOSTS = {
    "plain.test": (None, 8, 0, (0, 65536), 0.42),
    "odd.test": (1 << 20, 6, 0, (0, 300000), 0.13),
    "polite.test": (20000, 3, 0.15, (500, 12000), 0.15),
    "capped.test": (40000, 4, 0, (10000, 50000), 0.15),
    "nginx.test": (None, 6, 0, (0, 300000), 0.149),
    "large.test": (3 << 19, 6, 0, (12 << 20, 40 << 20), 0.0),
}
QUEUES = {"disk": 0.5, "small": 0.4, "limited": 0.1}
STORE = {"disk": "disk", "small": "small", "limited": "disk"}
LIMIT = 5  # maximum running jobs of the queue `limited`


@dataclasses.dataclass(frozen=True)
class Job:
    host: str
    file: content.File
    queue: str
    batch: str

    @property
    def url(self):
        return f"http://{self.host}{self.file.path}"

    @property
    def path(self):
        return f"{self.batch}/{self.file.number}"

    @property
    def records_digest(self):
        return self.file.number % 4 == 1

    @property
    def digest(self):
        """Returns the digest that the job requires of the file, if the file is never replaced; None otherwise."""
        if self.host != "plain.test" or self.file.number % 8 != 3:
            return None
        return "sha-256=" + hashlib.sha256(self.file.piece(0, 0, self.file.size)).hexdigest()

    def line(self):
        line = {"url": self.url, "path": self.path, "if_exists": "fail"}
        if not self.records_digest:
            line["record_digest"] = False
        if self.digest:
            line["digest"] = self.digest
        return json.dumps(line)


@dataclasses.dataclass(frozen=True)
class Wave:
    at: float
    batch: str
    queue: str
    jobs: tuple
    missing: tuple  # URLs that no origin has

    def lines(self):
        yield from (job.line() for job in self.jobs)
        yield from (json.dumps({"url": url, "path": f"{self.batch}/missing-{i}"}) for i, url in enumerate(self.missing))


def waves(seed, seconds, count, large, largest=None):
    """Returns `count` jobs and `large` large ones in waves over the first two thirds of the time. The first two waves come
    immediately. Their large files have the size `largest`, if it is given."""
    dice = random.Random(f"{seed} workload")
    number = 0
    pieces = max(4, int(seconds / 8))
    made = []
    for index in range(pieces):
        queue = dice.choices(list(QUEUES), QUEUES.values())[0]
        batch = f"wave-{index}"
        jobs = []
        hosts = dice.choices(list(HOSTS), [h[4] for h in HOSTS.values()], k=count // pieces)
        hosts += ["large.test"] * (large * (index + 1) // pieces - large * index // pieces)
        for host in hosts:
            number += 1
            low, high = HOSTS[host][3]
            size = dice.randint(low, high) if dice.random() > 0.05 else low
            if host == "large.test" and largest and index < 2:
                size = largest
            jobs.append(Job(host, content.File(number, size), queue, batch))
        missing = [f"http://plain.test/nothing-{index}-{i}" for i in range(2)]
        made.append(Wave(0 if index < 2 else 0.68 * seconds * index / pieces, batch, queue, tuple(jobs), tuple(missing)))
    return made


def serve_files(root, jobs, versions):
    """Writes the files that nginx serves to its directory."""
    for job in jobs:
        if job.host == "nginx.test":
            put_file(root, job.file, versions[job.file.number])


def put_file(root, file, version):
    """Replaces a file by a version of it as a careful administrator would: with one rename."""
    name = os.path.join(root, file.path[1:])
    with open(f"{name}.new", "wb") as new:
        new.write(file.piece(version, 0, file.length(version)))
    os.utime(f"{name}.new", (1700000000 + 60 * version,) * 2)
    os.rename(f"{name}.new", name)


def nginx_configuration(root, files):
    return f"""
daemon off; user root; pid {root}/nginx.pid; error_log {root}/nginx.log;
events {{ worker_connections 512; }}
http {{
  client_body_temp_path {root}; proxy_temp_path {root}; fastcgi_temp_path {root}; uwsgi_temp_path {root}; scgi_temp_path {root};
  log_format chaos escape=json '{{"end": $msec, "took": $request_time, "client": "$remote_addr", "path": "$uri", '
    '"status": $status, "sent": $body_bytes_sent, "range": "$http_range"}}';
  access_log {root}/nginx-requests chaos;
  server {{ listen {place.NGINX}:80; root {files}; limit_rate 1m; }}
}}
"""
