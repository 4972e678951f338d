"""The origin of scripts/resume-matrix: a web server that misbehaves as the case requires.

Every case has its own server on a free port of 127.0.0.1, which closes the connection after each answer. Nothing
in it is random.
"""

import dataclasses
import gzip
import random
import re
import socket
import struct
import threading
import time

SIZE = 2 << 20
# The client has this many bytes when it is interrupted. This is not half of the file: if the rest is as long as the part, curl
# mistakes the rest for the part.
CUT = SIZE * 5 // 8


@dataclasses.dataclass(frozen=True)
class Version:
    """The content of the URL at one time."""

    body: bytes
    etag: str = '"one"'
    # Long before the Date of any answer, so that it is a strong validator (RFC 9110 §8.8.2.2).
    modified: str = "Mon, 01 Jan 2024 00:00:00 GMT"
    coding: str = ""

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    @property
    def fields(self):
        named = {"ETag": self.etag, "Last-Modified": self.modified, "Content-Encoding": self.coding}
        return [f"{name}: {value}" for name, value in named.items() if value]


OLD = Version(random.Random(1).randbytes(SIZE))
NEW = Version(random.Random(2).randbytes(SIZE), '"two"', "Tue, 02 Jan 2024 00:00:00 GMT")
LONGER = NEW.but(body=NEW.body + random.Random(3).randbytes(CUT))
GROWN = OLD.but(body=OLD.body + random.Random(4).randbytes(65536))
PAGE = b"<!DOCTYPE html><title>Log in</title>" + b"<p>Who are you?</p>" * 200


class Exchange:
    """One request, and the connection to answer it on."""

    def __init__(self, origin, connection, number, request):
        self.origin, self.connection, self.number = origin, connection, number
        lines = request.decode("latin-1").split("\r\n")
        self.fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.fields.get("range", ""))
        self.start = int(asked[1]) if asked else None
        self.last = int(asked[2]) if asked and asked[2] else None

    def has(self, version):
        """Records that the server has had this version as a whole."""
        self.origin.versions.append(version.body)

    def head(self, status, *fields, protocol="HTTP/1.1"):
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        lines = [f"{protocol} {status}", f"Date: {date}", "Connection: close", *fields, "", ""]
        self.connection.sendall("\r\n".join(lines).encode())

    def body(self, data):
        self.connection.sendall(data)

    def answer(self, status, data, *fields):
        """Sends a correct answer, except for what `fields` say."""
        if not any(field.startswith("Content-Type") for field in fields):
            fields += ("Content-Type: application/octet-stream",)
        self.head(status, f"Content-Length: {len(data)}", "Accept-Ranges: bytes", *fields)
        self.body(data)

    def part(self, version, first, end, data=None, told=True, fields=None):
        """Sends a 206 with the bytes first..<end, or with `data` instead."""
        told = [f"Content-Range: bytes {first}-{end - 1}/{len(version.body)}"] if told else []
        data = version.body[first:end] if data is None else data
        self.answer("206 Partial Content", data, *told, *(fields or version.fields))

    def end_of(self, version):
        """Returns the position after the last byte requested."""
        length = len(version.body)
        return length if self.last is None else min(self.last + 1, length)

    def settle(self):
        """Waits until the client has read everything that was sent: until both queues of the connection are empty (proc(5))."""
        ports = {f"{self.connection.getsockname()[1]:04X}", f"{self.connection.getpeername()[1]:04X}"}
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with open("/proc/net/tcp", encoding="ascii") as table:
                rows = [line.split() for line in table][1:]
            if not any({row[1][-4:], row[2][-4:]} == ports and row[4].strip("0:") for row in rows):
                return
            time.sleep(0.005)

    def reset(self):
        """Resets the connection after the client has read everything that was sent."""
        self.settle()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Origin:
    """Serves one case to one tool."""

    def __init__(self, case):
        self.case = case
        # The whole versions that the server has had so far.
        self.versions = []
        # Whether a request has asked for the rest of a file.
        self.was_resumed = False
        # The code that runs the tool sets it after the interruption.
        self.is_later = False
        # Set when the client has read everything that it gets before the interruption.
        self.is_cut = threading.Event()
        self.number = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/f.bin"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        # The origin ignores a client that disconnects in the middle.
        try:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                received = connection.recv(65536)
                if not received:
                    return
                request += received
            self.number += 1
            exchange = Exchange(self, connection, self.number, request)
            self.was_resumed |= bool(exchange.start)
            (self.case.later if self.is_later else self.case.first)(exchange)
        except OSError:
            pass
        finally:
            connection.close()


# Answers. Each takes an exchange.


def correct(version):
    """Answers as RFC 9110 §13.1.5, §14 and §15.3.7 require."""

    def answer(exchange):
        exchange.has(version)
        length = len(version.body)
        condition = exchange.fields.get("if-range", "")
        weak = condition.startswith("w/")
        if exchange.start is None or condition and (
            weak or condition not in (version.etag.lower(), version.modified.lower())
        ):
            exchange.answer("200 OK", version.body, *version.fields)
        elif exchange.start >= length:
            exchange.answer("416 Range Not Satisfiable", b"", f"Content-Range: bytes */{length}")
        else:
            exchange.part(version, exchange.start, exchange.end_of(version))

    return answer


def held(version):
    """Sends the first CUT bytes, and then nothing until the client disconnects."""

    def answer(exchange):
        exchange.has(version)
        exchange.head(
            "200 OK", f"Content-Length: {len(version.body)}", "Accept-Ranges: bytes",
            "Content-Type: application/octet-stream", *version.fields)
        exchange.body(version.body[:CUT])
        exchange.settle()
        exchange.origin.is_cut.set()
        exchange.connection.recv(1)

    return answer


def to_ranges(odd):
    """Answers requests for a range with `odd`, and others correctly."""

    def answer(exchange):
        if not exchange.start:
            return correct(OLD)(exchange)
        exchange.has(OLD)
        odd(exchange)

    return answer


def once(odd, then):
    """Answers the first request with `odd`."""
    return lambda exchange: (odd if exchange.number == 1 else then)(exchange)


def another_etag_each_time(exchange):
    correct(OLD.but(etag=f'"{exchange.number}"'))(exchange)


def as_long_as_the_part(answer):
    """Answers about a new file that happens to be as long as the client's part."""
    return lambda exchange: answer(NEW.but(body=NEW.body[: exchange.start or CUT]))(exchange)


def whole(version):
    """Answers every request with a 200."""

    def answer(exchange):
        exchange.has(version)
        exchange.answer("200 OK", version.body, *version.fields)

    return answer


def shifted(distance):
    return lambda exchange: exchange.part(OLD, exchange.start + distance, exchange.end_of(OLD))


def from_the_beginning(exchange):
    end = exchange.end_of(OLD)
    exchange.part(OLD, exchange.start, end, data=OLD.body[: end - exchange.start])


def without_content_range(exchange):
    exchange.part(OLD, exchange.start, exchange.end_of(OLD), told=False)


def capped(exchange):
    exchange.part(OLD, exchange.start, min(exchange.start + (256 << 10), exchange.end_of(OLD)))


def multipart(exchange):
    first, end = exchange.start, exchange.end_of(OLD)
    data = (
        b"--B\r\nContent-Type: application/octet-stream\r\n"
        + b"Content-Range: bytes %d-%d/%d\r\n\r\n" % (first, end - 1, SIZE)
        + OLD.body[first:end] + b"\r\n--B--\r\n")
    exchange.answer(
        "206 Partial Content", data, "Content-Type: multipart/byteranges; boundary=B", *OLD.fields)


def part_of_gzip(exchange):
    first, end = exchange.start, exchange.end_of(OLD)
    exchange.part(
        OLD, first, end, data=gzip.compress(OLD.body[first:end], mtime=0),
        fields=[*OLD.fields, "Content-Encoding: gzip"])


def part_cut(exchange):
    """Sends the rest. The first time, it breaks off in the middle."""
    end = exchange.end_of(OLD)
    exchange.head(
        "206 Partial Content", f"Content-Range: bytes {exchange.start}-{end - 1}/{SIZE}",
        f"Content-Length: {end - exchange.start}", *OLD.fields)
    middle = end if exchange.number > 2 else (exchange.start + end) // 2
    exchange.body(OLD.body[exchange.start : middle])


def not_satisfiable(exchange):
    exchange.answer("416 Range Not Satisfiable", b"")


def log_in_page(exchange):
    exchange.answer("200 OK", PAGE, "Content-Type: text/html")


def cut(exchange):
    exchange.has(OLD)
    exchange.head("200 OK", f"Content-Length: {SIZE}", "Accept-Ranges: bytes", *OLD.fields)
    exchange.body(OLD.body[:CUT])


def chunked(end):
    def answer(exchange):
        exchange.has(OLD)
        exchange.head("200 OK", "Transfer-Encoding: chunked", *OLD.fields)
        for first in range(0, end, 65536):
            exchange.body(b"10000\r\n" + OLD.body[first : first + 65536] + b"\r\n")
        if end == SIZE:
            exchange.body(b"0\r\n\r\n")

    return answer


def without_length(end, reset=False):
    """Answers as in HTTP/1.0: the end of the connection is the end of the file."""

    def answer(exchange):
        exchange.has(OLD)
        exchange.head("200 OK", *OLD.fields, protocol="HTTP/1.0")
        exchange.body(OLD.body[:end])
        if reset:
            exchange.reset()

    return answer


def whole_then_reset(exchange):
    correct(OLD)(exchange)
    exchange.reset()


def too_long(exchange):
    """Sends more than the announced length. A tool may keep the announced bytes or all bytes: both are right."""
    longer = OLD.but(body=OLD.body + NEW.body[:500])
    exchange.has(OLD)
    exchange.has(longer)
    exchange.head("200 OK", f"Content-Length: {SIZE}", *OLD.fields)
    exchange.body(OLD.body[:-500])
    # The client reads the end of the file and the extra bytes together.
    exchange.settle()
    exchange.body(longer.body[-1000:])


def part_unasked(exchange):
    exchange.has(OLD)
    exchange.part(OLD, 0, CUT)


def zipped(answer):
    """Wraps an answer that sends the file compressed. A tool may save it compressed or uncompressed: both are right."""

    def answer_and_say(exchange):
        exchange.has(OLD)
        answer(exchange)

    return answer_and_say


def too_many_requests(exchange):
    exchange.answer("429 Too Many Requests", b"slower, please\n", "Retry-After: 1")


# What happens to the part file between two runs.


def grow(path):
    with open(path, "ab") as file:
        file.write(bytes(GROWN.body[-65536:]) * (SIZE // 65536))


def lose_the_end(path):
    """Damages the file as a power cut can: the length is right, but the last bytes are lost."""
    with open(path, "r+b") as file:
        file.seek(CUT - 2048)
        file.write(bytes(2048))


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    # How the server answers until the interruption, if there is one.
    first: object
    # How it answers afterwards. None: the tool is not interrupted.
    later: object = None
    # What happens to the part file meanwhile.
    damage: object = None


def replaced(name, old, new):
    return Case(name, held(old), correct(new))


def odd_range(name, odd):
    return Case(name, held(OLD), to_ranges(odd))


NO_ETAG = {"etag": ""}
NOTHING = {"etag": "", "modified": ""}
WEAK = {"etag": 'W/"one"'}
PACKED = OLD.but(body=gzip.compress(OLD.body, mtime=0), coding="gzip")

CASES = [
    replaced("interrupted, nothing has changed", OLD, OLD),
    replaced("replaced, same length", OLD, NEW),
    replaced("replaced, same length, no ETag", OLD.but(**NO_ETAG), NEW.but(**NO_ETAG)),
    replaced("replaced, same length, weak ETag stays", OLD.but(**WEAK), NEW.but(**WEAK)),
    replaced("replaced, same length, no ETag, no date", OLD.but(**NOTHING), NEW.but(**NOTHING)),
    replaced("replaced, same length, ETag and date stay", OLD, OLD.but(body=NEW.body)),
    replaced("replaced by a longer file", OLD, LONGER),
    replaced("replaced by a shorter file", OLD, NEW.but(body=NEW.body[: SIZE * 3 // 4])),
    replaced("replaced by a file shorter than the part (416)", OLD, NEW.but(body=NEW.body[: CUT // 2])),
    Case("replaced by a file as long as the part (416)", held(OLD), as_long_as_the_part(correct)),
    Case("replaced by a file as long as the part (200)", held(OLD), as_long_as_the_part(whole)),
    replaced("grown at the end, ETag and date stay", OLD, GROWN),
    Case("another ETag at each request", once(held(OLD), correct(OLD)), another_etag_each_time),
    odd_range("range ignored (200)", whole(OLD)),
    odd_range("206 begins 4 KiB too late", shifted(4096)),
    odd_range("206 begins 4 KiB too early", shifted(-4096)),
    odd_range("206 with bytes from another position", from_the_beginning),
    odd_range("206 without Content-Range", without_content_range),
    odd_range("206 with fewer bytes than requested", capped),
    odd_range("206 in multipart/byteranges", multipart),
    odd_range("206 in gzip", part_of_gzip),
    odd_range("206 cut once", part_cut),
    odd_range("416 to every range", not_satisfiable),
    Case("a login page instead of the rest", held(OLD), log_in_page),
    Case("the part file is longer than the file", held(OLD), correct(OLD), grow),
    Case("the part file ends in zeros", held(OLD), correct(OLD), lose_the_end),
    Case("the file is already complete (416)", correct(OLD), correct(OLD)),
    Case("stored as gzip, gzip not requested", zipped(held(PACKED)), zipped(correct(PACKED))),
    Case("Content-Length, cut once", once(cut, correct(OLD))),
    Case("chunked, cut once", once(chunked(CUT), chunked(SIZE))),
    Case("no length (HTTP/1.0)", without_length(SIZE)),
    Case("no length, cut once", once(without_length(CUT), without_length(SIZE))),
    Case("no length, reset once", once(without_length(CUT, reset=True), without_length(SIZE))),
    Case("complete, then a reset", whole_then_reset),
    Case("longer than Content-Length", too_long),
    Case("206 although no range was requested", part_unasked),
    Case("429 once", once(too_many_requests, correct(OLD))),
]
