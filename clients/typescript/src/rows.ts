// How the rows of one table are written and read.
import type { Session } from "./database.js";
import { BobakError, Garbled } from "./errors.js";
import { Added } from "./query.js";
import { load, newUuid, now, store, type Value } from "./values.js";
import * as answer from "./wire/answer.js";
import { Writer, type Stored } from "./wire/code.js";
import { Kind } from "./wire/frame.js";
import * as request from "./wire/request.js";
import type { TableSchema } from "./wire/schema.js";

function canSend(value: Stored): boolean {
  try {
    new Writer().row([value]);
    return true;
  } catch {
    return false;
  }
}

/** Sets an object's own property, also one with the name `__proto__`, which an assignment would take for its prototype. */
function setProperty(record: object, name: string, value: Value): void {
  if (name === "__proto__") Object.defineProperty(record, name, { value, configurable: true, enumerable: true, writable: true });
  else (record as Record<string, Value>)[name] = value;
}

/**
 * What a table and its selections share: its description, which is replaced if another program has changed the table.
 * @internal
 */
export interface Handle {
  rows: Rows;
}

/**
 * Runs a call on a table, and repeats it once with the new description of the table if another program has changed the table.
 * @internal
 */
export async function fitted<T>(session: Session, handle: Handle, work: (rows: Rows) => Promise<T>): Promise<T> {
  const { rows } = handle;
  try {
    return await work(rows);
  } catch (error) {
    const mayDiffer = error instanceof BobakError && error.kind === "Schema";
    if (!mayDiffer || (handle.rows === rows && !(await lookAgain(session, handle)))) throw error;
  }
  return work(handle.rows);
}

/** Takes the current description of a table; returns whether it is another one. */
async function lookAgain(session: Session, handle: Handle): Promise<boolean> {
  const { schema } = handle.rows;
  // For example a transaction that the error has ended has no tables.
  const found = await session.tables().catch(() => []);
  const now = found.find((table) => table.name.toLowerCase() === schema.name.toLowerCase());
  if (!now || (now.described && schema.described && Buffer.compare(now.described, schema.described) === 0)) return false;
  handle.rows = new Rows(now);
  return true;
}

/**
 * How the rows of one table are written and read.
 * @internal
 */
export class Rows {
  readonly #places: Map<string, number>;
  readonly fixed: number[];
  /** The columns that an upsert sets in an existing row. */
  readonly updated: number[];
  /** The initial values of new rows, and of others. */
  readonly #fresh: Stored[];
  readonly #blank: Stored[];
  readonly #stamps: number[];
  readonly #updatedBy = new Map<string, number[]>();
  constructor(readonly schema: TableSchema) {
    this.#places = new Map(schema.columns.map((column, place) => [column.name.toLowerCase(), place]));
    const versions = schema.columns.flatMap((column, place) => (column.role === 3 ? [place] : []));
    this.fixed = [...schema.key, ...versions];
    // A generated key has no default.
    const made = schema.keysBy === 2 ? [] : schema.key;
    this.#fresh = schema.columns.map((column, place) => (made.includes(place) ? null : column.role === 3 ? 0n : column.default));
    this.#blank = schema.columns.map(() => null);
    this.#stamps = schema.columns.flatMap((column, place) => (column.role === 1 || column.role === 2 ? [place] : []));
    this.updated = schema.columns.flatMap((column, place) => (column.role === 1 || this.fixed.includes(place) ? [] : [place]));
  }

  place(name: string): number {
    const place = this.#places.get(name.toLowerCase());
    if (place === undefined) throw new BobakError("Schema", `there is no column '${name}'`, { table: this.schema.name });
    return place;
  }
  settable(name: string): number {
    const place = this.place(name);
    if (!this.fixed.includes(place)) return place;
    throw new BobakError("Misuse", "a key or version can't be updated", { table: this.schema.name, column: name });
  }
  store(place: number, value: unknown): Stored {
    try {
      return store(value, this.schema.columns[place]!);
    } catch (error) {
      if (error instanceof BobakError) [error.table, error.column] = [this.schema.name, this.schema.columns[place]!.name];
      throw error;
    }
  }
  /** Appends a row, or a key. An error names the column whose value cannot be sent. */
  put(w: Writer, values: Stored[]): void {
    try {
      w.row(values);
    } catch (error) {
      if (error instanceof BobakError) {
        const places = values.length === this.schema.columns.length ? values.keys() : this.schema.key;
        const wrong = [...places].find((_, number) => !canSend(values[number]!));
        error.table ??= this.schema.name;
        if (wrong !== undefined) error.column ??= this.schema.columns[wrong]!.name;
      }
      throw error;
    }
  }
  /** All columns of a row, with time stamps; the key of a new one is generated here, or left to the engine. */
  made(record: object, isNew: boolean): Stored[] {
    if (typeof record !== "object" || record === null) {
      throw new BobakError("Mismatch", `expected an object, found ${record === null ? "null" : typeof record}`, { table: this.schema.name });
    }
    const { columns, key, keysBy } = this.schema;
    const values = (isNew ? this.#fresh : this.#blank).slice();
    for (const [name, value] of Object.entries(record)) {
      if (value === undefined) continue;
      const place = this.place(name);
      values[place] = this.store(place, value);
    }
    const only = key.length === 1 ? key[0]! : -1;
    if (isNew && keysBy === 1 && values[only] === null) values[only] = this.store(only, newUuid());
    for (const place of this.#stamps) {
      const column = columns[place]!;
      if (column.role === 2 || isNew || values[place] === null) values[place] = now(column);
    }
    return values;
  }
  /** The columns that an update by this record sets: those that it has. The same array for the same names. */
  updatedBy(record: object): number[] {
    const names = Object.entries(record).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const joined = names.join("\0");
    let sets = this.#updatedBy.get(joined);
    if (!sets) {
      const places = names.map((name) => this.place(name));
      // The modification time is always set.
      sets = this.updated.filter((place) => this.schema.columns[place]!.role === 2 || places.includes(place));
      this.#updatedBy.set(joined, sets);
    }
    return sets;
  }
  key(key: unknown): Stored[] {
    const parts = Array.isArray(key) ? key : [key];
    if (parts.length === this.schema.key.length) return this.schema.key.map((place, number) => this.store(place, parts[number]));
    throw new BobakError("Misuse", `the key has ${this.schema.key.length} columns, not ${parts.length}`, { table: this.schema.name });
  }
  keyIn(values: Stored[]): Value | Value[] {
    const parts = this.schema.key.map((place) => load(values[place]!, this.schema.columns[place]!.type));
    return parts.length === 1 ? parts[0]! : parts;
  }
  /** A key of 16 bytes. */
  loadKey(bytes: Uint8Array): Value {
    return load(Buffer.from(bytes), this.schema.columns[this.schema.key[0]!]!.type);
  }
  /** Sets in a record what an insert has set in the row. An upsert keeps the creation time, and raises the version. */
  setInserted(record: object, values: Stored[], key: Value | Value[], verb: request.Verb): void {
    const { columns, key: places, keysBy } = this.schema;
    if ((keysBy !== 2 || verb === "upsert_on") && places.length === 1) this.#set(record, places[0]!, key as Value);
    columns.forEach((column, place) => {
      const known = column.role === 2 || (column.role !== 0 && !verb.startsWith("upsert"));
      if (known) this.#set(record, place, load(values[place]!, column.type));
    });
  }
  /** Sets in a record what an update has set in the row. */
  setUpdated(record: object, values: Stored[]): void {
    this.schema.columns.forEach((column, place) => {
      const value = values[place]!;
      if (column.role === 2) this.#set(record, place, load(value, column.type));
      if (column.role === 3 && typeof value === "bigint") this.#set(record, place, value + 1n);
    });
  }
  #set(record: object, place: number, value: Value): void {
    if (Object.isFrozen(record)) return;
    const { name } = this.schema.columns[place]!;
    // The record may write the name in other letter case.
    const written = name in record ? name : Object.keys(record).find((other) => other.toLowerCase() === name.toLowerCase());
    setProperty(record, written ?? name, value);
  }
  record<T>(row: Stored[]): T {
    if (row.length !== this.schema.columns.length) throw new Garbled("a row of another table");
    const record: Record<string, Value> = {};
    this.schema.columns.forEach((column, place) => setProperty(record, column.name, load(row[place]!, column.type)));
    return record as T;
  }
  assigns(values: object): request.Assign[] {
    const assigns = Object.entries(values).flatMap(([name, value]) => {
      // As in JSON: undefined is missing, and NULL is null.
      if (value === undefined) return [];
      const place = this.settable(name);
      return [{ place, value: this.store(place, value instanceof Added ? value.value : value), adds: value instanceof Added }];
    });
    const stamp = this.schema.columns.findIndex((column) => column.role === 2);
    if (stamp >= 0 && assigns.every((one) => one.place !== stamp)) {
      assigns.push({ place: stamp, value: now(this.schema.columns[stamp]!), adds: false });
    }
    return assigns;
  }
  changed(session: Session, condition: request.Placed | null, assigns: request.Assign[] | null): Promise<number> {
    return session.run(true, undefined, async (c) => {
      const { table, where } = c.tables(this.schema, condition);
      const id = c.put(Kind.change, (w) => request.change(w, table, where, assigns));
      return Number(answer.count((await c.receive(id, Kind.count)).body));
    });
  }
}
