"""What the operating system says about processes: CPU time and memory, from /proc."""

import os
import pathlib

TICKS = os.sysconf("SC_CLK_TCK")


def _fields(pid):
    """The fields of /proc/PID/stat from the third on: the name before them may hold spaces."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def cpu_seconds(pid):
    """CPU time of a process with its threads, and of the children that it has waited for."""
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
    """The same with the children that live: PostgreSQL has one for each connection, Roost some for passwords."""
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
    """What the children do not share with their parent or others."""
    total = 0
    for child in _children(pid):
        for line in pathlib.Path(f"/proc/{child}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_"):
                total += int(line.split()[1]) / 1024
    return total


def resident_megabytes(pid):
    """Memory of a process and its children that is resident now."""
    return _status(pid, "VmRSS") + _private_megabytes_of_children(pid)


def peak_megabytes(pid):
    """The most memory that was resident since the start, or since `forget_peak`; of the children, what is now."""
    return _status(pid, "VmHWM") + _private_megabytes_of_children(pid)


def forget_peak(pid):
    """Begins anew with what is resident now."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
