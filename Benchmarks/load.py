"""wrk on a server, with the CPU time that Roost and PostgreSQL take for it."""

import json
import pathlib
import re
import subprocess
import time

import processes
from server import APPLICATION_ID

SCRIPT = pathlib.Path(__file__).with_name("requests.lua")


def wrk(origin, name, connections, seconds, tokens=(), table=()):
    """Runs wrk once; gives what requests.lua prints. Fails when wrk says nothing.

    `origin` ends with the path for requests that have none of their own. `table`: a class and its number of rows,
    instead of Game.
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
    """Requests a second. Fails when some of them failed: errors can be fast."""
    result = wrk(origin, name, connections, seconds, **rest)
    if result["errors"]:
        raise SystemExit(f"bench: {result['errors']} of {result['requests']} requests failed: {name}")
    return result["rate"]


def settle(server, cluster):
    """Waits, at most thirty seconds, until both have finished what the load before left them with."""
    for _ in range(150):
        before = processes.cpu_seconds_with_children(server.pid) + processes.cpu_seconds_with_children(cluster.pid)
        time.sleep(0.2)
        after = processes.cpu_seconds_with_children(server.pid) + processes.cpu_seconds_with_children(cluster.pid)
        if after - before <= 0.01:
            return


def measure(server, cluster, name, connections, seconds, tokens=(), path="/", table=()):
    """One measurement; adds the CPU time that Roost and PostgreSQL took, in microseconds a request, and the most memory
    of Roost meanwhile, in megabytes.
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
