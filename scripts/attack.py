#!/usr/bin/env python3
"""Attacks a release binary with cheap requests, and measures how long another client waits meanwhile.

    python3 scripts/attack.py                      # every attack, by 1, 4 and 32 senders
    python3 scripts/attack.py --quick              # smaller classes, most of them by 32 senders alone, as CI runs it
    python3 scripts/attack.py --only sorts lists   # some of them

PostgreSQL and the server are started for it and listen on 127.0.0.1 alone; senders differ by their addresses in
127.0.0.0/8. Each attack is bounded in time. For each, the longest wait of a get beside it and the memory that the
server took above idle are printed; the exit status is 1 where one is beyond its limit, and is so again when it is
measured once more: 50 ms more than beside processors that are merely busy (seconds for large bodies), and 64 MB above idle and what the options
allow.
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
# How much more memory a machine with another count of processors may take, where a factor is given.
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
    """What is beyond the limits in one attack; its figures are printed."""
    chosen = ATTACKS[name]
    result = stand.attack(chosen, senders)
    faults = result.faults(limit, (MEGABYTES + chosen.transfers + chosen.allowed) * factor)
    verdict = "  BEYOND: " + ", ".join(faults) if faults else ""
    print(f"{name:<28} {senders:>7} {result.line()}{verdict}", flush=True)
    return faults


def main():
    options = arguments()
    # Each attacker needs many connections, and so does the server, which inherits the limit.
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
