#!/usr/bin/env python3
"""Measures Roost against the PostgreSQL below it. docs/performance.md says what the numbers mean."""

import argparse
import datetime
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import load
import processes
import report
from cluster import Cluster
from operations import OPERATIONS
from seed import seed
from server import Server

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="32 connections only, 3 seconds each, one round")
    parser.add_argument("--binary", default=HERE.parent / ".build/release/roost", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, help="length of a measurement (5, or 3 with --quick)")
    parser.add_argument("--rounds", type=int, help="rounds, of which the medians count (3, or 1 with --quick)")
    parser.add_argument(
        "--only", nargs="+", choices=[operation.name for operation in OPERATIONS],
        help="measure these alone, and write no file",
    )
    parser.add_argument("--folder", default="/var/tmp", help="where the cluster lies while it runs; not in memory")
    parser.add_argument("--note", action="append", default=[], help="a line for the results, such as on other load")
    return parser.parse_args()


def prepare(cluster, operation):
    """Equal conditions for whatever writes: no rows of before, no checkpoint under way."""
    if operation.writes:
        cluster.sql('TRUNCATE "NewGame"; VACUUM "Game"; CHECKPOINT;')


def reference_of(operation, cluster, folder, seconds):
    """What the operation is compared with in this round, in units a second."""
    if operation.script:
        prepare(cluster, operation)
        return load.pgbench(cluster, operation, folder, seconds)
    if operation.reference == "crypt":
        return load.password_hashes(seconds)
    return None


def run_rounds(server, cluster, folder, options, counts, seconds, rounds):
    """All measurements; gives samples by operation and connections, and the references of the rounds."""
    tokens, file_path = seed(server, cluster)
    samples, references = {}, {}
    for number in range(1, rounds + 1):
        for operation in OPERATIONS:
            if options.only and operation.name not in options.only:
                continue
            path = file_path if operation.name == "file" else "/"
            load.settle(server, cluster)
            length = max(seconds, operation.shortest)
            reference = reference_of(operation, cluster, folder, length)
            if reference:
                references.setdefault(operation.name, []).append(reference)
            load.wrk(server, operation, counts[-1], 1, tokens, path)
            for connections in counts:
                prepare(cluster, operation)
                sample = load.measure(server, cluster, operation, connections, length, tokens, path)
                check_rows(cluster, operation, sample)
                samples.setdefault((operation.name, connections), []).append(sample)
                print(
                    f"round {number}  {operation.title:38} {connections:4} connections {sample['rate']:10,.0f}/s"
                    f"  p99 {sample['p99']:8.2f} ms  errors {sample['errors']}"
                    + (f"  {operation.reference} {reference:,.0f}/s" if reference else ""),
                    flush=True,
                )
    return samples, references


def check_rows(cluster, operation, sample):
    """A batch answers 200 even when its calls fail: the rows tell what was really created."""
    expected = {"create": 1, "batch": 50}.get(operation.name)
    if expected:
        rows = int(cluster.sql('SELECT count(*) FROM "NewGame"'))
        if rows < (sample["requests"] - sample["errors"]) * expected:
            raise SystemExit(f"bench: {operation.name} answered {sample['requests']} times but made {rows} rows")


def table(samples, references, counts):
    """Rows of the report, with the median of each operation's references."""
    rows = []
    for operation in OPERATIONS:
        for connections in counts:
            measured = samples.get((operation.name, connections))
            if not measured:
                continue
            if operation.reference == "health":
                health = samples.get(("health", connections))
                reference = report.median(health, "rate") if health else None
            else:
                found = references.get(operation.name)
                reference = statistics.median(found) if found else None
            rows.append((operation, connections, measured, reference))
    return rows


def main():
    options = arguments()
    # A terminated run stops its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    counts = [32] if options.quick else [1, 32, 256]
    seconds = options.seconds or (3 if options.quick else 5)
    rounds = options.rounds or (1 if options.quick else 3)
    if not os.access(options.binary, os.X_OK):
        raise SystemExit(f"bench: {options.binary} is not there; build it, or name another with --binary")

    with tempfile.TemporaryDirectory(prefix="roost-bench.", dir=options.folder) as folder:
        os.chmod(folder, 0o755)
        with Cluster(folder) as cluster:
            facts = report.machine(cluster)
            with Server(options.binary.resolve(), folder, cluster.uri):
                pass  # Installs tables and functions, so that the next start finds a database that is ready.
            with Server(options.binary.resolve(), folder, cluster.uri) as server:
                time.sleep(1)
                idle = processes.resident_megabytes(server.pid)
                samples, references = run_rounds(server, cluster, folder, options, counts, seconds, rounds)
                time.sleep(2)
                memory = [
                    f"Resident memory of Roost: {idle:.0f} MB idle after the start, "
                    f"{processes.peak_megabytes(server.pid):.0f} MB at the peak, "
                    f"{processes.resident_megabytes(server.pid):.0f} MB two seconds after the last measurement",
                    "From the start of the process to the first answer: "
                    f"{server.seconds_to_first_answer * 1000:.0f} ms",
                ]
    version = subprocess.run([options.binary, "version"], capture_output=True, text=True).stdout.strip()
    longer = [f"{one.title} {one.shortest} s" for one in OPERATIONS if one.shortest > seconds]
    kind = f"{seconds} s for each measurement" + (f" ({', '.join(longer)}), " if longer else ", ")
    kind += f"medians of {rounds} rounds" if rounds > 1 else "one round"
    today = datetime.date.today().isoformat()
    text = report.page(
        f"Results of {today}" + (" (quick run)" if options.quick else ""),
        facts, table(samples, references, counts), memory, [f"{version}; {kind}", *options.note],
    )
    print("\n" + text)
    if options.only:
        return
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / f"{today}{'-quick' if options.quick else ''}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
