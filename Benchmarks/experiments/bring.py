"""The rate of `roost import` of a mongodump in rows per second, including preparation and cleanup."""

import os
import pathlib
import subprocess
import sys
import time

from goals import Figure, Goal

ROWS = 400_000
HERE = pathlib.Path(__file__).resolve().parent


def _make(folder):
    """Creates a dump of objects with 10 fields, with MongoDB's own encoder."""
    script = HERE / "../../Tests/MigrationTests/make_dump.py"
    libraries = (HERE / "../../.build/python").resolve()
    subprocess.run(
        [sys.executable, script, "rows", folder, str(ROWS)], check=True,
        env={**os.environ, "PYTHONPATH": str(libraries)},
    )


def run(stand):
    dump = stand.folder / "dump"
    _make(dump)
    stand.cluster.sql("CREATE DATABASE import;")
    command = [
        stand.binary, "import", dump, "--rejects", stand.folder / "rejects.jsonl",
        "--databaseURI", stand.cluster.uri("import"), "--dataDir", stand.folder / "import",
    ]
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"bench: the import ended with {os.waitstatus_to_exitcode(status)}")
    return [
        Figure(f"import of {ROWS:,} rows of 10 fields from BSON", ROWS / seconds, Goal(40_000), "rows/s", 0),
        Figure("memory at the peak of that import", usage.ru_maxrss / 1024, Goal(150, at_most=True), "MB", 0),
    ]
