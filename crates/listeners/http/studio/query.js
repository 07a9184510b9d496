// The page for SQL: tabs, an editor that completes names, results as a grid and a chart, saved statements.

import { link, setParameters } from "./app.js";
import { send, query as queryString } from "./api.js";
import { ask, button, count, dialog, fill, h, icon, menu, notify, report, save } from "./dom.js";
import { planIndex } from "./migrate.js";
import { chart, firstSettings, isNumeric, KINDS } from "./chart.js";
import { Grid, RowWindow } from "./grid.js";
import { csv, parameterValue } from "./values.js";

const WORDS = "SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT OFFSET JOIN LEFT INNER CROSS ON AS AND OR NOT IN IS NULL LIKE BETWEEN EXISTS CASE WHEN THEN ELSE END DISTINCT UNION ALL EXCEPT INTERSECT WITH RECURSIVE VALUES INSERT INTO UPDATE SET DELETE CREATE TABLE VIEW INDEX UNIQUE PRIMARY KEY FOREIGN REFERENCES DEFAULT CHECK DROP ALTER ADD COLUMN RENAME TO RETURNING ASC DESC COLLATE CAST OVER PARTITION EXPLAIN QUERY PLAN REPLACE CONFLICT DO NOTHING".split(" ");
const FUNCTIONS = "count sum avg min max total group_concat coalesce ifnull nullif abs round length lower upper substr trim replace instr date time datetime strftime julianday unixepoch random hex quote typeof printf json_extract row_number rank lag lead first_value last_value".split(" ");
const PARAMETER_TYPES = [["any", "number or text"], ["text", "text"], ["null", "NULL"]];
const KEYWORDS = new Set(WORDS.map((word) => word.toLowerCase()));
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?\b)|([:@$][A-Za-z_]\w*|\?)|([A-Za-z_]\w*)|([\s\S])/g;

/** The tokens of a statement: `[kind, text]`. */
export function tokens(text) {
  return [...text.matchAll(TOKEN)].map(([all, comment, string, name, number, parameter, word]) => {
    const kind = comment !== undefined ? "comment" : string !== undefined ? "string" : name !== undefined ? "name" : number !== undefined ? "number" : parameter !== undefined ? "parameter" : word !== undefined ? (KEYWORDS.has(word.toLowerCase()) ? "keyword" : "word") : "other";
    return [kind, all];
  });
}

/** The named parameters of a statement, and the statement with a question mark in place of each. */
export function withParameters(text) {
  const names = [];
  const order = [];
  const plain = tokens(text).map(([kind, part]) => {
    if (kind !== "parameter" || part === "?") return part;
    if (!names.includes(part)) names.push(part);
    order.push(part);
    return "?";
  });
  return { names, order, text: plain.join("") };
}

const store = (database) => ({
  read: (what, otherwise) => JSON.parse(localStorage.getItem(`${what}:${database}`) ?? "null") ?? otherwise,
  write: (what, value) => localStorage.setItem(`${what}:${database}`, JSON.stringify(value)),
});

export async function page(main, { database, target, session }) {
  if (session.sql === "none") {
    fill(main, h("div", { className: "empty" }, h("h1", {}, "SQL is off"), h("p", {}, "Start the server with ", h("code", {}, "--http-sql read"), " or ", h("code", {}, "--http-sql write"), ", or sign in by the link that ", h("code", {}, "bobak serve"), " shows.")));
    return;
  }
  const own = new SqlPage(main, database, session);
  await own.open(target.parameters);
  return () => own.close();
}

class SqlPage {
  constructor(main, database, session) {
    Object.assign(this, { main, database, session });
    this.store = store(database.name);
    this.tabs = this.store.read("tabs", [{ title: "Query 1", text: "" }]);
    this.current = Math.min(this.store.read("tab", 0), this.tabs.length - 1);
    this.results = new WeakMap();
  }

  async open({ q, explain }) {
    if (q) {
      const found = this.tabs.findIndex((tab) => tab.text === q);
      if (found >= 0) this.current = found;
      else if (!this.tabs[this.current].text.trim()) this.tabs[this.current].text = q;
      else this.current = this.tabs.push({ title: `Query ${this.tabs.length + 1}`, text: q }) - 1;
    }
    this.tables = await this.database.tables();
    this.text = h("textarea", {
      id: "sql", spellcheck: false, autocomplete: "off", wrap: "off", placeholder: "SELECT …", aria: { label: "SQL", autocomplete: "list", controls: "completions" },
      on: { input: () => this.#changed(true), scroll: () => this.#scroll(), keydown: (event) => this.#key(event), blur: () => setTimeout(() => this.#hide(), 150), click: () => this.#hide() },
    });
    this.colors = h("pre", { className: "colors", aria: { hidden: "true" } });
    this.list = h("ul", { className: "completions", id: "completions", role: "listbox", hidden: true, aria: { label: "Completions" } });
    this.tabList = h("div", { className: "tabs", role: "tablist", aria: { label: "Statements" } });
    this.parametersBox = h("div", { className: "parameters" });
    this.output = h("div", { className: "output" });
    this.runButton = button("Run", () => this.run(), { picture: "play", kind: "primary" });
    this.stopButton = button("Cancel", () => this.abort?.abort(), { picture: "stop", disabled: true });
    fill(
      this.main,
      h(
        "div",
        { className: "page sql" },
        h("header", { className: "title" }, h("h1", {}, icon("sql"), "SQL"), this.tabList),
        h("div", { className: "sql-editor" }, this.colors, this.text, this.list),
        h("div", { className: "tools", role: "toolbar", aria: { label: "Statement" } }, this.runButton, this.stopButton, button("Explain", () => this.explain()), button("Saved…", (event) => this.savedMenu(event.currentTarget)), this.parametersBox, h("span", { className: "space" }), h("span", { className: "hint" }, this.session.sql === "read" ? "Statements may only read." : "")),
        this.output,
      ),
    );
    this.#showTabs();
    this.#load();
    this.text.focus();
    // A link from elsewhere must not write.
    if (q) await (explain ? this.explain() : this.run({ readOnly: true }));
  }

  close() {
    this.abort?.abort();
    this.#remember();
  }

  get tab() {
    return this.tabs[this.current];
  }

  #remember() {
    this.store.write("tabs", this.tabs);
    this.store.write("tab", this.current);
  }

  #showTabs() {
    fill(
      this.tabList,
      this.tabs.map((tab, index) => [
        h("button", { type: "button", role: "tab", aria: { selected: String(index === this.current), controls: "sql" }, tabIndex: index === this.current ? 0 : -1, on: { click: () => this.#choose(index), dblclick: () => this.#rename(index), keydown: (event) => this.#tabKey(event, index) } }, tab.title),
      ]),
    );
    this.tabTools ??= h("span", { className: "tab-tools" }, button("New statement", () => this.#add(), { picture: "plus", quiet: true }), button("Close this statement", () => this.#remove(), { picture: "close", quiet: true }));
    this.tabList.after(this.tabTools);
  }

  #tabKey(event, index) {
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1 }[event.key];
    if (event.key === "Delete") this.#remove();
    else if (event.key === "F2") this.#rename(index);
    else if (next === undefined || !this.tabs[next]) return;
    else this.#choose(next);
    event.preventDefault();
    this.tabList.querySelector('[aria-selected="true"]')?.focus();
  }

  #choose(index) {
    this.current = index;
    this.#remember();
    this.#showTabs();
    this.#load();
  }

  async #rename(index) {
    const input = h("input", { id: "tab-title", value: this.tabs[index].title });
    const title = await dialog("Rename", (done) => h("form", { on: { submit: (event) => (event.preventDefault(), done(input.value)) } }, h("label", { htmlFor: "tab-title" }, "Title"), input, h("footer", {}, h("button", { className: "primary" }, "Rename"))));
    if (title) this.tabs[index].title = title;
    this.#showTabs();
    this.#remember();
  }

  #add() {
    this.tabs.push({ title: `Query ${this.tabs.length + 1}`, text: "" });
    this.#choose(this.tabs.length - 1);
    this.text.focus();
  }

  async #remove() {
    if (this.tab.text.trim() && !(await ask("Close", `Close “${this.tab.title}”? Its statement is not saved elsewhere.`, [["Keep it", false], ["Close it", true, "danger"]]))) return;
    this.tabs.splice(this.current, 1);
    if (!this.tabs.length) this.tabs.push({ title: "Query 1", text: "" });
    this.#choose(Math.min(this.current, this.tabs.length - 1));
  }

  #load() {
    this.text.value = this.tab.text;
    this.#changed(false);
    const result = this.results.get(this.tab);
    if (result) this.#show(result);
    else fill(this.output, h("p", { className: "hint" }, "Ctrl+Enter runs the statement, or the selected part of it. Ctrl+Space completes names."));
  }

  #changed(typed) {
    this.tab.text = this.text.value;
    // The last line needs a character to have a height.
    fill(this.colors, tokens(this.text.value).map(([kind, text]) => (kind === "other" || kind === "word" ? text : h("span", { className: kind }, text))), "\n");
    this.#scroll();
    this.#showParameters();
    this.#remember();
    if (typed) this.#complete(false);
  }

  #scroll() {
    this.colors.scrollTop = this.text.scrollTop;
    this.colors.scrollLeft = this.text.scrollLeft;
  }

  #showParameters() {
    const { names } = withParameters(this.text.value);
    this.tab.parameters ??= {};
    const shown = [...this.parametersBox.querySelectorAll("input")].map((input) => input.name);
    if (shown.join() === names.join()) return;
    this.tab.types ??= {};
    fill(this.parametersBox, names.map((name) => this.#parameter(name)));
  }

  /** The field of a parameter, and what its text is. */
  #parameter(name) {
    const { parameters, types } = this.tab;
    const input = h("input", { name, value: parameters[name] ?? "", on: { input: () => ((parameters[name] = input.value), this.#remember()), keydown: (event) => event.key === "Enter" && this.run() } });
    const show = () => {
      input.disabled = types[name] === "null";
      input.placeholder = types[name] === "text" ? "" : "NULL";
    };
    const choose = (event) => {
      types[name] = event.target.value;
      show();
      this.#remember();
    };
    show();
    const option = ([value, text]) => h("option", { value, selected: value === (types[name] ?? "any") }, text);
    return h("span", { className: "parameter" }, h("label", {}, name, input), h("select", { aria: { label: `Type of ${name}` }, title: "What looks like a number is a number, and nothing is NULL, unless you choose text", on: { change: choose } }, PARAMETER_TYPES.map(option)));
  }

  /** The values of parameters, in this order. */
  #values(order) {
    return order.map((name) => parameterValue(this.tab.parameters?.[name] ?? "", this.tab.types?.[name]));
  }

  // Completion

  #key(event) {
    const far = event.ctrlKey || event.metaKey;
    if (far && event.key === "Enter") this.run();
    else if (far && event.key === " ") this.#complete(true);
    else if (!this.list.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) this.#move(event.key === "ArrowDown" ? 1 : -1);
    else if (!this.list.hidden && (event.key === "Enter" || event.key === "Tab")) this.#take(this.choice);
    else if (!this.list.hidden && event.key === "Escape") this.#hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The names that may stand here: after `table.`, its columns. */
  #candidates(before) {
    const dotted = /(?:"([^"]+)"|([A-Za-z_]\w*))\.([A-Za-z_]*)$/.exec(before);
    const quote = (text) => (/^[A-Za-z_]\w*$/.test(text) && !KEYWORDS.has(text.toLowerCase()) ? text : `"${text.replaceAll('"', '""')}"`);
    if (dotted) {
      const alias = (dotted[1] ?? dotted[2]).toLowerCase();
      const words = tokens(this.text.value).filter(([kind]) => kind === "word" || kind === "name" || kind === "keyword").map(([, text]) => text.replaceAll('"', ""));
      const at = words.findIndex((word, index) => index > 0 && word.toLowerCase() === alias && this.tables.some((table) => [words[index - 1], words[index - 2]].some((one, back) => table.name.toLowerCase() === one?.toLowerCase() && (back === 0 || words[index - 1].toLowerCase() === "as"))));
      const near = [alias, words[at - 1]?.toLowerCase(), words[at - 2]?.toLowerCase()];
      const table = near.map((one) => this.tables.find(({ name }) => name.toLowerCase() === one)).find(Boolean);
      return { prefix: dotted[3], all: (table?.columns ?? []).map((column) => [quote(column.name), column.type]) };
    }
    const prefix = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
    const named = tokens(this.text.value).map(([, text]) => text.replaceAll('"', "").toLowerCase());
    const used = this.tables.filter((table) => named.includes(table.name.toLowerCase()));
    const columns = (used.length ? used : this.tables.length < 20 ? this.tables : []).flatMap((table) => table.columns.map((column) => [quote(column.name), `${table.name} · ${column.type}`]));
    const tables = this.tables.map((table) => [quote(table.name), table.view ? "view" : "table"]);
    const wantsTable = /\b(from|join|into|update|table)\s+[A-Za-z_]*$/i.test(before);
    return { prefix, all: [...(wantsTable ? [...tables, ...columns] : [...columns, ...tables]), ...FUNCTIONS.map((word) => [`${word}(`, "function"]), ...WORDS.map((word) => [word, ""])] };
  }

  #complete(asked) {
    const before = this.text.value.slice(0, this.text.selectionStart);
    const { prefix, all } = this.#candidates(before);
    if (!asked && prefix.length < 1 && !before.endsWith(".")) return this.#hide();
    const seen = new Set();
    const lower = prefix.toLowerCase();
    const found = all.filter(([text]) => text.replace('"', "").toLowerCase().startsWith(lower) && text.toLowerCase() !== lower && !seen.has(text) && seen.add(text)).slice(0, 12);
    if (!found.length) return this.#hide();
    this.choices = found.map(([text]) => text);
    this.prefix = prefix;
    fill(this.list, found.map(([text, what], index) => h("li", { id: `completion-${index}`, role: "option", on: { pointerdown: (event) => (event.preventDefault(), this.#take(index)) } }, h("span", {}, text), h("span", { className: "hint" }, what))));
    this.list.hidden = false;
    const lines = before.split("\n");
    const width = 8.43;
    this.list.style.left = `${Math.min(this.text.clientWidth - 220, Math.max(0, 12 + (lines.at(-1).length - prefix.length) * width - this.text.scrollLeft))}px`;
    this.list.style.top = `${12 + lines.length * 21 - this.text.scrollTop}px`;
    this.choice = -1;
    this.#move(1);
  }

  #move(step) {
    this.choice = (this.choice + step + this.choices.length) % this.choices.length;
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === this.choice)));
    this.text.setAttribute("aria-activedescendant", `completion-${this.choice}`);
  }

  #take(index) {
    const at = this.text.selectionStart;
    this.text.setRangeText(this.choices[index], at - this.prefix.length, at, "end");
    this.#hide();
    this.#changed(false);
    this.text.focus();
  }

  #hide() {
    this.list.hidden = true;
    this.text.removeAttribute("aria-activedescendant");
  }

  // Running

  /** The selected part of the statement, or all of it. */
  #statement() {
    const { selectionStart, selectionEnd, value } = this.text;
    return (selectionStart < selectionEnd ? value.slice(selectionStart, selectionEnd) : value).trim().replace(/;\s*$/, "");
  }

  async #send(text, { readOnly, explain } = {}) {
    const { order, text: plain } = withParameters(text);
    const values = this.#values(order);
    this.abort?.abort();
    this.abort = new AbortController();
    this.stopButton.disabled = false;
    this.runButton.disabled = true;
    try {
      return await this.database.sql(plain, values, { readOnly, explain, signal: this.abort.signal });
    } finally {
      this.stopButton.disabled = true;
      this.runButton.disabled = false;
    }
  }

  /** Runs the statement; with `readOnly` only if it does not write. */
  async run({ readOnly } = {}) {
    this.#hide();
    const text = this.#statement();
    if (!text) return;
    const tab = this.tab;
    const begun = performance.now();
    fill(this.output, h("p", { role: "status" }, "Running…"));
    setParameters({ q: text.length < 4_000 ? text : undefined });
    try {
      const result = await this.#send(text, { readOnly });
      result.time = performance.now() - begun;
      result.text = text;
      if (result.changed !== undefined) this.tables = await this.database.tables(true);
      this.results.set(tab, result);
      if (tab === this.tab) this.#show(result);
    } catch (error) {
      if (readOnly && error.status === 403) return fill(this.output, h("p", { role: "status" }, "This statement came with the address, and writes. Read it, then press Run."));
      fill(this.output, h("p", { className: "problem", role: "alert" }, error.name === "AbortError" ? "Canceled: the server stops the statement." : error.message));
    }
  }

  #show(result) {
    const time = result.time < 10 ? result.time.toFixed(1) : Math.round(result.time);
    if (result.changed !== undefined) return fill(this.output, h("p", { role: "status" }, `Changed ${count(result.changed)} ${result.changed === 1 ? "row" : "rows"} · ${time} ms`));
    const { columns, rows } = result;
    const grid = new Grid();
    const shown = columns.map((name, index) => ({ name: String(index), label: name, type: isNumeric(rows, index) ? "f64" : "text", hint: name }));
    grid.setAttribute("aria-label", "Result");
    // Two columns of a result may have one name: rows are arrays.
    shown.forEach((column) => (column.name = column.label));
    const unique = new Set(columns).size === columns.length;
    const keys = unique ? columns : columns.map((name, index) => `${name} (${index + 1})`);
    shown.forEach((column, index) => (column.name = keys[index]));
    const objects = rows.map((row) => Object.fromEntries(keys.map((key, index) => [key, row[index]])));
    grid.onOpen = (row) => dialog("Row", () => h("dl", { className: "values" }, keys.map((key) => [h("dt", {}, key), h("dd", {}, row[key] === null ? "NULL" : typeof row[key] === "object" ? JSON.stringify(row[key], null, 2) : String(row[key]))])));
    const plot = h("div", { className: "plot", hidden: true });
    const chartButton = button("Chart", () => this.#chart(plot, result), { picture: "chart", disabled: rows.length === 0 });
    fill(
      this.output,
      h(
        "div",
        { className: "tools", role: "toolbar", aria: { label: "Result" } },
        h("span", { role: "status" }, `${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}${result.more ? ", and more" : ""} · ${time} ms`),
        chartButton,
        button("CSV", () => save("result.csv", "text/csv", csv(columns, rows)), { picture: "down" }),
        button("JSON", () => save("result.json", "application/json", JSON.stringify(rows.map((row) => Object.fromEntries(keys.map((key, index) => [key, row[index]]))), null, 1)), { picture: "down" }),
        result.more ? button("All rows as CSV", () => this.#download(result.text), { picture: "down" }) : null,
      ),
      plot,
      grid,
    );
    grid.show(shown, RowWindow.of(objects));
    if (this.tab.chart) this.#chart(plot, result);
  }

  /** All rows, also those beyond the limit of a page: the server sends CSV. */
  async #download(text) {
    const { order, text: plain } = withParameters(text);
    const response = await send("POST", `${this.database.path}sql?${queryString({ numbers: "text" })}`, { body: { sql: plain, parameters: this.#values(order) }, headers: { accept: "text/csv" } });
    save("result.csv", "text/csv", await response.blob());
  }

  #chart(plot, result) {
    plot.hidden = !plot.hidden;
    if (plot.hidden) return void (this.tab.chart = undefined);
    const { columns } = result;
    const settings = (this.tab.chart ??= firstSettings(result));
    for (const key of ["x", "y"]) if (!(settings[key] >= 0 && settings[key] < columns.length)) settings[key] = 0;
    const area = h("div", { aria: { live: "polite" } });
    let last = 0;
    const draw = async () => {
      across.hidden = settings.kind === "histogram";
      up.firstChild.data = settings.kind === "histogram" ? "Values" : "Up";
      this.#remember();
      const own = (last += 1);
      if (result.more) fill(area, h("p", { role: "status" }, "The database summarizes the rows…"));
      try {
        const { kind, x, y } = settings;
        const { picture, note } = await chart({ kind, x: Number(x), y: Number(y) }, result, (text) => this.#ofAllRows(result.text, text));
        if (own === last) fill(area, picture, note ? h("p", { className: "hint" }, note) : null);
      } catch (error) {
        if (own === last) fill(area, h("p", { className: "problem", role: "alert" }, error.name === "AbortError" ? "Canceled." : error.message));
      }
    };
    const choose = (label, key, options) => h("label", {}, label, h("select", { on: { change: (event) => ((settings[key] = event.target.value), draw()) } }, options.map(([value, text]) => h("option", { value: String(value), selected: String(value) === String(settings[key]) }, text))));
    const names = columns.map((name, index) => [index, name]);
    const across = choose("Across", "x", names);
    const up = choose("Up", "y", names);
    fill(plot, h("div", { className: "tools" }, choose("Chart", "kind", KINDS), across, up), area);
    draw();
  }

  /** Runs a query over all rows of a statement, which it names `bobak_rows`. */
  async #ofAllRows(statement, text) {
    return (await this.#send(text.replace("FROM bobak_rows", () => `FROM (${statement}\n) AS bobak_rows`), { readOnly: true })).rows;
  }

  async explain() {
    const text = this.#statement();
    if (!text) return;
    try {
      const plan = await this.#send(text, { readOnly: true, explain: true });
      const tree = (steps) => (steps.length ? h("ul", { className: "plan" }, steps.map((step) => h("li", {}, h("span", { className: step.access === "scan" ? "scan" : "" }, step.text), step.rows === null ? null : h("span", { className: "hint" }, ` ${count(step.rows)} ${step.rows === 1 ? "row" : "rows"} expected`), tree(step.steps)))) : null);
      fill(this.output, h("h2", {}, "How the database reads"), tree(plan.steps) ?? h("p", {}, "There are no steps."), plan.advice.map((advice) => this.#advice(advice)));
    } catch (error) {
      fill(this.output, h("p", { className: "problem", role: "alert" }, error.status === 501 ? "This engine does not explain statements." : error.message));
    }
  }

  /** An index that would help. */
  #advice({ message, table, columns }) {
    const canChange = !this.session.anonymous && !this.session.as;
    const found = this.tables.find(({ name }) => name === table);
    return h("p", { className: "hint" }, `${message}. `, canChange && found ? button("Add this index…", () => planIndex(this.database, found, columns, () => this.explain())) : null);
  }

  // Saved statements

  savedMenu(anchor) {
    const saved = this.store.read("saved", []);
    menu(anchor, [
      ["Save this statement…", () => this.#save(saved)],
      ["Copy an address of this statement", () => navigator.clipboard.writeText(new URL(link("sql", this.database.name, undefined, { q: this.text.value }), location.href).href).then(() => notify("Copied."), report)],
      ...(saved.length ? [null] : []),
      ...saved.map(({ title, text }) => [title, () => ((this.tab.text = text), (this.tab.title = title), this.#showTabs(), this.#load())]),
      ...(saved.length ? [null, ["Delete a saved statement…", () => this.#forget(saved)]] : []),
    ]);
  }

  async #save(saved) {
    const input = h("input", { id: "save-title", value: this.tab.title, required: true });
    const title = await dialog("Save this statement", (done) => h("form", { on: { submit: (event) => (event.preventDefault(), done(input.value)) } }, h("label", { htmlFor: "save-title" }, "Title"), input, h("p", { className: "hint" }, "It is saved in this browser. Names such as :city become fields."), h("footer", {}, h("button", { className: "primary" }, "Save"))));
    if (!title) return;
    this.store.write("saved", [...saved.filter((one) => one.title !== title), { title, text: this.text.value }].sort((a, b) => a.title.localeCompare(b.title)));
    this.tab.title = title;
    this.#showTabs();
    notify(`Saved ${title}.`);
  }

  async #forget(saved) {
    const title = await ask("Delete a saved statement", "Which one?", saved.map((one) => [one.title, one.title]));
    if (title) this.store.write("saved", saved.filter((one) => one.title !== title));
  }
}

