"""Scenarios of the health page with an unresponsive file store, server or database, and a full disk."""

import contextlib
import http.server
import json
import socket
import subprocess
import threading
import urllib.error
import urllib.request

from pages import open_page, until

WORDS = "could not extend file base/5/16384: No space left on device"


def part(console, name):
    """Returns the text of a component, and whether it is marked as failing."""
    open_page(console, "health", ".scroll .panel")
    return console.value(f"""(() => {{
        const row = [...document.querySelectorAll('.line.member')].find((e) => e.querySelector('b')?.innerText === {json.dumps(name)});
        return row ? [row.innerText.replace({json.dumps(name)}, '').trim(), row.querySelector('.flag.bad') !== null] : ['', null];
    }})()""")


@contextlib.contextmanager
def bucket(port):
    """A store that contains every file."""
    class Files(http.server.BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("ETag", '"a"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD = do_PUT = answer

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Files)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def upload(rest):
    """Uploads a file, and returns the status."""
    request = urllib.request.Request(rest.url + "/files/song.txt", b"la la", {**rest.headers, "Content-Type": "text/plain"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as problem:
        return problem.code


def scenario_79_reports_an_unresponsive_file_store_as_down(console, rest):
    if not rest.bucket:
        return
    until(lambda: part(console, "File store")[1] is True, "the file store is down")
    said, _ = part(console, "File store")
    assert said and "answers" not in said, said
    # Accepts connections and sends nothing.
    with socket.create_server(("127.0.0.1", rest.bucket)):
        until(lambda: "no response" in part(console, "File store")[0], "the file store gives no answer")
    with bucket(rest.bucket):
        until(lambda: part(console, "File store") == ["answers", False], "the file store answers", 60)
        until(lambda: upload(rest) == 201, "a file is stored", 60)

    # From then on, clients' requests detect the failure.
    def is_away():
        upload(rest)
        return part(console, "File store")[1] is True

    until(is_away, "the file store is down again", 60)


def scenario_79_reports_a_full_disk_with_postgresqls_message(console, rest):
    if not rest.bucket:
        return
    rest.define("Full", title={"type": "String"})
    rest.create("Full", title="a")
    assert part(console, "Writes to the database") == ["answers", False]
    rest.sql(f"""CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION '{WORDS}' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON "Full" FOR EACH ROW EXECUTE FUNCTION full_disk();""")
    assert rest.call("POST", "/classes/Full", {"title": "b"})["status"] == 500
    until(lambda: part(console, "Writes to the database") == [WORDS, True], "the disk is full")
    until(lambda: rest.call("GET", "/health/ready")["status"] == "degraded", "the server is degraded")
    assert part(console, "Database") == ["answers", False]
    rest.sql('DROP TRIGGER full_disk ON "Full"; DROP FUNCTION full_disk()')
    rest.create("Full", title="c")
    until(lambda: part(console, "Writes to the database") == ["answers", False], "writes succeed")


def scenario_79_headline_turns_red_and_back_by_itself(console, rest):
    if not rest.bucket:
        return
    open_page(console, "health", ".looking")
    # The file store is down, so all is not well.
    console.wait_text("found", ".looking", 60)
    console.browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    console.wait_text("The server doesn't respond", "main h2.bad")
    assert "answers" not in console.text("main") and "found" not in console.text("main"), console.text("main")
    console.browser.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    console.wait_text("found", ".looking")
    # Sessions can't be read, as in a frozen database.
    lock = subprocess.Popen(["psql", "-Xqc", 'BEGIN; LOCK TABLE "_roost_operator_session"; SELECT pg_sleep(16)', rest.database], stdout=subprocess.DEVNULL)
    console.wait_text("The database doesn't respond", "main h2.bad", 15)
    assert "answers" not in console.text("main"), console.text("main")
    lock.wait()
    console.wait_text("found", ".looking")
    # The requests that failed meanwhile don't count as errors, like in the log.
    failed, shown, counted = console.value("""Promise.all(['logs?level=error&console=true', 'logs?level=error', 'health'].map(async (path) =>
        (await fetch('api/' + path, { headers: { 'X-Roost-Console': localStorage.getItem('roost.token') } })).json()))
        .then(([all, some, { errors }]) => [all.lines.length, some.lines.length, errors])""")
    assert failed > shown == counted, (failed, shown, counted)
