// A grid that shows millions of rows and hundreds of columns: only those on screen are elements.
//
// The focus stays on the grid itself; `aria-activedescendant` names the active cell. Row -1 is the header.

import { h, icon } from "./dom.js";
import { display, isNumber } from "./values.js";

const ROW = 28;
const HEAD = 32;
const GUTTER = 56;
/** Browsers limit the height of elements; beyond this, the scroll bar moves over more than one row per row height. */
const MAX_HEIGHT = navigator.userAgent.includes("Firefox") ? 15_000_000 : 30_000_000;
/** Columns and rows beyond the edges that are elements, too. */
const MARGIN = 200;

/** The rows of a query, loaded a page at a time. */
export class RowWindow {
  static PAGE = 200;
  #pages = new Map();
  #order = [];
  #keys = new Map();
  constructor(load, { byKey = false } = {}) {
    this.load = load;
    this.byKey = byKey;
    this.total = 0;
    this.onLoad = () => {};
    this.onError = () => {};
  }

  /** The row at a position, if it is loaded; otherwise its page is requested. */
  get(index) {
    const page = Math.floor(index / RowWindow.PAGE);
    const loaded = this.#pages.get(page);
    if (loaded === undefined) this.request(page);
    return Array.isArray(loaded) ? loaded[index - page * RowWindow.PAGE] : undefined;
  }

  /** Loads a page. */
  request(page) {
    if (this.#pages.has(page)) return this.#pages.get(page);
    const { start, key } = this.#nearest(page);
    const parameters = { limit: RowWindow.PAGE, offset: (page - start) * RowWindow.PAGE || undefined, after: key };
    const loading = this.load(parameters).then(
      ({ rows, next }) => {
        this.#pages.set(page, rows);
        if (next !== undefined) this.#keys.set(page + 1, next);
        this.#order.push(page);
        // Far pages are forgotten: 100,000 rows are kept.
        if (this.#order.length > 500) this.#pages.delete(this.#order.shift());
        this.onLoad(page, rows);
        return rows;
      },
      (error) => (this.#pages.delete(page), this.onError(error), []),
    );
    this.#pages.set(page, loading);
    return loading;
  }

  /** The page at or before this one whose first row's key is known: a read from there skips fewer rows. */
  #nearest(page) {
    let best = { start: 0, key: undefined };
    if (this.byKey) for (const [start, key] of this.#keys) if (start <= page && start > best.start) best = { start, key };
    return best;
  }

  /** Replaces a row that is loaded. */
  replace(index, row) {
    const page = this.#pages.get(Math.floor(index / RowWindow.PAGE));
    if (Array.isArray(page)) page[index % RowWindow.PAGE] = row;
  }

  /** The loaded rows with their positions. */
  *loaded() {
    for (const [page, rows] of this.#pages) if (Array.isArray(rows)) for (const [at, row] of rows.entries()) yield [page * RowWindow.PAGE + at, row];
  }

  static of(rows) {
    const all = new RowWindow(async ({ offset = 0, limit }) => ({ rows: rows.slice(offset, offset + limit) }));
    all.total = rows.length;
    return all;
  }
}

export class Grid extends HTMLElement {
  columns = [];
  rows = new RowWindow(async () => ({ rows: [] }));
  /** Selected rows by key, and the key of a row. Without `keyOf`, rows are not selected. */
  selected = new Map();
  keyOf = null;
  order = [];
  active = { row: 0, column: 0 };
  /** Called with `(row, column, index)`; the text replaces the value if typing started it. */
  onEdit = null;
  onOpen = null;
  onSort = null;
  onMenu = null;
  onSelect = () => {};
  /** The class of a cell. */
  mark = () => "";
  #elements = new Map();
  #lefts = [];
  #width = 0;
  #frame = 0;
  #last = null;

  connectedCallback() {
    if (this.body) return;
    this.id ||= `grid-${Math.random().toString(36).slice(2)}`;
    this.tabIndex = 0;
    this.setAttribute("role", "grid");
    this.head = h("div", { className: "head", role: "row", aria: { rowindex: "1" } });
    this.body = h("div", { className: "body", role: "rowgroup" });
    this.append(h("div", { className: "headgroup", role: "rowgroup" }, this.head), this.body);
    this.addEventListener("scroll", () => this.draw(), { passive: true });
    this.addEventListener("keydown", (event) => this.#key(event));
    this.addEventListener("pointerdown", (event) => this.#point(event));
    this.addEventListener("dblclick", (event) => this.#at(event) && this.#edit());
    this.addEventListener("contextmenu", (event) => {
      const at = this.#at(event);
      if (at?.row === -1 && this.onMenu) (event.preventDefault(), this.#openMenu(at.column));
    });
    this.addEventListener("copy", (event) => {
      const value = this.rows.get(this.active.row)?.[this.columns[this.active.column]?.name];
      event.clipboardData.setData("text/plain", typeof value === "object" && value ? JSON.stringify(value) : String(value ?? ""));
      event.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(this);
  }

  /** Shows columns and rows from the top. `keep` keeps the place. */
  show(columns, rows, { keep = false } = {}) {
    this.columns = columns;
    this.rows = rows;
    rows.onLoad = () => this.draw(true);
    let left = GUTTER;
    this.#lefts = columns.map((column) => {
      const own = left;
      left += column.width ??= width(column);
      return own;
    });
    this.#width = left;
    this.setAttribute("aria-rowcount", rows.total + 1);
    this.setAttribute("aria-colcount", columns.length + 1);
    this.toggleAttribute("data-readonly", !this.onEdit);
    this.setAttribute("aria-readonly", String(!this.onEdit));
    this.setAttribute("aria-multiselectable", String(!!this.keyOf));
    const height = Math.min(rows.total * ROW, MAX_HEIGHT);
    this.body.style.height = `${height}px`;
    this.body.style.width = this.head.style.width = `${left}px`;
    this.active.column = Math.min(this.active.column, Math.max(0, columns.length - 1));
    if (!keep) {
      this.scrollTop = 0;
      this.active.row = 0;
    }
    this.active.row = Math.min(this.active.row, Math.max(0, rows.total - 1));
    if (keep) return this.draw(true);
    // New rows are not a frame late.
    this.stale = true;
    this.#drawNow();
  }

  #visibleHeight() {
    return Math.max(ROW, this.clientHeight - HEAD);
  }

  /** The first row on screen, which may be a fraction. */
  #top() {
    const full = this.rows.total * ROW;
    if (full <= MAX_HEIGHT) return this.scrollTop / ROW;
    const share = this.scrollTop / Math.max(1, MAX_HEIGHT - this.#visibleHeight());
    return share * (this.rows.total - this.#visibleHeight() / ROW);
  }

  /** Draws at the next frame; `all` also the rows that are there. */
  draw(all = false) {
    this.stale ||= all;
    this.#frame ||= requestAnimationFrame(() => ((this.#frame = 0), this.#draw()));
  }

  #draw() {
    if (this.stale) {
      for (const element of this.#elements.values()) element.remove();
      this.#elements.clear();
      this.stale = false;
    }
    const top = this.#top();
    const first = Math.max(0, Math.floor(top) - 4);
    const last = Math.min(this.rows.total, Math.ceil(top + this.#visibleHeight() / ROW) + 4);
    const [from, to] = this.#columnRange();
    this.#drawHead(from, to);
    for (const [index, element] of this.#elements) {
      if (index < first || index >= last || element.from !== from || element.to !== to) {
        element.remove();
        this.#elements.delete(index);
      }
    }
    // Positions are relative to the scroll position, so that they are exact beyond the limit of heights, too.
    const added = [];
    for (let index = first; index < last; index++) {
      let element = this.#elements.get(index);
      if (!element) added.push((element = this.#row(index, from, to)));
      element.style.transform = `translateY(${Math.round(this.scrollTop + (index - top) * ROW)}px)`;
    }
    this.body.append(...added);
    this.#activate();
  }

  #columnRange() {
    const [left, right] = [this.scrollLeft - MARGIN, this.scrollLeft + this.clientWidth + MARGIN];
    let from = this.#lefts.findIndex((at, index) => at + this.columns[index].width > left);
    if (from < 0) from = 0;
    let to = from;
    while (to < this.columns.length && this.#lefts[to] < right) to++;
    return [from, to];
  }

  #drawHead(from, to) {
    const cells = [h("div", { className: "gutter", role: "columnheader", aria: { colindex: "1" } }, "#")];
    for (let index = from; index < to; index++) {
      const column = this.columns[index];
      const sorted = this.order.find((one) => one.name === column.name);
      cells.push(
        h(
          "div",
          {
            id: `${this.id}-h-${index}`,
            className: `cell ${isNumber(column) ? "number" : ""}`,
            role: "columnheader",
            title: column.hint ?? column.name,
            aria: { colindex: String(index + 2), sort: sorted ? (sorted.descending ? "descending" : "ascending") : "none" },
            data: { row: "-1", column: String(index) },
            style: { left: `${this.#lefts[index]}px`, width: `${column.width}px` },
          },
          h("span", { className: "label" }, column.key ? icon("key") : null, column.name),
          sorted ? h("span", { className: "arrow", aria: { hidden: "true" } }, sorted.descending ? "↓" : "↑") : null,
          this.onMenu ? h("span", { className: "more", data: { menu: "1" }, aria: { hidden: "true" } }, "⋮") : null,
          h("span", { className: "resize", data: { resize: "1" }, aria: { hidden: "true" } }),
        ),
      );
    }
    this.head.replaceChildren(...cells);
  }

  #row(index, from, to) {
    const row = this.rows.get(index);
    const key = row && this.keyOf?.(row);
    const isSelected = this.keyOf ? this.selected.has(key) : undefined;
    const element = h("div", { className: `row ${index % 2 ? "odd" : ""} ${isSelected ? "selected" : ""}`, role: "row", aria: { rowindex: String(index + 2), selected: isSelected === undefined ? null : String(isSelected) } });
    element.from = from;
    element.to = to;
    element.style.width = `${this.#width}px`;
    element.append(h("div", { className: "gutter", role: "rowheader", aria: { colindex: "1" }, data: { row: String(index), column: "-1" } }, String(index + 1)));
    for (let at = from; at < to; at++) {
      const column = this.columns[at];
      const value = row?.[column.name];
      const cell = h("div", {
        id: `${this.id}-${index}-${at}`,
        className: `cell ${isNumber(column) || typeof value === "number" ? "number" : ""} ${row && (value === null || value === undefined) ? "null" : ""} ${row ? this.mark(row, column) : "loading"}`,
        role: "gridcell",
        aria: { colindex: String(at + 2) },
        data: { row: String(index), column: String(at) },
      });
      cell.style.left = `${this.#lefts[at]}px`;
      cell.style.width = `${column.width}px`;
      cell.textContent = row ? display(value, column) : "";
      element.append(cell);
    }
    this.#elements.set(index, element);
    return element;
  }

  #activate() {
    this.#last?.classList.remove("active");
    const { row, column } = this.active;
    const id = row < 0 ? `${this.id}-h-${column}` : `${this.id}-${row}-${column}`;
    const cell = document.getElementById(id);
    cell?.classList.add("active");
    this.#last = cell;
    if (cell) this.setAttribute("aria-activedescendant", id);
    else this.removeAttribute("aria-activedescendant");
  }

  /** The element of the active cell, which is scrolled into view. */
  get activeCell() {
    return this.#last;
  }

  /** Makes a cell active, and scrolls to it. */
  go(row, column) {
    this.active = { row: Math.max(-1, Math.min(row, this.rows.total - 1)), column: Math.max(0, Math.min(column, this.columns.length - 1)) };
    const { row: index, column: at } = this.active;
    if (index >= 0) {
      const [top, visible] = [this.#top(), this.#visibleHeight() / ROW];
      const wanted = index < top ? index : index + 1 > top + visible ? index + 1 - visible : top;
      if (wanted !== top) {
        const full = this.rows.total * ROW;
        this.scrollTop = full <= MAX_HEIGHT ? wanted * ROW : (wanted / (this.rows.total - visible)) * (MAX_HEIGHT - this.#visibleHeight());
      }
    }
    const left = this.#lefts[at] ?? 0;
    if (left - GUTTER < this.scrollLeft) this.scrollLeft = left - GUTTER;
    else if (left + (this.columns[at]?.width ?? 0) > this.scrollLeft + this.clientWidth) this.scrollLeft = left + this.columns[at].width - this.clientWidth;
    this.#drawNow();
  }

  #drawNow() {
    if (this.#frame) cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#draw();
  }

  #key(event) {
    if (event.target !== this) return;
    const { row, column } = this.active;
    const page = Math.max(1, Math.floor(this.#visibleHeight() / ROW) - 1);
    const far = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowDown: [far ? this.rows.total - 1 : row + 1, column],
      ArrowUp: [far ? 0 : row - 1, column],
      ArrowLeft: [row, far ? 0 : column - 1],
      ArrowRight: [row, far ? this.columns.length - 1 : column + 1],
      PageDown: [row + page, column],
      PageUp: [Math.max(0, row - page), column],
      Home: [far ? 0 : row, 0],
      End: [far ? this.rows.total - 1 : row, this.columns.length - 1],
    };
    if (event.altKey && event.key === "ArrowDown" && this.onMenu) this.#openMenu(column);
    else if (moves[event.key] && !event.altKey) {
      if (event.shiftKey && this.keyOf && event.key.startsWith("Arrow")) this.#selectRange(row, moves[event.key][0]);
      this.go(...moves[event.key]);
    } else if (event.key === "Enter" && row < 0) this.#sort(column);
    else if (event.key === "Enter" && event.shiftKey) this.#open();
    else if (event.key === "Enter" || event.key === "F2") this.onEdit ? this.#edit() : this.#open();
    else if (event.key === " " && this.keyOf && row >= 0) this.#toggle(row);
    else if (event.key === "Escape" && this.selected.size) this.select(new Map());
    else if (event.key.length === 1 && !far && !event.altKey && event.key !== " " && event.key !== "/" && event.key !== "?" && row >= 0 && this.onEdit) this.#edit(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #at(event) {
    const cell = event.target.closest?.("[data-column]");
    return cell && this.contains(cell) ? { row: Number(cell.dataset.row), column: Number(cell.dataset.column), cell } : undefined;
  }

  #point(event) {
    const at = this.#at(event);
    if (!at || event.button !== 0) return;
    if (event.target.dataset.resize) return this.#resize(event, at.column);
    if (at.row === -1) {
      event.preventDefault();
      this.focus({ preventScroll: true });
      this.active = { row: -1, column: at.column };
      if (event.target.dataset.menu) this.#openMenu(at.column);
      else this.#sort(at.column, event.shiftKey);
      return this.draw();
    }
    if (at.column === -1) {
      event.preventDefault();
      this.focus({ preventScroll: true });
      if (event.shiftKey) this.#selectRange(this.active.row, at.row);
      else if (this.keyOf) this.#toggle(at.row);
      this.active = { ...this.active, row: at.row };
      return this.draw(true);
    }
    this.active = { row: at.row, column: at.column };
    this.#activate();
  }

  #resize(event, column) {
    event.preventDefault();
    const [start, before] = [event.clientX, this.columns[column].width];
    const move = (moved) => {
      this.columns[column].width = Math.max(48, before + moved.clientX - start);
      this.show(this.columns, this.rows, { keep: true });
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  }

  #sort(column, fromEnd = false) {
    this.onSort?.(this.columns[column], fromEnd);
  }

  #openMenu(column) {
    this.active = { row: -1, column };
    this.go(-1, column);
    this.onMenu(this.columns[column], document.getElementById(`${this.id}-h-${column}`));
  }

  #edit(typed) {
    const { row: index, column } = this.active;
    const row = this.rows.get(index);
    if (!row || index < 0) return;
    if (!this.onEdit) return this.#open();
    this.go(index, column);
    this.onEdit(row, this.columns[column], index, typed);
  }

  #open() {
    const row = this.rows.get(this.active.row);
    if (row && this.active.row >= 0) this.onOpen?.(row, this.active.row);
  }

  #toggle(index) {
    const row = this.rows.get(index);
    if (!row) return;
    const key = this.keyOf(row);
    if (!this.selected.delete(key)) this.selected.set(key, row);
    this.select(this.selected);
  }

  #selectRange(from, to) {
    for (let index = Math.max(0, Math.min(from, to)); index <= Math.min(this.rows.total - 1, Math.max(from, to)); index++) {
      const row = this.rows.get(index);
      if (row) this.selected.set(this.keyOf(row), row);
    }
    this.select(this.selected);
  }

  /** Selects these rows. */
  select(rows) {
    this.selected = rows;
    this.onSelect(rows);
    this.draw(true);
  }
}

/** A column's first width, by what is in it. */
function width(column) {
  const name = column.name.length * 8 + 44;
  const own = { bool: 72, date: 110, time: 110, timestamp: 190, datetime: 190, uuid: 290, json: 260, text: 190, bytes: 110, any: 150 }[column.type] ?? 110;
  return Math.min(340, Math.max(own, name));
}

customElements.define("bobak-grid", Grid);
