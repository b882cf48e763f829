"""Scenarios of accessibility on every page: contrast, focus order, zoom, motion, themes."""

import json
import pathlib

from hostile import PATHS
from pages import PHONE, guarded, make_user, open_page

# Finds contrast below 4.5:1 for texts, and below 3:1 for large texts and field borders.
CONTRAST = r"""(() => {
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const known = new Map();
    const rgba = (text) => {
        if (!known.has(text)) {
            context.clearRect(0, 0, 1, 1);
            context.fillStyle = text;
            context.fillRect(0, 0, 1, 1);
            known.set(text, [...context.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(text);
    };
    const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] / 255 + below[i] * (1 - top[3] / 255));
    const ground = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) {
            const colour = rgba(getComputedStyle(at).backgroundColor);
            if (colour[3]) layers.push(colour);
            if (colour[3] === 255) break;
        }
        return layers.reduceRight((below, colour) => over(colour, below), [255, 255, 255]);
    };
    const light = (colour) => colour.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (one, other) => (([a, b]) => (a + 0.05) / (b + 0.05))([light(one), light(other)].sort((a, b) => b - a));
    const found = [];
    for (const element of document.querySelectorAll('body *')) {
        if (element.closest('svg, .sr, :disabled, [aria-disabled=true]') || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        const style = getComputedStyle(element);
        if ([...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || (element.matches('input, textarea, select') && element.value)) {
            const below = ground(element);
            const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
            const value = ratio(over(rgba(style.color), below), below);
            if (value < (large ? 3 : 4.5)) found.push([value.toFixed(2), element.outerHTML.slice(0, 100)]);
        }
        if (element.matches('input:not([type=checkbox], [type=radio], [type=file]), textarea, select')) {
            const below = ground(element.parentElement);
            const value = ratio(over(rgba(style.borderTopColor), below), below);
            if (value < 3) found.push(['edge ' + value.toFixed(2), element.outerHTML.slice(0, 100)]);
        }
    }
    return found.slice(0, 5);
})()"""

# Returns the focused element's position in the tab order, and whether it is marked. The grid marks its active cell, the
# diagram the border of a box.
FOCUSED = """(() => {
    const places = [...document.querySelectorAll('main a[href], main button, main input, main select, main textarea, main summary, main [tabindex="0"]')]
        .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }));
    const focused = document.activeElement;
    const isMarked = focused.className === 'g-scroll' || getComputedStyle(focused).outlineStyle !== 'none'
        || focused.matches('.box') && getComputedStyle(focused.querySelector('rect')).strokeWidth === '2px';
    return [places.indexOf(focused), isMarked, focused.outerHTML.slice(0, 120), places.length];
})()"""


def colours(console, dark):
    console.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])


def order_faults(console):
    """Returns problems with the tab order of the page."""
    console.value("document.querySelector('main').focus()")
    last, count = -1, 0
    for _ in range(20):
        console.press("Tab")
        place, is_marked, element, count = console.value(FOCUSED)
        if place < 0:
            break
        if place < last or not is_marked:
            return [f"{element} has the focus after the {last}th" if place < last else f"{element} has the focus, and no mark"]
        last = place
    return ["nothing is reached"] if last < 0 and count else []


def page_faults(console, path):
    """Returns the problems of a page."""
    open_page(console, path, "main h1, main .classes")
    found = order_faults(console)
    for dark in (True, False):
        colours(console, dark)
        found += [f"{'dark' if dark else 'light'}: {text}" for text in console.value(CONTRAST)]
    # A window of 1440 by 900 pixels at 200 %.
    console.browser.call("Emulation.setDeviceMetricsOverride", width=720, height=450, deviceScaleFactor=2, mobile=False)
    console.settle()
    # Log lines are clipped, and the grid has its own scroll bar.
    fits = "document.documentElement.scrollWidth <= innerWidth" if path.startswith(("data", "logs", "trash")) else PHONE
    found += [] if console.value(fits) else ["wider than the window at 200 %"]
    hosts = console.value("[...new Set(performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host))]")
    found += [f"asks {host}" for host in hosts if host != console.value("location.host")]
    console.size(1440, 900)
    return found


def scenario_80_pages_have_contrast_focus_order_and_fit_at_200_percent(console, rest):
    guarded(rest)
    user = make_user(rest, "visible")["objectId"]
    object_id = rest.create("Guarded", name="one", owner={"__type": "Pointer", "className": "_User", "objectId": user})
    try:
        faults = {path: page_faults(console, path.replace("{class}", "Guarded").replace("{id}", object_id).replace("{user}", user)) for path in PATHS}
        assert not any(faults.values()), json.dumps({path: found for path, found in faults.items() if found}, indent=1)
    finally:
        console.size(1440, 900)


def scenario_80_axe_finds_no_violations_on_any_page(console, rest):
    # Installed by scripts/test_libraries.sh.
    axe = (pathlib.Path(__file__).parents[3] / ".build/python/axe_playwright_python/axe.min.js").read_text()
    run = """axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html.slice(0, 160)]))"""
    guarded(rest)
    user = make_user(rest, "looked over")["objectId"]
    object_id = rest.create("Guarded", name="one", owner={"__type": "Pointer", "className": "_User", "objectId": user})
    found = []
    try:
        for path in ("data", "start", *PATHS):
            path = path.replace("{class}", "Guarded").replace("{id}", object_id).replace("{user}", user)
            open_page(console, path, "main h1, main .classes")
            console.settle()
            console.value(axe + "; 0")
            for width in (390, 834, 1440):
                for dark in (False, True):
                    console.size(width, 900, dark)
                    console.settle()
                    found += [(path, width, dark, fault) for fault in console.value(run)]
        assert found == [], json.dumps(found, indent=1)
    finally:
        console.size(1440, 900)


def scenario_80_navigation_has_three_groups_with_distinct_icons(console, rest):
    console.open("users")
    groups = console.value("""Object.fromEntries([...document.querySelectorAll('.rail [role=group]')].map((group) =>
        [group.getAttribute('aria-label'), [...group.querySelectorAll('a')].map((link) => link.textContent)]))""")
    assert groups == {
        "Data": ["Data", "Schema", "Permissions", "Users", "Files"], "App": ["Start", "Cloud code", "Push", "Live", "Config", "API"],
        "Server": ["Logs", "Performance", "Health", "Settings", "Trash", "Audit"]}, groups
    assert console.value("new Set([...document.querySelectorAll('.rail a .icon')].map((icon) => icon.innerHTML)).size") == 17
    assert console.value("document.querySelector('.rail .wordmark').getAttribute('aria-label')") == "Roost"
    # The heading has the focus, without a visible ring.
    console.wait("document.activeElement.matches('main h1')")
    assert console.value("[document.activeElement, document.querySelector('main')].every((e) => getComputedStyle(e).outlineStyle === 'none')")
    sizes = console.value("['h1', '.tabs a'].map((e) => getComputedStyle(document.querySelector('main ' + e)).fontSize)")
    assert sizes == ["20px", "13px"], sizes
    try:
        # On a phone, no word is cut, and the other pages are below "More".
        console.size(390, 844)
        console.open("users")
        console.wait("document.querySelector('main table')")
        bar = console.value("""[...document.querySelectorAll('.rail .item span')].filter((e) => e.checkVisibility()).map((e) => [e.textContent, e.scrollWidth <= e.parentElement.clientWidth])""")
        assert bar == [[words, True] for words in ("Data", "Schema", "Users", "Files", "Find", "More")], bar
        console.click(".rail button.item:last-child")
        console.wait_text("Permissions", ".menu")
        assert all(name in console.text(".menu") for name in ("Start", "Audit", "Sign out"))
        console.press("Escape")
        # Tables are cards with labeled values.
        assert console.value("getComputedStyle(document.querySelector('main tbody tr')).display") == "flex"
    finally:
        console.size(1440, 900)


def scenario_80_headings_and_labels_are_not_truncated_at_any_width(console, rest):
    guarded(rest)
    user = make_user(rest, "a name that is long enough for two lines of a phone")["objectId"]
    cut = """[...document.querySelectorAll('main h1, main td[data-label], main .who')].filter((e) => e.checkVisibility()
        && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 6 || /\\[object/.test(e.dataset.label))).map((e) => e.outerHTML.slice(0, 120))"""
    covered = """[...document.querySelectorAll('main td.actions')].filter((e) => [...e.parentElement.querySelectorAll('td:not(.actions) time')].some((other) => {
        const [a, b] = [e, other].map((one) => one.getBoundingClientRect());
        return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    })).length"""
    # Words on more than one line.
    broken = r"""(() => {
        const found = [];
        const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
        for (let node; (node = texts.nextNode());) {
            if (!node.parentElement.checkVisibility() || node.parentElement.closest('svg, pre, code, .mono, .log, .sr')) continue;
            for (const { 0: word, index } of node.data.matchAll(/\p{L}{2,}/gu)) {
                const range = document.createRange();
                range.setStart(node, index);
                range.setEnd(node, index + word.length);
                if (new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top))).size > 1) found.push(word);
            }
        }
        return found;
    })()"""
    try:
        for path in ("schema", "schema/Guarded", "access/Guarded", "files", "start", "config", "performance", "health", "settings", "logs", "cloud", "push", "rest", "live",
                     "trash", "audit", "users", "users/roles", "users/sessions"):
            open_page(console, path, "main h1, main .classes")
            for width in (390, 834, 1440, 1920):
                console.size(width, 900)
                console.settle()
                assert console.value(broken) == [], (path, width, console.value(broken))
                # The page reaches the right edge of the window.
                assert console.value("innerWidth - document.querySelector('main > *').getBoundingClientRect().right <= 10"), (path, width)
                assert console.value(cut) == [], (path, width, console.value(cut))
                assert console.value(covered) == 0, (path, width)
        # A long user name is shortened and doesn't widen the page.
        console.size(390, 844)
        open_page(console, f"users/user/{user}", "main .avatar")
        assert console.value("document.querySelector('main').scrollWidth") == 390
    finally:
        console.size(1440, 900)


def scenario_80_dialogs_and_editors_have_contrast(console, rest):
    guarded(rest)
    rest.create("Guarded", name="one")
    console.open_class("Guarded")
    try:
        for words, opened in (("the palette", lambda: console.press("Control+k")), ("the keys", lambda: console.press("?")),
                              ("an ACL", lambda: (console.at(0, "ACL"), console.press("Enter")))):
            opened()
            console.wait("document.querySelector('dialog')")
            console.settle()
            for dark in (False, True):
                colours(console, dark)
                assert console.value(CONTRAST) == [], (words, dark)
            console.press("Escape")
            console.wait("document.querySelector('dialog') === null")
        console.at(0, "name")
        console.press("F2")
        console.wait("document.querySelector('.g-editor input')")
        for dark in (False, True):
            colours(console, dark)
            assert console.value(CONTRAST) == [], ("an editor", dark)
        console.press("Escape")
    finally:
        console.size(1440, 900)


def scenario_80_respects_reduced_motion(console, rest):
    moving = """document.getAnimations().filter((one) => one.playState === 'running' && Number(one.effect.getTiming().duration) > 1)
        .map((one) => one.animationName ?? one.transitionProperty)"""
    try:
        for preference, moves in (("no-preference", True), ("reduce", False)):
            console.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": preference}])
            console.open("data")
            console.wait("document.querySelector('.classes a')")
            # Counted when it opens.
            console.value("window.moving = []; new MutationObserver(() => { window.moving.push(..." + moving + "); }).observe(document.body, { childList: true })")
            console.press("Control+k")
            console.wait("document.querySelector('dialog.palette')")
            console.settle()
            assert bool(console.value("window.moving.length")) == moves, (preference, console.value("window.moving"))
            console.press("Escape")
            console.wait("document.querySelector('dialog') === null")
    finally:
        console.size(1440, 900)


def scenario_80_remembers_the_chosen_theme(console, rest):
    console.open("data")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = console.value(ground)
    for words, colour in (("Dark", "rgb(18, 21, 27)"), ("Light", "rgb(243, 244, 246)")):
        console.click(".rail button.item:last-child")
        console.click_text(words, ".menu")
        console.wait(f"{ground} === {json.dumps(colour)}")
        console.open("data")
        assert console.value(ground) == colour, words
    console.click(".rail button.item:last-child")
    console.click_text("System", ".menu")
    console.wait(f"{ground} === {json.dumps(before)}")
    assert console.value("localStorage.getItem('roost.theme')") is None
