#!/usr/bin/env python3
"""Runs the commands in the documents unchanged, and fails if they don't do what the page says.

Each page has a new folder, a new database (PARSE_SERVER_DATABASE_URI) and free ports in place of 1337, 1400 and 8000. Its marked
blocks run in order in one bash, up to the first command that fails. A mark is a comment on the line before the block:

    <!-- try -->                 runs the block
    <!-- try: TEXT -->           runs it; TEXT must appear in its output
    <!-- try server: TEXT -->    runs its last command in the background, and waits until TEXT appears
    <!-- try file: NAME -->      writes the block to the file NAME in the current folder
    <!-- try run: COMMAND -->    runs COMMAND, for a step that the page leaves to its reader; has no block

COMMAND may be `serve TEXT PROGRAM…`, as for a server; `stop`, which ends the latest server; or `app [NAME]`, which copies
an app of the tests and stand-ins for the packages of an app. $ROOST is the checkout.
Without --database-uri, a PostgreSQL is started for the run.
"""
import argparse, glob, os, pathlib, re, shlex, shutil, signal, socket, subprocess, sys, tempfile, time
import concurrent.futures, urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"<!-- try(?: (server|file|run))?(?:: (.*))? -->$")
PREAMBLE = r"""
unset BASH_ENV
set -eEo pipefail
trap 'echo $((${#BASH_LINENO[@]} > 1 ? BASH_LINENO[-2] : LINENO)) >"$RESULTS/line"' ERR
output() { out=$(mktemp "$RESULTS/output.XXXXXX"); ln -sf "$out" "$RESULTS/latest"; exec >"$out" 2>&1; }
has() { grep -qF -- "$1" "$out" || { echo "Missing in the output: $1"; return 1; }; }
serve() {
    ("${@:2}" & echo $! >"$RESULTS/server")
    for _ in $(seq 300); do
        if grep -qF -- "$1" "$out"; then return 0; fi
        kill -0 "$(cat "$RESULTS/server")" 2>/dev/null || break
        sleep 0.1
    done
    has "$1" || return 1
}
app() {
    mkdir -p node_modules
    ln -sfn "$ROOST/Tests/NodeHostTests/sdk" node_modules/parse
    ln -sfn "$ROOST/Tests/NodeHostTests/express" node_modules/express
    if [ -n "$1" ]; then cp -r "$ROOST/Tests/NodeHostTests/apps/index/$1/." .; fi
}
stop() { kill "$(cat "$RESULTS/server")"; while kill -0 "$(cat "$RESULTS/server")" 2>/dev/null; do sleep 0.1; done; }
"""


def script(page):
    """Returns the page as a script. Commands keep their line numbers, and all other lines are empty."""
    lines, result, index = page.read_text().splitlines(), [], 0
    while index < len(lines):
        mark = MARK.match(lines[index])
        index += 1
        if mark and mark[1] == "run":
            result.append("output; " + mark[2])
        elif mark:
            kind, text = mark[1], shlex.quote(mark[2] or "")
            if not lines[index].startswith("```" if kind == "file" else "```sh"):
                raise SystemExit(f"{page}:{index}: a block of commands must follow the mark")
            end = lines.index("```", index)
            block = lines[index + 1:end]
            if kind == "server":
                last = max(n for n in range(len(block)) if n == 0 or not block[n - 1].endswith("\\"))
                block[last] = f"serve {text} {block[last]}"
            before, after = "output", f"has {text}" if mark[2] else ""
            if kind == "file":
                before, after = f"cat >{text} <<'END OF FILE'", "END OF FILE"
            result += ["", before, *block, after]
            index = end + 1
        elif lines[index - 1].startswith("<!-- try"):
            raise SystemExit(f"{page}:{index}: unknown mark")
        else:
            result.append("")
    return "\n".join(result) + "\n" if any(result) else ""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def start_postgres(folder):
    """Starts a PostgreSQL in the folder. Returns its URI and the function that stops it."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb") + [shutil.which("initdb") or ""]
    programs = os.path.dirname(max(found, key=lambda path: int(re.sub(r"\D", "", path) or 0)))
    data, port = f"{folder}/data", free_port()
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    os.mkdir(data, 0o700)
    if user:
        shutil.chown(data, "postgres")
    run = lambda program, *more: subprocess.run(
        [*user, f"{programs}/{program}", "-D", data, *more], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
    run("pg_ctl", "-w", "-l", f"{data}/log", "-o", f"-p {port} -h 127.0.0.1 -k {data} -F", "start")
    return f"postgres://postgres@127.0.0.1:{port}/postgres", lambda: run("pg_ctl", "-m", "immediate", "stop")


def run_page(page, text, folder, binary, uri):
    """Runs the script of a page. Returns the failure, or None."""
    work, results, programs = paths = [folder / name for name in ("work", "results", "programs")]
    for path in paths:
        path.mkdir(parents=True)
    (programs / "roost").symlink_to(binary)
    (results / "preamble").write_text(PREAMBLE)
    ports = {number: free_port() for number in ("1337", "1400", "8000")}
    (results / "script").write_text(re.sub(r"\b(1337|1400|8000)\b", lambda match: ports[match[1]], text))
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(work), "RESULTS": str(results), "ROOST": str(ROOT),
                   "BASH_ENV": str(results / "preamble"), "PORT": ports["1337"], "PARSE_SERVER_DATABASE_URI": uri, "LANG": "C.UTF-8"}
    shell = subprocess.Popen(["bash", str(results / "script")], cwd=work, env=environment, start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        status = shell.wait(timeout=120)
    except subprocess.TimeoutExpired:
        status = "none after 120 seconds"
    deadline = time.monotonic() + 20
    try:
        os.killpg(shell.pid, signal.SIGTERM)
        while True:  # The servers end, and with them their embedded PostgreSQL.
            shell.poll()
            os.killpg(shell.pid, 0 if time.monotonic() < deadline else signal.SIGKILL)
            time.sleep(0.05)
    except ProcessLookupError:
        pass
    read = lambda name: (results / name).read_text(errors="replace") if (results / name).exists() else "?"
    return None if status == 0 else f"{page.relative_to(ROOT)}:{read('line').strip()}: exit status {status}\n{read('latest')[-3000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / ".build/release/roost", type=pathlib.Path)
    parser.add_argument("--database-uri", help="a postgres:// URI whose user may create databases")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="default: README.md and docs/*.md")
    arguments = parser.parse_args()
    pages = [page.resolve() for page in arguments.pages] or [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    scripts = {page: text for page in pages if (text := script(page))}
    with tempfile.TemporaryDirectory(prefix="roost-documents.") as top:
        os.chmod(top, 0o755)  # PostgreSQL does not run as root.
        uri, stop = (arguments.database_uri, lambda: None) if arguments.database_uri else start_postgres(top)

        def attempt(number, page):
            name, started = f"documents_{os.getpid()}_{number}", time.monotonic()
            psql = lambda command: subprocess.run(["psql", "-qX", "-d", uri, "-c", command], check=True)
            psql(f"CREATE DATABASE {name}")
            own = urllib.parse.urlsplit(uri)._replace(path=f"/{name}").geturl()
            failure = run_page(page, scripts[page], pathlib.Path(top, name), arguments.binary.resolve(), own)
            psql(f"DROP DATABASE {name} WITH (FORCE)")
            print(failure or f"{page.relative_to(ROOT)}: passed in {time.monotonic() - started:.1f} s", flush=True)
            return failure

        try:
            with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:  # Pages mostly wait.
                failures = [each for each in pool.map(attempt, range(len(scripts)), scripts) if each]
        finally:
            stop()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
