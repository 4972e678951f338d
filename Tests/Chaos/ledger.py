"""The driver's record for the judge: which program had which address, which was stopped or cut off when, and all settings."""

import bisect
import collections
import contextlib
import dataclasses
import threading
import time


@dataclasses.dataclass
class Life:
    """One process of the pool, from its start to its end."""

    name: str
    address: str | None
    pid: int
    log: str
    begin: float
    end: float | None = None
    # The end that the driver ordered: killed, drained. None: it had no reason to end.
    told: str | None = None
    # When SIGKILL was sent. A process that waits for a disk ends later, and does nothing until then.
    killed: float | None = None
    # When it was stopped, cut off or slowed down: [what, from, to]; to is None while it lasts.
    trouble: list = dataclasses.field(default_factory=list)

    def troubled(self, begin, end, after=0.0):
        """Returns whether the process was in trouble at any time from `after` seconds before `begin` until `end`."""
        return overlap([entry[1:] for entry in self.trouble], begin - after, end)


class Ledger:
    def __init__(self):
        self.begin = time.time()
        self.lock = threading.Lock()
        self.lives, self.violations = [], []
        self.faults, self.checks = collections.Counter(), collections.Counter()
        # For each host: [(from when, cap)] and [(from when, seconds between starts)]. A new value counts from the moment when
        # the order was sent, or from when it had been carried out, whichever allows more.
        self.caps, self.intervals = collections.defaultdict(list), collections.defaultdict(list)
        # When the database was away, or had just come back: [from, to].
        self.outages = []
        # When single connections to the database were broken.
        self.breaks = []
        # When the relay blocked all replies of the database.
        self.unheard = []
        # For each host: when an open transaction locked rows of it: [from, to].
        self.held = collections.defaultdict(list)
        # When the database's clock was set.
        self.steps = []
        # Numbers of jobs whose rows have values that only older versions accepted.
        self.poisoned = set()
        # When a disk was frozen.
        self.frozen = []
        # When the judge itself wrote to the disks, from the first byte to the sync: [from, to].
        self.writes = []
        # When the judge began each of its looks.
        self.looks = []
        self.versions = collections.Counter()
        self.figures = {}

    def violation(self, check, text):
        """Notes that a promise was broken. The same sentence counts once."""
        with self.lock:
            if not any(v[1:] == (check, text) for v in self.violations):
                self.violations.append((time.time() - self.begin, check, text))
                print(f"  VIOLATION {check}: {text}", flush=True)

    def at(self, moment):
        """Returns a time as the report shows it: seconds since the beginning."""
        return f"{moment - self.begin:.1f} s"

    def life_at(self, address):
        return next((life for life in self.lives if life.address == address), None)

    def lateness(self, begin, end):
        """Returns how slow the machine was between the two, in seconds: the longest time between two looks of the judge, minus
        the planned second. Checks of times in seconds allow this much more; other checks do not."""
        first = max(bisect.bisect_left(self.looks, begin) - 1, 0)
        looks = self.looks[first : bisect.bisect_right(self.looks, end) + 1]
        return max([0, *(after - before - 1 for before, after in zip(looks, looks[1:]))])

    def slowest_write(self, begin, end):
        """Returns how many seconds a few bytes took to become durable on one of the disks between the two."""
        now = time.time()
        took = [(stop or now) - start for start, stop in self.writes if start <= end and (stop or now) >= begin]
        return max([0, *took])

    @contextlib.contextmanager
    def noted(self, windows):
        """Notes in one of the lists when the block began and ended."""
        entry = [time.time(), None]
        windows.append(entry)
        try:
            yield
        finally:
            entry[1] = time.time()


def overlap(windows, begin, end):
    """Returns whether one of these windows overlaps the time between the two. The last window may still be open."""
    return any(start <= end and (stop is None or stop >= begin) for start, stop in windows)
