"""The content of the origins under each path and in each version. The bytes are computed from numbers, so nothing stores them.

A path is /NUMBER-SIZE. Each file has versions 0, 1, 2, …. The bytes of each version begin at a different place in one circle of
random bytes, so no two versions agree at any place.
"""

import dataclasses
import random
import re

# A prime, so that bytes that are written to a wrong place differ from the right ones, even if the distance is a round number.
PERIOD = (1 << 22) + 15
_circle = random.Random(20261122).randbytes(PERIOD)
_twice = memoryview(_circle + _circle)


@dataclasses.dataclass(frozen=True)
class File:
    """One path of an origin."""

    number: int
    size: int

    @property
    def path(self):
        return f"/{self.number}-{self.size}"

    def length(self, version):
        """Returns the length of a version. Every second file changes its length when it is replaced."""
        return self.size + (97 * version if self.number % 2 else 0)

    def piece(self, version, start, stop):
        """Returns the bytes from `start` to before `stop` of a version; at most PERIOD of them."""
        begin = (self.number * 7919 + version * 1000003 + start) % PERIOD
        return _twice[begin : begin + stop - start]

    def differs(self, version, file, start=0, stop=None):
        """Returns the first place between `start` and `stop` at which an open file differs from this version; None if it does
        not."""
        stop = self.length(version) if stop is None else stop
        file.seek(start)
        while start < stop:
            wanted = self.piece(version, start, min(stop, start + (1 << 20)))
            found = file.read(len(wanted))
            if found != wanted:
                same = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
                return start + same
            start += len(wanted)
        return None


def file_of(path):
    """Returns the file that a URL's path names; None if the path names none."""
    match = re.fullmatch(r"/(\d+)-(\d+)", path)
    return File(int(match[1]), int(match[2])) if match else None
