// A chart of a result: lines, bars or points, as SVG.

import { display } from "./values.js";
import { svg } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [900, 360, 70, 46, 16, 16];
/** More points than this are thinned out: each bucket keeps its least and its greatest value. */
const MAX_POINTS = 2_000;

/** Whether the values of a column are numbers. */
export const isNumeric = (rows, index) => rows.some((row) => row[index] !== null) && rows.every((row) => row[index] === null || (row[index] !== "" && Number.isFinite(Number(row[index]))));

/** A chart of `rows`, arrays: the column `x` against the column `y`. */
export function chart(kind, columns, rows, x, y) {
  const points = rows.map((row) => ({ label: display(row[x]), x: row[x], y: row[y] === null ? null : Number(row[y]) })).filter((point) => point.y !== null && Number.isFinite(point.y));
  const byNumber = kind === "scatter" && isNumeric(rows, x);
  const shown = byNumber ? points : thin(points);
  const [low, high] = range(shown.map((point) => point.y), kind !== "scatter");
  const [first, last] = byNumber ? range(shown.map((point) => Number(point.x)), false) : [0, Math.max(1, shown.length - 1)];
  const inner = WIDTH - LEFT - RIGHT;
  const band = inner / Math.max(1, shown.length);
  const atX = (point, index) => (kind === "bar" ? LEFT + band * (index + 0.5) : LEFT + (((byNumber ? Number(point.x) : index) - first) / (last - first || 1)) * inner);
  const atY = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - BOTTOM - TOP);
  const marks = [];
  for (const value of ticks(low, high)) {
    marks.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: atY(value), y2: atY(value), class: "rule" }));
    marks.push(svg("text", { x: LEFT - 8, y: atY(value) + 4, "text-anchor": "end" }, short(value)));
  }
  const step = Math.max(1, Math.ceil(shown.length / 8));
  if (byNumber) for (const value of ticks(first, last)) marks.push(svg("text", { x: LEFT + ((value - first) / (last - first || 1)) * inner, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, short(value)));
  else shown.forEach((point, index) => index % step === 0 && marks.push(svg("text", { x: atX(point, index), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, point.label.slice(0, 12))));
  const title = (point) => svg("title", {}, `${point.label}: ${point.y}`);
  if (kind === "line") {
    marks.push(svg("path", { class: "line", d: shown.map((point, index) => `${index ? "L" : "M"}${atX(point, index).toFixed(1)} ${atY(point.y).toFixed(1)}`).join("") }));
    if (shown.length <= 60) shown.forEach((point, index) => marks.push(svg("circle", { class: "mark", r: 3, cx: atX(point, index), cy: atY(point.y) }, title(point))));
  } else if (kind === "bar") {
    const zero = atY(Math.max(low, Math.min(0, high)));
    shown.forEach((point, index) => marks.push(svg("rect", { class: "mark", x: atX(point, index) - band * 0.4, width: Math.max(0.5, band * 0.8), y: Math.min(zero, atY(point.y)), height: Math.max(0.5, Math.abs(zero - atY(point.y))) }, title(point))));
  } else shown.forEach((point, index) => marks.push(svg("circle", { class: "mark dot", r: 3.5, cx: atX(point, index), cy: atY(point.y) }, title(point))));
  marks.push(svg("text", { x: LEFT + inner / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, columns[x]));
  const label = `${{ line: "Line", bar: "Bar", scatter: "Scatter" }[kind]} chart of ${columns[y]} by ${columns[x]}, ${points.length} points`;
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": label }, marks);
}

function thin(points) {
  if (points.length <= MAX_POINTS) return points;
  const size = points.length / (MAX_POINTS / 2);
  const kept = [];
  for (let start = 0; start < points.length; start += size) {
    const bucket = points.slice(Math.floor(start), Math.floor(start + size));
    let [least, most] = [0, 0];
    bucket.forEach((point, index) => {
      if (point.y < bucket[least].y) least = index;
      if (point.y > bucket[most].y) most = index;
    });
    for (const index of [...new Set([Math.min(least, most), Math.max(least, most)])]) if (bucket[index]) kept.push(bucket[index]);
  }
  return kept;
}

function range(values, withZero) {
  let [low, high] = withZero ? [0, 0] : [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!Number.isFinite(low)) return [0, 1];
  return low === high ? [low - (withZero && low === 0 ? 0 : 1), high + 1] : [low, high];
}

function ticks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power;
  const all = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9 && all.length < 20; at++) all.push(at * step);
  return all;
}

const short = (value) => new Intl.NumberFormat("en-US", { notation: Math.abs(value) >= 10_000 ? "compact" : "standard", maximumFractionDigits: 2 }).format(value);
