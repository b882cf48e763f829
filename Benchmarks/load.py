"""The measurements: wrk on Roost, pgbench on PostgreSQL, and a loop of password hashes."""

import ctypes
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import time

import operations
import processes
from server import APPLICATION_ID

SCRIPT = pathlib.Path(__file__).with_name("requests.lua")


def wrk(server, operation, connections, seconds, tokens, path):
    """Runs wrk once; gives what requests.lua prints. Fails when wrk says nothing."""
    command = [
        "wrk", f"-t{min(2, connections)}", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", SCRIPT,
        server.origin + path, "--", operation.name, APPLICATION_ID, ",".join(tokens),
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^MEASURED (.*)$", output, re.MULTILINE)
    if not found:
        raise SystemExit(f"bench: wrk printed no measurement: {output}")
    return json.loads(found.group(1))


def settle(server, cluster):
    """Waits, at most ten seconds, until both have finished what the load before left them with."""
    for _ in range(50):
        before = processes.cpu_seconds(server.pid) + processes.cpu_seconds_with_children(cluster.pid)
        time.sleep(0.2)
        after = processes.cpu_seconds(server.pid) + processes.cpu_seconds_with_children(cluster.pid)
        if after - before <= 0.01:
            return


def measure(server, cluster, operation, connections, seconds, tokens, path):
    """One measurement with the CPU time that Roost and PostgreSQL took for it, in microseconds a request."""
    settle(server, cluster)
    roost = processes.cpu_seconds(server.pid)
    postgres = processes.cpu_seconds_with_children(cluster.pid)
    result = wrk(server, operation, connections, seconds, tokens, path)
    roost = processes.cpu_seconds(server.pid) - roost
    postgres = processes.cpu_seconds_with_children(cluster.pid) - postgres
    count = max(1, result["requests"])
    return {
        "requests": result["requests"],
        "rate": result["requests"] / result["seconds"],
        "p50": result["p50"],
        "p99": result["p99"],
        "errors": result["errors"],
        "roost": roost / count * 1e6,
        "postgres": postgres / count * 1e6,
        "memory": processes.resident_megabytes(server.pid),
    }


def pgbench(cluster, operation, folder, seconds):
    """Transactions a second of the operation's statements, prepared, from eight clients."""
    script = pathlib.Path(folder) / f"{operation.name}.sql"
    script.write_text(operation.script, encoding="utf-8")
    variables = [f"--define={name}={value}" for name, value in operations.VARIABLES.items()]
    command = [
        cluster.binaries / "pgbench", "-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", str(seconds),
        *variables, "-f", script, cluster.uri,
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^tps = ([0-9.]+)", result.stdout, re.MULTILINE)
    if result.returncode != 0 or not found:
        raise SystemExit(f"bench: pgbench failed for {operation.name}: {result.stderr}{result.stdout}")
    return float(found.group(1))


def _hash_for(seconds):
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        if not library.crypt(b"benchmark", b"$2b$10$LIjhG/eCp2nWR/CzsAjvq."):
            raise SystemExit("bench: libcrypt knows no bcrypt")
        count += 1
    return count


def password_hashes(seconds):
    """bcrypt hashes a second on all cores: what bounds log-ins."""
    cores = len(os.sched_getaffinity(0))
    with multiprocessing.Pool(cores) as pool:
        begin = time.monotonic()
        count = sum(pool.map(_hash_for, [seconds] * cores, chunksize=1))
        return count / (time.monotonic() - begin)
