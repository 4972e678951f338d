"""Judges the origins' logs: concurrent requests, intervals, repeated downloads. The ledger maps addresses to workers."""

import json
import os
import re

import judge
import ledger

# A lower cap holds for transfers that start from then on; a transfer that began before may send requests until it ends.
LASTS = 30
# After a stop or a cut, a worker needs this long to find out what it has lost.
AFTER = 3
# The longest delay between a claim and the request with which its transfer begins.
LATE = 2.0
# The interval between checkpoints, and the time to write one to disk and database on a busy machine.
CHECKPOINT, WRITE = 5.0, 3.0
# How often a source may change while a job resumes it.
CHANGES = 3
# The most bytes that an origin has sent and that are in no file yet: five buffers of a transfer, and those of the sockets.
IN_HAND = 3 << 19


class Traffic:
    def __init__(self, world, finished):
        """`finished`: when the job of each URL was completed."""
        self.world, self.book, self.finished = world, world.ledger, finished
        self.requests = []
        with open(world.site.path("requests")) as file:
            for line in file:
                record = json.loads(line)
                if "client" in record:
                    self.requests.append(record)
        self.requests += list(self.nginx_requests(world.site.path("nginx-requests")))
        self.requests.sort(key=lambda request: request["begin"])

    def nginx_requests(self, path):
        open_ones = []
        if not os.path.exists(path):
            return
        with open(path) as file:
            for line in file:
                record = json.loads(line)
                match = re.match(r"bytes=(\d+)-", record["range"])
                open_ones.append({
                    "host": "nginx.test", "path": record["path"], "client": record["client"],
                    "begin": record["end"] - record["took"], "end": record["end"], "start": int(match[1]) if match else None,
                    "status": record["status"], "sent": record["sent"], "deed": None, "how": "done", "marks": [], "wait": None})
        open_ones.sort(key=lambda request: request["begin"])
        for index, request in enumerate(open_ones):
            # nginx logs an end a little later: a request that ends at the moment at which this one begins has ended.
            moment = request["begin"] + 0.02 + self.book.lateness(request["begin"], request["begin"])
            request["others"] = [
                [other["client"], other["begin"], other["path"]] for other in open_ones[:index] if other["end"] > moment]
            yield request

    def check(self):
        figures = self.book.figures
        figures["requests"] = len(self.requests)
        figures["bytes sent"] = sum(request["sent"] for request in self.requests)
        for request in self.requests:
            self.check_cap(request)
        self.check_blocks()
        self.check_intervals()
        by_path = {}
        for request in self.requests:
            by_path.setdefault((request["host"], request["path"]), []).append(request)
        for (host, path), requests in by_path.items():
            self.check_at_once(host, path, requests)
            self.check_again(host, path, requests)
            if host == "large.test":
                self.check_refetched(path, requests)

    def counts(self, client, begin, moment):
        """Returns whether the pool still counts, at `moment`, a request that this client began at `begin`. Requests of workers
        that are dead, stopped or cut off do not count."""
        life = self.book.life_at(client)
        if life is None:
            self.book.violation("address", f"an origin was asked by {client}, which is none of the pool's")
            return False
        # A worker that gets no reply from the database stops, with its connections open; the pool takes it for dead after three
        # seconds.
        is_unheard = self.world.is_relayed(life) and ledger.overlap(self.book.unheard, begin - AFTER, moment)
        gone = life.killed or life.end
        return not (gone is not None and gone <= moment + 0.2) and not life.troubled(begin, moment, AFTER) and not is_unheard

    def check_cap(self, request):
        host, begin = request["host"], request["begin"]
        if not self.counts(request["client"], begin, begin):
            return
        self.book.checks["requests against caps"] += 1
        running = 1 + sum(self.counts(client, since, begin) for client, since, _ in request["others"])
        cap = judge.largest(self.book.caps[host], begin - LASTS, begin)
        if running > cap:
            self.book.violation("cap at the origin", f"{host} had {running} requests at {self.book.at(begin)}; its cap was {cap}")

    def check_intervals(self):
        """Checks that no period has more starts than its length and the interval allow. A request that resumes a lease after
        the origin broke it off looks like a start, so this checks only a host that breaks nothing off."""
        host = "polite.test"
        starts = [r["begin"] for r in self.requests if r["host"] == host and not self.troubled(r)]
        for first, begin in enumerate(starts):
            for count in (10, 20, 40):
                if first + count >= len(starts):
                    break
                took = starts[first + count] - begin
                interval = judge.largest(self.book.intervals[host], begin - LATE, starts[first + count], min)
                self.book.checks["stretches against intervals"] += 1
                if took < interval * (count - 1) - LATE:
                    self.book.violation(
                        "interval at the origin", f"{host} had {count + 1} starts in {took:.2f} s at {self.book.at(begin)}; interval {interval}")

    def troubled(self, request):
        life = self.book.life_at(request["client"])
        return life is None or life.troubled(request["begin"] - 20, request["begin"], AFTER)

    def check_blocks(self):
        """Checks that a host that says when it may be asked again gets no request until then."""
        for asked in self.requests:
            begin, end = asked["end"] + LATE, asked["end"] + (asked["wait"] or 0) - 0.5
            # A worker that is cut off cannot report the wait.
            if end <= begin or self.troubled(asked) or ledger.overlap(self.book.outages + self.book.steps, asked["end"] - 1, end):
                continue
            self.book.checks["waits that an origin asked for"] += 1
            for request in self.requests:
                is_meant = request["host"] == asked["host"] and begin < request["begin"] < end
                if is_meant and not self.troubled(request) and not self.goes_on(request, asked["end"]):
                    self.book.violation(
                        "asked too early", f"{asked['host']} said at {self.book.at(asked['end'])} to wait {asked['wait']} s, "
                        f"and was asked by {request['client']} at {self.book.at(request['begin'])}")

    def goes_on(self, request, moment):
        """Returns whether the request resumes what the same worker was downloading at that moment: then it starts nothing
        new."""
        return any(
            (before["host"], before["path"], before["client"]) == (request["host"], request["path"], request["client"])
            and before["begin"] <= moment <= before["end"] for before in self.requests)

    def check_at_once(self, host, path, requests):
        """Checks that no two workers download a file concurrently: one request must have ended before another worker sends
        one."""
        for before, after in zip(requests, requests[1:]):
            if [before["client"], before["begin"], path] in after["others"] and before["client"] != after["client"]:
                if self.counts(before["client"], before["begin"], after["begin"]) and not self.troubled(after):
                    self.book.violation(
                        "twice at once", f"{path} of {host} was asked for by {after['client']} at {self.book.at(after['begin'])}, when "
                        f"{before['client']} was fetching it")

    def check_again(self, host, path, requests):
        """Checks that no worker requests a file after it is completed."""
        finished = self.finished.get(f"http://{host}{path}")
        for request in requests:
            if finished is not None and request["begin"] > finished + 1 and not self.troubled(request):
                self.book.violation(
                    "again", f"{path} was asked for at {self.book.at(request['begin'])}, and was completed at {self.book.at(finished)}")

    def check_refetched(self, path, requests):
        """Checks what is downloaded again after a kill: only bytes that arrived within one checkpoint interval, and the time to
        write a checkpoint, before the kill."""
        figures = self.book.figures
        chain = []
        for before, after in zip(requests, requests[1:]):
            # Consecutive requests of one worker: after a broken connection it requests the rest of what it has, durable or not.
            same = chain and (chain[-1]["client"], chain[-1]["version"]) == (before["client"], before["version"])
            chain = chain + [before] if same else [before]
            if not before["marks"] or before["version"] != after["version"]:
                continue
            begin = offset(after)
            reached = before["marks"][-1][1]
            figures["bytes sent twice"] = figures.get("bytes sent twice", 0) + max(0, reached - begin)
            life = self.book.life_at(before["client"])
            if life is None or life.told != "killed" or life.end is None or abs(life.end - before["end"]) > 1:
                continue
            # Files without ranges cannot be resumed, and files that have changed too often are not resumed.
            if int(path[1:].split("-")[0]) % 10 == 8 or before["version"] >= CHANGES or life.troubled(before["begin"], before["end"], 15):
                continue
            figures["transfers that a kill broke off"] = figures.get("transfers that a kill broke off", 0) + 1
            wanted = life.end - CHECKPOINT - WRITE - self.book.lateness(life.end - CHECKPOINT - WRITE, life.end)
            wanted -= self.book.slowest_write(life.end - 3 * CHECKPOINT, life.end)
            # There are no checkpoints while the database is away or the disk is frozen: the state before that counts.
            for window in sorted(self.book.outages + self.book.frozen, key=lambda window: window[0], reverse=True):
                if ledger.overlap([window], wanted - WRITE, life.end):
                    wanted = min(wanted, window[0] - CHECKPOINT - WRITE)
            marks = [offset for request in chain for moment, offset in request["marks"] if moment <= wanted]
            safe = max(marks or [offset(chain[0])])
            self.book.checks["kills against the checkpoint interval"] += 1
            # The last 4 KiB are downloaded again and compared.
            if begin < safe - 4096 - IN_HAND:
                self.book.violation(
                    "refetched", f"{path}: {life.name} was killed at {self.book.at(life.end)} and had {safe} bytes "
                    f"{life.end - wanted:.1f} s before; the next went on at {begin}")


def offset(request):
    """Returns where the bytes of the answer begin: a whole answer to a request for the rest begins at 0."""
    return (request["start"] or 0) if request["status"] == 206 else 0
