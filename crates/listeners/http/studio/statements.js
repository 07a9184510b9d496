// The statements that ran: the slowest and the most frequent ones, with the client and the route that ran them.

import { link } from "./app.js";
import { json, query } from "./api.js";
import { count, fill, h } from "./dom.js";

/** What the list may be sorted by: the name in the API, and the heading of the column. */
const ORDERS = [["total", "Total time"], ["count", "Calls"], ["mean", "Mean"], ["p95", "95 of 100 within"], ["max", "Longest"], ["waited", "Waited"], ["rows", "Rows"], ["errors", "Errors"]];
const SHOWN = 50;
/** The most shapes that a server keeps: sorting by origin, which the server does not, needs all. */
const MOST = 1_000;

/** Milliseconds for people. */
const duration = (ms) => (ms >= 60_000 ? `${(ms / 60_000).toFixed(1)} min` : ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : ms >= 1 ? `${ms.toFixed(1)} ms` : `${Math.round(ms * 1_000)} µs`);

/** Statements that may be opened and explained: outlines of other requests are no SQL. */
const isSql = (text) => /^(select|with|delete|update|values)\b/i.test(text);

/** The text of a shape with a named parameter in place of each value. */
export function withNames(text) {
  let number = 0;
  return text.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\?(?:, …)?/g, (part) => (part.startsWith("?") ? `:value${(number += 1)}` : part));
}

/** The list. `show` reads it again. */
export class Statements {
  order = "total";

  constructor(database, show) {
    this.database = database;
    const option = ([value, text]) => h("option", { value }, text);
    this.choose = h("select", { aria: { label: "Sort by" }, on: { change: () => this.sort(this.choose.value) } }, [...ORDERS, ["origin", "Origin"]].map(option));
    this.show = show;
  }

  sort(order) {
    this.order = this.choose.value = order;
    return this.show();
  }

  /** Reads the list, and shows it. The server sorts, so that the first ones are those of all. */
  async load(body) {
    const byOrigin = this.order === "origin";
    const { statements, total } = await json("GET", `${this.database.path}statements?${query({ order: byOrigin ? "total" : this.order, limit: byOrigin ? MOST : SHOWN })}`, { quiet: true });
    if (byOrigin) statements.sort((a, b) => (a.last_origin ?? "~").localeCompare(b.last_origin ?? "~") || b.total_ms - a.total_ms);
    const time = statements.reduce((sum, one) => sum + one.total_ms, 0);
    fill(
      body,
      statements.length ? this.#table(statements.slice(0, SHOWN), time) : h("p", { className: "hint" }, "No statement has run yet."),
      h("p", { className: "hint" }, `${count(Math.min(SHOWN, statements.length))} of ${count(total)} shapes. Statements that differ in their values alone are counted together; values are never kept.`),
    );
  }

  #table(statements, time) {
    const head = ["Statement", ...ORDERS.map(([, text]) => text), "Origin"];
    const keys = [null, ...ORDERS.map(([order]) => order), "origin"];
    const heading = (text, index) => {
      const order = keys[index];
      if (!order) return h("th", { scope: "col" }, text);
      const sorted = order === "origin" ? "ascending" : "descending";
      return h("th", { scope: "col", aria: { sort: order === this.order ? sorted : null } }, h("button", { type: "button", className: "plain", on: { click: () => this.sort(order) } }, text));
    };
    return h("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: "Statements" } }, h("table", { className: "plain statements" }, h("thead", {}, h("tr", {}, head.map(heading))), h("tbody", {}, statements.map((one) => this.#row(one, time)))));
  }

  #row(one, time) {
    const share = time ? Math.round((one.total_ms / time) * 100) : 0;
    const text = h("code", {}, one.text);
    const address = link("sql", this.database.name, undefined, { q: withNames(one.text), explain: "1" });
    const cells = [`${duration(one.total_ms)} · ${share} %`, count(one.count), duration(one.mean_ms), duration(one.p95_ms), duration(one.max_ms), duration(one.waited_ms), count(one.rows), one.errors ? `${count(one.errors)} (last: ${one.last_error})` : "0", one.last_origin ?? "unknown"];
    return h("tr", {}, h("th", { scope: "row" }, isSql(one.text) ? h("a", { href: address, title: "Open and explain it" }, text) : text), cells.map((cell) => h("td", {}, cell)));
  }
}
