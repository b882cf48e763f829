"""Writes results as Markdown."""

import os
import pathlib
import platform
import subprocess

from goals import Figure

GOAL_CONNECTIONS = 32


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
    """Describes the machine."""
    return [
        f"Processor: {_processor()}, {len(os.sched_getaffinity(0))} cores, shared by client, server and PostgreSQL",
        f"Kernel: {platform.release()}; file system of the cluster: "
        + _first_line("stat", "-f", "-c", "%T", str(cluster.data)),
        _first_line(str(cluster.binaries / "postgres"), "--version")
        + "; fsync " + cluster.sql("SHOW fsync") + ", synchronous_commit " + cluster.sql("SHOW synchronous_commit"),
        f"Load average when the run began (1, 5, 15 minutes): {', '.join(f'{x:.1f}' for x in os.getloadavg())}",
    ]


def _rate(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _operation(measured):
    reference, ratio = measured.reference, measured.ratio
    counted = measured.median("requests") > 0
    return (
        f"| {measured.operation.title} | {measured.connections} | {_rate(measured.median('rate'))} "
        f"| {measured.median('p50'):.2f} | {measured.median('p99'):.2f} "
        f"| {sum(sample['errors'] for sample in measured.samples)} "
        + (f"| {_rate(reference)} ({measured.operation.reference}) | {ratio:.2f} " if reference else "| – | – ")
        + (f"| {measured.median('roost'):,.0f} | {measured.median('postgres'):,.0f} " if counted else "| – | – ")
        + f"| {max(sample['peak'] for sample in measured.samples):,.0f} |"
    )


def ratios(table):
    """Returns the figures of the operations with a goal, at 32 connections."""
    return [
        Figure(f"{measured.operation.title}: ratio to {measured.operation.reference}", measured.ratio,
               measured.operation.goal)
        for measured in table
        if measured.connections == GOAL_CONNECTIONS and measured.operation.goal and measured.ratio is not None
    ]


def page(title, facts, table, figures):
    """Returns the page: the machine, the operations and their goals."""
    lines = [f"# {title}", "", *(f"* {fact}" for fact in facts)]
    if table:
        lines += [
            "",
            "| Operation | Connections | Requests/s | p50 ms | p99 ms | Errors | Reference/s | Ratio "
            "| Roost µs/request | PostgreSQL µs/request | Peak MB |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
            *map(_operation, table),
        ]
    if figures:
        lines += [
            "", f"Ratios are those at {GOAL_CONNECTIONS} connections.", "",
            "| Figure | Measured | Wanted | Reached |", "|---|---:|---:|---|",
            *(figure.row() for figure in figures),
        ]
    return "\n".join([*lines, ""])
