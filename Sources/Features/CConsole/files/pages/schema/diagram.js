/** A diagram of the classes with a line per pointer and a double line per relation. Moved boxes keep their position. */

import { button, h, option, put, svg } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { addWords, plain, t } from "../../core/words.js";
import { isServerClass, ranked } from "../../data/schema.js";

addWords({
  "diagram.label": "Diagram of {n} {n|class|classes}; the table below shows the same",
  "diagram.box": "{class}, {n} {n|field|fields}. Enter opens it, Alt with arrows moves it.", "diagram.order": "Reset positions",
  "diagram.server": "System classes", "diagram.around": "Around", "diagram.hint": "Arrows lead to the class that a field points to. Double lines are relations, * is required.",
});

const WIDTH = 200;
const ROW = 18;
const HEAD = 26;
const GAP = { x: 72, y: 20 };
const FIELDS = 8;
/** The number of classes above which only one class and its neighbors are shown. */
const MOST = 60;
const STEP = 16;
const KEY = "roost.diagram";

/** Returns the fields of a box, most useful first, always including pointers and relations. */
function rowsOf(description) {
  const fields = ranked(description).filter(({ name }) => !["objectId", "createdAt", "updatedAt", "ACL"].includes(name));
  const chosen = new Set([...fields.filter(({ targetClass }) => targetClass).slice(0, FIELDS), ...fields.filter(({ targetClass }) => !targetClass)].slice(0, FIELDS));
  return { rows: fields.filter((field) => chosen.has(field)), more: fields.length - chosen.size };
}

/** Returns the distance of each class from those without pointers. Cycles are cut. */
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

/** Returns positions in a number of columns, without overlaps: a `Map` of names to `{ x, y, height, rows, more }`. */
function layOut(all, columns) {
  const targets = new Map([...all].map(([name, { fields }]) => [name, [...fields.values()].map(({ targetClass }) => targetClass).filter(Boolean)]));
  const depth = depths(all, targets);
  const names = [...all.keys()].sort((left, right) => depth.get(left) - depth.get(right) || left.localeCompare(right, "en"));
  const boxes = new Map(names.map((name) => {
    const { rows, more } = rowsOf(all.get(name));
    return [name, { rows, more, height: HEAD + (rows.length + (more > 0 ? 1 : 0)) * ROW + 8 }];
  }));
  const total = [...boxes.values()].reduce((sum, { height }) => sum + height + GAP.y, 0);
  let [x, y, above] = [0, 0, 0];
  for (const box of boxes.values()) {
    const left = Math.floor((above + box.height / 2) / total * columns) * (WIDTH + GAP.x);
    if (left > x) [x, y] = [left, 0];
    Object.assign(box, { x, y });
    y += box.height + GAP.y;
    above += box.height + GAP.y;
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

let columns = Math.max(1, Math.floor(innerWidth / 480));

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
    put(canvas, drawing(all, columns));
  };
  const controls = h(".line.wrap", h("label.line", h("span.label", t("diagram.around")), around), h("label.line", server, t("diagram.server")),
    button(".link", () => { localStorage.removeItem(KEY); draw(); }, t("diagram.order")), h("span.quiet.words", t("diagram.hint")));
  draw();
  new ResizeObserver(() => {
    const fit = Math.max(1, Math.floor((canvas.offsetWidth - 34) / (WIDTH + GAP.x)));
    if (!canvas.isConnected || fit === columns) return;
    columns = fit;
    draw();
  }).observe(canvas);
  return h(".form", controls, canvas);
}

function drawing(all, columns) {
  const boxes = layOut(all, columns);
  const places = moved();
  for (const [name, place] of places) if (boxes.has(name)) Object.assign(boxes.get(name), place);
  const lines = svg("g", { class: "lines", "aria-hidden": "true" });
  const element = svg("svg", { class: "classes-drawing" }, arrowHead(), lines);
  const fit = () => {
    const width = Math.max(...[...boxes.values()].map(({ x }) => x + WIDTH), 0) + GAP.x;
    const height = Math.max(...[...boxes.values()].map(({ y, height }) => y + height), 0) + 40;
    for (const [key, value] of Object.entries({ width, height, viewBox: `-8 -20 ${width} ${height}` })) element.setAttribute(key, value);
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
    const type = field.targetClass ?? field.type;
    // Each text gets the room that the other leaves.
    group.append(line(field.required ? "required" : "field", 10, y, plain(field.name, Math.max(13, 24 - type.length)) + (field.required ? " *" : "")), line("type", WIDTH - 10, y, plain(type, Math.max(10, 24 - field.name.length)), true));
  });
  if (box.more > 0) group.append(line("type", 10, HEAD + 4 + (box.rows.length + 1) * ROW - 5, t("word.more", { n: box.more })));
  return group;
}

function columnsOf(boxes) {
  const columns = [];
  for (const box of [...boxes.values()].sort((left, right) => left.x - right.x)) {
    const last = columns.at(-1);
    if (last && box.x < last.right) Object.assign(last, { right: Math.max(last.right, box.x + WIDTH), boxes: [...last.boxes, box] });
    else columns.push({ left: box.x, right: box.x + WIDTH, boxes: [box] });
  }
  for (const column of columns) column.boxes.sort((above, below) => above.y - below.y);
  return columns;
}

/** Returns the height of the nearest gap between a column's boxes for a line. */
function crossing({ boxes }, from, to) {
  let bottom = -Infinity;
  const free = boxes.flatMap((box) => {
    const middle = bottom === -Infinity ? box.y - 10 : box.y - bottom >= 8 ? (box.y + bottom) / 2 : undefined;
    bottom = Math.max(bottom, box.y + box.height);
    return middle ?? [];
  });
  const way = (y) => Math.abs(y - from) + Math.abs(y - to);
  return [...free, bottom + 10].reduce((best, y) => (way(y) < way(best) ? y : best));
}

/** Draws lines from the fields of a box to their target boxes, through gaps between boxes. Lines to the same box share a lane. */
function connections(name, box, boxes) {
  const columns = columnsOf(boxes);
  const place = (one) => columns.findIndex((column) => column.boxes.includes(one));
  return box.rows.flatMap((field, index) => {
    const target = field.targetClass && boxes.get(field.targetClass);
    if (!target) return [];
    const lane = ([...boxes.keys()].indexOf(field.targetClass) % 7 - 3) * 6;
    const gap = (number) => (columns[number].right + (columns[number + 1]?.left ?? columns[number].right + GAP.x)) / 2 + lane;
    const [from, to] = [place(box), place(target)];
    const step = Math.sign(to - from);
    const end = target.y + HEAD / 2;
    let y = box.y + HEAD + 4 + index * ROW + ROW / 2;
    const points = [[step < 0 ? box.x : box.x + WIDTH, y]];
    const turn = (x, next) => {
      points.push([x, y], [x, next]);
      y = next;
    };
    for (let number = from; number !== to; number += step) turn(gap(step < 0 ? number - 1 : number), number + step === to ? end : crossing(columns[number + step], y, end) + lane / 3);
    if (from === to) turn(gap(from), end);
    points.push([step > 0 ? target.x : target.x + WIDTH, end]);
    const d = rounded(points);
    const isRelation = field.type === "Relation";
    return [svg("path", { d, class: isRelation ? "relation" : "pointer", "marker-end": "url(#arrow)" }), ...(isRelation ? [svg("path", { d, class: "inner" })] : [])];
  });
}

function rounded(points) {
  const toward = ([x, y], [toX, toY]) => {
    const part = Math.min(0.5, 8 / (Math.hypot(toX - x, toY - y) || 1));
    return `${x + (toX - x) * part} ${y + (toY - y) * part}`;
  };
  return `M${points[0].join(" ")}${points.slice(1, -1).map((point, index) => `L${toward(point, points[index])}Q${point.join(" ")} ${toward(point, points[index + 2])}`).join("")}L${points.at(-1).join(" ")}`;
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
    // Touching scrolls the diagram, and a tap opens a class.
    if (event.pointerType === "mouse") {
      event.preventDefault();
      group.focus();
      addEventListener("pointermove", follow, { signal: control.signal });
    }
    addEventListener("pointerup", end, { signal: control.signal });
    addEventListener("pointercancel", end, { signal: control.signal });
  });
}
