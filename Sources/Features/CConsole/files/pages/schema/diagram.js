/** The classes as boxes, with a line for each pointer and a double one for each relation; boxes that were moved stay. */

import { button, h, option, put, svg } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { addWords, plain, t } from "../../core/words.js";
import { isServerClass, ranked } from "../../data/schema.js";

addWords({
  "diagram.label": "Diagram of {n} {n|class|classes}; the table below says the same",
  "diagram.box": "{class}, {n} {n|field|fields}. Enter opens it, Alt with arrows moves it.",
  "diagram.order": "Reset positions", "diagram.server": "Classes of the server", "diagram.around": "Around",
  "diagram.hint": "Drag a box, or move it with Alt and the arrows. Double lines are relations.",
});

const WIDTH = 168;
const ROW = 18;
const HEAD = 26;
const GAP = { x: 88, y: 20 };
const FIELDS = 8;
/** Above this height a layer goes on beside itself. */
const HIGHEST = 1100;
/** Beyond so many classes one is shown with its neighbours. */
const MOST = 60;
const STEP = 16;
const KEY = "roost.diagram";

/** Fields in the order of use, what leads elsewhere always among them. */
function rowsOf(description) {
  const fields = ranked(description).filter(({ name }) => !["objectId", "createdAt", "updatedAt", "ACL"].includes(name));
  const chosen = new Set([...fields.filter(({ targetClass }) => targetClass).slice(0, FIELDS), ...fields.filter(({ targetClass }) => !targetClass)].slice(0, FIELDS));
  return { rows: fields.filter((field) => chosen.has(field)), more: fields.length - chosen.size };
}

/** How far a class is from those that point nowhere; a circle ends where it begins. */
function depths(all, targets) {
  const known = new Map();
  const visit = (name, path) => {
    if (known.has(name)) return known.get(name);
    if (path.has(name)) return 0;
    path.add(name);
    const depth = Math.max(0, ...targets.get(name).filter((other) => other !== name && all.has(other)).map((other) => visit(other, path) + 1));
    path.delete(name);
    known.set(name, depth);
    return depth;
  };
  for (const name of all.keys()) visit(name, new Set());
  return known;
}

/** Places for all boxes, none over another: `Map` of names to `{ x, y, height, rows, more }`. */
export function layOut(all) {
  const targets = new Map([...all].map(([name, { fields }]) => [name, [...fields.values()].map(({ targetClass }) => targetClass).filter(Boolean)]));
  const depth = depths(all, targets);
  const layers = [];
  for (const name of all.keys()) (layers[depth.get(name)] ??= []).push(name);
  const boxes = new Map();
  let x = 0;
  for (const layer of layers.filter(Boolean)) {
    const middle = (name) => {
      const places = targets.get(name).map((other) => boxes.get(other)).filter(Boolean).map((box) => box.y + box.height / 2);
      return places.length ? places.reduce((sum, y) => sum + y, 0) / places.length : Infinity;
    };
    let y = 0;
    const middles = new Map(layer.map((name) => [name, middle(name)]));
    const order = (left, right) => (middles.get(left) === middles.get(right) ? 0 : middles.get(left) - middles.get(right)) || left.localeCompare(right, "en");
    for (const name of layer.sort(order)) {
      const { rows, more } = rowsOf(all.get(name));
      const height = HEAD + (rows.length + (more > 0 ? 1 : 0)) * ROW + 8;
      if (y > 0 && y + height > HIGHEST) {
        y = 0;
        x += WIDTH + GAP.x / 2;
      }
      boxes.set(name, { x, y, height, rows, more });
      y += height + GAP.y;
    }
    x += WIDTH + GAP.x;
  }
  return boxes;
}

const moved = () => {
  try {
    return new Map(Object.entries(JSON.parse(localStorage.getItem(KEY)) ?? {}).filter(([, place]) => Number.isFinite(place?.x) && Number.isFinite(place?.y)));
  } catch {
    return new Map();
  }
};
const keep = (places) => localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(places)));

/** The drawing with what belongs to it. */
export function diagram(classes) {
  const canvas = h(".diagram", { tabIndex: 0, role: "group" });
  const own = [...classes.keys()].filter((name) => !isServerClass(name));
  const server = h("input", { type: "checkbox", onchange: () => draw() });
  const around = h("select", { "aria-label": t("diagram.around"), onchange: () => draw() }, [...classes.keys()].map((name) => option(name, plain(name, 60), name === own[0])));
  const isPart = (name) => own.includes(name) || server.checked || own.some((other) => [...classes.get(other).fields.values()].some(({ targetClass }) => targetClass === name));
  const neighbours = (name) => new Set([name, ...[...classes].filter(([other, { fields }]) => [...fields.values()].some(({ targetClass }) => targetClass === name || (other === name && targetClass === other))).map(([other]) => other),
    ...[...classes.get(name).fields.values()].map(({ targetClass }) => targetClass).filter((other) => classes.has(other))]);
  const draw = () => {
    let names = [...classes.keys()].filter(isPart);
    around.parentElement.hidden = names.length <= MOST;
    if (names.length > MOST) {
      const near = neighbours(around.value);
      names = names.filter((name) => near.has(name) || name === around.value).slice(0, MOST);
    }
    const all = new Map(names.map((name) => [name, classes.get(name)]));
    canvas.setAttribute("aria-label", t("diagram.label", { n: all.size }));
    put(canvas, drawing(all));
  };
  const controls = h(".line.wrap", h("label.line", h("span.label", t("diagram.around")), around), h("label.line", server, t("diagram.server")),
    button(".link", () => { localStorage.removeItem(KEY); draw(); }, t("diagram.order")), h("span.quiet.words", t("diagram.hint")));
  draw();
  return h(".form", controls, canvas);
}

function drawing(all) {
  const boxes = layOut(all);
  const places = moved();
  for (const [name, place] of places) if (boxes.has(name)) Object.assign(boxes.get(name), place);
  const lines = svg("g", { class: "lines", "aria-hidden": "true" });
  const element = svg("svg", { class: "classes-drawing" }, arrowHead(), lines);
  const fit = () => {
    const width = Math.max(...[...boxes.values()].map(({ x }) => x + WIDTH), 0) + 16;
    const height = Math.max(...[...boxes.values()].map(({ y, height }) => y + height), 0) + 16;
    for (const [key, value] of Object.entries({ width, height, viewBox: `-8 -8 ${width} ${height}` })) element.setAttribute(key, value);
    lines.replaceChildren(...[...boxes].flatMap(([name, box]) => connections(name, box, boxes)));
  };
  for (const [name, box] of boxes) {
    const group = boxElement(name, box, all.get(name).fields.size);
    const place = () => group.setAttribute("transform", `translate(${box.x} ${box.y})`);
    const move = (x, y) => {
      Object.assign(box, { x: Math.max(0, Math.round(x)), y: Math.max(0, Math.round(y)) });
      place();
      fit();
    };
    const store = () => {
      places.set(name, { x: box.x, y: box.y });
      keep(places);
    };
    place();
    drag(group, box, move, store, () => go(address("schema", [name])));
    group.addEventListener("keydown", (event) => {
      const [x, y] = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key] ?? [];
      if (event.key === "Enter") go(address("schema", [name]));
      else if (x !== undefined && event.altKey) {
        move(box.x + x, box.y + y);
        store();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    element.append(group);
  }
  fit();
  return element;
}

const arrowHead = () => svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M1 1l6 3-6 3" })));

function boxElement(name, box, fields) {
  const line = (kind, x, y, words, end) => {
    const text = svg("text", { class: kind, x, y, "text-anchor": end ? "end" : "start" });
    text.textContent = words;
    return text;
  };
  const group = svg("g", { class: "box", tabindex: 0, role: "link", "aria-label": t("diagram.box", { class: name, n: fields }), "data-class": name },
    svg("rect", { width: WIDTH, height: box.height, rx: 8 }), line("name", 10, 18, plain(name, 20)), svg("path", { d: `M0 ${HEAD}h${WIDTH}` }));
  box.rows.forEach((field, index) => {
    const y = HEAD + 4 + (index + 1) * ROW - 5;
    group.append(line(field.required ? "required" : "field", 10, y, plain(field.name, 13) + (field.required ? " !" : "")), line("type", WIDTH - 10, y, plain(field.targetClass ?? field.type, 10), true));
  });
  if (box.more > 0) group.append(line("type", 10, HEAD + 4 + (box.rows.length + 1) * ROW - 5, t("word.more", { n: box.more })));
  return group;
}

/** From the row of the field to the side of the class that it leads to. */
function connections(name, box, boxes) {
  return box.rows.flatMap((field, index) => {
    const target = field.targetClass && boxes.get(field.targetClass);
    if (!target) return [];
    const y = box.y + HEAD + 4 + index * ROW + ROW / 2;
    const end = target.y + HEAD / 2;
    const isSelf = target === box;
    const goesLeft = target.x < box.x;
    const from = goesLeft ? box.x : box.x + WIDTH;
    const to = goesLeft || isSelf || Math.abs(target.x - box.x) < WIDTH ? target.x + WIDTH : target.x;
    const bend = from < to && !isSelf ? [from + 40, to - 40] : goesLeft ? [from - 40, to + 40] : [from + 48, to + 48];
    const d = `M${from} ${y}C${bend[0]} ${y} ${bend[1]} ${end} ${to} ${end}`;
    const isRelation = field.type === "Relation";
    return [svg("path", { d, class: isRelation ? "relation" : "pointer", "marker-end": "url(#arrow)" }), ...(isRelation ? [svg("path", { d, class: "inner" })] : [])];
  });
}

function drag(group, box, move, store, click) {
  group.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const start = { x: event.clientX, y: event.clientY, left: box.x, top: box.y };
    let hasMoved = false;
    const control = new AbortController();
    const follow = (now) => {
      const [x, y] = [now.clientX - start.x, now.clientY - start.y];
      hasMoved ||= Math.hypot(x, y) > 4;
      if (hasMoved) move(start.left + x, start.top + y);
    };
    const end = (now) => {
      control.abort();
      if (hasMoved) store();
      else if (now.type === "pointerup") click();
    };
    // A finger scrolls the drawing, and opens a class by a tap.
    if (event.pointerType === "mouse") {
      event.preventDefault();
      group.focus();
      addEventListener("pointermove", follow, { signal: control.signal });
    }
    addEventListener("pointerup", end, { signal: control.signal });
    addEventListener("pointercancel", end, { signal: control.signal });
  });
}
