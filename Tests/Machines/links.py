"""Carries packets between the machines of scripts/machines. Each packet arrives late, and some never arrive.

It runs as a separate process: links.py SEED MILLISECONDS PERCENT NAME=ADDRESS[,ADDRESS]... It makes a TUN device for each NAME
and prints "ready". Its parent moves the devices into the machines' network namespaces, where they stay connected to this
process. Orders are JSON lines on standard input: {"cut": [NAME, ...]} lists all machines that are cut off from now on. At the
end of its input it prints how many packets arrived, were lost and were cut off, as JSON, and exits.
"""

import collections
import contextlib
import fcntl
import json
import os
import random
import select
import socket
import struct
import sys
import time

# linux/if_tun.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LARGEST = 65536
BURST = 64  # packets that are read from one device before the others get their turn


def device(name):
    """Makes a TUN device and returns its descriptor."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


class Links:
    def __init__(self, seed, delay, loss, addresses):
        """`delay`: seconds; `loss`: share of the packets, from 0 to 1; `addresses`: the addresses of each name."""
        self.delay, self.loss = delay, loss
        self.devices = {device(name): name for name in addresses}
        self.sinks = {socket.inet_aton(address): sink for sink, name in self.devices.items() for address in addresses[name]}
        self.dice = {name: random.Random(f"{seed} {name}") for name in addresses}
        # All packets wait equally long, so they leave in the order in which they came.
        self.waiting = collections.deque()
        self.cut, self.counts = set(), collections.Counter(packets=0, lost=0, cut=0)

    def receive(self, source):
        name = self.devices[source]
        for _ in range(BURST):
            try:
                packet = os.read(source, LARGEST)
            except BlockingIOError:
                return
            # Byte 0 has the version, bytes 16 to 19 the destination (RFC 791). Other packets, such as IPv6, lead nowhere.
            sink = self.sinks.get(packet[16:20]) if packet[0] >> 4 == 4 else None
            if sink is None:
                continue
            self.counts["packets"] += 1
            if self.cut & {name, self.devices[sink]}:
                self.counts["cut"] += 1
            elif self.dice[name].random() < self.loss:
                self.counts["lost"] += 1
            else:
                self.waiting.append((time.monotonic() + self.delay, sink, packet))

    def deliver(self):
        """Delivers due packets, and returns the milliseconds until the next one is due; None if no packet waits."""
        while self.waiting:
            due, sink, packet = self.waiting[0]
            if due > time.monotonic():
                return max(1, int(1000 * (due - time.monotonic())))
            self.waiting.popleft()
            try:
                os.write(sink, packet)
            except OSError:
                self.counts["lost"] += 1  # the device is down, or its queue is full
        return None

    def run(self):
        poll = select.poll()
        for descriptor in [sys.stdin.fileno(), *self.devices]:
            poll.register(descriptor, select.POLLIN)
        orders = b""
        while True:
            for descriptor, _ in poll.poll(self.deliver()):
                if descriptor in self.devices:
                    self.receive(descriptor)
                    continue
                read = os.read(descriptor, LARGEST)
                if not read:
                    return
                *lines, orders = (orders + read).split(b"\n")
                for line in lines:
                    self.cut = set(json.loads(line)["cut"])


def main():
    seed, milliseconds, percent, *machines = sys.argv[1:]
    addresses = {name: own.split(",") for name, own in (machine.split("=") for machine in machines)}
    try:
        links = Links(seed, float(milliseconds) / 1000, float(percent) / 100, addresses)
    except OSError as error:
        sys.exit(f"machines: cannot make a TUN device: {error}")
    print("ready", flush=True)
    links.run()
    with contextlib.suppress(BrokenPipeError):  # the parent has ended early
        print(json.dumps(links.counts), flush=True)


if __name__ == "__main__":
    main()
