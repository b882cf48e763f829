"""Runs pgbench, which measures PostgreSQL alone."""

import pathlib
import re
import subprocess

from statements import VARIABLES


def transactions_a_second(cluster, name, script, clients, seconds, folder):
    """Runs the prepared statements of `script` from this many clients, and returns the rate."""
    path = pathlib.Path(folder) / f"{name}.sql"
    path.write_text(script, encoding="utf-8")
    variables = [f"--define={variable}={value}" for variable, value in VARIABLES.items()]
    command = [
        cluster.binaries / "pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(2, clients)),
        "-T", str(seconds), *variables, "-f", path, cluster.uri(),
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^tps = ([0-9.]+)", result.stdout, re.MULTILINE)
    if result.returncode != 0 or not found:
        raise SystemExit(f"bench: pgbench failed for {name}: {result.stderr}{result.stdout}")
    return float(found.group(1))
