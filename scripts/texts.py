#!/usr/bin/env python3
"""Lists the texts of Roost that people read, one per line: `reader <tab> file:line <tab> text`.

    scripts/texts.py            all of them
    scripts/texts.py client     the texts of one reader: client, operator, log or other

A text is a string literal with at least two words. The reader "other" stands for literals outside calls that create errors
or log lines, such as emails, pages, notes, metrics help and option summaries. Omits SQL. Shows interpolations as {}.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The calls whose literals people read, by reader.
CALLS = {
    "client": r"ParseError|HTTPError|LiveQueryError|CloudFailure|MailFailure|invalid|refuse|refused",
    "operator": r"ConfigurationError|CommandFailure|PostgresError|StartFailure|ListenFailure|CredentialFailure|SystemError|DatabaseFailure|ValidationError|UsageError|Failure|Problem|Finding|Unusable|fail|print|writeLine",
    "log": r"logger\.(?:trace|debug|info|notice|warning|error|critical)|log\.(?:info|notice|warning|error)",
}
CALL = re.compile("|".join(rf"(?P<{reader}>\b(?:{names}))" for reader, names in CALLS.items()) + r"")
OPEN = re.compile(r"\s*\(")
SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|AND|OR|AS|IS|ON|THEN|NOT|SET|RESET|LIMIT|OFFSET)\b")
WORDS = re.compile(r"[A-Za-z]{2,} [a-z{]|\} [a-z]{2}")


def closing(text, start):
    """Returns the position after the parenthesis that closes the one at `start`. Skips literals and their interpolations."""
    depth, position = 0, start
    while position < len(text):
        character = text[position]
        if character == '"':
            position = literal(text, position)[1]
            continue
        if text.startswith("//", position):
            position = text.find("\n", position)
            if position < 0:
                return len(text)
        depth += {"(": 1, ")": -1}.get(character, 0)
        position += 1
        if depth == 0:
            return position
    return len(text)


def literal(text, start):
    """Returns the literal at `start`, with interpolations as {}, and the position after it."""
    quotes = '"""' if text.startswith('"""', start) else '"'
    position, parts = start + len(quotes), []
    while position < len(text) and not text.startswith(quotes, position):
        if text.startswith("\\(", position):
            position = closing(text, position + 1)
            parts.append("{}")
        elif text[position] == "\\":
            parts.append({"n": "\n", "t": "\t"}.get(text[position + 1], text[position + 1]))
            position += 2
        else:
            parts.append(text[position])
            position += 1
    return "".join(parts), position + len(quotes)


def literals(source, position, end):
    """Returns offset and text of the literals outside comments. Literals joined by + are one text."""
    parts, last = [], None
    while position < end:
        if source.startswith("//", position):
            position = source.find("\n", position) % (len(source) + 1)
        elif source.startswith('#"', position):
            position = source.find('"#', position + 2) % (len(source) + 1) + 2
        elif source[position] == '"':
            text, after = literal(source, position)
            if parts and re.fullmatch(r"\s*\+\s*", source[last:position]):
                parts[-1][1] += text
            else:
                parts.append([position, text])
            last = position = after
        else:
            position += 1
    return parts


def texts(source):
    """Yields reader, offset and text for each text of a file."""
    readers = {}
    for call in CALL.finditer(source):
        opening = OPEN.match(source, call.end())
        line = source.rfind("\n", 0, call.start()) + 1
        if not opening or "//" in source[line : call.start()] or re.search(r"func\s+$", source[line : call.start()]):
            continue
        for offset, text in literals(source, opening.end(), closing(source, opening.end() - 1)):
            readers.setdefault(offset, (call.lastgroup, text))
    for offset, text in literals(source, 0, len(source)):
        if offset not in readers and WORDS.search(text) and not SQL.search(text):
            readers[offset] = ("other", text)
    for offset, (reader, text) in sorted(readers.items()):
        if " " in text.strip():
            yield reader, offset, " ".join(text.split())


def main():
    wanted = sys.argv[1:]
    seen = set()
    for file in sorted((ROOT / "Sources").rglob("*.swift")):
        source = file.read_text()
        for reader, offset, text in texts(source):
            place = f"{file.relative_to(ROOT)}:{source.count(chr(10), 0, offset) + 1}"
            if (place, text) not in seen and (not wanted or reader in wanted):
                seen.add((place, text))
                print(f"{reader}\t{place}\t{text}")


main()
