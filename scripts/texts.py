#!/usr/bin/env python3
"""Lists the error and log texts of Roost: one line each, `who sees it <tab> file:line <tab> text`.

    scripts/texts.py            all of them
    scripts/texts.py client     those of one reader: client, operator or log

A text is a literal in the call that makes an error or writes a log line. Parts of it that are computed are shown as {}.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The calls whose literals somebody reads, and who that is.
CALLS = {
    "client": r"ParseError|HTTPError|LiveQueryError|CloudFailure|MailFailure|invalid|refuse|refused",
    "operator": r"ConfigurationError|CommandFailure|PostgresError|StartFailure|ListenFailure|CredentialFailure|SystemError|DatabaseFailure|ValidationError|UsageError|Failure|Problem|Finding|Unusable|fail|print|writeLine",
    "log": r"logger\.(?:trace|debug|info|notice|warning|error|critical)|log\.(?:info|notice|warning|error)",
}
CALL = re.compile("|".join(rf"(?P<{reader}>\b(?:{names}))" for reader, names in CALLS.items()) + r"")
OPEN = re.compile(r"\s*\(")


def closing(text, start):
    """The end of the parenthesis that opens at `start`, past literals and their computed parts."""
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
    """The literal that begins at `start`, computed parts as {}, and its end."""
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


def texts(source):
    """The (reader, offset, text) of one file; literals that are joined by + are one text."""
    for call in CALL.finditer(source):
        opening = OPEN.match(source, call.end())
        line = source.rfind("\n", 0, call.start()) + 1
        if not opening or "//" in source[line : call.start()] or re.search(r"func\s+$", source[line : call.start()]):
            continue
        position, end, parts, first = opening.end(), closing(source, opening.end() - 1), [], None
        while position < end:
            if source[position] == '"':
                text, after = literal(source, position)
                if parts and re.fullmatch(r"\s*\+\s*", source[last:position]):
                    parts[-1][1] += text
                else:
                    parts.append([position, text])
                last = position = after
            else:
                position += 1
        for offset, text in parts:
            if " " in text.strip():
                yield call.lastgroup, offset, " ".join(text.split())


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
