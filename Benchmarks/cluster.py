"""A separate PostgreSQL cluster with the durability settings of a production server."""

import os
import pathlib
import re
import shutil
import subprocess

from ports import free_port

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{socket}'
max_connections = 200
shared_buffers = '512MB'
fsync = on
synchronous_commit = on
full_page_writes = on
# No checkpoint during a measurement. Each measurement of writes begins after one.
max_wal_size = '8GB'
checkpoint_timeout = '1h'
"""


def newest_binaries():
    """Returns the folder of the newest installed PostgreSQL."""
    folders = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if not folders and shutil.which("initdb"):
        folders = [pathlib.Path(shutil.which("initdb")).parent]
    if not folders:
        raise SystemExit("bench: PostgreSQL not found. Install PostgreSQL 14 or later")

    def version(folder):
        text = subprocess.run([folder / "initdb", "--version"], capture_output=True, text=True, check=True).stdout
        return int(re.search(r"\d+", text).group())

    newest = max(folders, key=version)
    if version(newest) < 14:
        raise SystemExit("bench: pgbench of PostgreSQL 14 or later is required, for pipelines")
    return newest


class Cluster:
    """Runs inside a `with` block."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.socket = self.folder / "socket"
        self.binaries = newest_binaries()
        self.port = free_port()

    def uri(self, database="postgres"):
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def _as_postgres(self, *command):
        """PostgreSQL refuses to run as root."""
        prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        result = subprocess.run(
            [*prefix, *map(str, command)], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if result.returncode != 0:
            raise SystemExit(f"bench: {command[0]} failed: {result.stderr}")

    def __enter__(self):
        for path in (self.data, self.socket):
            path.mkdir()
            if os.getuid() == 0:
                shutil.chown(path, "postgres")
        self._as_postgres(
            self.binaries / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"
        )
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(SETTINGS.format(socket=self.socket))
        self._as_postgres(
            self.binaries / "pg_ctl", "start", "-D", self.data, "-w", "-s", "-o", f"-p {self.port}",
            "-l", self.data / "server.log",
        )
        self.pid = int((self.data / "postmaster.pid").read_text().split()[0])
        return self

    def __exit__(self, *_):
        self._as_postgres(self.binaries / "pg_ctl", "stop", "-D", self.data, "-m", "fast", "-w", "-s")

    def sql(self, text, database="postgres"):
        """Runs statements, and returns psql's output without decoration."""
        command = [self.binaries / "psql", self.uri(database), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        result = subprocess.run(command, input=text, capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"bench: psql failed: {result.stderr}")
        return result.stdout.strip()
