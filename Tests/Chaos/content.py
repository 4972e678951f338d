"""What the origins have under each path, and in which versions: bytes that follow from numbers, so that nobody keeps them.

A path is /NUMBER-SIZE. Of each file there are versions 0, 1, 2, …; the bytes of each begin elsewhere in one circle of
random bytes, so that no two are alike at any place.
"""

import dataclasses
import random
import re

# A prime: whoever puts bytes in a wrong place, at any round distance, has other bytes there.
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
        """Every other file has another length when it is replaced."""
        return self.size + (97 * version if self.number % 2 else 0)

    def piece(self, version, start, stop):
        """Bytes from `start` to before `stop` of a version; at most PERIOD of them."""
        begin = (self.number * 7919 + version * 1000003 + start) % PERIOD
        return _twice[begin : begin + stop - start]

    def differs(self, version, file, start=0, stop=None):
        """The first place at which an open file is not this version between `start` and `stop`; None where it is."""
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
    """The file that a URL's path means; None where it is no such path."""
    match = re.fullmatch(r"/(\d+)-(\d+)", path)
    return File(int(match[1]), int(match[2])) if match else None
