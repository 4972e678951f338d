"""The pool's PostgreSQL server, and sessions on it for the driver and the judge."""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

import psycopg2

import place

# A crash makes PostgreSQL forget the statistics that autovacuum needs. Here crashes come every half minute, often before
# autovacuum has looked for the first time (by default every minute). Dead rows would stay for the whole run, and claims would
# read them.
SETTINGS = f"""
autovacuum_naptime = 5s
listen_addresses = '{place.SERVER}'
unix_socket_directories = ''
max_connections = 100
fsync = off
log_lock_waits = on
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.save = off
log_line_prefix = '%m [%p] %a '
"""


TRUST = "host all,replication all 10.77.0.0/16 trust\n"


class Server:
    def __init__(self, site, settings="", access=TRUST):
        """`settings`: additional lines for postgresql.conf; `access`: the lines for pg_hba.conf."""
        self.site, self.standbys = site, 0
        self.bin = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        self.data, self.log = site.path("postgres", "data"), site.path("postgres", "log")
        os.mkdir(site.path("postgres"))
        shutil.chown(site.path("postgres"), "postgres")
        self.program("initdb", "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
        with open(f"{self.data}/postgresql.conf", "a") as file:
            file.write(SETTINGS + settings)
        with open(f"{self.data}/pg_hba.conf", "a") as file:
            file.write(access)
        self.start()
        with self.session("postgres") as session:
            session.run("CREATE DATABASE haul")
        with self.session() as session:
            # The server counts the blocks that every call has read, for the judge.
            session.run("CREATE EXTENSION pg_stat_statements")
        self.conninfo = f"host={place.SERVER} user=postgres dbname=haul"

    def program(self, name, *arguments, data=None):
        user = pwd.getpwnam("postgres")
        done = subprocess.run(
            [f"{self.bin}/{name}", "--pgdata", data or self.data, *arguments], user=user.pw_uid, group=user.pw_gid,
            extra_groups=[], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")

    def start(self):
        # Without --log, the server would inherit pg_ctl's standard error, a pipe. This process would then wait for the server's
        # end.
        self.program("pg_ctl", "--log", self.log, "--wait", "--silent", "start")

    def stop(self):
        self.program("pg_ctl", "--mode", "immediate", "--wait", "--silent", "stop")

    def standby(self, synchronous=True):
        """Starts a synchronous standby of this server on its own port. From then on no commit ends before the standby has
        it."""
        self.standbys += 1
        data = self.site.path("postgres", f"standby{self.standbys}")
        self.program(
            "pg_basebackup", "--host", place.SERVER, "--username", "postgres", "--checkpoint", "fast", "--write-recovery-conf",
            "--no-sync", data=data)
        self.program("pg_ctl", "--log", self.log, "--wait", "--silent", "--options", "-p 5433", "start", data=data)
        if synchronous:
            with self.session() as session:
                session.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
                session.run("SELECT pg_reload_conf()")
                deadline = time.time() + 30
                while session.run("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
                    if time.time() > deadline:
                        raise RuntimeError("the standby does not follow")
                    time.sleep(0.1)  # no event reports that the standby follows
                time.sleep(1)  # each session notices the change at a different time
        return data

    def fail_over(self, standby):
        """Kills the server, and gives its address to the standby."""
        self.stop()
        shutil.rmtree(self.data)
        self.data = standby
        self.program("pg_ctl", "--wait", "--silent", "promote")
        self.program("pg_ctl", "--mode", "fast", "--wait", "--silent", "stop")
        self.start()

    def kill_backend(self, pid):
        """Kills a session. The server then ends all sessions and recovers."""
        os.kill(pid, signal.SIGKILL)

    def processes(self):
        """Returns the server's first process, which starts all others, and then the others."""
        with open(f"{self.data}/postmaster.pid") as file:
            first = int(file.readline())
        with open(f"/proc/{first}/task/{first}/children") as file:
            return [first, *map(int, file.read().split())]

    def session(self, database="haul"):
        return Session(database)


class Pooler:
    """A PgBouncer in transaction mode before the server: two server sessions, each at most one second old."""

    def __init__(self, site, port=6433):
        self.address, self.process, self.log = (place.SERVER, port), None, site.path("pgbouncer.log")
        self.conninfo = f"host={place.SERVER} port={port} user=postgres dbname=haul"
        self.configuration = site.path("pgbouncer.ini")
        with open(self.configuration, "w") as file:
            file.write(f"""
[databases]
haul = host={place.SERVER} user=postgres
[pgbouncer]
listen_addr = {place.SERVER}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_lifetime = 1
""")

    def start(self):
        user = pwd.getpwnam("postgres")
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                ["/usr/sbin/pgbouncer", self.configuration], user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd="/",
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.time() + 30
        while True:
            try:
                return socket.create_connection(self.address, 1).close()
            except OSError:
                if time.time() > deadline:
                    raise
                time.sleep(0.05)  # no event reports when it listens

    def stop(self):
        self.process.kill()
        self.process.wait()


class Session:
    """A connection that is opened when it is needed, and again after it was lost."""

    def __init__(self, database="haul"):
        self.database, self.connection = database, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def run(self, sql, parameters=None):
        """Returns the rows of a statement as tuples; each statement is a transaction. Raises psycopg2.Error if there is no
        server."""
        try:
            if self.connection is None:
                self.connection = psycopg2.connect(
                    host=place.SERVER, user="postgres", dbname=self.database, connect_timeout=5, application_name="chaos",
                    keepalives_idle=5)
                self.connection.autocommit = True
            with self.connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                return cursor.fetchall() if cursor.description is not None else []
        except (psycopg2.OperationalError, psycopg2.InterfaceError):
            self.close()
            raise
