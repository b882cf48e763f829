#!/usr/bin/env python3
"""Runs scenarios of the console in a browser against a running server. Prints a line per scenario.

Usage: scenarios.py --console URL --rest URL --app ID --key MASTERKEY [--name NAME --password PASSWORD | --masterKey KEY]
                    [--rows N] [--group GROUP] [NAME…]
"""

import argparse
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import arriving  # noqa: E402
import browsing  # noqa: E402
import doing  # noqa: E402
import editing  # noqa: E402
import failing  # noqa: E402
import going_on  # noqa: E402
import guarding  # noqa: E402
import hostile  # noqa: E402
import inviting  # noqa: E402
import moving  # noqa: E402
import pages  # noqa: E402
import seeing  # noqa: E402
import signing_in  # noqa: E402
from harness import Console, REST  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    for name in ("console", "rest", "app", "key"):
        parser.add_argument("--" + name, required=True)
    for name in ("name", "password", "masterKey"):
        parser.add_argument("--" + name)
    parser.add_argument("--client-key", default="", help="the REST key of apps")
    parser.add_argument("--ticket", help="a ticket of `roost console open`")
    parser.add_argument("--database", help="the address of the database, which psql understands")
    parser.add_argument("--bucket", type=int, help="the port of the server's bucket, on which nothing listens")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--group")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    credentials = {name: getattr(options, name) for name in ("name", "password", "masterKey") if getattr(options, name)}
    rest = REST(options.rest, options.app, options.key)
    rest.rows, rest.ticket, rest.database = options.rows, options.ticket, options.database
    rest.client_key, rest.bucket = options.client_key, options.bucket
    console = Console(options.console, credentials)
    failures = 0
    try:
        for module in (arriving, signing_in, browsing, editing, pages, going_on, doing, seeing, hostile, moving, guarding, failing, inviting):
            if options.group not in (None, module.__name__):
                continue
            for name, scenario in vars(module).items():
                if not name.startswith("scenario_") or (options.only and not any(part in name for part in options.only)):
                    continue
                began = time.monotonic()
                try:
                    scenario(console, rest)
                    faults = console.faults()
                    assert not faults, f"the page reports {faults}"
                    print(f"pass  {name.removeprefix('scenario_')}  {time.monotonic() - began:.1f} s", flush=True)
                except Exception as problem:
                    failures += 1
                    where = traceback.extract_tb(problem.__traceback__)
                    line = next((frame for frame in where if frame.name == name), where[-1])
                    print(f"fail  {name.removeprefix('scenario_')}  line {line.lineno}: {type(problem).__name__}: {problem}",
                          flush=True)
                    console.browser.call("Network.emulateNetworkConditions", offline=False, latency=0,
                                         downloadThroughput=-1, uploadThroughput=-1)
    finally:
        console.close()
    sys.exit(1 if failures else 0)


main()
