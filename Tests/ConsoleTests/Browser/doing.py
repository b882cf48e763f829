"""Scenarios of performance, health and settings."""

import json
import subprocess

from pages import PHONE, open_page, until

# A class and a field with malicious names.
ODD_CLASS, ODD_FIELD = "Odd_" + "x" * 50, "y" * 50


def slow(rest, class_name, field, times=40, mean=290):
    """Records slow queries, as if the machine were slower and the class larger."""
    rest.sql(f"""INSERT INTO "{class_name}" ("objectId", "createdAt", "updatedAt", "{field}")
        SELECT 'n' || n, now(), now(), n FROM generate_series(1, 60000) n ON CONFLICT DO NOTHING""")
    rest.sql(f'ANALYZE "{class_name}"')
    shape = json.dumps({"table": class_name, "equal": [field], "limited": True}, separators=(",", ":"))
    rest.sql("""CREATE TABLE IF NOT EXISTS "_roost_advice" ("shape" text, "day" date, "calls" float8 NOT NULL,
        "total" float8 NOT NULL, "longest" float8 NOT NULL, "timeouts" float8 NOT NULL, PRIMARY KEY ("shape", "day"))""")
    rest.sql(f"""INSERT INTO "_roost_advice" VALUES ('{shape}', (now() AT TIME ZONE 'UTC')::date, {times}, {times * mean}, {mean}, 0)
        ON CONFLICT DO NOTHING""")


def scenario_78_shows_six_charts_with_tables(console, rest):
    rest.define("Asked", name={"type": "String"})
    for number in range(20):
        rest.create("Asked", name=str(number))
    open_page(console, "performance", ".chart")
    assert console.value("document.querySelectorAll('.chart svg').length") == 6
    # Without the option metrics, the charts show database calls.
    console.wait_text("Requests are not counted here", "main")
    console.wait_text('"metrics": {', ".notice pre")
    assert "Paste after the first { of roost.json" in console.text(".notice"), console.text(".notice")
    console.wait_text("create", ".performance")
    until(lambda: console.value("document.querySelector('.chart path').getAttribute('d')?.startsWith('M')"), "no line is drawn", 40)
    console.value("document.querySelector('.chart summary').click()")
    console.wait("document.querySelector('.chart tbody tr')")
    legends = console.value("[...document.querySelectorAll('.chart')].map((e) => [...e.querySelectorAll('.legend > span:has(i)')].map((one) => one.innerText.trim().split(' ').at(-1)))")
    assert ["p50", "p99"] in legends, legends
    label = console.value("document.querySelector('.chart svg').getAttribute('aria-label')")
    assert label.startswith("Database calls: ") and "nothing yet" not in label, label
    console.value("(() => { const s = document.querySelector('[aria-label=\"Time range\"]'); s.value = 'day'; s.dispatchEvent(new Event('change', { bubbles: true })); })()")
    console.wait("location.search === '?for=day' && document.querySelectorAll('.chart').length === 6")


def scenario_78_builds_an_advised_index(console, rest):
    rest.define("Track78", plays={"type": "Number"})
    slow(rest, "Track78", "plays")
    open_page(console, "performance", ".panels")
    console.wait_text("Track78 by plays: 40 times today, 290 ms; about", ".panels")
    console.click_text("Create index on Track78: plays")
    console.wait_text("Apps go on reading and writing", "dialog")
    console.press("Escape")
    console.settle()
    assert "plays_1" not in rest.call("GET", "/schemas/Track78").get("indexes", {})
    console.click_text("Create index on Track78: plays")
    console.click_text("Create index", "dialog")
    console.wait_text("Index plays_1 built", ".toasts", 60)
    assert rest.call("GET", "/schemas/Track78")["indexes"]["plays_1"] == {"plays": 1}
    open_page(console, "performance", ".panels")
    console.wait("!document.querySelector('.panels').innerText.includes('Track78')")


def scenario_78_escapes_malicious_names_in_index_advice(console, rest):
    rest.define(ODD_CLASS, **{ODD_FIELD: {"type": "Number"}})
    slow(rest, ODD_CLASS, ODD_FIELD)
    console.size(375, 700)
    open_page(console, "performance", ".panels")
    console.wait_text(ODD_FIELD, ".panels")
    assert console.value(PHONE), "the page is wider than a phone"
    console.size(1440, 900)
    # Query shapes keep their names, which are never markup.
    rest.sql("""DELETE FROM "_roost_advice" """)
    name = '<img src=x onerror="window.ran=1">\u202e'
    shape = json.dumps({"table": name, "equal": [name], "limited": True}, separators=(",", ":"), ensure_ascii=False)
    rest.sql(f"""INSERT INTO "_roost_advice" VALUES ('{shape}', (now() AT TIME ZONE 'UTC')::date, 40, 9000, 290, 3)""")
    quoted = name.replace('"', '""')
    rest.sql(f'CREATE TABLE "{quoted}" ("{quoted}" double precision)')
    try:
        open_page(console, "performance", ".panels")
        console.wait_text("<img src=x", ".panels")
        console.wait_text("\\u202e", ".panels")
    finally:
        rest.sql(f'DROP TABLE "{quoted}"')
        rest.sql("""DELETE FROM "_roost_advice" """)


def scenario_78_explains_the_plan_of_a_slow_statement(console, rest):
    if not rest.database:
        return
    rest.define("Planned", plays={"type": "Number"})
    rest.create_many("Planned", [{"plays": number} for number in range(20)])
    # The query waits for a lock longer than slowQueryThreshold.
    lock = subprocess.Popen(["psql", "-XAtq", rest.database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        lock.stdin.write("BEGIN;\nLOCK TABLE \"Planned\" IN ACCESS EXCLUSIVE MODE;\nSELECT 'locked';\nSELECT pg_sleep(1.5);\nCOMMIT;\n")
        lock.stdin.flush()
        assert lock.stdout.readline().strip() == "locked"
        assert len(rest.find("Planned", {"plays": 3})) == 1
    finally:
        lock.stdin.close()
        lock.wait()
    open_page(console, "performance", ".panels")
    row = "[...document.querySelectorAll('.panels .line.member')].find((e) => e.querySelector('code')?.textContent.includes('\"Planned\"') && e.querySelector('button'))"
    console.wait(row)
    console.value(row + ".querySelector('button').click()")
    console.wait("document.querySelector('dialog .plan li')")
    said = console.text("dialog")
    assert "Most of the work: " in said and "Reads all of Planned" in said and "No index helps here." in said, said
    assert console.value("document.querySelectorAll('dialog .plan li.worst').length") == 1
    assert "plays" in console.text("dialog .plan code"), said
    console.press("Escape")


def scenario_79_fixes_a_finding_of_the_doctor(console, rest):
    rest.define("Sick", fans={"type": "Relation", "targetClass": "_User"})
    # Like parse-server, creates the relation without an index on its owner.
    for index in rest.sql("""SELECT indexname FROM pg_indexes WHERE tablename = '_Join:fans:Sick' AND indexdef NOT LIKE '%UNIQUE%'""").splitlines():
        rest.sql(f'DROP INDEX "{index}"')
    open_page(console, "health", ".scroll .panel")
    console.wait("['with its own tools', 'console.backupFolder'].some((words) => document.querySelector('main')?.innerText.includes(words))")
    console.wait_text("Writes to the database", "main")
    console.wait_text(" are free in /", "main")
    # The first visit runs the checks. Later problems are found by running them again.
    console.wait("document.querySelector('[aria-label=\"Check again\"]:not([aria-disabled])')", 60)
    console.click("[aria-label='Check again']")
    console.wait("document.querySelector('[aria-label=\"Check again\"]:not([aria-disabled])') && document.querySelector('[aria-label=\"Fix Sick.fans\"]')", 60)
    assert "problem" in console.text(".looking"), console.text(".looking")
    console.click("[aria-label='Fix Sick.fans']")
    console.wait_text("CREATE INDEX CONCURRENTLY", "dialog")
    console.press("Escape")
    console.settle()
    assert not rest.sql("SELECT 1 FROM pg_indexes WHERE tablename = '_Join:fans:Sick' AND indexname LIKE 'roost_owner%'")
    console.click("[aria-label='Fix Sick.fans']")
    console.click_text("Fix", "dialog")
    console.wait_text("Sick.fans is fixed", ".toasts", 60)
    console.wait("!document.querySelector('[aria-label=\"Fix Sick.fans\"]')", 60)
    assert rest.sql("SELECT 1 FROM pg_indexes WHERE tablename = '_Join:fans:Sick' AND indexname LIKE 'roost_owner%'")
    console.size(375, 700)
    open_page(console, "health", ".scroll .panel")
    assert console.value(PHONE), "the page is wider than a phone"
    console.size(1440, 900)


def scenario_79_shows_settings_without_secrets_and_how_to_change_them(console, rest):
    open_page(console, "settings", "main table")
    values = console.value("[...document.querySelectorAll('main td code')].map((e) => e.textContent)")
    assert values and not any(rest.headers["X-Parse-Master-Key"] in value or "postgres" in value for value in values), values
    console.wait_text("set, and not shown", "main")
    console.click("main input[type=checkbox]")
    console.settle()
    names = console.value("[...document.querySelectorAll('main .option code')].map((e) => e.textContent)")
    assert "masterKey" in names and "statementTimeout" not in names, names
    console.value("document.querySelector('main input[type=text]').focus()")
    console.type("<img src=x onerror=window.ran=1>")
    console.wait_text("No option has that name.", "main")
    open_page(console, "settings", "main table")
    console.value("document.querySelector('main input[type=text]').focus()")
    console.type("rate limit")
    console.wait("document.querySelectorAll('main .option').length < 5 && !!document.querySelector('[aria-label=\"Change rateLimit\"]')")
    open_page(console, "settings", "main table")
    console.click("[aria-label='How to change statementTimeout']")
    console.wait_text('"statementTimeout": 30000,', "dialog pre")
    assert "Paste after the first { of roost.json with your values" in console.text("dialog") and not console.text("dialog pre").startswith("{"), console.text("dialog")
    console.press("Escape")
    console.click("[aria-label='How to change emailAdapter']")
    console.wait_text('"module": "smtp"', "dialog pre")
    console.wait_text('"publicServerURL": "https://', "dialog pre")
    console.press("Escape")
    console.click("[aria-label='How to change appName']")
    console.wait_text('"appName": "My App",', "dialog pre")
    console.press("Escape")
    console.click("[aria-label='How to change audit']")
    console.wait_text('"events": [', "dialog pre")
    console.press("Escape")
    console.click("[aria-label='How to change masterKey']")
    console.wait_text('"masterKey": "\u2026"', "dialog pre")
    assert rest.headers["X-Parse-Master-Key"] not in console.text("dialog")
    assert console.value("document.querySelector('dialog a[target]').href").endswith("/docs/configuration.md")
    console.press("Escape")
    console.click_text("Check push keys", "main")
    console.wait_text("signing with the key", "dialog")
    console.wait_text("works", "dialog")
    console.press("Escape")
    console.click_text("Operators", "main")
    console.wait_text("New operator", "dialog")
    console.press("Escape")
    console.size(375, 700)
    open_page(console, "settings", "main table")
    assert console.value(PHONE), "the page is wider than a phone"
    console.size(1440, 900)


def scenario_79_changes_and_resets_a_rate_limit(console, rest):
    limit = {"requestPath": "/classes/Limited", "requestTimeWindow": 60000, "requestCount": 1, "includeInternalRequests": True, "includeMasterKey": True}
    codes = lambda: [rest.call("GET", "/classes/Limited").get("status") for _ in range(2)]
    open_page(console, "settings", "main table")
    console.click("[aria-label='Change rateLimit']")
    console.wait("document.activeElement.placeholder.includes('requestPath')")
    console.wait_text("Requests from this machine count only with", "dialog")
    console.click_text("Save", "dialog")
    console.wait_text("Enter a list of limits, or [] for no limits.", "dialog .problem")
    assert codes() == [None, None]
    console.click_text("Insert an example", "dialog")
    assert json.loads(console.value("document.querySelector('dialog textarea').value"))[0]["requestCount"] == 100
    console.value("document.querySelector('dialog textarea').focus()")
    console.value("document.activeElement.select()")
    console.type('[{"requestPath": 1}]')
    console.click_text("Save", "dialog")
    console.wait_text("rateLimit.requestPath must be a string", "dialog .problem")
    assert console.value("document.activeElement.tagName") == "TEXTAREA"
    console.value("document.activeElement.select()")
    console.type(json.dumps([limit]))
    console.click_text("Save", "dialog")
    console.wait_text("rateLimit changed", ".toasts")
    console.wait_text("changed here by", "main")
    console.press("Control+z")
    console.wait_text("rateLimit changed: you can't undo this.", ".toasts")
    assert codes() == [None, 429]
    for dark in (False, True):
        console.size(375, 700, dark)
        open_page(console, "settings", "main table")
        assert console.value(PHONE), "the page is wider than a phone"
        console.click("[aria-label='Change rateLimit']")
        console.wait_text("on all servers", "dialog")
        assert console.value("document.querySelector('dialog').scrollWidth <= innerWidth"), "the form is wider than a phone"
        console.press("Escape")
    console.size(1440, 900)
    open_page(console, "settings", "main table")
    console.click("[aria-label='Change rateLimit']")
    console.click_text("Back to the configuration file", "dialog")
    console.wait("!document.querySelector('dialog') && !document.querySelector('main').innerText.includes('changed here by')")
    assert codes() == [None, None]
