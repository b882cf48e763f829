"""The cost of metrics: gets with and without metrics, and the counting itself."""

import pathlib
import statistics
import subprocess
import tempfile

import load
from goals import Figure, Goal
from ports import free_port

HERE = pathlib.Path(__file__).resolve().parent.parent
TURNS = 5


def _counting():
    """Returns the nanoseconds to count one request, with an optimized build of the meters alone."""
    sources = [HERE / "meters/main.swift", *sorted((HERE.parent / "Sources/Libraries/Telemetry").glob("*.swift"))]
    with tempfile.TemporaryDirectory(prefix="roost-meters.") as folder:
        binary = pathlib.Path(folder) / "meters"
        subprocess.run(["swiftc", "-O", "-swift-version", "6", "-package-name", "roost", *sources, "-o", binary], check=True)
        return float(subprocess.run([binary], capture_output=True, text=True, check=True).stdout)


def run(stand):
    rates, costs = [], []
    with stand.server() as plain, stand.server(environment={"ROOST_METRICS_PORT": str(free_port())}) as counting:
        # The first round warms up.
        for turn in range(TURNS + 1):
            pair = [load.measure(server, stand.cluster, "get", 32, stand.seconds) for server in (plain, counting)]
            if any(sample["errors"] for sample in pair):
                raise SystemExit("bench: gets failed")
            if turn:
                rates.append(pair[1]["rate"] / pair[0]["rate"])
                costs.append((pair[1]["roost"] - pair[0]["roost"]) * 1000)
    return [
        Figure("gets with metrics to those without", statistics.median(rates), Goal(0.97)),
        Figure("processor time of a get that metrics add", statistics.median(costs), unit="ns", digits=0),
        Figure("counting one request", _counting(), Goal(100, at_most=True), "ns", 0),
    ]
