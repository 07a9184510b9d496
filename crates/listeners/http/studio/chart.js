// A chart of a result as SVG: lines, bars, points, a histogram or a map. If the result has more rows than a page, the
// database computes what the chart shows: the rows are never loaded.

import { display } from "./values.js";
import { count, svg } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [900, 360, 70, 46, 16, 16];
const INNER = WIDTH - LEFT - RIGHT;
/** More points than this are thinned out: each part keeps its least and its greatest value. */
const MAX_POINTS = 2_000;
const BINS = 40;
/** The cells into which the database counts the points of many rows. */
const CELLS = [120, 80];
/** Of more rows than this, the database groups a sample. */
const MAX_GROUPED = 500_000;

/** The kinds of charts, and what they need of a result. */
export const KINDS = [["bar", "Bars"], ["line", "Lines"], ["scatter", "Points"], ["histogram", "Histogram"], ["map", "Map"]];

/** Whether the values of a column are numbers. */
export const isNumeric = (rows, index) => rows.some((row) => row[index] !== null) && rows.every((row) => row[index] === null || (row[index] !== "" && Number.isFinite(Number(row[index]))));

/** The columns that a chart shows first: latitudes and longitudes if there are any, else a name and a number. */
export function firstSettings({ columns, rows }) {
  const numeric = columns.map((_, index) => index).filter((index) => isNumeric(rows, index));
  const named = (pattern) => numeric.find((index) => pattern.test(columns[index]));
  const [x, y] = [named(/^(lng|long?|longitude)$/i), named(/^(lat|latitude)$/i)];
  if (x !== undefined && y !== undefined) return { kind: "map", x, y };
  return { kind: numeric.length === columns.length && columns.length === 1 ? "histogram" : "bar", x: Math.max(0, columns.findIndex((_, index) => !numeric.includes(index))), y: numeric.at(-1) ?? columns.length - 1 };
}

/** A chart: its picture, and what it shows in words. `ask` runs SQL over all rows of the result, which it names `bobak_rows`. */
export async function chart({ kind, x, y }, { columns, rows, more }, ask) {
  const many = more && new Set(columns).size === columns.length;
  const found = many ? await summarize(kind, columns, rows, x, y, ask) : { total: rows.length, ...ofRows(kind, rows, x, y) };
  const name = kind === "histogram" ? `Histogram of ${columns[y]}` : kind === "map" ? `Map of ${columns[y]} and ${columns[x]}` : `${{ line: "Line", bar: "Bar", scatter: "Scatter" }[kind]} chart of ${columns[y]} by ${columns[x]}`;
  const picture = PICTURES[kind](found, columns[x], columns[y]);
  picture.setAttribute("aria-label", `${name}, ${count(found.total)} points`);
  const first = more && !many ? " Only the first rows are shown: give each column its own name." : "";
  return { picture, note: `${many ? `${count(found.total)} rows, summarized by the database: ${found.what}.` : ""}${found.left ? ` ${count(found.left)} are no places.` : ""}${first}`.trim() };
}

// What is shown, of rows that are here

function ofRows(kind, rows, x, y) {
  const number = (value) => (value === null || value === "" ? NaN : Number(value));
  if (kind === "histogram") return { bins: binsOf(rows.map((row) => number(row[y])).filter(Number.isFinite)) };
  if (kind === "map" || (kind === "scatter" && isNumeric(rows, x))) {
    const points = rows.map((row) => ({ x: number(row[x]), y: number(row[y]), rows: 1 })).filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
    return { points: kind === "map" ? places(points) : points, left: kind === "map" ? rows.length - places(points).length : 0 };
  }
  const points = rows.map((row) => ({ label: display(row[x]), y: number(row[y]) })).filter((point) => Number.isFinite(point.y));
  return { series: thin(points) };
}

const places = (points) => points.filter((point) => Math.abs(point.x) <= 180 && Math.abs(point.y) <= 90);

function binsOf(values) {
  const [low, high] = range(values, false);
  const number = Math.max(1, Math.min(BINS, Math.ceil(Math.sqrt(values.length))));
  const width = (high - low) / number;
  const counts = Array(number).fill(0);
  for (const value of values) counts[Math.min(number - 1, Math.floor((value - low) / width))] += 1;
  return counts.map((rows, index) => ({ from: low + index * width, to: low + (index + 1) * width, rows }));
}

function thin(points) {
  if (points.length <= MAX_POINTS) return points;
  const size = points.length / (MAX_POINTS / 2);
  const kept = [];
  for (let start = 0; start < points.length; start += size) {
    const part = points.slice(Math.floor(start), Math.floor(start + size));
    let [least, most] = [0, 0];
    part.forEach((point, index) => {
      if (point.y < part[least].y) least = index;
      if (point.y > part[most].y) most = index;
    });
    for (const index of [...new Set([Math.min(least, most), Math.max(least, most)])]) if (part[index]) kept.push(part[index]);
  }
  return kept;
}

// What is shown, of more rows than a page: computed by the database

async function summarize(kind, columns, rows, x, y, ask) {
  const name = (index) => `"${columns[index].replaceAll('"', '""')}"`;
  const real = (index) => `CAST(${name(index)} AS DOUBLE PRECISION)`;
  const inTwo = kind === "map" || (kind === "scatter" && isNumeric(rows, x));
  const wanted = inTwo ? [x, y] : [y];
  const where = [...wanted.map((index) => `${name(index)} IS NOT NULL`), ...(kind === "map" ? [`${real(x)} BETWEEN -180 AND 180`, `${real(y)} BETWEEN -90 AND 90`] : [])].join(" AND ");
  const limits = wanted.map((index) => `min(${real(index)}), max(${real(index)})`).join(", ");
  const [[total, nine, ...edges]] = await ask(`SELECT count(*), CAST(0.9 AS INTEGER), ${limits} FROM bobak_rows WHERE ${where}`);
  // Grouping sorts: a sample is enough for a picture.
  const every = Math.max(1, Math.ceil(Number(total) / MAX_GROUPED));
  const sample = every > 1 ? ` AND ${await oneIn(every, ask)}` : "";
  const all = { total: Number(total), real, name, every, from: `FROM bobak_rows WHERE ${where}${sample}`, rounds: Number(nine) === 1, edges: edges.map(Number), ask };
  const found = await (kind === "histogram" ? binsOfAll(all, y) : inTwo ? cellsOfAll(all, x, y) : partsOfAll(all, x, y));
  return { total: all.total, ...found, what: every > 1 ? `${found.what}, in a sample of one in ${count(every)}` : found.what };
}

/** A condition that holds for one of so many rows: some engines have random integers, others numbers up to one. */
async function oneIn(every, ask) {
  const random = (word) => ask(`SELECT ${word}() FROM bobak_rows LIMIT 3`).then((found) => (found.every(([value]) => Math.abs(value) <= 1) ? `${word}() < 1.0 / ${every}` : `${word}() % ${every} = 0`));
  return random("random").catch(() => random("rand"));
}

/** In which of `parts` equal parts between two edges a value is. Engines differ in whether a cast to an integer rounds. */
function partOf({ rounds }, value, low, high, parts) {
  const size = (high - low) / parts || 1;
  return { size, sql: `CAST((${value} - (${low})) / ${size}${rounds ? " - 0.4999999" : ""} AS INTEGER)`, at: (part) => Math.min(parts - 1, Math.max(0, Number(part))) };
}

async function binsOfAll(all, y) {
  const [low, high] = all.edges;
  const { size, sql, at } = partOf(all, all.real(y), low, high, BINS);
  const bins = Array.from({ length: BINS }, (_, index) => ({ from: low + index * size, to: low + (index + 1) * size, rows: 0 }));
  for (const [bin, rows] of await all.ask(`SELECT ${sql}, count(*) ${all.from} GROUP BY 1`)) bins[at(bin)].rows += Number(rows) * all.every;
  return { bins, what: "each bar is the number of rows between two values" };
}

async function cellsOfAll(all, x, y) {
  const [west, east, south, north] = all.edges;
  const across = partOf(all, all.real(x), west, east, CELLS[0]);
  const up = partOf(all, all.real(y), south, north, CELLS[1]);
  const groups = await all.ask(`SELECT ${across.sql}, ${up.sql}, count(*) ${all.from} GROUP BY 1, 2`);
  const points = groups.map(([a, b, rows]) => ({ x: west + (across.at(a) + 0.5) * across.size, y: south + (up.at(b) + 0.5) * up.size, rows: Number(rows) * all.every }));
  return { points, what: "each point is the number of rows around it" };
}

async function partsOfAll(all, x, y) {
  const size = Math.ceil(all.total / all.every / (MAX_POINTS / 2)) || 1;
  const numbered = `SELECT ${all.name(x)} AS x, ${all.real(y)} AS y, row_number() OVER () - 1 AS n ${all.from}`;
  const parts = `SELECT x, y, n - n % ${size} AS part FROM (${numbered}) AS bobak_numbered`;
  const groups = await all.ask(`SELECT part, min(x), min(y), max(y) FROM (${parts}) AS bobak_parts GROUP BY part ORDER BY part`);
  const series = groups.flatMap(([, label, least, most]) => [...new Set([Number(least), Number(most)])].map((value) => ({ label: display(label), y: value })));
  return { series, what: `each pair of values is the least and the greatest of ${count(size)} rows` };
}

// Pictures

const PICTURES = { line: (found, x) => lines(found.series, x, "line"), bar: (found, x) => lines(found.series, x, "bar"), scatter: (found, x) => (found.points ? scatter(found.points, x) : lines(found.series, x, "scatter")), histogram: (found, x, y) => histogram(found.bins, y), map: (found) => map(found.points) };

const picture = (height, marks) => svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img" }, marks);
const heightOf = (low, high) => (value) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - BOTTOM - TOP);
const title = (text) => svg("title", {}, text);
const below = (x, text) => svg("text", { x, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, text);
const axis = (text) => svg("text", { x: LEFT + INNER / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, text);
const rules = (low, high, atY) => ticks(low, high).flatMap((value) => [svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: atY(value), y2: atY(value), class: "rule" }), svg("text", { x: LEFT - 8, y: atY(value) + 4, "text-anchor": "end" }, short(value))]);
const area = (rows, most) => (most <= 1 ? 3.5 : 1.5 + 5 * Math.sqrt(rows / most));

function lines(points, name, kind) {
  const [low, high] = range(points.map((point) => point.y), kind !== "scatter");
  const band = INNER / Math.max(1, points.length);
  const atX = (index) => (kind === "bar" ? LEFT + band * (index + 0.5) : LEFT + (index / Math.max(1, points.length - 1)) * INNER);
  const atY = heightOf(low, high);
  const step = Math.max(1, Math.ceil(points.length / 8));
  const marks = [...rules(low, high, atY), ...points.flatMap((point, index) => (index % step ? [] : below(atX(index), point.label.slice(0, 12))))];
  const hint = (point) => title(`${point.label}: ${point.y}`);
  if (kind === "line") {
    marks.push(svg("path", { class: "line", d: points.map((point, index) => `${index ? "L" : "M"}${atX(index).toFixed(1)} ${atY(point.y).toFixed(1)}`).join("") }));
    if (points.length <= 60) marks.push(...points.map((point, index) => svg("circle", { class: "mark", r: 3, cx: atX(index), cy: atY(point.y) }, hint(point))));
  } else if (kind === "bar") {
    const zero = atY(Math.max(low, Math.min(0, high)));
    marks.push(...points.map((point, index) => svg("rect", { class: "mark", x: atX(index) - band * 0.4, width: Math.max(0.5, band * 0.8), y: Math.min(zero, atY(point.y)), height: Math.max(0.5, Math.abs(zero - atY(point.y))) }, hint(point))));
  } else marks.push(...points.map((point, index) => svg("circle", { class: "mark dot", r: 3.5, cx: atX(index), cy: atY(point.y) }, hint(point))));
  return picture(HEIGHT, [...marks, axis(name)]);
}

function scatter(points, name) {
  const [low, high] = range(points.map((point) => point.y), false);
  const [first, last] = range(points.map((point) => point.x), false);
  const atX = (value) => LEFT + ((value - first) / (last - first || 1)) * INNER;
  const atY = heightOf(low, high);
  const most = points.reduce((so, point) => Math.max(so, point.rows), 1);
  const dots = points.map((point) => svg("circle", { class: "mark dot", r: area(point.rows, most), cx: atX(point.x), cy: atY(point.y) }, title(`${short(point.x)}: ${short(point.y)}${point.rows > 1 ? `, ${count(point.rows)} rows` : ""}`)));
  return picture(HEIGHT, [...rules(low, high, atY), ...ticks(first, last).map((value) => below(atX(value), short(value))), ...dots, axis(name)]);
}

function histogram(bins, name) {
  const high = bins.reduce((so, bin) => Math.max(so, bin.rows), 1);
  const [first, last] = [bins[0].from, bins.at(-1).to];
  const atX = (value) => LEFT + ((value - first) / (last - first || 1)) * INNER;
  const atY = heightOf(0, high);
  const bars = bins.map((bin) => svg("rect", { class: "mark", x: atX(bin.from) + 0.5, width: Math.max(0.5, atX(bin.to) - atX(bin.from) - 1), y: atY(bin.rows), height: atY(0) - atY(bin.rows) }, title(`${short(bin.from)} to ${short(bin.to)}: ${count(bin.rows)} rows`)));
  return picture(HEIGHT, [...rules(0, high, atY), ...ticks(first, last).map((value) => below(atX(value), short(value))), ...bars, axis(name)]);
}

/** Places over lines of latitude and longitude: an equirectangular projection, true to scale in the middle. */
function map(points) {
  const [west, east] = padded(range(points.map((point) => point.x), false), 180);
  const [south, north] = padded(range(points.map((point) => point.y), false), 90);
  const shrink = Math.max(0.2, Math.cos((((south + north) / 2) * Math.PI) / 180));
  const scale = Math.min(INNER / ((east - west) * shrink), 440 / (north - south));
  const [width, height] = [(east - west) * shrink * scale, (north - south) * scale];
  const left = LEFT + (INNER - width) / 2;
  const atX = (value) => left + (value - west) * shrink * scale;
  const atY = (value) => TOP + (north - value) * scale;
  const degrees = (value, [plus, minus]) => `${short(Math.abs(value))}°${value > 0 ? plus : value < 0 ? minus : ""}`;
  const graticule = [
    ...ticks(west, east).flatMap((value) => [svg("line", { class: "rule", x1: atX(value), x2: atX(value), y1: TOP, y2: TOP + height }), svg("text", { x: atX(value), y: TOP + height + 18, "text-anchor": "middle" }, degrees(value, "EW"))]),
    ...ticks(south, north).flatMap((value) => [svg("line", { class: "rule", x1: left, x2: left + width, y1: atY(value), y2: atY(value) }), svg("text", { x: left - 8, y: atY(value) + 4, "text-anchor": "end" }, degrees(value, "NS"))]),
    svg("rect", { class: "frame", x: left, y: TOP, width, height }),
  ];
  const most = points.reduce((so, point) => Math.max(so, point.rows), 1);
  const dots = points.map((point) => svg("circle", { class: "mark dot", r: area(point.rows, most), cx: atX(point.x), cy: atY(point.y) }, title(`${degrees(point.y, "NS")} ${degrees(point.x, "EW")}${point.rows > 1 ? `, ${count(point.rows)} rows` : ""}`)));
  return picture(height + TOP + BOTTOM, [...graticule, ...dots]);
}

function padded([low, high], most) {
  const edge = Math.max(0.05, (high - low) * 0.08);
  return [Math.max(-most, low - edge), Math.min(most, high + edge)];
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
