"""Results as a page of Markdown."""

import os
import pathlib
import platform
import statistics
import subprocess


def _first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def _processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def machine(cluster):
    """What was measured on."""
    return [
        f"* Processor: {_processor()}, {len(os.sched_getaffinity(0))} cores, shared by client, server and PostgreSQL",
        f"* Kernel: {platform.release()}; file system of the cluster: "
        + _first_line("stat", "-f", "-c", "%T", str(cluster.data)),
        "* " + _first_line(str(cluster.binaries / "postgres"), "--version")
        + "; fsync " + cluster.sql("SHOW fsync") + ", synchronous_commit " + cluster.sql("SHOW synchronous_commit"),
        f"* Load average when the run began (1, 5, 15 minutes): {', '.join(f'{x:.1f}' for x in os.getloadavg())}",
    ]


def median(samples, key):
    """The median of one value over the rounds."""
    return statistics.median(sample[key] for sample in samples)


def _rate(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _reference(value, kind):
    return f"{_rate(value)} ({kind})" if value else "–"


def _per_request(samples, key):
    if not median(samples, "requests"):
        return "–"
    return f"{median(samples, key):,.0f}"


def page(title, facts, rows, memory, notes):
    """`rows`: operation, connections, samples, reference or None. `memory`: lines on memory and start."""
    lines = [f"# {title}", "", *facts, *(f"* {note}" for note in notes), ""]
    lines += [
        "| Operation | Connections | Requests/s | p50 ms | p99 ms | Errors | Reference/s | Ratio "
        "| Roost µs/request | PostgreSQL µs/request |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for operation, connections, samples, reference in rows:
        rate = median(samples, "rate")
        ratio = f"{rate / reference:.2f}" if reference else "–"
        lines.append(
            f"| {operation.title} | {connections} | {_rate(rate)} | {median(samples, 'p50'):.2f} "
            f"| {median(samples, 'p99'):.2f} | {sum(sample['errors'] for sample in samples)} "
            f"| {_reference(reference, operation.reference)} | {ratio} "
            f"| {_per_request(samples, 'roost')} | {_per_request(samples, 'postgres')} |"
        )
    return "\n".join([*lines, "", *(f"* {line}" for line in memory), ""])
