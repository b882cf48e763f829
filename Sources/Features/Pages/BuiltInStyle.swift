/// The style sheet of the built-in pages. A file `style.css` in the folder of `pagesPath` replaces it.
enum BuiltInStyle {
    static let css = """
        :root {
          color-scheme: light dark;
          --page: #f3f4f6;
          --card: #ffffff;
          --text: #1b1f27;
          --quiet: #5a6372;
          --line: #868f9f;
          --accent: #2450c8;
          --on-accent: #ffffff;
          --good: #18794e;
          --bad: #b42318;
          --bad-page: #fdecea;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #12151b;
            --card: #1c212b;
            --text: #eceff4;
            --quiet: #a8b1c1;
            --line: #76829b;
            --accent: #8fabff;
            --on-accent: #0d1730;
            --good: #5cc493;
            --bad: #ff9a90;
            --bad-page: #3b1d1b;
          }
        }
        * { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
        body {
          align-items: center;
          background: var(--page);
          color: var(--text);
          display: flex;
          font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif;
          justify-content: center;
          margin: 0;
          min-height: 100vh;
          min-height: 100dvh;
          padding: 1.5rem 1rem;
        }
        main {
          background: var(--card);
          border-radius: 1rem;
          border-top: .3rem solid var(--accent);
          box-shadow: 0 1px 2px rgb(0 0 0 / .06), 0 .75rem 2.5rem rgb(0 0 0 / .08);
          max-width: 27rem;
          overflow-wrap: anywhere;
          padding: 2rem;
          width: 100%;
        }
        main.success, main.sent { border-top-color: var(--good); }
        main.failure { border-top-color: var(--bad); }
        h1 { font-size: 1.5rem; letter-spacing: -.01em; line-height: 1.25; margin: 0 0 1rem; text-wrap: balance; }
        p { color: var(--quiet); margin: .5rem 0 0; }
        p.app { color: var(--quiet); font-size: .9rem; font-weight: 600; margin: 0 0 .35rem; }
        p.error {
          background: var(--bad-page);
          border-inline-start: .25rem solid var(--bad);
          border-radius: .4rem;
          color: var(--text);
          margin: 0 0 1rem;
          padding: .7rem .9rem;
        }
        form { margin-top: 1.25rem; }
        p.error + form { margin-top: 0; }
        label { display: block; font-size: .95rem; font-weight: 600; margin: 1rem 0 .35rem; }
        input {
          background: var(--card);
          border: 1px solid var(--line);
          border-radius: .55rem;
          color: inherit;
          display: block;
          font: inherit;
          min-height: 2.9rem;
          padding: .5rem .8rem;
          width: 100%;
        }
        input[type="hidden"] { display: none; }
        input[readonly] { background: var(--page); color: var(--quiet); }
        input[aria-invalid] { border-color: var(--bad); }
        button {
          background: var(--accent);
          border: 0;
          border-radius: .55rem;
          color: var(--on-accent);
          cursor: pointer;
          font: inherit;
          font-weight: 600;
          margin-top: 1.5rem;
          min-height: 2.9rem;
          padding: .6rem 1.2rem;
          width: 100%;
        }
        input[type="hidden"] + button { margin-top: 0; }
        button:hover { filter: brightness(1.08); }
        input:focus-visible, button:focus-visible { outline: .2rem solid var(--accent); outline-offset: .15rem; }
        @media (max-width: 30rem) {
          body { align-items: flex-start; }
          main { padding: 1.5rem 1.25rem; }
        }

        """
}
