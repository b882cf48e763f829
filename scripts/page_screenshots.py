#!/usr/bin/env python3
"""Makes pictures of all built-in pages, in the widths of a phone and a desktop screen, in docs/pages.

Usage: scripts/page_screenshots.py [BINARY]. The default binary is .build/release/roost.
"""

import pathlib
import subprocess
import sys
import tempfile

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build/release/roost"
    target = ROOT / "docs/pages"
    target.mkdir(exist_ok=True)
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([binary, "mail", "preview", folder, "--appName", "Music"], check=True)
            for page in sorted(pathlib.Path(folder, "pages/en").glob("*.html")):
                browser.open(page.as_uri())
                for width in (375, 1280):
                    picture, is_wide = browser.look(width)
                    if is_wide:
                        sys.exit(f"{page.name} is wider than {width} pixels")
                    (target / f"{page.stem}-{width}.png").write_bytes(picture)
            browser.open(pathlib.Path(folder, "pages/en/password_reset.html").as_uri())
            (target / "password_reset-dark-375.png").write_bytes(browser.look(375, dark=True)[0])
    finally:
        browser.close()
    print(f"{len(list(target.glob('*.png')))} pictures written to {target}")


main()
