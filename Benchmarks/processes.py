"""CPU time and memory of processes, from /proc."""

import os
import pathlib

TICKS = os.sysconf("SC_CLK_TCK")


def _fields(pid):
    """Returns the fields of /proc/PID/stat from the third on. The name before them may contain spaces."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def cpu_seconds(pid):
    """Returns the CPU time of a process and of its exited children."""
    return sum(int(field) for field in _fields(pid)[11:15]) / TICKS


def _children(pid):
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int(_fields(entry.name)[1]) == pid:
                    yield int(entry.name)
            except (FileNotFoundError, ProcessLookupError):
                continue


def cpu_seconds_with_children(pid):
    """Returns the CPU time including running children, such as PostgreSQL's process per connection."""
    total = cpu_seconds(pid)
    for child in _children(pid):
        try:
            total += cpu_seconds(child)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def _status(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(key)


def _private_megabytes_of_children(pid):
    """Returns the children's private memory."""
    total = 0
    for child in _children(pid):
        for line in pathlib.Path(f"/proc/{child}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_"):
                total += int(line.split()[1]) / 1024
    return total


def resident_megabytes(pid):
    """Returns the resident memory of a process and its children."""
    return _status(pid, "VmRSS") + _private_megabytes_of_children(pid)


def peak_megabytes(pid):
    """Returns the peak resident memory since the start or `forget_peak`, plus the children's current memory."""
    return _status(pid, "VmHWM") + _private_megabytes_of_children(pid)


def forget_peak(pid):
    """Resets the peak to the current memory."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
