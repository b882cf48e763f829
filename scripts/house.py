#!/usr/bin/env python3
"""Measures the sources: lines, files, functions per type, long files, full folders, feature names outside their folders, and
repetitions.

    scripts/house.py            prints the table
    scripts/house.py --verbose  also lists each location above the bounds
    scripts/house.py --check    exits with 1 if a bound is exceeded

Each measure has a goal and a current bound. Lower the bound when the sources allow it."""
import argparse
import collections
import os
import re
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# For each measure: the goal, and the current bound.
BOUNDS = {
    "lines": (73_000, 98_274),
    "files": (560, 886),
    "lines of Core": (40_000, 54_779),
    "lines of Tests": (62_000, 87_217),
    "files outside of Distribution that name Citus": (6, 6),
    "files outside of Replicas that name replicas": (6, 6),
    "files outside of Console that name it": (6, 6),
    "files outside of Push that name it": (6, 6),
    "folders of Sources": (6, 6),
    "types with more than 40 functions": (0, 0),
    "functions of the largest type": (40, 40),
    "folders with more than 15 files": (0, 0),
    "files with more than 300 lines": (0, 0),
    "repetitions of 8 lines": (0, 0),
    "paths in docs/architecture.md that do not exist": (0, 0),
}

MOST_FUNCTIONS = 40
MOST_FILES = 15
MOST_LINES = 300
REPETITION = 8

# For each feature: the measure, the feature's folder, and a pattern of its name in other code.
FEATURES = (
    ("files outside of Distribution that name Citus", "/Distribution/", re.compile(r"[Cc]itus|[dD]istribut(?:ed|ion)")),
    ("files outside of Replicas that name replicas", "/Replicas/", re.compile(r"[rR]eplica")),
    ("files outside of Console that name it", "/Console/", re.compile(r"[cC]onsole")),
    ("files outside of Push that name it", "/Push/", re.compile(r"\bPush")),
)
# These modules are folders of Sources. All others are in a subfolder.
ALONE = {"App", "CLI"}

TYPE = re.compile(r"\b(struct|class|enum|actor|protocol|extension)\s+([A-Z][\w.]*)")
TOKEN = re.compile(
    r"\b(?:struct|class|enum|actor|protocol|extension)\s+[A-Z][\w.]*|\bfunc\s+[^\s(<]+|[{}]")


def swift_files(top):
    for folder, folders, names in os.walk(os.path.join(root, top)):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".swift"):
                yield os.path.relpath(os.path.join(folder, name), root)


def module_of(path):
    """Returns the module of a file, such as App or Core/JSON."""
    parts = path.split("/")[1:-1]
    return parts[0] if parts[0] in ALONE else "/".join(parts[:2])


def split(text):
    """Returns the code without comments and string literals, and the code without comments."""
    code, full = [], []
    position = 0
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|(#*)"""(?:.|\n)*?"""\1|(#+)"(?:[^\n])*?"\2|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    for match in pattern.finditer(text):
        code.append(text[position:match.start()])
        full.append(text[position:match.start()])
        found = match.group()
        if found.startswith("//") or found.startswith("/*"):
            code.append("\n" * found.count("\n"))
            full.append("\n" * found.count("\n"))
        else:
            full.append(found)
            code.append('""' + "\n" * found.count("\n"))
        position = match.end()
    code.append(text[position:])
    full.append(text[position:])
    return "".join(code), "".join(full)


def count_functions(code, counts):
    """Adds the functions of each type, including its extensions. Nested functions don't count."""
    scopes, pending = [], None
    for match in TOKEN.finditer(code):
        token = match.group()
        if token == "{":
            scopes.append(pending)
            pending = None
        elif token == "}":
            if scopes:
                scopes.pop()
            pending = None
        else:
            declared = TYPE.match(token)
            if declared:
                outer = [scope for scope in scopes if scope]
                pending = f"{outer[-1]}.{declared.group(2)}" if outer else declared.group(2)
            elif token.startswith("func"):
                if scopes and scopes[-1]:
                    counts[scopes[-1]] += 1
                pending = None


def significant_lines(code):
    """Yields the lines except imports and lone brackets, with their numbers."""
    for number, line in enumerate(code.split("\n"), 1):
        line = line.strip()
        if len(line) > 2 and not re.match(r"(public |package )?import ", line):
            yield number, line


def repetitions(codes):
    """Returns pairs of locations with at least eight equal consecutive lines."""
    lines = {path: list(significant_lines(code)) for path, code in codes.items()}
    windows = collections.defaultdict(list)
    for path, content in lines.items():
        for start in range(len(content) - REPETITION + 1):
            key = tuple(line for _, line in content[start:start + REPETITION])
            windows[key].append((path, start))
    pairs = set()
    for found in windows.values():
        for index, (path, start) in enumerate(found):
            for other, other_start in found[index + 1:]:
                if path == other and other_start - start < REPETITION:
                    continue
                pairs.add((path, start, other, other_start))
    # A longer repetition is found at several offsets. Only the first one counts.
    return sorted(
        (path, lines[path][start][0], other, lines[other][other_start][0])
        for path, start, other, other_start in pairs
        if (path, start - 1, other, other_start - 1) not in pairs)


def missing_paths():
    modules = {os.path.basename(module_of(path)): os.path.dirname(module_of(path)) for path in swift_files("Sources")}
    with open(os.path.join(root, "docs/architecture.md")) as file:
        named = re.findall(r"`([\w/]+\.swift)`", file.read())
    return [
        path for path in named
        if "/" in path and path.split("/")[0] in modules
        and not os.path.exists(os.path.join(root, "Sources", modules[path.split("/")[0]], path))]


def main():
    parser = argparse.ArgumentParser(description="Measures the sources.")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound is exceeded")
    parser.add_argument("--verbose", action="store_true", help="list everything above the bounds")
    arguments = parser.parse_args()

    codes, modules = {}, collections.defaultdict(lambda: [0, 0])
    functions, folders = collections.Counter(), collections.Counter()
    long_files, naming = [], {measure: [] for measure, _, _ in FEATURES}
    for path in swift_files("Sources"):
        with open(os.path.join(root, path)) as file:
            text = file.read()
        length = text.count("\n")
        module = module_of(path)
        modules[module][0] += 1
        modules[module][1] += length
        folders[os.path.dirname(path)] += 1
        if length > MOST_LINES:
            long_files.append((path, length))
        code, codes[path] = split(text)
        own = collections.Counter()
        count_functions(code, own)
        for name, count in own.items():
            functions[f"{module}.{name}"] += count
        for measure, folder, name in FEATURES:
            if folder not in path and name.search(code):
                naming[measure].append(path)
    large = [(name, count) for name, count in functions.most_common() if count > MOST_FUNCTIONS]
    full = [(folder, count) for folder, count in folders.most_common() if count > MOST_FILES]
    repeated, missing = repetitions(codes), missing_paths()

    print(f"{'module':<22}{'files':>6}{'lines':>8}")
    for module, (count, length) in sorted(modules.items(), key=lambda item: -item[1][1]):
        print(f"{module:<22}{count:>6}{length:>8}")

    details = {
        "types with more than 40 functions": [f"{name}: {count}" for name, count in large],
        "folders with more than 15 files": [f"{folder}: {count}" for folder, count in full],
        "files with more than 300 lines": [f"{path}: {length}" for path, length in long_files],
        "repetitions of 8 lines": [f"{a}:{i} and {b}:{j}" for a, i, b, j in repeated],
        "paths in docs/architecture.md that do not exist": missing,
        **naming,
    }
    values = {
        "lines": sum(length for _, length in modules.values()),
        "lines of Core": sum(length for module, (_, length) in modules.items() if module.startswith("Core/")),
        "lines of Tests": sum(open(os.path.join(root, path)).read().count("\n") for path in swift_files("Tests")),
        "folders of Sources": len(os.listdir(os.path.join(root, "Sources"))),
        "files": len(codes),
        "functions of the largest type": max(functions.values()),
        **{measure: len(entries) for measure, entries in details.items()},
    }
    print(f"\n{'measure':<50}{'now':>7}{'wanted':>8}{'bound':>8}")
    exceeded = []
    for measure, (wanted, accepted) in BOUNDS.items():
        value, bound = values[measure], max(wanted, accepted)
        if value > bound:
            exceeded.append(measure)
        remark = "  EXCEEDED" if value > bound else "" if value <= wanted else "  (goal)"
        print(f"{measure:<50}{value:>7}{wanted:>8}{bound:>8}{remark}")
    few = {"types with more than 40 functions", "folders with more than 15 files", "files with more than 300 lines"}
    for measure, entries in details.items():
        if entries and (arguments.verbose or measure in few or measure in exceeded):
            print(f"\n{measure}:")
            for entry in entries:
                print(f"  {entry}")
    if arguments.check and exceeded:
        sys.exit(f"house: exceeded: {', '.join(exceeded)}")


main()
