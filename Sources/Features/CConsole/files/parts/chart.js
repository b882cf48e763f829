/** Small line charts over time, with the values as text and a table. */

import { h, put, svg } from "../core/dom.js";
import { addWords, date, t } from "../core/words.js";
import { table } from "./states.js";

addWords({
  "chart.table": "As a table", "chart.time": "Time", "chart.scale": "up to {most}", "chart.label": "{title}: {values}",
  "chart.ms": "{n} ms", "chart.seconds": "{n} s",
});

/** Formats a time in milliseconds with at most three digits. */
export function time(value) {
  if (value >= 1000) return t("chart.seconds", { n: String(Number((value / 1000).toPrecision(3))) });
  return t("chart.ms", { n: String(Number(value.toPrecision(value >= 100 ? 3 : 2))) });
}

const WIDTH = 320;
const HEIGHT = 64;

/**
 * Creates a chart of one or two lines; `words` describes them, and `format` formats a value. Returns the element and `update(at, values)`,
 * with a time in milliseconds for each value and null for missing values.
 */
export function chart({ title, words, format }) {
  let at = [];
  let values = words.map(() => []);
  const paths = words.map((_, index) => svg("path", { class: `line${index}`, "vector-effect": "non-scaling-stroke" }));
  const cross = svg("path", { class: "cross", "vector-effect": "non-scaling-stroke" });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, ...paths, cross);
  const figures = words.map(() => h("b"));
  const scale = h("span.quiet.scale");
  const when = h("span.quiet");
  const host = h(".behind");
  const details = h("details", { ontoggle: () => fill() }, h("summary.quiet", t("chart.table")), host);
  const element = h("section.card.chart", { "aria-label": title }, h(".line", h("h2", title), h(".space"), when), drawing,
    h(".line.legend", words.map((text, index) => h("span", h(`i.key${index}`), figures[index], " ", text)), h(".space"), scale), details);

  const say = (index) => {
    figures.forEach((figure, line) => put(figure, values[line][index] === undefined || values[line][index] === null ? "\u2013" : format(values[line][index])));
    put(when, at[index] === undefined ? "" : date(at[index], true).slice(11, 19));
  };
  const fill = () => {
    if (!details.open) return;
    put(host, table(title, [[t("chart.time")], ...words.map((text) => [text, ".right"])],
      at.map((moment, index) => [date(moment, true).slice(0, 19), ...values.map((line) => (line[index] === null ? "\u2013" : format(line[index])))]).reverse()));
  };
  drawing.addEventListener("pointermove", (event) => {
    if (at.length === 0) return;
    const box = drawing.getBoundingClientRect();
    const moment = at[0] + (at.at(-1) - at[0]) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    const index = at.reduce((best, other, place) => (Math.abs(other - moment) < Math.abs(at[best] - moment) ? place : best), 0);
    cross.setAttribute("d", `M${x(at, index)} 0V${HEIGHT}`);
    say(index);
  });
  drawing.addEventListener("pointerleave", () => { cross.removeAttribute("d"); say(at.length - 1); });

  return {
    element,
    update(moments, lines) {
      [at, values] = [moments, lines];
      const most = Math.max(0, ...lines.flat().filter((value) => value !== null));
      paths.forEach((path, index) => path.setAttribute("d", drawn(at, values[index], most)));
      put(scale, most > 0 ? t("chart.scale", { most: format(most) }) : "");
      say(at.length - 1);
      drawing.setAttribute("aria-label", t("chart.label", { title, values: at.length === 0 ? t("word.nothingYet") : words.map((text, index) => `${figures[index].textContent} ${text}`).join(", ") }));
      fill();
    },
  };
}

const x = (at, index) => (at.length < 2 ? WIDTH : Math.round(10 * WIDTH * (at[index] - at[0]) / (at.at(-1) - at[0])) / 10);

/** Returns the path of a line. Missing values leave a gap. */
function drawn(at, values, most) {
  let isDown = false;
  return values.map((value, index) => {
    if (value === null) {
      isDown = false;
      return "";
    }
    const y = Math.round(10 * (HEIGHT - 2 - (most > 0 ? value / most : 0) * (HEIGHT - 4))) / 10;
    const command = isDown ? "L" : "M";
    const isAlone = !isDown && (values[index + 1] ?? null) === null;
    isDown = true;
    return `${command}${x(at, index)} ${y}${isAlone ? "h.1" : ""}`;
  }).join("");
}
