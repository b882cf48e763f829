#!/usr/bin/env python3
"""Profiles Roost's CPU time. Writes a list of functions and a flame graph for each operation."""

import argparse
import collections
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import load
from cluster import Cluster
from flames import flame_graph
from operations import OPERATIONS
from stand import Stand

HERE = pathlib.Path(__file__).resolve().parent
CONNECTIONS = 32
LISTED = 60


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=["get", "find"], metavar="OPERATION",
        choices=[operation.name for operation in OPERATIONS], help="the operations to profile (get and find)",
    )
    parser.add_argument("--binary", default=HERE.parent / ".build/product/release/roost", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=10, help="seconds per recording (10)")
    parser.add_argument("--folder", default="/var/tmp", help="the folder for the PostgreSQL cluster")
    return parser.parse_args()


def record(stand, server, operation, seconds):
    """Records samples of the process under load, and returns perf's output."""
    path = server.origin + (stand.file_path if operation.reference == "nginx" else "/")
    data = stand.folder / "perf.data"
    wrk = threading.Thread(target=load.wrk, args=(path, operation.name, CONNECTIONS, seconds + 2, stand.tokens))
    wrk.start()
    time.sleep(1)
    # Virtual machines often lack hardware counters, but have the CPU clock.
    subprocess.run(
        ["perf", "record", "--quiet", "--event", "cpu-clock", "--freq", "999", "-g", "--pid", str(server.pid),
         "--output", data, "--", "sleep", str(seconds)], check=True,
    )
    wrk.join()
    # perf prints many errors about unresolved symbols.
    script = subprocess.run(
        ["perf", "script", "--input", data, "--no-inline", "--fields", "comm,ip,sym,dso"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
    ).stdout
    if shutil.which("swift"):
        script = subprocess.run(
            ["swift", "demangle", "--simplified"], input=script, stdout=subprocess.PIPE, check=True
        ).stdout
    return script.decode(errors="replace")


def stacks(script):
    """Returns stacks with their sample counts: the name of the thread, then functions, outermost first."""
    counts = collections.Counter()
    for block in script.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if len(lines) < 2:
            continue
        functions = []
        for line in lines[1:]:
            name, _, library = line.strip().partition(" ")[2].rpartition(" (")
            functions.append(("[kernel] " if library.startswith("[kernel") else "") + name)
        counts[(lines[0].strip(), *reversed(functions))] += 1
    return counts


def listing(title, counts):
    """Returns functions by their own samples, and by those including callees."""
    total = sum(counts.values())
    own, all_in_all = collections.Counter(), collections.Counter()
    for stack, count in counts.items():
        own[stack[-1]] += count
        for name in set(stack):
            all_in_all[name] += count
    lines = [f"{title}: {total} samples"]
    for heading, counter in (("by themselves", own), ("with what they call", all_in_all)):
        lines += ["", f"Functions {heading}:", ""]
        lines += [f"{count / total:7.1%}  {name}" for name, count in counter.most_common(LISTED)]
    return "\n".join([*lines, ""])


def main():
    options = arguments()
    # SIGTERM must stop the servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="roost-bench.", dir=options.folder) as folder:
        os.chmod(folder, 0o755)
        with Cluster(folder) as cluster:
            stand = Stand(options.binary.resolve(), folder, cluster, options.seconds)
            with stand.server() as server:
                for operation in OPERATIONS:
                    if operation.name not in options.only:
                        continue
                    counts = stacks(record(stand, server, operation, options.seconds))
                    title = f"{operation.title}, {CONNECTIONS} connections"
                    name = f"{datetime.date.today().isoformat()}-profile-{operation.name}"
                    (results / f"{name}.svg").write_text(flame_graph(title, counts), encoding="utf-8")
                    (results / f"{name}.txt").write_text(listing(title, counts), encoding="utf-8")
                    print(f"bench: profile of {operation.name} in {results / name}.svg and .txt", flush=True)


if __name__ == "__main__":
    main()
