/** Points of the earth between lines of latitude and longitude: without tiles, so that nothing is asked for elsewhere. */

import { button, h, put, svg } from "../../core/dom.js";
import { addWords, t } from "../../core/words.js";
import { asText, fromText, parsePoint } from "../values.js";

addWords({
  "map.label": "Map: click to place the point, arrow keys move it",
  "map.nearer": "Nearer", "map.farther": "Farther", "map.point": "Latitude, longitude",
});

/** Degrees that are seen from west to east. */
const SPANS = [360, 90, 20, 4, 1, 0.2];
const STEPS = [30, 10, 2, 0.5, 0.1, 0.02];
const between = (value, least, most) => Math.max(least, Math.min(most, value));
const round = (value) => Number(value.toFixed(6));

/** `{ element, show(points) }` of `[latitude, longitude]`, one a pin, more a shape; `placed(point)` is called with a new place. */
export function map(points, placed) {
  const picture = svg("svg", { class: "map", role: placed ? "application" : "img", "aria-label": t("map.label"), tabindex: placed ? 0 : -1 });
  let level = 0;
  let shown = points;
  const box = () => {
    const span = SPANS[level];
    const [latitude = 0, longitude = 0] = level > 0 ? shown[0] ?? [] : [];
    return { left: between(longitude - span / 2, -180, 180 - span), top: between(-latitude - span / 4, -90, 90 - span / 2), span };
  };
  const draw = () => {
    const { left, top, span } = box();
    const step = STEPS[level];
    const line = (x1, y1, x2, y2) => svg("line", { x1, y1, x2, y2, class: x1 === x2 ? (x1 === 0 ? "axis" : "") : y1 === 0 ? "axis" : "" });
    const text = (x, y, value, marks) => svg("text", { x, y, "font-size": span / 36 }, `${Math.abs(round(value))}\u00b0${value === 0 ? "" : value > 0 ? marks[0] : marks[1]}`);
    picture.setAttribute("viewBox", `${left} ${top} ${span} ${span / 2}`);
    put(picture);
    for (let at = Math.ceil(left / step) * step; at <= left + span; at += step) {
      picture.append(line(round(at), top, round(at), top + span / 2), text(at + span / 300, top + span / 32, round(at), "EW"));
    }
    for (let at = Math.ceil(top / step) * step; at <= top + span / 2; at += step) {
      picture.append(line(left, round(at), left + span, round(at)), text(left + span / 300, at - span / 300, round(-at), "NS"));
    }
    if (shown.length > 1) picture.append(svg("polygon", { points: shown.map(([latitude, longitude]) => `${longitude},${-latitude}`).join(" ") }));
    else if (shown.length > 0) picture.append(svg("circle", { cx: shown[0][1], cy: -shown[0][0], r: span / 90 }));
  };
  const place = (latitude, longitude) => {
    shown = [[round(between(latitude, -90, 90)), round(between(longitude, -180, 180))]];
    draw();
    placed(shown[0]);
  };
  if (placed) {
    picture.addEventListener("click", (event) => {
      const { left, top, span } = box();
      const size = picture.getBoundingClientRect();
      place(-(top + ((event.clientY - size.top) / size.height) * (span / 2)), left + ((event.clientX - size.left) / size.width) * span);
    });
    picture.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      const [latitude, longitude] = shown[0] ?? [0, 0];
      place(latitude + (move[0] * STEPS[level]) / 10, longitude + (move[1] * STEPS[level]) / 10);
    });
  }
  const zoom = (by, words) => button(".button", () => {
    level = between(level + by, 0, SPANS.length - 1);
    draw();
  }, words);
  draw();
  return {
    element: h(".form", picture, h(".line", zoom(1, t("map.nearer")), zoom(-1, t("map.farther")))),
    show: (next) => {
      shown = next;
      draw();
    },
  };
}

/** The editor of a GeoPoint: text and map. */
export function editPoint({ value, text, field }) {
  const start = asText(value);
  const input = h("input", { type: "text", autofocus: true, value: text ?? start, "aria-label": t("map.point") });
  const current = () => [parsePoint(input.value.trim())].filter(Boolean);
  const view = map(current(), (point) => { input.value = point.join(", "); });
  input.addEventListener("input", () => view.show(current()));
  return { body: [input, view.element], read: () => (input.value === start ? null : { value: fromText(input.value, field) }), focus: () => input.focus() };
}
