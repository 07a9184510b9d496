// The HTTP API, as any other client uses it: docs/http.md.

import { exactJson, isExact, plainValue } from "./values.js";

/** The server's root: this folder's parent, so that a proxy may serve it under any path. */
export const ROOT = new URL("..", import.meta.url);

/** A problem document. */
export class ApiError extends Error {
  constructor(status, problem) {
    const where = [problem.table, problem.column].filter(Boolean).join(".");
    super(where && !problem.detail?.includes(where) ? `${where}: ${problem.detail}` : (problem.detail ?? `status ${status}`));
    this.status = status;
    this.problem = problem;
  }
}

/** The last requests, newest first, for the page that shows how a program makes them. */
export const requests = [];

/** Is called if the session has ended. Returns a promise of whether there is a new one. */
let signIn = async () => false;
export const onSignIn = (action) => (signIn = action);

/** The account whose permissions this tab tries. */
export const actingAs = sessionStorage.getItem("as");

/** Shows what another account sees, in this tab, until it is called without one. */
export function actAs(account) {
  if (account) sessionStorage.setItem("as", account);
  else sessionStorage.removeItem("as");
  location.hash = "";
  location.reload();
}

/** The response that `early.js` asked for, if it is one of success: once. */
function takeEarly({ href }) {
  const response = globalThis.early?.get(href);
  globalThis.early?.delete(href);
  return response;
}

/** Sends a request. `path` is below the root. Returns the response if its status is one of success, or one of `accept`. */
export async function send(method, path, { body, type = "application/json", headers = {}, signal, accept = [], quiet } = {}) {
  const url = new URL(path, ROOT);
  const init = { method, headers: { "bobak-studio": "1", ...(actingAs ? { "bobak-as": actingAs } : {}), ...headers }, signal, credentials: "same-origin" };
  if (body !== undefined) {
    init.body = typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
    init.headers["content-type"] = type;
  }
  if (!quiet) {
    requests.unshift({ method, url: url.href, type, headers, body: typeof init.body === "string" ? init.body : undefined });
    requests.length = Math.min(requests.length, 20);
  }
  for (;;) {
    let response;
    try {
      response = (method === "GET" && (await takeEarly(url))) || (await fetch(url, init));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, { detail: "the server does not respond: start it again with `bobak serve`, then try again" });
    }
    if (response.ok || accept.includes(response.status)) return response;
    if (response.status === 401 && (await signIn())) continue;
    const problem = await response.json().catch(() => ({}));
    throw new ApiError(response.status, problem);
  }
}

export const json = async (method, path, options) => (await send(method, path, options)).json();

const segment = encodeURIComponent;

/** Whether Bobak made the table for itself. */
const isOwn = (name) => /^bobak_/.test(name);

/** One database. */
export class Database {
  #tables;
  constructor(name) {
    this.name = name;
    this.path = `databases/${segment(name)}/`;
  }

  /** Its tables and views, by name; read again with `fresh`. */
  async tables(fresh = false) {
    if (fresh || !this.#tables) {
      this.#tables = json("GET", `${this.path}tables`, { quiet: true }).then(({ tables }) => {
        // Bobak's own tables come last.
        tables.sort((a, b) => isOwn(a.name) - isOwn(b.name) || a.name.localeCompare(b.name));
        return tables.map((table) => new Table(this, table, tables));
      });
      this.#tables.catch(() => (this.#tables = undefined));
    }
    return this.#tables;
  }

  async table(name) {
    const find = (all) => all.find((table) => table.name.toLowerCase() === name.toLowerCase());
    const table = find(await this.tables()) ?? find(await this.tables(true));
    if (!table) throw new ApiError(404, { detail: `there is no table '${name}' in '${this.name}', or you may not see it` });
    return table;
  }

  /** Runs one SQL statement; with `readOnly` only if it does not write; with `explain` only its plan. */
  sql(text, parameters = [], { readOnly, explain, ...options } = {}) {
    return json("POST", `${this.path}sql?numbers=text`, { body: { sql: text, parameters, ...(readOnly ? { read_only: true } : {}), ...(explain ? { explain } : {}) }, ...options });
  }

  /** Several writes, all or none: `{op, table, row}`. */
  batch(operations) {
    const body = operations.map((operation) => JSON.stringify(operation)).join("\n");
    return json("POST", `${this.path}batch?outcomes=true`, { body, type: "application/x-ndjson" });
  }
}

/** A table or view. */
export class Table {
  constructor(database, description, all) {
    Object.assign(this, description);
    this.database = database;
    this.path = `${database.path}tables/${segment(this.name)}`;
    this.writable = !this.view && this.key.length > 0;
    /** Columns of other tables that refer to this one. */
    this.referrers = all.flatMap((table) =>
      table.columns
        .filter((column) => column.references?.table.toLowerCase() === this.name.toLowerCase())
        .map((column) => ({ table: table.name, column: column.name, to: column.references.column })),
    );
    /** Foreign keys to this table by which the database deletes or changes rows when one of its rows is deleted. */
    this.dependents = all.flatMap((table) => {
      const single = table.columns.filter((column) => column.references).map(({ name, references }) => ({ columns: [name], references: { ...references, columns: [references.column] } }));
      return [...single, ...(table.foreign_keys ?? [])]
        .filter(({ references }) => references.on_delete && references.table.toLowerCase() === this.name.toLowerCase())
        .map(({ columns, references }) => ({ table: table.name, columns, to: references.columns, onDelete: references.on_delete }));
    });
  }

  column(name) {
    return this.columns.find((column) => column.name === name);
  }

  /** The parameter of what returns rows: 64-bit integers are strings, but those of columns without a type would be texts. */
  get #numbers() {
    return { numbers: this.columns.some((column) => column.type === "any") ? undefined : "text" };
  }

  /** Reads a response; `rowsOf` returns its rows. */
  async #read(response, rowsOf = (reply) => [reply]) {
    const text = await response.text();
    const reply = JSON.parse(text);
    if (!this.columns.some(isExact)) return reply;
    const exact = rowsOf(exactJson(text));
    rowsOf(reply).forEach((row, index) => {
      for (const column of this.columns) if (column.name in row) row[column.name] = plainValue(exact[index][column.name], column);
    });
    return reply;
  }

  async rows(parameters, options) {
    return this.#read(await send("GET", `${this.path}/rows?${query({ ...this.#numbers, ...parameters })}`, options), ({ rows }) => rows);
  }

  aggregate(parameters, options) {
    return json("GET", `${this.path}/aggregate?${query({ numbers: "text", ...parameters })}`, options);
  }

  /** The path of a row. */
  rowPath(row) {
    return `${this.path}/rows/${this.keyOf(row)}`;
  }

  /** The key of a row, as paths have it. */
  keyOf(row) {
    return this.key.map((name) => segment(keyText(row[name]))).join(",");
  }

  /** The row with a key, as paths have it. */
  async rowAt(key) {
    return this.#read(await send("GET", `${this.path}/rows/${key}?${query(this.#numbers)}`));
  }

  /** The changes of a row, if the table is tracked. */
  async history(row) {
    const response = await send("GET", `${this.rowPath(row)}/history?${query(this.#numbers)}`);
    return this.#read(response, ({ changes }) => changes.flatMap(({ before, after }) => [before ?? {}, after ?? {}]));
  }

  /** A row with its entity tag; undefined if it is gone. */
  async row(row) {
    const response = await send("GET", `${this.rowPath(row)}?${query(this.#numbers)}`, { accept: [404] });
    if (response.status === 404) return undefined;
    return { row: await this.#read(response), tag: plainTag(response) };
  }

  /** Changes columns of a row that still has this tag. Returns the new row, or undefined if it has changed or is gone. */
  async patch(row, values, tag) {
    const response = await send("PATCH", `${this.rowPath(row)}?${query(this.#numbers)}`, {
      body: values,
      headers: tag ? { "if-match": tag } : {},
      accept: [412, 404],
    });
    return response.ok ? { row: await this.#read(response), tag: plainTag(response) } : undefined;
  }

  async insert(values) {
    return this.#read(await send("POST", `${this.path}/rows?${query(this.#numbers)}`, { body: values }));
  }

  async delete(row, tag) {
    const response = await send("DELETE", this.rowPath(row), { headers: tag ? { "if-match": tag } : {}, accept: [412, 404] });
    return response.ok;
  }
}

const keyText = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value));

/** The tag of the row, whatever compression the response has. */
const plainTag = (response) => response.headers.get("etag");

/** Parameters as a query string, without those that are empty. */
export function query(parameters) {
  const all = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return all.map(([name, value]) => `${segment(name)}=${segment(value)}`).join("&");
}

/** A column's name in a filter. */
export const name = (text) => (/^[a-z_][a-z0-9_]*$/.test(text) && !WORDS.has(text) ? text : `"${text.replaceAll('"', '""')}"`);
const WORDS = new Set("and or not in is null like between contains starts ends with escape true false exists".split(" "));

/** A column's name in a list of columns. */
export const listName = (text) => (/[",]|^-|\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Reads server-sent events until `signal` aborts: calls `on` with `{id, event, data}`. Resumes after a lost connection. */
export async function events(path, on, signal, onState = () => {}) {
  let last;
  while (!signal.aborted) {
    try {
      const headers = { accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}) };
      const response = await send("GET", path, { headers, signal, quiet: last !== undefined });
      onState(true);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const parts = text.split("\n\n");
        text = parts.pop();
        for (const part of parts) {
          const event = { event: "message" };
          for (const line of part.split("\n")) {
            const colon = line.indexOf(":");
            if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
          }
          last = event.id ?? last;
          if (event.data !== undefined) on(event);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status && error.status !== 503) throw error;
    }
    onState(false);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
