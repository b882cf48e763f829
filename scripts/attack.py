#!/usr/bin/env python3
"""Attacks a release binary with cheap requests, and measures how long another client waits meanwhile.

    python3 scripts/attack.py                      # every attack, by 1, 4 and 32 senders
    python3 scripts/attack.py --quick              # smaller classes, most of them by 32 senders only, as CI runs it
    python3 scripts/attack.py --only sorts lists   # some of them

Starts PostgreSQL and the server, which listen on 127.0.0.1 only. Each sender has another address in 127.0.0.0/8. Each
attack has a time limit. For each attack it prints the longest wait of another client's get, and the memory that the
server used above idle. The wait may be 50 ms longer than on processors that are merely busy (seconds for large bodies).
The memory may be 64 MB above idle and the amount that the options allow. The exit status is 1 if an attack exceeds a
limit twice.
"""

import argparse
import pathlib
import resource
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Benchmarks"))

from attacks.catalogue import ATTACKS, BY_FEW_SENDERS  # noqa: E402
from attacks.stand import AttackStand  # noqa: E402
from cluster import Cluster  # noqa: E402

MEGABYTES = 64
# With --factor, the memory limit is raised by at most this factor, for machines with other numbers of processors.
MEMORY_FACTOR = 1.5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / ".build/release/roost"))
    parser.add_argument("--only", nargs="+", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--senders", nargs="+", type=int, help="numbers of senders (1, 4 and 32; with --quick mostly 32)")
    parser.add_argument("--quick", action="store_true", help="use a class of 200,000 rows instead of a million")
    parser.add_argument("--factor", type=float, default=1.0, help="a factor for the time limits on slow machines")
    return parser.parse_args()


def attack(stand, name, senders, limit, factor):
    """Runs an attack, prints its measurements, and returns the exceeded limits."""
    chosen = ATTACKS[name]
    result = stand.attack(chosen, senders)
    faults = result.faults(limit, (MEGABYTES + chosen.transfers + chosen.allowed) * factor)
    verdict = "  BEYOND: " + ", ".join(faults) if faults else ""
    print(f"{name:<28} {senders:>7} {result.line()}{verdict}", flush=True)
    return faults


def main():
    options = arguments()
    # Each attacker needs many connections. So does the server, which inherits the limit.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    chosen = options.only or list(ATTACKS)
    failures = []
    with tempfile.TemporaryDirectory(prefix="roost-attack.") as folder:
        pathlib.Path(folder).chmod(0o755)
        with Cluster(folder) as cluster:
            stand = AttackStand(options.binary, folder, cluster, 200_000 if options.quick else 1_000_000)
            busy = stand.wait_beside_busy_processors()
            print(f"a get on busy processors waits at most {busy * 1000:.0f} ms")
            print(f"{'attack':<28} {'senders':>7} {'longest wait':>13} {'p99':>10} {'memory':>9}  answers")
            for name in chosen:
                few = [] if options.quick and name not in BY_FEW_SENDERS else [1, 4]
                for senders in options.senders or [*few, 32]:
                    limit = (busy + ATTACKS[name].longer) * options.factor
                    faults = attack(stand, name, senders, limit, min(options.factor, MEMORY_FACTOR))
                    if faults:
                        faults = attack(stand, name, senders, limit, min(options.factor, MEMORY_FACTOR))
                    failures += [f"{name} by {senders}: {fault}" for fault in faults]
    if failures:
        print("\n".join(["", *failures]), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
