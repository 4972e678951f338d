"""A machine of the pool: its own host name, network and mounts, in namespaces that a sleeping process keeps alive.

The directories that a worker may write to outside a store are empty when the machine starts: /srv, /tmp, /var/tmp and /dev/shm
are the machine's own file systems. So all files in them at the end came from Haul.
"""

import os
import shutil
import subprocess

import place

# The user that workers run as. It needs no entry in /etc/passwd, and has the same user ID on all machines.
USER = 65534
HOME = "/srv/home"
PRIVATE = ["/srv", "/tmp", "/dev/shm", "/var/tmp"]
# Where a machine sees the directory of the run, because /var/tmp is its own.
RUN = "/mnt"
# A machine caches names, lengths and missing files for 3 seconds, whatever another machine changes. NFS does this too
# (nfs(5), acregmin).
CACHES = "attr_timeout=3,entry_timeout=3,negative_timeout=3"


class Machine:
    """A machine. It can be the `wire` of a Program, which then starts inside."""

    def __init__(self, site, name, address):
        self.site, self.name, self.address, self.mounted = site, name, address, {}
        self.keeper = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c",
             'echo "$1" >/proc/sys/kernel/hostname && echo ready && exec sleep infinity', "sh", name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "ready\n":
            raise place.CannotRun("this machine allows no namespaces")
        self.enter_as_root = ["nsenter", "--target", str(self.keeper.pid), "--net", "--mount", "--uts"]
        # As in a login of the user, without any rights of root.
        self.enter = [*self.enter_as_root, "--setgid", str(USER), "--setuid", str(USER)]
        self.inside("mount", "--bind", site.root, RUN)
        for directory in PRIVATE:
            self.inside("mount", "-t", "tmpfs", "-o", "mode=1777" if directory != "/srv" else "mode=755", "tmpfs", directory)
        self.inside("install", "-d", "-o", str(USER), "-g", str(USER), HOME)

    def connect(self, device):
        """Gives the machine its end of the link."""
        place.run("ip", "link", "set", device, "netns", str(self.keeper.pid))
        self.inside("ip", "link", "set", "lo", "up")
        self.inside("ip", "address", "add", f"{self.address}/16", "dev", device)
        self.inside("ip", "link", "set", device, "up")

    def renew(self):
        """Does nothing: a machine keeps its address when a worker starts again."""

    def inside(self, *command):
        """Runs a program on the machine as root; it must succeed."""
        return place.run(*self.enter_as_root, *command)

    def program(self, version):
        """Returns the path of a copy of Haul on the machine."""
        return f"{RUN}/programs/{version}/haul"

    def path(self, path):
        """Returns the driver's path to a file of the machine."""
        return f"/proc/{self.keeper.pid}/root{path}"

    def mount(self, store):
        """Mounts a store's directory. The directory below belongs to the user too: without the mount a worker could write
        there."""
        self.inside("install", "-d", "-o", str(USER), "-g", str(USER), store.directory)
        self.inside(*store.mount_command(self.name), store.directory)
        self.mounted[store.name] = store

    def unmount(self, store):
        self.inside("umount", store.directory)
        del self.mounted[store.name]

    def left_behind(self):
        """Returns files that are outside the stores. All stores must be unmounted."""
        found = []
        for directory in PRIVATE:
            for folder, _, names in os.walk(self.path(directory)):
                found += [os.path.join(folder, name)[len(self.path("")):] for name in names]
        return found


class Store:
    """A store and what stands for its disk: if `shared`, one directory for all machines, otherwise a disk of its own for each."""

    def __init__(self, site, name, shared, machines):
        self.site, self.name, self.shared, self.machines = site, name, shared, machines
        self.directory = f"/srv/{name}"
        for disk in {self.disk(machine) for machine in machines}:
            if shared:
                os.mkdir(site.path(disk))
                os.chown(site.path(disk), USER, USER)
            else:
                place.run("truncate", "-s", str(192 << 20), site.path(disk))
                place.run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", f"root_owner={USER}:{USER}", site.path(disk))

    def disk(self, machine):
        """Returns the name of the directory or image in the directory of the run."""
        return self.name if self.shared else f"{self.name}-{machine}"

    def mount_command(self, machine):
        """Returns the command that mounts the disk on a machine, without its last argument, the directory."""
        source = f"{RUN}/{self.disk(machine)}"
        if not self.shared:
            return ["mount", "-o", "loop", source]
        return ["bindfs", "-o", CACHES, source] if has_fuse() else ["mount", "--bind", source]


def has_fuse():
    """Returns whether each machine can mount a shared directory by itself."""
    return os.path.exists("/dev/fuse") and shutil.which("bindfs") is not None
