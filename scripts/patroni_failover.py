#!/usr/bin/env python3
"""Switches a Patroni cluster over and kills its primary under load, and counts saves that fail or are lost.

    scripts/patroni_failover.py [--binary .build/release/roost] [--folder /var/tmp]

Uses Debian's packages of Patroni, etcd and PostgreSQL (patroni, etcd-server, python3-etcd), and Patroni's configuration
from docs/database.md. The exit status is 1 if an acknowledged save is lost.
"""
import argparse, http.client, json, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, threading, time

PATRONI = """
scope: roost
name: {name}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd3: {{host: '127.0.0.1:{etcd}'}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 3
    retry_timeout: 5
    synchronous_mode: true
    postgresql: {{use_pg_rewind: true, parameters: {{wal_log_hints: 'on'}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C.UTF-8}}]
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
postgresql:
  listen: '127.0.0.1:{port}'
  connect_address: '127.0.0.1:{port}'
  data_dir: {folder}/{name}
  bin_dir: {binaries}
  authentication:
    superuser: {{username: postgres, password: postgres}}
    replication: {{username: replicator, password: replicator}}
    rewind: {{username: postgres, password: postgres}}
  parameters: {{unix_socket_directories: '{folder}'}}
"""
POSTGRES = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, condition, limit=180):
    end = time.time() + limit
    while time.time() < end:
        try:
            if condition():
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    sys.exit(f"timed out: {what}")


class Cluster:
    def __init__(self, folder):
        self.folder, self.processes = folder, {}
        etcd, peer = free_port(), free_port()
        self.binaries = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        urls = (f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peer}")
        self.start("etcd", [
            "etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
            "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1],
            "--initial-cluster", f"default={urls[1]}"])
        self.nodes = {name: {"rest": free_port(), "port": free_port()} for name in ("one", "two", "three")}
        for name, ports in self.nodes.items():
            text = PATRONI.format(name=name, etcd=etcd, folder=folder, binaries=self.binaries, **ports)
            pathlib.Path(f"{folder}/{name}.yml").write_text(text)
            self.launch(name)
            until(f"server {name}", lambda: self.status(name).get("state") in ("running", "streaming"))
        until("three servers", self.is_whole)

    def start(self, name, command):
        log = open(f"{self.folder}/{name}.log", "a")
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def launch(self, name):
        self.start(name, [*POSTGRES, "patroni", f"{self.folder}/{name}.yml"])

    def status(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.nodes[name]["rest"], timeout=2)
        try:
            connection.request("GET", "/patroni")
            return json.loads(connection.getresponse().read())
        except OSError:
            return {}
        finally:
            connection.close()

    def primary(self):
        for name in self.nodes:
            status = self.status(name)
            if status.get("role") in ("master", "primary") and status.get("state") == "running":
                return name
        return None

    def sql(self, text):
        uri = f"postgres://postgres@127.0.0.1:{self.nodes[self.primary()]['port']}/postgres"
        return subprocess.run(["psql", uri, "-XAtc", text], capture_output=True, text=True).stdout.split()

    def synchronous(self):
        """Returns the standbys that Patroni would promote. Patroni learns of them some seconds after PostgreSQL."""
        return [name for name in self.nodes if self.status(name).get("sync_standby")]

    def is_whole(self):
        streaming = self.primary() and self.sql("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")
        return streaming and len(streaming) == 2 and self.synchronous()

    def switch_over(self, old):
        subprocess.run([*POSTGRES, "patronictl", "-c", f"{self.folder}/{old}.yml", "switchover", "roost",
                        "--master", old, "--candidate", self.synchronous()[0], "--force"],
                       check=True, stdout=subprocess.DEVNULL)

    def kill(self, old):
        """Kills Patroni and its PostgreSQL at the same time, like a power failure."""
        postmaster = int(open(f"{self.folder}/{old}/postmaster.pid").readline())
        os.killpg(self.processes[old].pid, signal.SIGKILL)
        subprocess.run([*POSTGRES, f"{self.binaries}/pg_ctl", "kill", "KILL", str(postmaster)], check=True)
        self.processes[old].wait()

    def stop(self):
        for process in reversed(list(self.processes.values())):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        for name in self.nodes:
            stop = ["-D", f"{self.folder}/{name}", "-m", "immediate", "stop"]
            subprocess.run([*POSTGRES, f"{self.binaries}/pg_ctl", *stop], cwd="/", capture_output=True)


class Load:
    def __init__(self, port):
        self.port, self.saved, self.failures, self.times, self.is_over = port, set(), [], [], False
        self.threads = [threading.Thread(target=self.run) for _ in range(9)]
        for thread in self.threads:
            thread.start()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {
                "X-Parse-Application-Id": "app", "X-Parse-Master-Key": "master", "Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def run(self):
        while not self.is_over:
            try:
                status, answer = self.ask("POST", "/parse/classes/Note", {"n": 1})
            except OSError as error:
                status, answer = 0, repr(error)
            if status == 201:
                self.saved.add(answer["objectId"])
                self.times.append(time.time())
            else:
                self.failures.append(f"{status} {answer}")
                time.sleep(0.05)

    def during(self, what, cluster, change):
        until("load", lambda: len(self.times) > 200 and time.time() - self.times[-1] < 1)
        old, failed, begin = cluster.primary(), len(self.failures), time.time()
        change(old)
        until("another primary", lambda: cluster.primary() not in (None, old))
        moved = time.time()
        until("saves", lambda: self.times[-1] > moved + 2)
        times = sorted(moment for moment in self.times if moment >= begin - 1)
        gap = max(after - before for before, after in zip(times, times[1:]))
        print(f"{what}: {old} to {cluster.primary()}, {gap:.1f} s without a save, "
              f"{len(self.failures) - failed} failed", flush=True)

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def run(binary, folder):
    cluster, load = Cluster(folder), None
    try:
        hosts = ",".join(f"127.0.0.1:{ports['port']}" for ports in cluster.nodes.values())
        port = free_port()
        pathlib.Path(f"{folder}/roost.json").write_text(json.dumps({
            "appId": "app", "masterKey": "master", "host": "127.0.0.1", "port": port, "mountPath": "/parse",
            "databaseURI": f"postgres://postgres@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2",
            "allowClientClassCreation": True, "logLevel": "warn"}))
        cluster.start("roost", [binary, "serve", f"{folder}/roost.json", "--dataDir", f"{folder}/roost"])
        load = Load(port)
        load.during("switchover", cluster, cluster.switch_over)
        until("three servers", cluster.is_whole)
        killed = cluster.primary()
        load.during("primary killed", cluster, cluster.kill)
        cluster.launch(killed)
        until("three servers", cluster.is_whole)
        load.during("switchover", cluster, cluster.switch_over)
        load.end()
        lost = load.saved - set(cluster.sql('SELECT "objectId" FROM "Note"'))
        print(f"{len(load.saved)} saves acknowledged, {len(lost)} lost")
        return len(lost)
    finally:
        if load:
            load.end()
        cluster.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=".build/release/roost")
    parser.add_argument("--folder", default="/var/tmp", help="the folder for the servers' data")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="roost-patroni-", dir=options.folder)
    if POSTGRES:
        shutil.chown(folder, "postgres")
    try:
        sys.exit(1 if run(options.binary, folder) else 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
