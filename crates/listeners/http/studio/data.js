// The page of a table: a grid with filters, facets and edits, and the page of a row.

import { link, setParameters, showTables } from "./app.js";
import { listName, name, query, ROOT, send } from "./api.js";
import { ask, button, count, debounce, dialog, fill, h, icon, menu, notify, report, save } from "./dom.js";
import { editor, form } from "./editors.js";
import { Grid, RowWindow } from "./grid.js";
import { showRow } from "./row.js";
import { csv, display, isNumber, isText, isVector, literal, typeName } from "./values.js";

/** Changes that can be undone, newest last: `{text, undo}`. They outlive the page. `undo` returns a message if something kept it
 * from undoing all, and false if the person has been told. */
const undos = [];

export async function dataPage(main, { database, target, session }) {
  if (!target.table) {
    fill(main, h("div", { className: "empty" }, h("h1", {}, "There are no tables yet"), h("p", {}, "Drop a file of CSV, JSON or NDJSON, or a workbook, here to make a table of it, or create one on the page ", h("a", { href: link("schema", database.name) }, "Schema"), ".")));
    return;
  }
  const view = new TableView(main, await database.table(target.table), target.parameters, session);
  await view.open();
  return () => view.close();
}

/** What the database changes in other rows when these are deleted, in words. Loaded when it is used. */
async function dependentsOf(table, rows) {
  return table.dependents.length ? (await import("./dependents.js")).dependentsOf(table, rows) : [];
}

class TableView {
  constructor(main, table, parameters, session) {
    Object.assign(this, { main, table, session });
    this.hidden = new Set((parameters.hide ?? "").split(",").filter(Boolean).map(decodeURIComponent));
    this.facets = (parameters.facets ?? "").split(",").filter(Boolean).map(decodeURIComponent);
    this.filter = parameters.filter ?? "";
    this.search = parameters.q ?? "";
    this.order = (parameters.order ?? "").split("|").filter(Boolean).map((one) => (one.startsWith("-") ? { name: one.slice(1), descending: true } : { name: one, descending: false }));
    this.row = parameters.row;
    this.abort = new AbortController();
  }

  async open() {
    const { table } = this;
    this.grid = new Grid();
    this.grid.setAttribute("aria-label", `Rows of ${table.name}`);
    this.grid.onOpen = (row) => this.openRow(row);
    this.grid.onSort = (column, fromEnd) => this.sort(column, fromEnd);
    this.grid.onMenu = (column, anchor) => this.columnMenu(column, anchor);
    this.grid.onSelect = () => this.showSelection();
    if (table.writable && !this.session.anonymous) {
      this.grid.onEdit = (row, column, index, typed) => this.edit(row, column, index, typed);
      this.grid.keyOf = (row) => table.keyOf(row);
    }
    this.grid.mark = (row, column) => (column.references && row[column.name] !== null ? "link" : "");
    this.grid.addEventListener("click", (event) => this.#follow(event));
    // The rows are on their way while the page is built.
    const loaded = this.reload();
    this.status = h("span", { className: "status", role: "status" }, "…");
    this.selection = h("div", { className: "selection", hidden: true });
    this.panel = h("aside", { className: "facets", hidden: true, aria: { label: "Facets" } });
    this.filterInput = h("input", {
      className: "filter", value: this.filter, spellcheck: false, autocomplete: "off", placeholder: "Filter: city = 'Bern' and born > '1990-01-01'", aria: { label: "Filter" },
      on: { change: () => ((this.filter = this.filterInput.value.trim()), this.reload(true)) },
    });
    this.searchInput = h("input", {
      type: "search", value: this.search, placeholder: "Search", aria: { label: `Search ${table.name}` },
      on: { input: debounce(() => ((this.search = this.searchInput.value.trim()), this.reload())), keydown: (event) => (event.key === "Enter" || event.key === "ArrowDown") && (event.preventDefault(), this.grid.focus()) },
    });
    this.problem = h("p", { className: "problem", role: "alert", hidden: true });
    const canWrite = !!this.grid.onEdit;
    fill(
      this.main,
      h(
        "div",
        { className: "page data" },
        h(
          "header",
          { className: "title" },
          h("h1", {}, icon(table.view ? "view" : "table"), table.name),
          this.status,
          h("span", { className: "space" }),
          canWrite ? button("New row", () => this.create(), { picture: "plus", kind: "primary", data: {} }) : null,
          button("More", (event) => this.moreMenu(event.currentTarget), { kind: "more" }),
        ),
        h(
          "div",
          { className: "tools", role: "toolbar", aria: { label: "Rows" } },
          this.searchInput,
          this.filterInput,
          button("Add a filter", () => this.addFilter(), { picture: "filter", quiet: true }),
          button("Facets", () => this.toggleFacets(), { picture: "facets" }),
          button("Columns", () => this.chooseColumns(), { picture: "columns" }),
          (this.undoButton = button("Undo", () => this.undo(), { picture: "undo", disabled: !undos.length })),
        ),
        this.problem,
        this.selection,
        h("div", { className: "split" }, this.panel, this.grid),
      ),
    );
    const { signal } = this.abort;
    addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#dropTarget(signal);
    if (this.facets.length) this.showFacets();
    this.grid.focus({ preventScroll: true });
    await loaded;
    if (this.row) this.openKey(this.row);
  }

  close() {
    this.abort.abort();
    this.drawer?.close();
  }

  /** The filter as the API takes it: the text, and the search in all columns of text. */
  condition() {
    const parts = [];
    if (this.filter) parts.push(this.search ? `(${this.filter})` : this.filter);
    if (this.search) {
      const columns = this.table.columns.filter((column) => column.type === "text" || column.type === "any" || (isNumber(column) && /^-?\d+(\.\d+)?$/.test(this.search)));
      const tests = columns.map((column) => (isText(column) ? `${name(column.name)} contains ${literal(this.search, { type: "text" })}` : `${name(column.name)} = ${this.search}`));
      parts.push(tests.length ? `(${tests.join(" or ")})` : "1 = 0");
    }
    return parts.join(" and ");
  }

  parameters() {
    return { filter: this.condition(), order: this.order.map((one) => (one.descending ? "-" : "") + listName(one.name)).join(",") };
  }

  remember(push) {
    const parameters = {
      q: this.search,
      filter: this.filter,
      order: this.order.map((one) => (one.descending ? "-" : "") + one.name).join("|"),
      hide: [...this.hidden].map(encodeURIComponent).join(","),
      facets: this.facets.map(encodeURIComponent).join(","),
      row: this.row,
    };
    setParameters(parameters, push);
  }

  /** Reads the rows from the start; `keep` keeps the place. */
  async reload(push = false, keep = false) {
    this.remember(push);
    const { table } = this;
    const shown = this.parameters();
    const request = (this.request = Symbol("request"));
    const rows = new RowWindow((page) => table.rows({ ...shown, ...page }, { signal: this.abort.signal, quiet: page.offset > 0 }), { byKey: !shown.order && table.key.length > 0 });
    rows.onError = (error) => error.name !== "AbortError" && report(error);
    const begun = performance.now();
    try {
      const first = await table.rows({ ...shown, limit: RowWindow.PAGE, total: true }, { signal: this.abort.signal });
      if (this.request !== request) return;
      rows.total = first.total;
      const place = Math.floor(this.grid.scrollTop / 28 / RowWindow.PAGE);
      rows.load = ((load) => (page) => (page.offset === undefined && page.after === undefined ? Promise.resolve(first) : load(page)))(rows.load);
      await rows.request(0);
      if (keep && place) await rows.request(place);
      this.problem.hidden = true;
    } catch (error) {
      if (this.request !== request || error.name === "AbortError") return;
      fill(this.problem, error.message);
      this.problem.hidden = false;
      fill(this.status, "");
      return;
    }
    const time = performance.now() - begun;
    const filtered = shown.filter ? " match" : "";
    fill(this.status, `${count(rows.total)} ${rows.total === 1 ? "row" : "rows"}${filtered} · ${time < 10 ? time.toFixed(1) : Math.round(time)} ms`);
    this.grid.order = this.order;
    this.grid.show(this.visibleColumns(), rows, { keep });
    if (!this.panel.hidden) this.showFacets();
  }

  visibleColumns() {
    this.shownColumns ??= new Map();
    return this.table.columns
      .filter((column) => !this.hidden.has(column.name))
      .map((column) => {
        if (!this.shownColumns.has(column.name)) this.shownColumns.set(column.name, { ...column, key: this.table.key.includes(column.name), hint: `${column.name} · ${typeName(column)}${column.nullable ? "" : " · not null"}` });
        return this.shownColumns.get(column.name);
      });
  }

  /** Sorts by a column: ascending, then descending, then not; with `fromEnd` descending at once. */
  sort(column, fromEnd) {
    const before = this.order.find((one) => one.name === column.name) ?? (fromEnd ? { descending: false } : undefined);
    this.order = !before ? [{ name: column.name, descending: false }] : !before.descending ? [{ name: column.name, descending: true }] : [];
    this.reload();
  }

  columnMenu(column, anchor) {
    const index = this.grid.active.row >= 0 ? this.grid.active.row : 0;
    const value = this.grid.rows.get(index)?.[column.name];
    menu(anchor, [
      ["Sort ascending", () => ((this.order = [{ name: column.name, descending: false }]), this.reload())],
      ["Sort descending", () => ((this.order = [{ name: column.name, descending: true }]), this.reload())],
      null,
      ["Filter…", () => this.addFilter(column)],
      ["Only rows without a value", () => this.narrow(`${name(column.name)} is null`)],
      value !== undefined && value !== null && column.type !== "bytes" && !isVector(column) ? [`Only ${display(value, column).slice(0, 30)}`, () => this.narrow(`${name(column.name)} = ${literal(value, column)}`)] : null,
      null,
      ["Facet: values with counts", () => this.addFacet(column.name)],
      ["Hide the column", () => (this.hidden.add(column.name), this.reload(false, true))],
    ].filter((entry, at, all) => entry !== null || all[at - 1] !== null));
  }

  /** Adds a condition to the filter. */
  narrow(condition) {
    this.filter = this.filter ? `${/\bor\b/i.test(this.filter) ? `(${this.filter})` : this.filter} and ${condition}` : condition;
    this.filterInput.value = this.filter;
    this.reload(true);
  }

  async addFilter(chosen) {
    const { table } = this;
    const operators = [["=", "is"], ["<>", "is not"], ["contains", "contains"], ["starts with", "starts with"], ["<", "is less than"], [">", "is greater than"], ["is null", "has no value"], ["is not null", "has a value"]];
    const column = h("select", { id: "filter-column" }, table.columns.map((one) => h("option", {}, one.name)));
    const operator = h("select", { id: "filter-operator" }, operators.map(([value, label]) => h("option", { value }, label)));
    const value = h("input", { id: "filter-value", autocomplete: "off" });
    if (chosen) {
      column.value = chosen.name;
      operator.value = isText(chosen) ? "contains" : "=";
    }
    const condition = await dialog("Add a filter", (done) => {
      const apply = (event) => {
        event.preventDefault();
        const of = table.column(column.value);
        const word = operator.value.startsWith("is");
        done(`${name(of.name)} ${operator.value}${word ? "" : ` ${of.type === "bool" ? value.value : literal(value.value, of)}`}`);
      };
      const field = (label, element) => h("div", { className: "field" }, h("label", { htmlFor: element.id }, label), element);
      return h("form", { on: { submit: apply } }, field("Column", column), field("Test", operator), field("Value", value), h("footer", {}, h("button", { className: "primary" }, "Add the filter")));
    });
    if (condition) this.narrow(condition);
  }

  async chooseColumns() {
    const boxes = this.table.columns.map((column) => h("input", { type: "checkbox", checked: !this.hidden.has(column.name), value: column.name }));
    await dialog("Columns", (done) =>
      h(
        "form",
        { on: { submit: (event) => (event.preventDefault(), done()) } },
        h("div", { className: "boxes" }, boxes.map((box, index) => h("label", {}, box, this.table.columns[index].name))),
        h("footer", {}, button("All", () => boxes.forEach((box) => (box.checked = true))), button("None", () => boxes.forEach((box) => (box.checked = false))), h("button", { className: "primary" }, "Show these")),
      ),
    );
    this.hidden = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
    if (this.hidden.size === boxes.length) this.hidden.clear();
    this.reload(false, true);
  }

  // Facets

  toggleFacets() {
    if (!this.panel.hidden) {
      this.panel.hidden = true;
      this.facets = [];
      return this.remember();
    }
    // Those with few values come first, as far as the types tell.
    const rank = (column) => (column.type === "bool" ? 0 : column.references ? 1 : 2);
    const usual = this.table.columns.filter((column) => rank(column) < 2 || (isText(column) && !column.unique && !this.table.key.includes(column.name)));
    usual.sort((a, b) => rank(a) - rank(b));
    this.facets = usual.slice(0, 3).map((column) => column.name);
    this.remember();
    this.showFacets();
  }

  addFacet(column) {
    this.facets = [column, ...this.facets.filter((one) => one !== column)];
    this.remember();
    this.showFacets();
  }

  async showFacets() {
    this.panel.hidden = false;
    const { table } = this;
    const rest = table.columns.filter((column) => !this.facets.includes(column.name));
    const choose = h("select", { aria: { label: "Add a facet" }, on: { change: () => this.addFacet(choose.value) } }, h("option", { value: "" }, "Add a facet…"), rest.map((column) => h("option", {}, column.name)));
    const lists = this.facets.map((facet) => ({ column: table.column(facet), list: h("ul", {}) })).filter(({ column }) => column);
    fill(
      this.panel,
      choose,
      lists.map(({ column, list }) => h("section", {}, h("h2", {}, column.name, button(`Remove the facet ${column.name}`, () => ((this.facets = this.facets.filter((one) => one !== column.name)), this.remember(), this.facets.length ? this.showFacets() : (this.panel.hidden = true)), { picture: "close", quiet: true })), list)),
    );
    const filter = this.condition();
    await Promise.all(
      lists.map(async ({ column, list }) => {
        try {
          const { rows, more } = await table.aggregate({ values: "count", group: listName(column.name), filter, order: "-count", limit: 12 }, { signal: this.abort.signal, quiet: true });
          const most = Math.max(1, ...rows.map((row) => Number(row.count)));
          fill(
            list,
            rows.map((row) => {
              const value = row[column.name];
              const label = value === "" ? "(empty)" : display(value, column);
              const test = value === null ? `${name(column.name)} is null` : `${name(column.name)} = ${literal(value, column)}`;
              const bar = h("span", { className: "share", style: { width: `${(Number(row.count) / most) * 100}%` } });
              return h("li", {}, h("button", { type: "button", className: value === null ? "null" : "", title: label, disabled: column.type === "bytes", on: { click: () => this.narrow(test) } }, bar, h("span", { className: "label" }, label), h("span", { className: "count" }, count(row.count))));
            }),
            more ? h("li", { className: "hint" }, "and more") : null,
          );
        } catch (error) {
          if (error.name !== "AbortError") fill(list, h("li", { className: "problem" }, error.message));
        }
      }),
    );
  }

  // Rows

  #follow(event) {
    const cell = event.target.closest(".cell.link");
    if (!cell || !(event.ctrlKey || event.metaKey)) return;
    const row = this.grid.rows.get(Number(cell.dataset.row));
    const column = this.grid.columns[Number(cell.dataset.column)];
    if (row) location.hash = link("data", this.table.database.name, column.references.table, { filter: `${name(column.references.column)} = ${literal(row[column.name], column)}` });
  }

  async openKey(key) {
    try {
      this.openRow(await this.table.rowAt(key));
    } catch (error) {
      this.row = undefined;
      this.remember();
      notify(error.status === 404 ? "The row of this address is gone." : error.message, { error: true });
    }
  }

  openRow(row) {
    this.row = this.table.key.length ? this.table.keyOf(row) : undefined;
    this.remember();
    this.drawer?.close();
    this.drawer = showRow(this.main, {
      table: this.table,
      row,
      canWrite: !!this.grid.onEdit,
      onSave: (current, values) => this.change(current, values),
      onDelete: (current) => this.remove([current]),
      onClose: () => {
        this.row = undefined;
        this.drawer = null;
        this.remember();
        this.grid.focus({ preventScroll: true });
      },
    });
  }

  /** Edits a cell in its place. */
  edit(row, column, index, typed) {
    const cell = this.grid.activeCell;
    if (!cell || this.editing) return;
    if (this.table.key.includes(column.name)) return notify("A key is not changed: insert another row, and delete this one.");
    if (column.type === "bytes" || column.type === "json" || isVector(column)) return this.openRow(row);
    const field = editor(this.table, column, row[column.name], { label: `${column.name}, row ${index + 1}`, typed, compact: true });
    const box = h("div", { className: "cell-editor" }, field.element);
    const at = cell.getBoundingClientRect();
    Object.assign(box.style, { left: `${Math.min(at.left, innerWidth - 200)}px`, top: `${at.top}px`, minWidth: `${at.width}px`, minHeight: `${at.height}px` });
    document.body.append(box);
    this.editing = true;
    const close = () => ((this.editing = false), box.remove(), scroller.abort());
    const scroller = new AbortController();
    let isReading = false;
    const commit = async (down, right) => {
      if (isReading || !this.editing || !box.isConnected) return;
      isReading = true;
      let value;
      try {
        value = await field.read();
      } catch (error) {
        notify(error.message, { error: true });
        return field.focus();
      } finally {
        isReading = false;
      }
      if (!box.isConnected) return;
      close();
      this.grid.focus({ preventScroll: true });
      if (down || right) this.grid.go(index + down, this.grid.active.column + right);
      if (JSON.stringify(value) !== JSON.stringify(row[column.name] ?? null)) await this.change(row, { [column.name]: value });
    };
    box.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") (close(), this.grid.focus({ preventScroll: true }));
      else if (event.key === "Enter" && !(event.target.tagName === "TEXTAREA" && event.shiftKey)) commit(1, 0);
      else if (event.key === "Tab") commit(0, event.shiftKey ? -1 : 1);
      else if ((event.key === "Delete" || event.key === "Backspace") && event.ctrlKey && column.nullable) (close(), this.grid.focus(), this.change(row, { [column.name]: null }));
      else return;
      event.preventDefault();
    });
    box.addEventListener("focusout", (event) => event.relatedTarget && !box.contains(event.relatedTarget) && commit(0, 0));
    this.grid.addEventListener("scroll", () => commit(0, 0), { signal: scroller.signal });
    field.focus();
  }

  /** Changes columns of a row, unless somebody else has changed them since it was shown. Returns whether it did. */
  async change(row, values, { quiet } = {}) {
    const { table } = this;
    try {
      const now = await table.row(row);
      const names = Object.keys(values);
      if (!now) throw new Error("somebody has deleted this row: nothing was changed");
      const isSame = names.every((column) => JSON.stringify(now.row[column]) === JSON.stringify(row[column]));
      if (!isSame && !(await this.#resolve(row, now.row, values))) {
        this.#show(row, now.row);
        return false;
      }
      const changed = await table.patch(row, values, now.tag);
      if (!changed) return this.change(row, values, { quiet });
      const before = Object.fromEntries(names.map((column) => [column, now.row[column] ?? null]));
      // The grid gets the row itself, and later edits change it there: what undoing compares with is a copy.
      const written = { ...changed.row };
      this.#show(row, changed.row);
      if (!quiet) this.pushUndo(`Changed ${names.join(", ")}`, () => this.change(written, before, { quiet: true }));
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  }

  /** Asks what to do about a value that somebody else has changed. */
  async #resolve(row, now, values) {
    const lines = Object.keys(values).map((column) => {
      const of = this.table.column(column);
      return h("tr", {}, h("th", { scope: "row" }, column), h("td", {}, display(row[column], of)), h("td", {}, display(now[column], of)), h("td", {}, display(values[column], of)));
    });
    const head = h("tr", {}, ["Column", "You saw", "Now", "Yours"].map((text) => h("th", { scope: "col" }, text)));
    const content = h("div", {}, h("p", {}, "Somebody has changed this row since you saw it."), h("table", { className: "compare" }, h("thead", {}, head), h("tbody", {}, lines)));
    return ask("Conflict", content, [["Keep what is there", false], ["Write mine", true, "primary"]]);
  }

  /** Shows a row's new values where it is. */
  #show(row, now) {
    const key = this.table.keyOf(row);
    for (const [index, other] of this.grid.rows.loaded()) if (this.table.keyOf(other) === key) this.grid.rows.replace(index, now);
    Object.assign(row, now);
    this.grid.draw(true);
    this.drawer?.update(key, now);
  }

  async create() {
    const fields = form(this.table, null, { creating: true });
    const problem = h("p", { className: "problem", role: "alert" });
    const created = await dialog(`New row of ${this.table.name}`, (done) =>
      h(
        "form",
        {
          on: {
            submit: async (event) => {
              event.preventDefault();
              try {
                done(await this.table.insert(await fields.read()));
              } catch (error) {
                fill(problem, error.message);
              }
            },
          },
        },
        fields.element,
        problem,
        h("footer", {}, h("button", { className: "primary" }, "Insert the row")),
      ),
    );
    if (!created) return;
    // Triggers may have changed it.
    const inserted = (await this.table.row(created).catch(() => null))?.row ?? created;
    this.pushUndo("Inserted a row", async () => {
      const message = await this.#takeBack(inserted);
      await this.reload(false, true);
      return message;
    });
    await this.reload(false, true);
  }

  /** Deletes a row that this tab has inserted. Returns why not, if somebody has changed it since, or rows depend on it. */
  async #takeBack(inserted) {
    const { table } = this;
    const now = await table.row(inserted);
    if (!now) return "Somebody has deleted the inserted row already.";
    // An edit that was undone leaves another version and another time.
    const isSame = table.columns.every(({ name, role }) => role || JSON.stringify(now.row[name]) === JSON.stringify(inserted[name]));
    if (!isSame) return "The inserted row has been changed since: it was not deleted.";
    const dependents = await dependentsOf(table, [now.row]);
    if (dependents.length) return `The inserted row stays: if it is deleted, ${dependents.join(", and ")}.`;
    return (await table.delete(now.row, now.tag)) ? undefined : this.#takeBack(inserted);
  }

  async remove(rows) {
    const { table } = this;
    try {
      const found = await this.#confirmed(rows);
      if (!found) return;
      const { now, dependents } = found;
      await table.database.batch(now.map((row) => ({ op: "delete", table: table.name, row: this.#key_of(row) })));
      this.drawer?.close();
      this.grid.select(new Map());
      const text = `Deleted ${now.length === 1 ? "a row" : `${count(now.length)} rows`}`;
      if (dependents.length) notify(`${text} with what depended on ${now.length === 1 ? "it" : "them"}. This can't be undone here.`);
      else this.pushUndo(text, async () => {
        await table.database.batch(now.map((row) => ({ op: "insert", table: table.name, row })));
        await this.reload(false, true);
      });
      await this.reload(false, true);
    } catch (error) {
      report(error);
    }
  }

  /** Asks whether to delete rows. Returns them as they are now, and what the database changes with them. */
  async #confirmed(rows) {
    const { table } = this;
    const what = rows.length === 1 ? `Delete the row ${decodeURIComponent(table.keyOf(rows[0]))} of ${table.name}?` : `Delete ${count(rows.length)} rows of ${table.name}?`;
    for (let asked; ; ) {
      const isPlain = !table.dependents.length && asked === undefined;
      // What is deleted is what is there now, so that undoing it loses nothing.
      const now = isPlain ? rows : await this.#current(rows);
      const dependents = await dependentsOf(table, now);
      const text = dependents.length ? `${what} Then ${dependents.join(", and ")}. This can't be undone here.` : what;
      if (text === asked) return { now, dependents };
      asked = text;
      if (!(await ask("Delete", text, [["Cancel", false], ["Delete", true, "danger"]]))) return null;
    }
  }

  #key_of(row) {
    return Object.fromEntries(this.table.key.map((column) => [column, row[column]]));
  }

  #byKey(rows) {
    return new Map(rows.map((row) => [this.table.keyOf(row), row]));
  }

  /** The rows as they are now; those that are gone are left out. */
  async #current(rows) {
    const now = [];
    for (let at = 0; at < rows.length; at += 16) now.push(...(await Promise.all(rows.slice(at, at + 16).map((row) => this.table.row(row)))));
    return now.filter(Boolean).map(({ row }) => row);
  }

  showSelection() {
    const { size } = this.grid.selected;
    this.selection.hidden = size === 0;
    if (!size) return;
    const rows = () => [...this.grid.selected.values()];
    fill(
      this.selection,
      h("span", { role: "status" }, `${count(size)} ${size === 1 ? "row" : "rows"} selected`),
      button("Change…", () => this.bulkEdit(rows()), { picture: "edit" }),
      button("Delete", () => this.remove(rows()), { picture: "trash" }),
      button("Export", () => this.exportRows(rows()), { picture: "down" }),
      button("Clear", () => this.grid.select(new Map())),
    );
  }

  /** Sets one column in many rows, all or none. Without rows: in all that match. */
  async bulkEdit(rows) {
    const { table } = this;
    const writable = table.columns.filter((column) => !table.key.includes(column.name) && !column.role);
    const choose = h("select", { id: "bulk-column" }, writable.map((column) => h("option", {}, column.name)));
    const slot = h("div", {});
    let field;
    const update = () => {
      const column = table.column(choose.value);
      field = editor(table, column, null, { label: "New value" });
      fill(slot, field.element);
    };
    choose.addEventListener("change", update);
    update();
    const isNull = h("input", { type: "checkbox" });
    const what = rows ? `${count(rows.length)} rows` : `all ${count(this.grid.rows.total)} rows that match`;
    const problem = h("p", { className: "problem", role: "alert" });
    const values = await dialog(`Change ${what}`, (done) => {
      const submit = async (event) => {
        event.preventDefault();
        try {
          done({ [choose.value]: isNull.checked ? null : await field.read() });
        } catch (error) {
          fill(problem, error.message);
        }
      };
      return h("form", { on: { submit } }, h("div", { className: "field" }, h("label", { htmlFor: "bulk-column" }, "Column"), choose), h("div", { className: "field" }, h("span", { className: "label" }, "New value"), slot, h("label", { className: "null" }, isNull, "NULL")), problem, h("footer", {}, h("button", { className: "primary" }, `Change ${what}`)));
    });
    if (!values) return;
    try {
      if (!rows) return await this.#changeMatching(values);
      const now = await this.#current(rows);
      const [column] = Object.keys(values);
      const write = (list) => table.database.batch(list.map((row) => ({ op: "update", table: table.name, row })));
      await write(now.map((row) => ({ ...this.#key_of(row), ...values })));
      const written = this.#byKey(await this.#current(now));
      this.pushUndo(`Changed ${count(now.length)} rows`, async () => {
        const current = this.#byKey(await this.#current(now));
        const value = (all, row) => JSON.stringify(all.get(table.keyOf(row))?.[column]);
        const same = now.filter((row) => current.has(table.keyOf(row)) && value(current, row) === value(written, row));
        if (same.length) await write(same.map((row) => ({ ...this.#key_of(row), [column]: row[column] })));
        await this.reload(false, true);
        const others = now.length - same.length;
        if (others) return `Undone in ${count(same.length)} of ${count(now.length)} rows: somebody has changed or deleted the others since.`;
      });
      await this.reload(false, true);
    } catch (error) {
      report(error);
    }
  }

  async #changeMatching(values) {
    const filter = this.condition();
    const response = await send("PATCH", `${this.table.path}/rows?${query({ filter: filter || `${name(this.table.key[0])} is not null` })}`, { body: values });
    const { changed } = await response.json();
    notify(`Changed ${count(changed)} rows. This can't be undone here.`);
    await this.reload(false, true);
  }

  async #deleteMatching() {
    const filter = this.condition();
    const total = count(this.grid.rows.total);
    const others = [...new Set(this.table.dependents.map(({ table }) => table))].join(" and ");
    const dependents = others ? ` The database changes or deletes the rows of ${others} that refer to them.` : "";
    if (!(await ask("Delete", `Delete all ${total} rows of ${this.table.name}${filter ? ` with ${filter}` : ""}?${dependents} This can't be undone here.`, [["Cancel", false], [`Delete ${total} rows`, true, "danger"]]))) return;
    const response = await send("DELETE", `${this.table.path}/rows?${query({ filter: filter || `${name(this.table.key[0])} is not null` })}`);
    const { changed } = await response.json();
    notify(`Deleted ${count(changed)} rows.`);
    await this.reload();
  }

  // Undo

  pushUndo(text, undo) {
    undos.push({ text, undo });
    if (undos.length > 100) undos.shift();
    this.undoButton.disabled = false;
    notify(`${text}.`, { label: "Undo", action: () => this.undo() });
  }

  async undo() {
    const last = undos.pop();
    this.undoButton.disabled = !undos.length;
    if (!last) return notify("There is nothing to undo.");
    try {
      const message = await last.undo();
      if (message !== false) notify(typeof message === "string" ? message : `Undone: ${last.text.toLowerCase()}.`);
    } catch (error) {
      undos.push(last);
      this.undoButton.disabled = false;
      report(error);
    }
  }

  /** Adds a column to the table by a migration, and shows the table again. */
  async addColumn() {
    const { database, name } = this.table;
    // Loaded when they are used, as the import of files is: the first view does not wait for them.
    const { addColumn, read } = await import("./migrate.js");
    const { tables } = await read(database);
    await addColumn(database, tables, this.table, async (result) => {
      if (!result?.name) return;
      this.table = await database.table(name);
      this.shownColumns = undefined;
      await this.reload();
    });
  }

  // Import and export

  moreMenu(anchor) {
    const { table } = this;
    const canWrite = !!this.grid.onEdit;
    menu(anchor, [
      ["Export as CSV", () => this.exportAll("csv")],
      ["Export as NDJSON", () => this.exportAll("ndjson")],
      ["Copy the address of this view", () => navigator.clipboard.writeText(location.href).then(() => notify("Copied."), report)],
      ...(canWrite ? [null, ["Import a file…", () => this.chooseFile()], ["Change all that match…", () => this.bulkEdit(null)], ["Delete all that match…", () => this.#deleteMatching()]] : []),
      null,
      ...(canWrite ? [["Add a column…", () => this.addColumn()]] : []),
      ["Show its columns", () => (location.hash = link("schema", table.database.name, table.name))],
      ["Query it by SQL", () => (location.hash = link("sql", table.database.name, undefined, { q: `SELECT * FROM ${name(table.name)} LIMIT 100` }))],
      ["Reload", () => showTables(true).then(() => this.reload(false, true))],
    ]);
  }

  /** Lets the browser download the view: the server sends it as a stream. */
  exportAll(format) {
    const columns = this.visibleColumns();
    const parameters = { ...this.parameters(), format, lossy: "true" };
    if (columns.length < this.table.columns.length) parameters.columns = columns.map((column) => listName(column.name)).join(",");
    h("a", { href: new URL(`${this.table.path}/export?${query(parameters)}`, ROOT).href, download: `${this.table.name}.${format}` }).click();
  }

  exportRows(rows) {
    const columns = this.visibleColumns().map((column) => column.name);
    save(`${this.table.name}.csv`, "text/csv", csv(columns, rows.map((row) => columns.map((column) => row[column]))));
  }

  async chooseFile() {
    const { chooseFile } = await import("./import.js");
    chooseFile((file) => this.importFile(file));
  }

  async importFile(file) {
    const { importFile } = await import("./import.js");
    if (await importFile(this.table, file)) this.reload(false, true);
  }

  #dropTarget(signal) {
    if (!this.grid.onEdit) return;
    const page = this.main.firstElementChild;
    const over = (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      page.classList.add("drop");
    };
    page.addEventListener("dragover", over, { signal });
    page.addEventListener("dragleave", () => page.classList.remove("drop"), { signal });
    page.addEventListener("drop", (event) => {
      page.classList.remove("drop");
      if (!event.dataTransfer.files[0]) return;
      event.preventDefault();
      this.importFile(event.dataTransfer.files[0]);
    }, { signal });
  }

  #key(event) {
    if (event.target.closest("input, textarea, select, dialog, .menu")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z") this.undo();
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "/") this.searchInput.focus();
    else if (event.key === "n" && this.grid.onEdit && event.target !== this.grid) this.create();
    else return;
    event.preventDefault();
  }
}

