// The page of changes as they happen.

import { link, setParameters } from "./app.js";
import { events, query } from "./api.js";
import { button, fill, h, icon } from "./dom.js";
import { display } from "./values.js";

/** So many events stay on the page. */
const MOST = 500;

export async function page(main, { database, target }) {
  const tables = (await database.tables()).filter((table) => !table.view && table.key.length);
  const chosen = new Set((target.parameters.tables ?? "").split(",").filter(Boolean).map(decodeURIComponent));
  if (!chosen.size) tables.forEach((table) => chosen.add(table.name));
  const list = h("ol", { className: "events", aria: { label: "Changes", live: "polite" } });
  const state = h("span", { role: "status", className: "status" }, "");
  const problem = h("p", { className: "problem", role: "alert" });
  let abort = new AbortController();
  let paused = false;
  let number = 0;
  const add = (event) => {
    if (paused || event.event === "message") return;
    const change = JSON.parse(event.data);
    if (event.event === "error") return fill(problem, change.detail);
    const table = tables.find(({ name }) => name === change.table) ?? tables.find(({ name }) => chosen.has(name));
    const key = Object.values(change.key ?? {}).map((value) => display(value)).join(",");
    const values = change.row ? table.columns.filter((column) => !table.key.includes(column.name)).map((column) => h("span", {}, h("b", {}, column.name), " ", display(change.row[column.name], column))) : [];
    number += 1;
    const address = link("data", database.name, table.name, { row: change.row ? table.keyOf(change.key) : undefined });
    list.prepend(h("li", { className: event.event }, h("span", { className: "kind" }, event.event), h("a", { href: address }, `${table.name} ${key}`), h("span", { className: "hint" }, `${change.who ?? "unknown"} · ${String(change.at).slice(11, 19)}`), h("div", { className: "values" }, values)));
    while (list.childElementCount > MOST) list.lastElementChild.remove();
    fill(state, `${number} changes`);
  };
  const listen = async () => {
    abort.abort();
    abort = new AbortController();
    fill(problem, "");
    const { signal } = abort;
    setParameters(chosen.size === tables.length ? {} : { tables: [...chosen].map(encodeURIComponent).join(",") });
    if (!chosen.size) return fill(state, "No table is chosen: ", h("code", {}, "bobak serve --track TABLE"), " records the changes of a table.");
    try {
      const parameters = query({ tables: [...chosen].map((name) => (/[",]|^-|\s/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join(","), numbers: "text" });
      await events(`${database.path}changes?${parameters}`, add, signal, (open) => fill(state, open ? "connected" : "reconnecting…"));
    } catch (error) {
      if (signal.aborted) return;
      const untracked = tables.filter(({ name }) => error.problem?.untracked?.includes(name) && chosen.delete(name));
      for (const table of untracked) {
        // The others are shown all the same.
        const box = boxes[tables.indexOf(table)];
        box.firstChild.checked = false;
        box.append(h("span", { className: "hint" }, "not tracked"));
      }
      if (untracked.length) return listen();
      fill(state, "");
      fill(problem, error.message, error.status === 409 ? ": start the server with --track TABLE for each table, or choose others" : "");
    }
  };
  const boxes = tables.map((table) => {
    const box = h("input", { type: "checkbox", checked: chosen.has(table.name), on: { change: () => (box.checked ? chosen.add(table.name) : chosen.delete(table.name), listen()) } });
    return h("label", {}, box, table.name);
  });
  const pause = button("Pause", () => ((paused = !paused), (pause.textContent = paused ? "Continue" : "Pause")));
  fill(main, h("div", { className: "page live" }, h("header", { className: "title" }, h("h1", {}, icon("live"), "Live changes"), state, h("span", { className: "space" }), pause, button("Clear", () => fill(list))), h("fieldset", { className: "boxes" }, h("legend", {}, "Tables"), boxes), problem, list));
  listen();
  return () => abort.abort();
}
