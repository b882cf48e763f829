#!/usr/bin/env python3
"""Checks that Docker's build context contains everything that Package.swift names.

Without Docker, copies the sources of the Dockerfile's COPY lines as Docker would, honoring .dockerignore. Then runs `swift
package describe` in the copy, which fails if a folder that Package.swift names is missing."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def expression(pattern):
    """Converts a pattern of .dockerignore: `*` and `?` match within a name, `**` across names."""
    text = "".join(
        {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
        for part in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern.strip("/")))
    return re.compile(text)


def ignore_rules():
    rules = []
    with open(os.path.join(root, ".dockerignore")) as file:
        for line in map(str.strip, file):
            if line and not line.startswith("#"):
                rules.append((expression(line.removeprefix("!")), line.startswith("!")))
    return rules


def is_in_context(path, rules):
    """Returns whether Docker copies a path. The last rule that matches the path or a parent folder decides."""
    parts = path.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    included = True
    for pattern, includes in rules:
        if any(pattern.fullmatch(name) for name in above):
            included = includes
    return included


def copy_lines():
    """Yields the sources and the target of each COPY from the build context."""
    with open(os.path.join(root, "Dockerfile")) as file:
        lines = file.read().replace("\\\n", " ").splitlines()
    for line in lines:
        words = line.split()
        if words[:1] == ["COPY"] and not any(word.startswith("--from=") for word in words):
            names = [word for word in words[1:] if not word.startswith("--")]
            if any(re.search(r"[\[*?$]", name) for name in names):
                sys.exit(f"image context: this script can't parse the line: {line}")
            yield names[:-1], names[-1]


def files_below(source):
    if os.path.isfile(os.path.join(root, source)):
        return [source]
    return [
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(os.path.join(root, source)) for name in names]


def copy(context):
    rules = ignore_rules()
    for sources, target in copy_lines():
        for source in map(os.path.normpath, sources):
            names = [name for name in files_below(source) if is_in_context(name, rules)]
            if not names:
                sys.exit(f"image context: the Dockerfile copies {source}, all of which .dockerignore excludes")
            for name in names:
                if name == source:
                    place = os.path.join(target, os.path.basename(name)) if target.endswith("/") else target
                else:
                    place = os.path.join(target, os.path.relpath(name, source))
                place = os.path.join(context, place)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copy(os.path.join(root, name), place)


with tempfile.TemporaryDirectory(prefix="roost-image.") as folder:
    context = os.path.join(folder, "source")
    copy(context)
    if subprocess.run(["scripts/packages.sh"], cwd=context).returncode != 0:
        sys.exit("image context: the versions of packages cannot be read in what the image is built of")
    described = subprocess.run(
        ["swift", "package", "--force-resolved-versions", "--package-path", context, "describe"],
        stdout=subprocess.PIPE)
    if described.returncode != 0:
        sys.exit("image context: the package cannot be read in what the image is built of")
    # The build reads its arguments from a script, which must be in the copy.
    flags = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "source scripts/release_build.sh; echo \"${release_build[@]}\""],
        cwd=context, stdout=subprocess.PIPE, text=True)
    if flags.returncode != 0:
        sys.exit("image context: the arguments of the build cannot be read in it")
    print(f"image context: the package is whole, and is built with {flags.stdout.strip()}")
