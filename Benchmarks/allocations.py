#!/usr/bin/env python3
"""Counts Roost's allocations per request, and fails if there are more than allocations.json allows."""

import argparse
import contextlib
import json
import math
import os
import pathlib
import signal
import statistics
import sys
import tempfile

import sites
from calls import CALLS, Callers
from cluster import Cluster
from counter import SAMPLES, Counter
from operations import OPERATIONS
from stand import Stand

HERE = pathlib.Path(__file__).resolve().parent
LIMITS = HERE / "allocations.json"
CONNECTIONS = 8
WARM_UP = 200
# A batch takes as long as 50 other requests.
SHARES = {"batch": 20}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=HERE.parent / ".build/product/release/roost", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=CALLS, default=list(CALLS), metavar="OPERATION")
    parser.add_argument("--requests", type=int, default=2000, help="requests per measurement (2000), a 20th of that for batches")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements (3); the median counts")
    parser.add_argument("--update", action="store_true", help="write the results plus 5%% as the new limits")
    parser.add_argument(
        "--sites", nargs="+", choices=CALLS, metavar="OPERATION", help="print where these operations allocate, without checking limits"
    )
    parser.add_argument("--folder", default="/var/tmp", help="the folder for the PostgreSQL cluster")
    return parser.parse_args()


@contextlib.contextmanager
def counted(stand):
    """Starts Roost with the counter, and opens connections to it."""
    counter = Counter(stand.folder)
    environment = {**counter.environment, "PARSE_SERVER_LOG_LEVEL": "error"}
    with stand.server(environment=environment) as server, Callers(server, CONNECTIONS, stand.tokens) as callers:
        if not counter.read().allocations:
            raise SystemExit("bench: the counter was not loaded into the server")
        yield server, counter, callers


def measure(callers, counter, operation, requests, rounds):
    """Returns the medians per request: allocations, allocations not freed, and bytes."""
    callers.send(operation.name, WARM_UP // SHARES.get(operation.name, 1))
    samples = []
    for _ in range(rounds):
        before = counter.read()
        length = callers.send(operation.name, requests)
        samples.append(counter.read() - before)
        if length < operation.length:
            raise SystemExit(f"bench: responses of {length:.0f} bytes are too short: {operation.title}")
    return (
        statistics.median(sample.allocations for sample in samples) / requests,
        statistics.median(sample.allocations - sample.frees for sample in samples) / requests,
        statistics.median(sample.bytes for sample in samples) / requests,
    )


def proposed(allocations):
    """Returns the limit for a measurement. Results vary by a few percent between machines and runs."""
    return math.ceil(allocations * 1.05)


def verdict(allocations, limit):
    """Returns a message if the limit is exceeded, missing or can be lowered."""
    if limit is None:
        return "no limit yet"
    if allocations > limit:
        return "**too many**"
    if allocations <= 0.9 * limit and proposed(allocations) < limit:
        return f"can be lowered to {proposed(allocations)}"
    return ""


def check(stand, operations, options):
    """Prints the table, and returns the operations that allocate too much or have no limit."""
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    failed = []
    print("| Operation | Allocations | Allowed | Not freed | Bytes | |\n|---|---:|---:|---:|---:|---|", flush=True)
    with counted(stand) as (_, counter, callers):
        for operation in operations:
            stand.prepare(operation)
            requests = options.requests // SHARES.get(operation.name, 1)
            allocations, kept, size = measure(callers, counter, operation, requests, options.rounds)
            if options.update:
                limits[operation.name] = proposed(allocations)
            limit = limits.get(operation.name)
            said = verdict(allocations, limit)
            if limit is None or allocations > limit:
                failed.append(f"{operation.title}: {allocations:,.1f}, and {LIMITS.name} allows {limit or 'none yet'}")
            numbers = f"{allocations:,.1f} | {limit or '–'} | {kept:.1f} | {size:,.0f}"
            print(f"| {operation.title} | {numbers} | {said} |", flush=True)
    if options.update:
        LIMITS.write_text(json.dumps(limits, indent=4) + "\n", encoding="utf-8")
    return failed


def show_sites(stand, operations, options):
    """Prints where each of the operations allocates."""
    with counted(stand) as (server, counter, callers):
        for operation in operations:
            stand.prepare(operation)
            requests = options.requests // SHARES.get(operation.name, 1)
            allocations, _, _ = measure(callers, counter, operation, requests, 1)
            # As many as fit.
            requests = min(requests, int(0.9 * SAMPLES / allocations))
            with counter.recording():
                callers.send(operation.name, requests)
            print(f"\n### {operation.title}: {allocations:.1f} allocations for a request\n")
            print(sites.table(counter.samples(), server.pid, requests), flush=True)


def main():
    options = arguments()
    # SIGTERM must stop the servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not os.access(options.binary, os.X_OK):
        raise SystemExit(f"bench: {options.binary} doesn't exist. Build it, or choose another with --binary")
    operations = [operation for operation in OPERATIONS if operation.name in (options.sites or options.only)]
    with tempfile.TemporaryDirectory(prefix="roost-bench.", dir=options.folder) as folder:
        os.chmod(folder, 0o755)
        with Cluster(folder) as cluster:
            stand = Stand(options.binary.resolve(), folder, cluster, seconds=0)
            if options.sites:
                show_sites(stand, operations, options)
                return
            failed = check(stand, operations, options)
    for failure in failed:
        print(f"bench: too many allocations: {failure}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
