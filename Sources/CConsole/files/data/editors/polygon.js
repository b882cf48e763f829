/** Polygons: a point a line. */

import { h } from "../../core/dom.js";
import { addWords, t } from "../../core/words.js";
import { isEqual } from "../values.js";

addWords({
  "polygon.hint": "A point a line: latitude, longitude. At least three.",
  "polygon.line": "Line {line} is no point: {text}",
  "polygon.few": "A polygon has at least three points.",
});

/** A list of points as text. */
export function edit({ value, text }) {
  const points = value?.coordinates ?? [];
  const isClosed = points.length > 3 && isEqual(points[0], points.at(-1));
  const area = h("textarea", { rows: 10, autofocus: true, spellcheck: "false", "aria-label": t("polygon.hint"), value: text ?? points.slice(0, isClosed ? -1 : undefined).map((point) => point.join(", ")).join("\n") });
  return {
    body: [h("p.quiet", t("polygon.hint")), area],
    read: () => {
      const lines = area.value.split("\n").map((line) => line.trim());
      const coordinates = lines.flatMap((line, index) => {
        if (line === "") return [];
        const match = /^(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)$/.exec(line);
        if (!match || Math.abs(match[1]) > 90 || Math.abs(match[2]) > 180) throw new Error(t("polygon.line", { line: String(index + 1), text: line }));
        return [[Number(match[1]), Number(match[2])]];
      });
      if (coordinates.length === 0) return value === undefined ? null : { value: undefined };
      if (coordinates.length < 3) throw new Error(t("polygon.few"));
      coordinates.push([...coordinates[0]]);
      return isEqual(coordinates, points) ? null : { value: { __type: "Polygon", coordinates } };
    },
    focus: () => area.focus(),
  };
}
