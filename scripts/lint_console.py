#!/usr/bin/env python3
"""Checks the console's files: no code that inserts markup, no imports of higher layers, sizes, and display texts.

Usage: scripts/lint_console.py [--write]. With --write, first writes the preloads of the first screen into index.html.
"""

import gzip
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "Sources/Features/CConsole/files"

LINES = 300
ALL_LINES = 12_500
# The maximum bytes as sent to browsers: the whole console, uncompressed and compressed; the modules before the first rows,
# compressed; and the additional modules of a page or dialog opened for the first time, compressed.
TOTAL = 600_000
SENT = 208_300
FIRST_SCREEN = 60_000
ON_DEMAND = 25_000

# Code that turns text into markup or code, or that loads from other hosts.
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|parseHTML|DOMParser|createContextualFragment|document\.write|srcdoc"
    r"|\beval\(|new Function|\bWorker\(|importScripts|trustedTypes|setTimeout\(\s*[\"'`]|javascript:|https?://(?!www\.w3\.org)")

LAYERS = ["core", "parts", "data", "pages"]


def layer(path):
    """Returns the position of a file's layer in the import order. main.js is last."""
    first = path.relative_to(ROOT).parts[0]
    return LAYERS.index(first) if first in LAYERS else len(LAYERS)


def imports(path):
    """Returns the modules that a module imports statically, and those that it imports on demand."""
    text = path.read_text()
    at_once = re.findall(r'^(?:import|export) (?:[^"\']*? from )?"([^"]+)"', text, re.M)
    on_demand = re.findall(r'import\("([^"]+)"\)', text)
    resolve = lambda name: (path.parent / name).resolve()
    return [resolve(name) for name in at_once], [resolve(name) for name in on_demand]


def closure(path, found=None):
    """Returns a module with everything that it imports statically, directly or indirectly."""
    found = set() if found is None else found
    if path not in found:
        found.add(path)
        for other in imports(path)[0]:
            closure(other, found)
    return found


def words(modules):
    """Yields faults of display texts: duplicate, missing and unused keys."""
    there, asked, prefixes = {}, set(), set()
    for path in modules:
        text = path.read_text()
        for table in re.findall(r"(?:addWords\(|Object\.entries\()\{(.*?)\s\}\)\)?;", text, re.S):
            for key in re.findall(r'"([\w.$]+)": "', table):
                if key in there:
                    yield f"{path.name}: the words of {key} are there twice"
                there[key] = path
        asked.update(re.findall(r'\bt\(\s*"([\w.$]+)"', text))
        # Keys in conditional expressions and in tables.
        asked.update(re.findall(r'[?:] "([a-z]\w*\.[\w.$]+)"', text))
        asked.update(re.findall(r'(?:\(|, )"([a-z]\w*\.[\w.]+)"', text))
        prefixes.update(re.findall(r'\bt\("([\w.]+\.)" \+', text))
        prefixes.update(re.findall(r'\? t\("([\w.]+\.)"', text))
    for key in sorted(asked - set(there)):
        if key.split(".")[0] in {name.split(".")[0] for name in there} and not key.endswith("."):
            yield f"no words for {key}"
    for key in sorted(set(there) - asked):
        if not any(key.startswith(prefix) for prefix in prefixes):
            yield f"words that nothing uses: {key}"


def preloads():
    """Returns the links with which index.html preloads the modules, instead of one import after another."""
    return "".join(f'\n<link rel="modulepreload" href="{{{{assets}}}}/{path.relative_to(ROOT).as_posix()}">'
                   for path in sorted(first_screen())) + "\n"


def served(path):
    """Returns a file as the server sends it, before compression. See ConsoleFiles.withoutComments."""
    text, lines, is_comment = path.read_text(), [], False
    if path.suffix not in (".js", ".css"):
        return text.encode()
    for line in text.split("\n"):
        code = line.lstrip(" ")
        is_comment = is_comment or code.startswith("/*")
        lines.append("" if is_comment or code.startswith("//") else code)
        is_comment = is_comment and not code.endswith("*/")
    return "\n".join(lines).encode()


def first_screen():
    """Returns the modules that are loaded before the first rows."""
    return set().union(*(closure(ROOT / name) for name in ("main.js", "pages/data/index.js")))


def faults():
    files = sorted(path for path in ROOT.rglob("*") if path.is_file())
    modules = [path for path in files if path.suffix == ".js"]
    for path in modules:
        text, name = path.read_text(), path.relative_to(ROOT)
        lines = text.count("\n")
        if lines > LINES:
            yield f"{name} has {lines} lines; {LINES} are the most"
        for number, line in enumerate(text.split("\n"), 1):
            if SINKS.search(line):
                yield f"{name}:{number} uses a sink: {line.strip()}"
            if line.replace("\\`", "").count("`") % 2:
                yield f"{name}:{number} has a text of several lines, whose indentation would not be sent"
        if not text.startswith("/**"):
            yield f"{name} does not say what it is about"
        at_once, on_demand = imports(path)
        for other in at_once + on_demand:
            if not other.is_file():
                yield f"{name} imports {other}, which is not there"
            elif layer(other) > layer(path):
                yield f"{name} imports {other.relative_to(ROOT)}: imports go {' < '.join(LAYERS)}"
    known = {path.relative_to(ROOT).as_posix() for path in files}
    for name in re.findall(r"\{\{assets\}\}/([\w./-]+)", (ROOT / "index.html").read_text()):
        if name not in known:
            yield f"index.html asks for {name}, which is not there"
    yield from words(modules)
    sizes = {path: len(served(path)) for path in files}
    packed = {path: len(gzip.compress(served(path))) for path in files}
    first = first_screen()
    if f"<!-- preload -->{preloads()}<!-- end -->" not in (ROOT / "index.html").read_text():
        yield "index.html does not load the modules of the first screen; scripts/lint_console.py --write puts them in"
    first |= {path for path in files if path.suffix in (".css", ".html")}
    total, sent, at_first = sum(sizes.values()), sum(packed.values()), sum(packed[path] for path in first)
    print(f"console: {len(files)} files of {sum(path.stat().st_size for path in files):,} bytes; browsers get {total:,}, compressed {sent:,}; "
          f"the first screen {sum(sizes[path] for path in first):,} in {len(first)} files, compressed {at_first:,}")
    lines = sum(path.read_text().count("\n") for path in files if path.suffix in (".js", ".css"))
    if lines > ALL_LINES:
        yield f"the modules and the style sheet have {lines} lines; {ALL_LINES} are the most"
    entries = {other for path in modules for other in imports(path)[1] if other.is_file()}
    for entry, size in sorted((entry, sum(packed[path] for path in closure(entry) - first)) for entry in entries):
        if size > ON_DEMAND:
            yield f"{entry.relative_to(ROOT)} loads {size:,} bytes compressed; {ON_DEMAND:,} are the most"
    for what, size, most in (("all files", total, TOTAL), ("all files, compressed,", sent, SENT), ("the first screen, compressed,", at_first, FIRST_SCREEN)):
        if size > most:
            yield f"{what} are {size:,} bytes; {most:,} are the most"


if "--write" in sys.argv:
    page = ROOT / "index.html"
    page.write_text(re.sub(r"<!-- preload -->.*<!-- end -->", lambda _: f"<!-- preload -->{preloads()}<!-- end -->", page.read_text(), flags=re.S))
problems = list(faults())
for problem in problems:
    print("console: " + problem)
sys.exit(1 if problems else 0)
