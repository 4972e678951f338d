"""A web server for the chaos run: several hosts with different behaviour, which misbehave on order, and a log of everything.

It runs as a separate process: origin.py ADDRESS LOG SEED, with hosts by the Host field. Orders are JSON lines on standard
input: {"host": NAME, "deed": WORD or null, "chance": 0…1, "wait": seconds}, {"versions": {NUMBER: VERSION}}, {"rates": {NAME: bytes/s}}.
The log has a JSON line for every request that has ended, and for every order that was received.

To check caps, each request notes at its beginning which other requests are open at that host. The kernel says whether the client
of a request has closed its connection: it knows that before this process does.
"""

import asyncio
import json
import os
import random
import signal
import socket
import struct
import sys
import time
from email.utils import formatdate

import content

PIECE = 16384
# A replaced file was last changed long ago too: its time is a strong validator (RFC 9110 §8.8.2.2).
FIRST_CHANGE = 1700000000
ESTABLISHED = 1  # Linux: TCP_INFO, tcpi_state


class Host:
    def __init__(self):
        self.rate = None  # bytes per second of each transfer; None: unlimited
        self.deed, self.chance, self.wait = None, 0.0, 1
        self.open = {}  # request id → Request


class Request:
    def __init__(self, connection, host_name, path, start):
        self.connection, self.host_name, self.path, self.start = connection, host_name, path, start
        self.begin, self.sent, self.status, self.version, self.deed = time.time(), 0, 0, 0, None
        self.marks, self.others, self.wait = [], [], None


class Origin:
    def __init__(self, log, seed):
        self.log, self.seed = log, seed
        self.hosts, self.versions, self.asked, self.number = {}, {}, {}, 0

    def host(self, name):
        return self.hosts.setdefault(name, Host())

    def write(self, **record):
        self.log.write(json.dumps(record) + "\n")

    def obey(self, order):
        self.versions.update({int(number): version for number, version in order.get("versions", {}).items()})
        for name, rate in order.get("rates", {}).items():
            self.host(name).rate = rate
        if "host" in order:
            host = self.host(order["host"])
            host.deed, host.chance, host.wait = order.get("deed"), order.get("chance", 1.0), order.get("wait", 1)
        self.write(at=time.time(), order=order)

    def choose(self, host, path):
        """Chooses what to do to this request. The choice is the same for the n-th request of a path in every run."""
        turn = self.asked[path] = self.asked.get(path, 0) + 1
        dice = random.Random(f"{self.seed} {path} {turn}")
        if host.deed is None or dice.random() >= host.chance:
            return None, dice
        return (dice.choice(DEEDS) if host.deed == "any" else host.deed), dice

    async def serve(self, reader, writer):
        connection = Connection(reader, writer)
        try:
            while (head := await connection.head()) is not None:
                if not await self.answer(connection, *head):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass
        finally:
            writer.close()

    async def answer(self, connection, path, fields):
        """Answers one request. Returns False if the connection ends with it."""
        name = fields.get("host", "")
        host = self.host(name)
        start = int(fields["range"][6:].split("-")[0]) if fields.get("range", "").startswith("bytes=") else None
        request = Request(connection, name, path, start)
        self.number += 1
        number = self.number
        others = [[r.connection.client, r.begin, r.path] for r in host.open.values() if r.connection.is_there]
        host.open[number] = request
        request.others = others
        goes_on, how = False, "broken"
        try:
            goes_on = await self.carry_out(request, host, fields)
            how = "done"
        except Ended as ended:
            how = str(ended)
        finally:
            del host.open[number]
            self.note(request, how)
        return goes_on

    def note(self, request, how):
        self.write(
            host=request.host_name, path=request.path, client=request.connection.client, begin=request.begin, end=time.time(),
            start=request.start, status=request.status, version=request.version, sent=request.sent, deed=request.deed,
            how=how, wait=request.wait, others=request.others, marks=request.marks)

    def end(self):
        """Ends immediately, in the middle of all transfers."""
        for host in self.hosts.values():
            for request in host.open.values():
                self.note(request, "origin ended")
        os._exit(0)

    async def carry_out(self, request, host, fields):
        file = content.file_of(request.path)
        if file is None:
            await self.short(request, 404, "Not Found")
            return True
        request.version = version = self.versions.get(file.number, 0)
        request.deed, dice = self.choose(host, request.path)
        if request.deed in ("429", "503"):
            request.wait = host.wait
            await self.short(request, int(request.deed), "Later", f"Retry-After: {host.wait}")
            return True
        if request.deed == "500":
            await self.short(request, 500, "Trouble")
            return True
        if request.deed == "mute":
            await self.rest(request, 4 * host.wait)
            raise Ended("hung up")
        await self.body(request, host, fields, file, version, dice)
        return request.deed != "short"

    async def short(self, request, status, reason, *more):
        request.status = status
        fields = [f"HTTP/1.1 {status} {reason}", "Content-Length: 0", *more, "", ""]
        await request.connection.send("\r\n".join(fields).encode())

    async def body(self, request, host, fields, file, version, dice):
        length = file.length(version)
        tag, changed = f'"{file.number}-{version}"', formatdate(FIRST_CHANGE + 60 * version, usegmt=True)
        head = [f"Date: {formatdate(usegmt=True)}", f"Last-Modified: {changed}"]
        if file.number % 10 != 9:  # one file in ten has no ETag, only a time
            head.append(f"ETag: {tag}")
        begin, status = 0, "200 OK"
        takes_ranges = file.number % 10 != 8 and request.deed != "no_ranges"
        if takes_ranges:
            head.append("Accept-Ranges: bytes")
        if takes_ranges and request.start is not None and fields.get("if-range", tag) in (tag, changed):
            begin, status = request.start, "206 Partial Content"
            if begin >= length:
                request.status = 416
                await request.connection.send(
                    f"HTTP/1.1 416 No\r\nContent-Range: bytes */{length}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            head.append(f"Content-Range: bytes {begin}-{length - 1}/{length}")
        head.append(f"Content-Length: {length - begin}")
        request.status, request.marks = int(status[:3]), [[time.time(), begin]]
        await request.connection.send("\r\n".join([f"HTTP/1.1 {status}", *head, "", ""]).encode())
        stop = length
        if request.deed in ("reset", "short", "stall"):
            stop = begin + int((length - begin) * dice.random())
        await self.stream(request, host, file, version, begin, stop)
        if request.deed == "reset":
            request.connection.reset()
            raise Ended("reset")
        if request.deed == "stall":
            await self.rest(request, 3 * host.wait)
            await self.stream(request, host, file, version, stop, length)

    async def stream(self, request, host, file, version, begin, stop):
        """Sends bytes of the version with which the answer began, at the host's rate, and notes its progress now and then."""
        connection = request.connection
        while begin < stop:
            # Slow until the fault is healed, not until the file's end: the host may have only one place left.
            rate = 20000 if request.deed == "slow" and host.deed is not None else host.rate
            piece = file.piece(version, begin, min(stop, begin + (PIECE if rate is None else max(1024, rate // 10))))
            await connection.send(piece)
            begin += len(piece)
            request.sent += len(piece)
            now = time.time()
            if now >= request.marks[-1][0] + 0.5:
                request.marks.append([now, begin])
            # Do not wait after the last piece: a client that has everything may have sent another request by then.
            if rate is not None and begin < stop:
                await self.rest(request, len(piece) / rate)
        request.marks.append([time.time(), begin])

    async def rest(self, request, seconds):
        """Waits, but no longer than the client does."""
        try:
            await asyncio.wait_for(request.connection.gone.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise Ended("client left")


DEEDS = ["429", "503", "500", "500", "reset", "reset", "short", "stall", "slow", "mute", "no_ranges"]


class Ended(Exception):
    """A request that did not end properly."""


class Connection:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.socket = writer.get_extra_info("socket")
        self.client = writer.get_extra_info("peername")[0]
        self.gone = asyncio.Event()
        self.heads = asyncio.Queue()
        writer.transport.set_write_buffer_limits(high=PIECE)
        self.reading = asyncio.ensure_future(self.read())

    async def read(self):
        """Reads ahead to notice immediately when the client disconnects."""
        try:
            while True:
                text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                fields = dict(line.split(": ", 1) for line in text[1:] if ": " in line)
                self.heads.put_nowait((text[0].split(" ")[1], {k.lower(): v for k, v in fields.items()}))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self.gone.set()
            self.heads.put_nowait(None)

    async def head(self):
        return await self.heads.get()

    @property
    def is_there(self):
        """Returns whether the client's end is still open, according to the kernel (tcp(7), TCP_INFO)."""
        try:
            return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED
        except (OSError, ValueError):
            return False

    async def send(self, data):
        if self.gone.is_set() or self.writer.transport.is_closing():
            raise Ended("client left")
        self.writer.write(data)
        try:
            await self.writer.drain()
        except OSError:
            raise Ended("client left") from None

    def reset(self):
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except (OSError, AttributeError):
            pass
        self.writer.transport.abort()


async def main():
    address, log, seed = sys.argv[1:]
    origin = Origin(open(log, "a", buffering=1), seed)
    listener = socket.create_server((address, 80), backlog=512)
    # Limit the data in flight, so that the bytes sent are nearly the bytes received.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    await asyncio.start_server(origin.serve, sock=listener)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, origin.end)
    orders = asyncio.StreamReader(limit=1 << 26)  # the versions of all files are one line
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    print("ready", flush=True)
    while line := await orders.readline():
        origin.obey(json.loads(line))


if __name__ == "__main__":
    asyncio.run(main())
