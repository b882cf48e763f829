/** Light, dark, or as the system has it. */

import { signal } from "./signal.js";

const KEY = "roost.theme";

/** "auto", "light" or "dark". */
export const theme = signal(localStorage.getItem(KEY) ?? "auto");

/** Shows the page in the chosen colours. */
export function applyTheme(value = theme.peek()) {
  theme.set(value);
  if (value === "auto") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, value);
    document.documentElement.dataset.theme = value;
  }
}
