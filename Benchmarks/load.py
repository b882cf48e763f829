"""Runs wrk, and measures the CPU time of Roost and PostgreSQL."""

import json
import pathlib
import re
import subprocess
import time

import processes
from server import APPLICATION_ID

SCRIPT = pathlib.Path(__file__).with_name("requests.lua")


def wrk(origin, name, connections, seconds, tokens=(), table=()):
    """Runs wrk once, and returns the output of requests.lua. Fails if there is none.

    `origin` includes the path for requests without their own. `table` is a class instead of Game, and its number of rows.
    """
    command = [
        "wrk", f"-t{min(2, connections)}", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", SCRIPT,
        origin, "--", name, APPLICATION_ID, ",".join(tokens) or "-", *map(str, table),
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^MEASURED (.*)$", output, re.MULTILINE)
    if not found:
        raise SystemExit(f"bench: wrk printed no measurement: {output}")
    result = json.loads(found.group(1))
    result["rate"] = result["requests"] / result["seconds"]
    result["length"] = result["bytes"] / max(1, result["requests"])
    return result


def rate(origin, name, connections, seconds, **rest):
    """Returns the requests per second. Fails if any request failed, because errors can be fast."""
    result = wrk(origin, name, connections, seconds, **rest)
    if result["errors"]:
        raise SystemExit(f"bench: {result['errors']} of {result['requests']} requests failed: {name}")
    return result["rate"]


def settle(server, cluster):
    """Waits until both servers are idle after the previous load, for at most 30 seconds."""
    for _ in range(150):
        before = processes.cpu_seconds_with_children(server.pid) + processes.cpu_seconds_with_children(cluster.pid)
        time.sleep(0.2)
        after = processes.cpu_seconds_with_children(server.pid) + processes.cpu_seconds_with_children(cluster.pid)
        if after - before <= 0.01:
            return


def measure(server, cluster, name, connections, seconds, tokens=(), path="/", table=()):
    """Measures once, including the CPU microseconds per request of Roost and PostgreSQL, and Roost's peak memory in
    megabytes.
    """
    settle(server, cluster)
    processes.forget_peak(server.pid)
    roost = processes.cpu_seconds_with_children(server.pid)
    postgres = processes.cpu_seconds_with_children(cluster.pid)
    result = wrk(server.origin + path, name, connections, seconds, tokens, table)
    count = max(1, result["requests"])
    result["roost"] = (processes.cpu_seconds_with_children(server.pid) - roost) / count * 1e6
    result["postgres"] = (processes.cpu_seconds_with_children(cluster.pid) - postgres) / count * 1e6
    result["peak"] = processes.peak_megabytes(server.pid)
    return result
