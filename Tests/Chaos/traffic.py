"""What the origins saw: how many at once, how often, how much twice. By their logs, and who had which address when."""

import json
import os
import re

import judge
import ledger

# A lower cap holds for what starts from then on; what was begun before may ask again until it ends.
LASTS = 30
# After a stop or a cut a worker finds out what it has lost.
AFTER = 3
# Requests that their transfers begin are so much later than their claims, at most.
LATE = 2.0
# The interval between checkpoints, and the time that it may take to write one, to disk and database, on a busy machine.
CHECKPOINT, WRITE = 5.0, 3.0
# So often may a source change under a job that goes on with it.
CHANGES = 3
# Bytes that an origin has sent and that are in no file yet, at most: five buffers of a transfer, and those of the sockets.
IN_HAND = 3 << 19


class Traffic:
    def __init__(self, world, finished):
        """`finished`: URL → when its job was completed."""
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
            # It logs an end when it comes round to it: who ends in the moment in which this begins has ended.
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
        """Whether a request of that client, begun then, is one that the pool knows of now."""
        life = self.book.life_at(client)
        if life is None:
            self.book.violation("address", f"an origin was asked by {client}, which is none of the pool's")
            return False
        # Who hears nothing of the database holds still, with its connections open; the pool takes it for dead after three seconds.
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
        """In any stretch of time there are no more starts than its length and the interval give. Requests that take a lease up
        again after the origin broke it off are not told from starts, so only a host that breaks nothing off counts."""
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
        """Who says when it may be asked again is left alone until then."""
        for asked in self.requests:
            begin, end = asked["end"] + LATE, asked["end"] + (asked["wait"] or 0) - 0.5
            # The word of one that is cut off reaches nobody.
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
        """Whether it takes up what the same worker was fetching at that moment, after the origin broke it off: it starts nothing new."""
        return any(
            (before["host"], before["path"], before["client"]) == (request["host"], request["path"], request["client"])
            and before["begin"] <= moment <= before["end"] for before in self.requests)

    def check_at_once(self, host, path, requests):
        """Nobody fetches what another is fetching: a request is no longer open when the same file is asked for again."""
        for before, after in zip(requests, requests[1:]):
            if [before["client"], before["begin"], path] in after["others"] and before["client"] != after["client"]:
                if self.counts(before["client"], before["begin"], after["begin"]) and not self.troubled(after):
                    self.book.violation(
                        "twice at once", f"{path} of {host} was asked for by {after['client']} at {self.book.at(after['begin'])}, when "
                        f"{before['client']} was fetching it")

    def check_again(self, host, path, requests):
        """Nothing is asked for when it is completed."""
        finished = self.finished.get(f"http://{host}{path}")
        for request in requests:
            if finished is not None and request["begin"] > finished + 1 and not self.troubled(request):
                self.book.violation(
                    "again", f"{path} was asked for at {self.book.at(request['begin'])}, and was completed at {self.book.at(finished)}")

    def check_refetched(self, path, requests):
        """After a kill no more is fetched again than one checkpoint interval and the time to write it."""
        figures = self.book.figures
        chain = []
        for before, after in zip(requests, requests[1:]):
            # The requests of one worker in a row: where a connection broke, it asks on from what it has, durable or not.
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
            # Files without ranges cannot be gone on with, and those that have changed too often are not.
            if int(path[1:].split("-")[0]) % 10 == 8 or before["version"] >= CHANGES or life.troubled(before["begin"], before["end"], 15):
                continue
            figures["transfers that a kill broke off"] = figures.get("transfers that a kill broke off", 0) + 1
            wanted = life.end - CHECKPOINT - WRITE - self.book.lateness(life.end - CHECKPOINT - WRITE, life.end)
            wanted -= self.book.slowest_write(life.end - 3 * CHECKPOINT, life.end)
            # Nothing is noted while there is no database, or the disk stands still: then what was there before that.
            for window in sorted(self.book.outages + self.book.frozen, key=lambda window: window[0], reverse=True):
                if ledger.overlap([window], wanted - WRITE, life.end):
                    wanted = min(wanted, window[0] - CHECKPOINT - WRITE)
            marks = [offset for request in chain for moment, offset in request["marks"] if moment <= wanted]
            safe = max(marks or [offset(chain[0])])
            self.book.checks["kills against the checkpoint interval"] += 1
            # The last 4 KiB are fetched again and compared.
            if begin < safe - 4096 - IN_HAND:
                self.book.violation(
                    "refetched", f"{path}: {life.name} was killed at {self.book.at(life.end)} and had {safe} bytes "
                    f"{life.end - wanted:.1f} s before; the next went on at {begin}")


def offset(request):
    """Where the bytes of its answer begin: a whole answer to a request for the rest has them all."""
    return (request["start"] or 0) if request["status"] == 206 else 0
