"""The place of a chaos run: its own network, disks and names, which the kernel removes when the run ends.

The launcher has put this process into its own namespaces (network, mounts, processes), so nothing here is visible outside,
and nothing outlives it. Database and origins are on a bridge; each worker has a network namespace with one wire to it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

SERVER = "10.77.0.1"
ORIGIN = "10.77.1.1"
NGINX = "10.77.1.2"


class CannotRun(Exception):
    """This machine does not have what a run needs."""


def run(*command):
    """Runs a program that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CannotRun(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def put_in_memory(root, size):
    """Puts a directory into memory if there is enough: a disk is slow, and others use it too."""
    with open("/proc/meminfo") as file:
        available = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    if available > 2 * size:
        run("mount", "-t", "tmpfs", "-o", f"size={size},mode=711", "tmpfs", root)


def leave(root):
    """Unmounts everything below a directory, even if processes still use it."""
    with open("/proc/self/mounts") as file:
        mounted = [line.split()[1] for line in file]
    for name in reversed(mounted):
        if name == root or name.startswith(root + "/"):
            run("umount", "--lazy", name)


def inside(program, body, keep=False):
    """Runs body(root) with a new directory, and exits with the status that it returns; 69 if this machine cannot run it.
    Removes the directory at the end, or prints its name if `keep` is true."""
    root = tempfile.mkdtemp(prefix=f"haul-{program}.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(root, 0o711)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        status = body(root)
    except CannotRun as error:
        print(f"{program}: {error}", file=sys.stderr)
        status = 69
    finally:
        # The kernel ends processes, networks and mounts with this process, which is the first of its namespace.
        if keep:
            print(f"{program}: logs are in {root}")
        else:
            leave(root)
            shutil.rmtree(root, ignore_errors=True)
    sys.exit(status)


class Site:
    def __init__(self, root, hosts, size):
        self.root = root
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "lan", "type", "bridge")
        for address in (SERVER, ORIGIN, NGINX):
            run("ip", "address", "add", f"{address}/16", "dev", "lan")
        run("ip", "link", "set", "lan", "up")
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        os.mkdir("/run/netns")
        names = self.path("hosts")
        with open(names, "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in hosts.items()))
        run("mount", "--bind", names, "/etc/hosts")
        self.images = self.sharing("images", size)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def disk(self, name, size):
        """Makes an ext4 in a file, which can be frozen and can lose power. Its journal commits every ten minutes, so a loss of
        power certainly loses all data that was not synced."""
        image, place = self.image(name), self.path(name)
        os.mkdir(place)
        run("truncate", "-s", str(size), image)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-i", "4096", image)
        run("mount", "-o", "loop,commit=600", image, place)
        return place

    def image(self, name):
        return os.path.join(self.images, name)

    def sharing(self, name, size):
        """Makes a file system on which copies share blocks and therefore take no time (xfs, ioctl_ficlonerange(2))."""
        image, place = self.path(f"{name}.image"), self.path(name)
        os.mkdir(place)
        run("truncate", "-s", str(size), image)
        run("mkfs.xfs", "-q", "-m", "reflink=1", image)
        run("mount", "-o", "loop,discard", image, place)
        return place

    def after_power_loss(self, name):
        """Shows what a loss of power at this moment would leave of a disk. Mounts a copy of its image elsewhere, where the
        journal is replayed as after a crash. Nothing may write meanwhile."""
        image, place = self.image(f"{name}.lost"), self.path(f"{name}.lost")
        run("cp", "--reflink=always", self.image(name), image)
        os.makedirs(place, exist_ok=True)
        run("mount", "-o", "loop", image, place)
        return place

    def forget_power_loss(self, name):
        run("umount", self.path(f"{name}.lost"))
        os.remove(self.image(f"{name}.lost"))


class Wire:
    """A worker's network: a namespace and the wire from it to the bridge."""

    def __init__(self, number):
        self.number, self.name, self.address, self.uses = number, f"w{number}", None, 0
        # The prefix that starts a program inside.
        self.enter = ["nsenter", f"--net=/run/netns/{self.name}"]
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", self.name, "master", "lan", "up")
        for device in ("eth0", "lo"):
            run("ip", "-n", self.name, "link", "set", device, "up")
        self.inside("nft", "add table ip faults")
        # Limit the receive buffer, so that a worker has received nearly all bytes that an origin has sent. Otherwise 30 MB wait
        # for a worker whose disk holds it up.
        self.inside("sysctl", "-qw net.ipv4.tcp_rmem=4096\t65536\t131072")

    def inside(self, program, words):
        return run("ip", "netns", "exec", self.name, program, *words.split(" "))

    def renew(self):
        """Takes a new address, so that origins can tell this worker from the previous one."""
        if self.address:
            run("ip", "-n", self.name, "address", "del", f"{self.address}/16", "dev", "eth0")
        self.uses += 1
        self.address = f"10.77.{100 + self.number}.{self.uses}"
        run("ip", "-n", self.name, "address", "add", f"{self.address}/16", "dev", "eth0")

    def lose(self, what):
        """Drops packets silently. `what`: all, to_database, from_database, from_origins."""
        match = {"to_database": f"ip daddr {SERVER}", "from_database": f"ip saddr {SERVER}",
                 "from_origins": "ip saddr 10.77.1.0/24", "all": ""}[what]
        for hook in {"to_database": ["output"], "all": ["input", "output"]}.get(what, ["input"]):
            chain = f"{hook}s"
            self.inside("nft", f"add chain ip faults {chain} {{ type filter hook {hook} priority 0 ; }}")
            self.inside("nft", f"add rule ip faults {chain} {match} drop".replace("  ", " "))

    def narrow(self, rate):
        """Limits the rate at which the worker receives (tc-tbf(8))."""
        run("tc", "qdisc", "replace", "dev", self.name, "root", "tbf", "rate", rate, "burst", "64k", "latency", "200ms")

    def heal(self):
        self.inside("nft", "flush table ip faults")
        subprocess.run(["tc", "qdisc", "del", "dev", self.name, "root"], capture_output=True)
