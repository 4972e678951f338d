"""TLS and logins of the pool, as docs/install.md and docs/connect.md set them up."""

import os
import secrets
import shutil

import place

# The name in the server's certificate, and a name that leads to the same server but is not in the certificate.
NAME, OTHER_NAME = "db.example.org", "other.example.org"
HOSTS = {NAME: place.SERVER, OTHER_NAME: place.SERVER, "plain.test": place.ORIGIN, "large.test": place.ORIGIN}
FILES = [".pg_service.conf", ".pgpass", "ca.crt", "client.crt", "client.key"]
# For each login: the role that it is a member of.
LOGINS = {"haul_worker_1": "haul_worker", "haul_submit_1": "haul_submitter", "alice": "haul_admin"}
# Each service of connect.md. The server must refuse the last two. `~` is the user's home.
COMMON = {"host": NAME, "dbname": "haul", "sslmode": "verify-full", "sslrootcert": "~/ca.crt"}
SERVICES = {
    "haul_worker": COMMON | {"user": "haul_worker_1", "sslcert": "~/client.crt", "sslkey": "~/client.key"},
    "haul_submitter": COMMON | {"user": "haul_submit_1"},
    "haul_admin": COMMON | {"user": "alice"},
    "no_certificate": COMMON | {"user": "haul_worker_1"},
    "wrong_name": COMMON | {"user": "alice", "host": OTHER_NAME},
}
# The driver's sessions come from the database's machine. All other lines are as in install.md.
ACCESS = f"""
host       haul,postgres  postgres         {place.SERVER}/32  trust
hostssl    haul           +haul_worker     10.0.0.0/8   scram-sha-256  clientcert=verify-ca
hostssl    haul           +haul_submitter  10.0.0.0/8   scram-sha-256
hostssl    haul           +haul_admin      10.0.0.0/8   scram-sha-256
host       haul           all              all          reject
"""


class Logins:
    def __init__(self, site):
        self.site, self.passwords = site, {login: secrets.token_urlsafe(18) for login in LOGINS}
        self.directory = site.path("tls")
        os.mkdir(self.directory)
        self.make_certificates()
        self.settings = f"""
ssl = on
ssl_cert_file = '{self.directory}/server.crt'
ssl_key_file = '{self.directory}/server.key'
ssl_ca_file = '{self.directory}/ca.crt'
ssl_min_protocol_version = 'TLSv1.2'
password_encryption = 'scram-sha-256'
"""

    def make_certificates(self):
        def path(name):
            return os.path.join(self.directory, name)

        def sign(name, subject, *more):
            place.run("openssl", "req", "-new", "-nodes", "-subj", f"/CN={subject}", *more, "-keyout", path(f"{name}.key"),
                      "-out", path(f"{name}.csr"))
            place.run("openssl", "x509", "-req", "-in", path(f"{name}.csr"), "-CA", path("ca.crt"), "-CAkey", path("ca.key"),
                      "-CAcreateserial", "-days", "825", "-copy_extensions", "copy", "-out", path(f"{name}.crt"))

        place.run("openssl", "req", "-new", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=haul-ca", "-keyout", path("ca.key"),
                  "-out", path("ca.crt"))
        sign("server", NAME, "-addext", f"subjectAltName=DNS:{NAME}")
        sign("client", "pool-machine")
        for name in ("server.key", "server.crt", "ca.crt"):
            shutil.chown(path(name), "postgres")
        os.chmod(path("server.key"), 0o600)

    def create(self, session):
        """Creates the logins. The schema must exist."""
        for login, role in LOGINS.items():
            session.run(f"CREATE ROLE {login} LOGIN IN ROLE {role} PASSWORD '{self.passwords[login]}'")
        session.run("REVOKE ALL ON DATABASE haul FROM PUBLIC")
        session.run("GRANT CONNECT ON DATABASE haul TO haul_worker, haul_submitter, haul_monitor, haul_admin")

    def install(self, directory, home, owner):
        """Writes services, passwords and certificates to a user's home, which the driver sees as `directory`."""
        services = []
        for service, settings in SERVICES.items():
            services += [f"[{service}]", *(f"{key}={value.replace('~', home)}" for key, value in settings.items()), ""]
        passwords = [f"*:*:haul:{login}:{password}" for login, password in self.passwords.items()]
        for name, text in ((".pg_service.conf", services), (".pgpass", passwords)):
            with open(os.path.join(directory, name), "w") as file:
                file.write("\n".join(text) + "\n")
        for name in ("ca.crt", "client.crt", "client.key"):
            shutil.copy(os.path.join(self.directory, name), directory)
        for name in FILES:
            os.chown(os.path.join(directory, name), owner, owner)
            os.chmod(os.path.join(directory, name), 0o600)
