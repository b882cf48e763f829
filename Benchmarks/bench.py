#!/usr/bin/env python3
"""Compares Roost with PostgreSQL itself. docs/performance.md explains the results."""

import argparse
import datetime
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import processes
import report
import rounds
from cluster import Cluster
from experiments import EXPERIMENTS, soak
from goals import Figure, Goal
from operations import OPERATIONS
from stand import Stand

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="only operations and start, 32 connections, one round"
    )
    parser.add_argument("--binary", default=HERE.parent / ".build/product/release/roost", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=3, help="seconds per measurement (3)")
    parser.add_argument("--rounds", type=int, help="number of rounds (3, or 1 with --quick); the medians count")
    parser.add_argument(
        "--only", nargs="+", choices=[*(operation.name for operation in OPERATIONS), *EXPERIMENTS, "soak"],
        metavar="NAME", help="measure only these operations or experiments, and write no file",
    )
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="add this many minutes of mixed load")
    parser.add_argument("--folder", default="/var/tmp", help="the folder for the PostgreSQL cluster, on a disk")
    parser.add_argument("--note", action="append", default=[], help="a note for the results, such as other load on the machine")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.counts = [32] if options.quick else [1, 32, 256]
    if options.only and "soak" in options.only:
        options.soak = options.soak or 10
    return options


def chosen(options):
    """Returns the selected operations and the names of the selected experiments."""
    operations = [operation for operation in OPERATIONS if not options.only or operation.name in options.only]
    names = options.only or (["start"] if options.quick else EXPERIMENTS)
    return operations, [name for name in EXPERIMENTS if name in names]


def run_operations(stand, operations, options):
    """Returns the measurements of the operations, and the server's memory usage."""
    if not operations:
        return [], []
    with stand.server() as server:
        time.sleep(1)
        idle = processes.resident_megabytes(server.pid)
        table = rounds.run(stand, server, operations, options.counts, options.rounds)
        time.sleep(2)
        after = processes.resident_megabytes(server.pid)
    peak = max(sample["peak"] for measured in table for sample in measured.samples)
    return table, [
        Figure("memory idle after the start", idle, Goal(45, at_most=True), "MB", 0),
        Figure("memory at the peak of all operations", peak, Goal(110, at_most=True), "MB", 0),
        Figure("memory two seconds after the last operation", after, unit="MB", digits=0),
    ]


def run_experiments(stand, names, options):
    """Runs the experiments, and prints and returns their figures."""
    experiments = [(name, EXPERIMENTS[name]) for name in names]
    if options.soak:
        experiments.append(("soak", lambda stand: soak.run(stand, options.soak)))
    figures = []
    for name, run in experiments:
        for figure in run(stand):
            print(f"{name:12}  {figure.title}: {figure.text(figure.value)}", flush=True)
            figures.append(figure)
    return figures


def kind(options, operations):
    """Describes the binary and the kind of the run."""
    version = subprocess.run([options.binary, "version"], capture_output=True, text=True).stdout.strip()
    longer = [f"{one.title} {one.shortest} s" for one in operations if one.shortest > options.seconds]
    return (
        f"{version}; {options.seconds} s for each measurement" + (f" ({', '.join(longer)})" if longer else "")
        + (f", medians of {options.rounds} rounds" if options.rounds > 1 else ", one round")
    )


def unused(folder, name):
    """Returns an unused path for results: NAME.md, NAME-2.md…"""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (folder / f"{name}.md" for name in names) if not path.exists())


def main():
    options = arguments()
    # SIGTERM must stop the servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not os.access(options.binary, os.X_OK):
        raise SystemExit(f"bench: {options.binary} doesn't exist. Build it, or choose another with --binary")
    operations, experiments = chosen(options)

    with tempfile.TemporaryDirectory(prefix="roost-bench.", dir=options.folder) as folder:
        os.chmod(folder, 0o755)
        with Cluster(folder) as cluster:
            facts = [*report.machine(cluster), kind(options, operations), *options.note]
            stand = Stand(options.binary.resolve(), folder, cluster, options.seconds)
            table, figures = run_operations(stand, operations, options)
            figures += run_experiments(stand, experiments, options)

    today = datetime.date.today().isoformat()
    title = f"Results of {today}" + (" (quick run)" if options.quick else "")
    text = report.page(title, facts, table, [*report.ratios(table), *figures])
    print("\n" + text)
    if not options.only:
        results = HERE / "results"
        results.mkdir(exist_ok=True)
        unused(results, f"{today}-quick" if options.quick else today).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
