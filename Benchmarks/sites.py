"""Where allocations come from: recorded stacks as a table of functions."""

import bisect
import collections
import json
import pathlib
import re
import shutil
import subprocess

LISTED = 100
COUNTER = "counter.so"


class Modules:
    """The files that a process has mapped, and what lies at an address of theirs."""

    def __init__(self, pid):
        bases = {}
        self._mappings = []
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith("/"):
                start, end = (int(part, 16) for part in fields[0].split("-"))
                # A file is mapped in pieces, the first of them where it begins.
                self._mappings.append((start, end, fields[5], bases.setdefault(fields[5], start)))
        self._starts = [mapping[0] for mapping in self._mappings]
        self.program = str(pathlib.Path(f"/proc/{pid}/exe").resolve())

    def place(self, address):
        """The file at an address, and the address in it."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index >= 0:
            _, end, path, base = self._mappings[index]
            if address < end:
                return path, address - base
        return "?", address


def _demangled(names):
    names = sorted(names)
    output = subprocess.run(
        ["swift", "demangle", "--simplified"], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout
    return dict(zip(names, output.splitlines()))


def _functions(places):
    """For each place its functions with file and line, those that were inlined first."""
    tool = shutil.which("llvm-symbolizer") or shutil.which(
        "llvm-symbolizer", path=pathlib.Path(shutil.which("swift")).resolve().parent
    )
    if not tool:
        raise SystemExit("bench: llvm-symbolizer not found. It is part of the Swift toolchain")
    places = sorted(places)
    # What a stack holds are places to return to; the call is before them.
    asked = "".join(f'"{path}" {offset - 1:#x}\n' for path, offset in places)
    output = subprocess.run(
        [tool, "--no-demangle", "--output-style=JSON"], input=asked, capture_output=True, text=True, check=True
    ).stdout
    found = {place: json.loads(line).get("Symbol", []) for place, line in zip(places, output.splitlines(), strict=True)}
    names = _demangled({symbol["FunctionName"] for symbols in found.values() for symbol in symbols})
    return {
        place: [(names[symbol["FunctionName"]] or "?", symbol["FileName"], symbol["Line"]) for symbol in symbols]
        for place, symbols in found.items()
    }


def _short(name):
    """Without what only the compiler cares about."""
    name = re.sub(r"(generic |function signature |merged |partial function for |implicit )+", "", name)
    return name.replace("|", "/")[:90]


def _frames(stack, places, functions):
    """The functions of a stack with the file that they are in, their source and line, from the innermost on."""
    for address in stack:
        path, offset = places[address]
        if not path.endswith(COUNTER):
            for function in functions[(path, offset)]:
                yield path, *function


def _site(stack, places, functions, program):
    """What a stack allocates with, where that is called, and from which function of Roost."""
    library, unplaced, where, own = "", None, None, None
    for path, name, source, line in _frames(stack, places, functions):
        placed = path == program and line and ("/Sources/" in source or "/schema/" in source)
        if where is None:
            if placed:
                where = (name, source, line)
            elif path == program:
                # Made by the compiler, or generic code of the standard library in a version for Roost.
                unplaced = (name, source, line)
            elif unplaced:
                where = unplaced
            else:
                library = name
        if placed and own is None and "/checkouts/" not in source:
            own = (name, source, line)
    where = where or unplaced or ("?", "", 0)
    means = unplaced[0] if unplaced and unplaced is not where else library or "malloc"
    return _short(means), _with_line(where), _with_line(own) if own and own != where else ""


def _with_line(function):
    name, source, line = function
    return f"{_short(name)} {pathlib.Path(source).name}:{line}"


def table(samples, pid, requests):
    """The functions that allocate most, with their allocations for one of so many requests."""
    samples = list(samples)
    modules = Modules(pid)
    places = {address: modules.place(address) for _, stack in samples for address in stack}
    functions = _functions(set(places.values()))
    counts, sizes = collections.Counter(), collections.Counter()
    for size, stack in samples:
        site = _site(stack, places, functions, modules.program)
        counts[site] += 1
        sizes[site] += size
    lines = ["| Allocations | Bytes each | By | In | Called by |", "|---:|---:|---|---|---|"]
    for site, count in counts.most_common(LISTED):
        lines.append(f"| {count / requests:.2f} | {sizes[site] / count:,.0f} | " + " | ".join(site) + " |")
    rest = sum(counts.values()) - sum(count for _, count in counts.most_common(LISTED))
    lines.append(f"| {rest / requests:.2f} | | {max(0, len(counts) - LISTED)} others | | |")
    return "\n".join(lines)
