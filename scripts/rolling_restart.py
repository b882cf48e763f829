#!/usr/bin/env python3
"""Restarts three servers behind nginx or HAProxy one after another under load, and counts failed requests.

    scripts/rolling_restart.py [--binary .build/release/roost] [--database-uri URI] [--requests 10000] [nginx|haproxy …]

Creates a database on the server of --database-uri (default ROOST_TEST_DATABASE_URI) and drops it at the end. Uses Debian's
packages of nginx and HAProxy, and their configurations from docs/growing.md. The exit status is 1 if a request failed.
"""
import argparse, http.client, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.parse

DRAIN = 4
NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream roost {{
{servers}
        keepalive 32;
        keepalive_timeout 2s;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://roost;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_next_upstream error timeout;
        }}
    }}
}}
"""
HAPROXY = """
global
    maxconn 1000
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    option redispatch
    retries 3
frontend parse
    bind 127.0.0.1:{port}
    default_backend roost
backend roost
    option httpchk GET /parse/health
    http-check expect status 200
    default-server inter 500ms fall 2 rise 2
{servers}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(port, method, path, body=None, connection=None):
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    own.request(method, path, json.dumps(body) if body is not None else None,
                {"X-Parse-Application-Id": "app", "X-Parse-Master-Key": "master", "Content-Type": "application/json"})
    answer = own.getresponse()
    answer.read()
    if connection is None:
        own.close()
    return answer.status


def until(condition, limit=30):
    end = time.time() + limit
    while time.time() < end:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit("timed out")


class Process:
    def __init__(self, binary, uri, folder, number):
        self.port, self.folder, self.binary, self.number = free_port(), folder, binary, number
        self.file = f"{folder}/{number}.json"
        with open(self.file, "w") as file:
            json.dump({"appId": "app", "masterKey": "master", "databaseURI": uri, "host": "127.0.0.1", "port": self.port,
                       "mountPath": "/parse", "drainTime": DRAIN, "allowClientClassCreation": True,
                       "logLevel": "warn"}, file)
        self.start()

    def start(self):
        log = open(f"{self.folder}/{self.number}.log", "a")
        self.process = subprocess.Popen(
            [self.binary, "serve", self.file, "--dataDir", f"{self.folder}/data{self.number}"], stdout=log, stderr=log)
        until(lambda: ask(self.port, "GET", "/parse/health") == 200)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Load:
    def __init__(self, port):
        self.port, self.count, self.failures, self.is_over = port, 0, [], False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(16)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        connection, turn = None, number
        while not self.is_over:
            turn += 1
            method, body = ("POST", {"n": turn}) if turn % 2 else ("GET", None)
            path = "/parse/classes/Note" + ("" if body else "?limit=1")
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                status, error = ask(self.port, method, path, body, connection), None
            except (OSError, http.client.HTTPException) as exception:
                status, error, connection = 0, repr(exception), None
            with self.lock:
                self.count += 1
                if not 200 <= status < 300:
                    self.failures.append(f"{method} {status} {error or ''}")

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def run(kind, arguments, uri, folder):
    processes = [Process(arguments.binary, uri, folder, number) for number in range(3)]
    ask(processes[0].port, "POST", "/parse/classes/Note", {"n": 0})
    port = free_port()
    if kind == "nginx":
        lines = [f"        server 127.0.0.1:{p.port} max_fails=1 fail_timeout=1s;" for p in processes]
        text, command = NGINX, ["nginx", "-c", f"{folder}/nginx.conf", "-p", folder]
    else:
        lines = [f"    server roost{p.number} 127.0.0.1:{p.port} check" for p in processes]
        text, command = HAPROXY, ["haproxy", "-db", "-f", f"{folder}/haproxy.conf"]
    with open(f"{folder}/{kind}.conf", "w") as file:
        file.write(text.format(folder=folder, port=port, servers="\n".join(lines)))
    environment = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin")
    balancer = subprocess.Popen(command, env=environment, stdout=open(f"{folder}/{kind}.out", "w"), stderr=subprocess.STDOUT)
    try:
        until(lambda: ask(port, "GET", "/parse/classes/Note?limit=1") == 200)
        load, rounds = Load(port), 0
        while rounds < 1 or load.count < arguments.requests:
            for process in processes:
                process.stop()
                process.start()
                time.sleep(2)
            rounds += 1
        load.end()
    finally:
        balancer.terminate()
        balancer.wait(10)
        for process in processes:
            process.process.send_signal(signal.SIGTERM)
        for process in processes:
            process.process.wait(60)
    print(f"{kind}: {load.count} requests, {3 * rounds} restarts, {len(load.failures)} failed")
    for failure in load.failures[:10]:
        print("   ", failure)
    return len(load.failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("balancers", nargs="*", default=["nginx", "haproxy"])
    parser.add_argument("--binary", default=".build/release/roost")
    parser.add_argument("--database-uri", default=os.environ.get("ROOST_TEST_DATABASE_URI", ""))
    parser.add_argument("--requests", type=int, default=10_000)
    arguments = parser.parse_args()
    failed = 0
    for kind in arguments.balancers:
        if not shutil.which(kind, path=os.environ["PATH"] + ":/usr/sbin"):
            sys.exit(f"{kind} is not installed")
        name = f"roost_rolling_{os.getpid()}_{kind}"
        subprocess.run(["psql", arguments.database_uri, "-qc", f'CREATE DATABASE "{name}"'], check=True)
        uri = urllib.parse.urlsplit(arguments.database_uri)._replace(path="/" + name).geturl()
        folder = tempfile.mkdtemp(prefix="roost-rolling-")
        try:
            failed += run(kind, arguments, uri, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run(["psql", arguments.database_uri, "-qc", f'DROP DATABASE "{name}" WITH (FORCE)'])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
