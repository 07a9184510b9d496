// Tables, and selections of their rows.
import * as blob from "./blob.js";
import { using, type Connection } from "./connection.js";
import { cursorRows, queryRows, type Options, type Session } from "./database.js";
import { BobakError, Garbled } from "./errors.js";
import { historyOf, type Change } from "./feed.js";
import { afterToken, tokenOf, type Page } from "./page.js";
import { explain, type QueryPlan } from "./plan.js";
import { Added, checkNames, checkNumber, col, ColumnOfRows, count, not, or, placed, type Condition, type Expression } from "./query.js";
import { fitted, Rows, type Handle } from "./rows.js";
import { load, type Value } from "./values.js";
import * as answer from "./wire/answer.js";
import { Writer, type Stored } from "./wire/code.js";
import { Kind } from "./wire/frame.js";
import * as request from "./wire/request.js";
import type { TableSchema, Type } from "./wire/schema.js";

/** The approximate number of bytes of rows in one part of a batch. */
const part = 1 << 19;

/** The values of a row of a batch, and the columns that it sets. */
type NewRow = [values: Stored[], sets: number[]];

/** The result of a batch. */
export class Report {
  rows = 0;
  inserted = 0;
  changed = 0;
  ignored = 0;
  /** An error for each skipped row, with its row number. */
  errors: BobakError[] = [];
  readonly #groups: answer.Group[] = [];
  /** The keys that this client generated, by row. */
  readonly #made = new Map<number, Value>();
  readonly #loadKey: (bytes: Uint8Array) => Value;
  /** @internal */
  constructor(loadKey: (bytes: Uint8Array) => Value) {
    this.#loadKey = loadKey;
  }

  /** For each row the key that the engine or this client generated, or that of the row that `upsertOn` updated, or null. */
  *keys(): Generator<Value> {
    let row = 0;
    for (const { tag, rows, value, key } of this.#groups) {
      for (let offset = 0; offset < rows; offset++, row++) {
        if (tag === "keys") yield value! + BigInt(offset);
        else if (tag === "updated") yield value!;
        else if (tag === "updated_key") yield this.#loadKey(key!);
        else yield tag === "inserted" || tag === "key" ? (this.#made.get(row) ?? null) : null;
      }
    }
  }

  /** @internal */
  made(row: number, key: Value): void {
    this.#made.set(row, key);
  }
  /** @internal */
  take(groups: answer.Group[]): void {
    this.#groups.push(...groups);
    for (const { tag, rows, value, error } of groups) {
      this.rows += rows;
      if (tag === "keys" || tag === "inserted" || tag === "key") this.inserted += rows;
      else if (tag === "changed") this.changed += rows * Number(value);
      else if (tag === "updated" || tag === "updated_key") this.changed += rows;
      else if (tag === "ignored") this.ignored += rows;
      else if (error) this.errors.push(error);
    }
  }
}

/** Rows of a table, selected and ordered. */
export class Selection<T> implements AsyncIterable<T> {
  #conditions: Condition[] = [];
  #order: string[] = [];
  #limit: number | null = null;
  #offset = 0;
  #lock: request.RowLock | null = null;
  #search: string | null = null;
  #nearest: { column: string; to: Float32Array | readonly number[]; metric: request.Metric } | null = null;
  /** @internal */
  readonly session: Session;
  /** @internal */
  readonly rows: Rows;
  readonly #handle: Handle;
  /** @internal */
  constructor(session: Session, handle: Handle, rows = handle.rows) {
    [this.session, this.#handle, this.rows] = [session, handle, rows];
  }

  /** Runs a call, with another description of the table if that has changed. */
  #fitted<R>(work: (selection: Selection<T>) => Promise<R>): Promise<R> {
    return fitted(this.session, this.#handle, (rows) => work(rows === this.rows ? this : this.#with(() => undefined, rows)));
  }
  #with(change: (copy: Selection<T>) => void, rows = this.rows): Selection<T> {
    const copy = new Selection<T>(this.session, this.#handle, rows);
    copy.#conditions = this.#conditions;
    [copy.#order, copy.#limit, copy.#offset] = [this.#order, this.#limit, this.#offset];
    [copy.#lock, copy.#search, copy.#nearest] = [this.#lock, this.#search, this.#nearest];
    change(copy);
    return copy;
  }
  /** Only rows that match all conditions. */
  where(...conditions: Condition[]): Selection<T> {
    return this.#with((copy) => (copy.#conditions = [...this.#conditions, ...conditions]));
  }
  /** In this order; "-age" is descending. Equal rows are ordered by key. */
  orderBy(...columns: string[]): Selection<T> {
    checkNames(columns, "orderBy");
    return this.#with((copy) => (copy.#order = [...this.#order, ...columns]));
  }
  /** At most this number of rows, after skipping `offset`. */
  limit(rows: number, offset = 0): Selection<T> {
    checkNumber(rows, "a limit");
    checkNumber(offset, "an offset");
    return this.#with((copy) => ([copy.#limit, copy.#offset] = [rows, offset]));
  }
  /** Deleted rows, too, of a record whose deleted rows stay; `column` has the time of the deletion. */
  withDeleted(column: keyof T & string): Selection<T> {
    return this.where(or(col(column).isNull(), not(col(column).isNull())));
  }
  /** Deleted rows only: `notes.where().onlyDeleted("deleted_at")`. */
  onlyDeleted(column: keyof T & string): Selection<T> {
    return this.where(not(col(column).isNull()));
  }
  /**
   * Rows whose texts have what is searched for, the best first unless there is an order:
   * `articles.where().search('fox OR "lazy dog"')`. The table needs a full-text search. The error is Syntax if the search
   * cannot be read.
   */
  search(text: string): Selection<T> {
    return this.#with((copy) => (copy.#search = text));
  }
  /**
   * At most so many rows whose vectors are nearest to one, the nearest first: `documents.where().nearest("embedding", to, 10)`.
   * Conditions come before; there is no order. `select(["id", distance()])` has the distances.
   */
  nearest(column: keyof T & string, to: Float32Array | readonly number[], rows: number, metric: request.Metric = "cosine"): Selection<T> {
    checkNumber(rows, "a number of rows");
    return this.#with((copy) => ([copy.#nearest, copy.#limit] = [{ column, to, metric }, rows]));
  }
  #measured(): Exclude<request.Select["nearest"], undefined> {
    if (this.#nearest === null) return null;
    const { column, to, metric } = this.#nearest;
    if (this.#order.length > 0 || this.#search !== null || this.#lock) {
      const words = "the nearest rows are sorted by their distance: leave out order, search and lock";
      throw new BobakError("Unsupported", words, { table: this.rows.schema.name });
    }
    const place = this.rows.place(column);
    const { type } = this.rows.schema.columns[place]!;
    if (type !== "vector") {
      throw new BobakError("Mismatch", `a distance is that of vectors, and this column is ${type}`, { table: this.rows.schema.name, column });
    }
    if (!request.metrics.includes(metric)) throw new BobakError("Misuse", `metric is one of ${request.metrics.join(", ")}, not '${metric}'`);
    // null is an empty vector here, of a wrong length.
    return { place, metric, to: this.rows.store(place, to ?? []) as Uint8Array };
  }
  /** Locks the rows until the transaction ends. */
  forUpdate(lock: request.RowLock = "wait"): Selection<T> {
    return this.#with((copy) => (copy.#lock = lock));
  }
  #condition(): request.Placed | null {
    const parts = this.#conditions.map((one) => placed(one, this.rows));
    return parts.length > 1 ? { is: "and", parts } : (parts[0] ?? null);
  }
  #ask(columns: Expression[] | null, group: string[]): (c: Connection) => (w: Writer) => void {
    return this.#asking(this.#selected(columns, group));
  }
  #selected(columns: Expression[] | null, group: string[]): request.Select {
    const places = group.map((name) => this.rows.place(name));
    const chosen = columns?.map(({ what, name }) => ({ what, place: name ? this.rows.place(name) : 0 }));
    const order = this.#order.map((name) => ({ place: this.rows.place(name.replace(/^-/, "")), descending: name.startsWith("-") }));
    const aggregates = group.length > 0 || columns?.some((one) => !["column", "rank", "distance"].includes(one.what));
    // So the order is the same on every engine.
    for (const place of aggregates ? places : this.rows.schema.key) {
      if (order.every((step) => step.place !== place)) order.push({ place, descending: false });
    }
    const search = this.#search === null ? null : { text: this.#search, ranked: this.#order.length === 0 };
    return {
      columns: chosen ?? this.rows.schema.columns.map((_, place) => ({ what: "column", place })),
      condition: this.#condition(), group: places, order, limit: this.#limit, offset: this.#offset, lock: this.#lock,
      search, nearest: this.#measured(),
    };
  }
  #asking(select: request.Select): (c: Connection) => (w: Writer) => void {
    return (c) => {
      const { table, where } = c.tables(this.rows.schema, select.condition);
      return (w) => request.select(w, table, { ...select, condition: where });
    };
  }
  /**
   * A column of the rows that match, for a condition on another table:
   * `col("customer_id").in(customers.where(col("city").eq("Bern")).column("id"))`.
   */
  column(name: keyof T & string): ColumnOfRows {
    if (this.#limit !== null || this.#offset > 0 || this.#lock || this.#search !== null) {
      throw new BobakError("Misuse", "a condition takes all rows that match: leave out limit, search and lock");
    }
    return new ColumnOfRows(this.rows.schema, this.rows.place(name), () => this.#condition());
  }
  /** All rows. */
  all(options: Options = {}): Promise<T[]> {
    return this.#fitted((selection) => selection.#all(options));
  }
  async #all(options: Options): Promise<T[]> {
    const ask = this.#ask(null, []);
    return this.session.run(false, options.signal, async (c) => {
      const found: T[] = [];
      await queryRows(c, ask(c), undefined, (row) => found.push(this.rows.record<T>(row)));
      return found;
    });
  }
  /**
   * At most `size` rows, after the page whose `next` is `after`: in any order, at the same cost for each page. Rows that are inserted
   * or deleted meanwhile neither repeat nor hide others.
   *
   * `page = await accounts.where().orderBy("-balance").page(20, page.next)`
   */
  page(size: number, after: string | null = null, options: Options = {}): Promise<Page<T>> {
    return this.#fitted((selection) => selection.#page(size, after, options));
  }
  async #page(size: number, after: string | null, options: Options): Promise<Page<T>> {
    const { schema } = this.rows;
    if (this.#limit !== null || this.#offset > 0 || this.#search !== null || this.#nearest !== null) {
      throw new BobakError("Unsupported", "a page needs a query without limit, search and nearest", { table: schema.name });
    }
    if (!Number.isSafeInteger(size) || size < 1) throw new BobakError("Misuse", "a page has at least one row", { table: schema.name });
    const select = this.#selected(null, []);
    const { condition } = select, later = after === null ? null : afterToken(schema, select, after);
    // One more row tells whether there is a next page.
    const ask = this.#asking({
      ...select, condition: condition && later ? { is: "and", parts: [condition, later] } : (condition ?? later), limit: size + 1,
    });
    const found: Stored[][] = [];
    await this.session.run(false, options.signal, async (c) => {
      found.length = 0;
      await queryRows(c, ask(c), undefined, (row) => found.push(row));
    });
    const next = found.length > size ? tokenOf(schema, select, found[size - 1]!) : null;
    return { items: found.slice(0, size).map((row) => this.rows.record<T>(row)), next };
  }
  /**
   * For each record, the rows whose `column` equals its property `key`, in the order of this selection: one query for all
   * records. The limit and the offset apply to the rows of each record.
   *
   * `lines.where().orderBy("-amount").related("order_id", orders, "id")`
   */
  async related<P>(column: keyof T & string, records: readonly P[], key: keyof P & string): Promise<T[][]> {
    // The stored forms are compared: integers may be numbers or bigints, and a UUID has several texts.
    const place = this.rows.place(column);
    const text = (value: unknown) => {
      const stored = this.rows.store(place, value);
      return stored instanceof Uint8Array ? Buffer.from(stored).toString("hex") : `${typeof stored} ${stored}`;
    };
    const isKey = (value: unknown) => value !== null && value !== undefined;
    const wanted = new Map(records.map((record) => record[key]).filter(isKey).map((value) => [text(value), value]));
    const groups = new Map<string, T[]>();
    const end = this.#limit === null ? undefined : this.#offset + this.#limit;
    if (wanted.size > 0) {
      const values = [...wanted.values()];
      // The limit is one for each record. A text may equal others in a column without case, which are not related.
      const limit = values.length === 1 && typeof values[0] !== "string" ? (end ?? null) : null;
      const all = this.where(col(column).in(values)).#with((copy) => ([copy.#limit, copy.#offset] = [limit, 0]));
      for (const row of await all.all()) {
        const group = groups.get(text(row[column]));
        if (group) group.push(row);
        else groups.set(text(row[column]), [row]);
      }
    }
    return records.map((record) => (groups.get(text(record[key])) ?? []).slice(this.#offset, end));
  }
  /** The first row, or undefined. */
  async first(): Promise<T | undefined> {
    return (await this.limit(1, this.#offset).all())[0];
  }
  /** Columns, or aggregates of each group: `select([count(), sum("amount")], ["city"])`. */
  select(columns: (string | Expression)[], group: string[] = []): Promise<Value[][]> {
    return this.#fitted((selection) => selection.#select(columns, group));
  }
  async #select(columns: (string | Expression)[], group: string[]): Promise<Value[][]> {
    checkNames(columns.map((one) => (typeof one === "object" && "what" in one ? one.name : one)), "select");
    checkNames(group, "a group");
    const expressions = columns.map((one) => (typeof one === "string" ? { what: "column" as const, name: one } : one));
    const types = expressions.map(({ what, name }): Type => {
      const type = name ? this.rows.schema.columns[this.rows.place(name)]!.type : "any";
      return what === "column" || what === "min" || what === "max" || (what === "sum" && type === "currency") ? type : "any";
    });
    const ask = this.#ask(expressions, group);
    return this.session.run(false, undefined, async (c) => {
      const found: Value[][] = [];
      await queryRows(c, ask(c), undefined, (row) => found.push(row.map((value, place) => load(value, types[place] ?? "any"))));
      return found;
    });
  }
  /** How the engine would read the rows, and the indexes that would help. The error is Unsupported if the engine has no plans. */
  explain(): Promise<QueryPlan> {
    return explain(this.session, this.#ask(null, []));
  }
  /** The number of rows. It accepts no limit. */
  async count(): Promise<number> {
    if (this.#nearest === null && (this.#limit !== null || this.#offset > 0)) {
      throw new BobakError("Misuse", "count counts all rows that match: it accepts no limit", { table: this.rows.schema.name });
    }
    return Number((await this.select([count()]))[0]![0]);
  }
  /** Assigns columns of all rows, and returns their number. */
  update(values: { [Name in keyof T]?: T[Name] | Added | undefined }): Promise<number> {
    return this.#fitted((selection) => selection.#update(values));
  }
  async #update(values: object): Promise<number> {
    this.#unlimited();
    return this.rows.changed(this.session, this.#condition(), this.rows.assigns(values));
  }
  /** Deletes all rows, and returns their number. */
  delete(): Promise<number> {
    return this.#fitted((selection) => selection.#delete());
  }
  async #delete(): Promise<number> {
    this.#unlimited();
    return this.rows.changed(this.session, this.#condition(), null);
  }
  /** Restores the deleted rows, and returns their number. */
  async restore(column: keyof T & string): Promise<number> {
    return this.onlyDeleted(column).update({ [column]: null } as { [Name in keyof T]?: T[Name] });
  }
  /** Removes for good the rows that were deleted before a time, and returns their number. */
  async purge(column: keyof T & string, before: NonNullable<T[keyof T]>): Promise<number> {
    return this.onlyDeleted(column).where(col(column).lt(before)).delete();
  }
  #unlimited(): void {
    if (this.#limit === null && this.#offset === 0 && this.#search === null) return;
    throw new BobakError("Misuse", "update and delete change all rows that match: they accept no limit and no search");
  }
  /** The rows in constant memory, as of one moment. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const { row } of cursorRows(this.session, this.#ask(null, []))) yield this.rows.record<T>(row);
  }
}

/**
 * A table, whose rows are objects.
 *
 * Calls that write one record set in it what the write sets in the row, unless the object is frozen: a generated key, the
 * time stamps, and the version. A record can so be updated again without reading it. After a rollback, read it again.
 */
export class Table<T> {
  readonly #rows: Rows;
  readonly #handle: Handle;
  /** @internal */
  readonly session: Session;
  /** @internal */
  constructor(session: Session, handle: Handle, rows = handle.rows) {
    [this.session, this.#handle, this.#rows] = [session, handle, rows];
  }
  /** The table as the server describes it. */
  get schema(): TableSchema {
    return this.#handle.rows.schema;
  }
  /** The same table in a transaction. */
  in(session: Session<any>): Table<T> {
    return new Table<T>(session as Session, this.#handle);
  }
  /** Runs a call, with another description of the table if that has changed. */
  #fitted<R>(work: (table: Table<T>) => Promise<R>): Promise<R> {
    return fitted(this.session, this.#handle, (rows) => work(this.#at(rows)));
  }
  #at(rows: Rows): Table<T> {
    return rows === this.#rows ? this : new Table<T>(this.session, this.#handle, rows);
  }
  /**
   * Inserts a record, and returns its key. It sets the key, the time stamps and the version in the record, unless that is
   * frozen. A key that is missing, undefined or null is generated; 0 is an ordinary key, here and in each call that may
   * insert.
   */
  insert(record: Partial<T>): Promise<any> {
    return this.#fitted((table) => table.#insert(record, "insert"));
  }
  /** Inserts a record; returns undefined if its key or a unique value exists. */
  insertOrIgnore(record: Partial<T>): Promise<any> {
    return this.#fitted((table) => table.#insert(record, "insert_or_ignore"));
  }
  /** Inserts a record after deleting rows with its key or its unique values. */
  insertOrReplace(record: Partial<T>): Promise<any> {
    return this.#fitted((table) => table.#insert(record, "insert_or_replace"));
  }
  /**
   * Inserts a record, or updates the row with its key. It raises the version without checking it: read the record again
   * before you update it.
   */
  upsert(record: Partial<T>): Promise<any> {
    return this.#fitted((table) => table.#insert(record, "upsert"));
  }
  /**
   * Inserts a record, or updates the row with the same values in the columns of a unique index; returns its key, which an
   * update keeps: `upsertOn(user, "email")`. A key of several columns, or one that is neither an integer nor a UUID, is not
   * returned by an update: read the record by its unique columns. Otherwise it is as `upsert`.
   */
  upsertOn(record: Partial<T>, ...columns: (keyof T & string)[]): Promise<any> {
    return this.#fitted((table) => table.#insert(record, "upsert_on", columns));
  }
  async #insert(record: Partial<T>, verb: request.Verb, on?: string[]): Promise<unknown> {
    const values = this.#rows.made(record as object, true);
    const sets = verb === "upsert" || on ? this.#rows.updated : [];
    const group = await this.#write(verb, sets, values, on?.map((name) => this.#rows.place(name)));
    if (group.tag === "ignored") return undefined;
    const key = group.tag === "updated_key" ? this.#rows.loadKey(group.key!)
      : group.tag === "keys" || group.tag === "updated" ? group.value : this.#rows.keyIn(values);
    this.#rows.setInserted(record as object, values, key as Value | Value[], verb);
    return key;
  }
  /**
   * Overwrites the row with this record's key: the columns that the record has, or the named ones. `undefined` counts as
   * missing; `null` writes NULL. It sets the modification time and the new version in the record. The error is NotFound if
   * there is no such row, and Conflict if its version differs.
   */
  update(record: Partial<T>, ...columns: (keyof T & string)[]): Promise<void> {
    return this.#fitted((table) => table.#update(record, columns));
  }
  async #update(record: Partial<T>, columns: string[]): Promise<void> {
    const stamp = this.#rows.schema.columns.findIndex((column) => column.role === 2);
    const named = columns.map((name) => this.#rows.settable(name)).concat(stamp >= 0 ? [stamp] : []);
    const values = this.#rows.made(record as object, false);
    await this.#write("update", columns.length ? named : this.#rows.updatedBy(record as object), values);
    this.#rows.setUpdated(record as object, values);
  }
  /**
   * Deletes the row with this record's key, if its version is the record's. The error is NotFound if there is no such row,
   * and Conflict if its version differs.
   */
  deleteRecord(record: Partial<T>): Promise<void> {
    return this.#fitted((table) => table.#deleteRecord(record));
  }
  async #deleteRecord(record: Partial<T>): Promise<void> {
    const values = this.#rows.made(record as object, false);
    const version = this.#rows.schema.columns.findIndex((column) => column.role === 3);
    const places = version >= 0 && values[version] !== null ? [...this.#rows.schema.key, version] : this.#rows.schema.key;
    const parts = places.map((place): request.Placed => ({ is: "compare", place, comparison: "=", value: values[place]! }));
    if (await this.#rows.changed(this.session, { is: "and", parts }, null)) return;
    const place = { table: this.#rows.schema.name };
    if ((await this.get(this.#rows.keyIn(values))) === undefined) throw new BobakError("NotFound", "no row has the key of this record", place);
    throw new BobakError("Conflict", "the row was changed since it was read: its version differs", place);
  }
  /**
   * Deletes the row with this key, which is an array if it has several columns; returns whether it existed. The version is
   * not checked: see `deleteRecord`.
   */
  delete(key: unknown): Promise<boolean> {
    return this.#fitted(async (table) => (await table.#write("delete", [], table.#rows.key(key))).value === 1n);
  }
  /** Assigns columns of the row with this key, or adds to them with `add(…)`; returns whether it exists. `undefined` is skipped. */
  set(key: unknown, values: { [Name in keyof T]?: T[Name] | Added | undefined }): Promise<boolean> {
    return this.#fitted((table) => table.#set(key, values));
  }
  async #set(key: unknown, values: object): Promise<boolean> {
    const stored = this.#rows.key(key);
    const parts = this.#rows.schema.key.map((place, number): request.Placed => ({ is: "compare", place, comparison: "=", value: stored[number]! }));
    return (await this.#rows.changed(this.session, { is: "and", parts }, this.#rows.assigns(values))) > 0;
  }
  #write(verb: request.Verb, sets: number[], values: Stored[], by?: number[]): Promise<answer.Group> {
    return this.session.run(true, undefined, async (c) => {
      const table = c.table(this.#rows.schema);
      const id = c.put(Kind.write, (w) => {
        request.run(w, table, verb, sets, by);
        this.#rows.put(w, values);
      });
      const groups = answer.outcomes((await c.receive(id, Kind.outcomes)).body);
      if (groups.length !== 1 || groups[0]!.rows !== 1) throw new Garbled("not one outcome");
      if (groups[0]!.error) throw groups[0]!.error;
      return groups[0]!;
    });
  }
  /** The record with this key, or undefined. */
  async get(key: unknown): Promise<T | undefined> {
    return (await this.getMany([key]))[0];
  }
  /** The records with these keys, in their order. The requests are pipelined. */
  getMany(keys: unknown[]): Promise<(T | undefined)[]> {
    return this.#fitted((table) => table.#getMany(keys));
  }
  async #getMany(keys: unknown[]): Promise<(T | undefined)[]> {
    const stored = keys.map((key) => this.#rows.key(key));
    return this.session.run(false, undefined, async (c) => {
      const table = c.table(this.#rows.schema);
      const found: (T | undefined)[] = [];
      const ahead = Math.max(1, Math.min(256, c.welcome.requests >> 1));
      let failed: unknown;
      for (let start = 0; start < stored.length && !failed; start += ahead) {
        for (const id of stored.slice(start, start + ahead).map((key) => c.put(Kind.get, (w) => w.u32(table).row(key)))) {
          try {
            const row = answer.rows((await c.receive(id, Kind.rows)).body)[0];
            found.push(row && this.#rows.record<T>(row));
          } catch (error) {
            if (!(error instanceof BobakError)) throw error;
            failed ??= error;
          }
        }
      }
      if (failed) throw failed;
      return found;
    });
  }
  /** The changes of the record with this key in a tracked table, in their order, as far back as the log goes. */
  history(key: unknown): Promise<Change<T>[]> {
    return this.#fitted((table) => historyOf<T>(table.session, table.#rows, key));
  }
  /**
   * Opens a column of bytes of the row with this key, to read it in parts; undefined if there is no such row, or if the value is
   * NULL.
   */
  readBlob(key: unknown, column: keyof T & string, options: Options = {}): Promise<blob.BlobReader | undefined> {
    return blob.open(this.session, this.#handle.rows, key, column, options);
  }
  /**
   * Replaces a column of bytes of the row with this key by bytes, or by the parts of a stream, which has so many bytes; returns
   * whether the row exists. If the stream fails, or has fewer or more bytes, the value stays as it was.
   */
  writeBlob(key: unknown, column: keyof T & string, source: blob.BlobSource, length?: number, options: Options = {}): Promise<boolean> {
    return blob.write(this.session, this.#handle.rows, key, column, source, length, options);
  }
  /** Rows that match all conditions, or all rows. */
  where(...conditions: Condition[]): Selection<T> {
    return new Selection<T>(this.session, this.#handle).where(...conditions);
  }
  /** The number of rows. */
  count(): Promise<number> {
    return this.where().count();
  }
  /**
   * Inserts all records, or none. They are sent in parts, and do not change. With `skipErrors` rows that the server rejects
   * are skipped and reported, but a value of a wrong type still throws. With `upsert` the rows with their keys are updated;
   * with `upsertOn` those with the same values in the columns of a unique index. With `onConflict` rows whose key or unique values exist
   * are left out (`"ignore"`), or replace the rows that have them (`"replace"`). The report has the generated keys.
   */
  insertMany(
    records: Iterable<Partial<T>> | AsyncIterable<Partial<T>>,
    options: { skipErrors?: boolean; upsert?: boolean; upsertOn?: (keyof T & string)[]; onConflict?: "fail" | "ignore" | "replace" } = {},
  ): Promise<Report> {
    return this.#at(this.#handle.rows).#insertMany(records, options);
  }
  #insertMany(
    records: Iterable<Partial<T>> | AsyncIterable<Partial<T>>,
    options: { skipErrors?: boolean; upsert?: boolean; upsertOn?: string[]; onConflict?: "fail" | "ignore" | "replace" },
  ): Promise<Report> {
    const by = options.upsertOn?.map((name) => this.#rows.place(name));
    const { onConflict = "fail" } = options;
    if (onConflict !== "fail" && (by || options.upsert)) throw new BobakError("Misuse", "onConflict and upsert exclude each other");
    const plain = { fail: "insert", ignore: "insert_or_ignore", replace: "insert_or_replace" } as const;
    const verb = by ? "upsert_on" : options.upsert ? "upsert" : plain[onConflict];
    const sets = verb.startsWith("upsert") ? this.#rows.updated : [];
    return this.#batch(records, verb, options.skipErrors ?? false, (record) => [this.#rows.made(record as object, true), sets], by);
  }
  /** Overwrites the rows with the keys of these records, all or none: in each row the columns that the record has. */
  updateMany(records: Iterable<Partial<T>> | AsyncIterable<Partial<T>>): Promise<Report> {
    const table = this.#at(this.#handle.rows);
    const row = (record: Partial<T>): NewRow => [table.#rows.made(record as object, false), table.#rows.updatedBy(record as object)];
    return table.#batch(records, "update", false, row);
  }
  /** Deletes the rows with these keys. */
  deleteMany(keys: Iterable<unknown> | AsyncIterable<unknown>): Promise<Report> {
    const none: number[] = [];
    const table = this.#at(this.#handle.rows);
    return table.#batch(keys, "delete", false, (key) => [table.#rows.key(key), none]);
  }
  #batch<R>(
    records: Iterable<R> | AsyncIterable<R>, verb: request.Verb, skip: boolean, row: (record: R) => NewRow, by?: number[],
  ): Promise<Report> {
    return this.session.exclusive((session) => session.run(true, undefined, (c) => using(c, async () => {
      const table = c.table(this.#rows.schema);
      const report = new Report((bytes) => this.#rows.loadKey(bytes));
      const full = Math.min(part, c.welcome.frame >> 1);
      const waiting: { rows: number; size: number }[] = [];
      // Consecutive rows that set the same columns.
      let runs: { sets: number[]; rows: Writer }[] = [];
      let [size, added, id, open, more] = [0, 0, 0, false, true];
      const receive = async () => {
        const frame = await c.receive(id, Kind.outcomes);
        report.take(answer.outcomes(frame.body));
        while (waiting[0] && waiting[0].rows <= report.rows) waiting.shift();
        more = frame.more;
      };
      const send = async (last: boolean) => {
        // While its responses are not read, the server reads no more than its window.
        while (waiting.length && waiting.reduce((sum, one) => sum + one.size, size) > c.welcome.window) await receive();
        const put = (w: Writer) => {
          w.bool(skip);
          for (const { sets, rows } of runs) {
            request.run(w, table, verb, sets, by);
            w.sized(rows.bytes);
          }
        };
        if (id) c.send(Kind.batch, !last, id, put);
        else id = c.put(Kind.batch, put, !last);
        open = !last;
        waiting.push({ rows: added, size });
        [runs, size] = [[], 0];
        await c.drain();
      };
      try {
        const makesKeys = verb.startsWith("insert") || verb.startsWith("upsert") ? this.#rows.schema.keysBy === 1 : false;
        const add = (record: R): boolean => {
          let [values, sets]: NewRow = [[], []];
          try {
            [values, sets] = row(record);
            let run = runs.at(-1);
            if (run?.sets !== sets) runs.push((run = { sets, rows: new Writer() }));
            const before = run.rows.length;
            this.#rows.put(run.rows, values);
            const taken = run.rows.length - before;
            if (taken - 4 > c.welcome.row) throw new BobakError("OutOfRange", "the row is larger than the server accepts");
            size += taken;
          } catch (error) {
            if (error instanceof BobakError) error.row ??= added;
            throw error;
          }
          if (makesKeys) report.made(added, this.#rows.keyIn(values) as Value);
          added++;
          return size >= full;
        };
        // Awaiting each row would cost as much as the row.
        if (Symbol.iterator in records) {
          for (const record of records) if (add(record)) await send(false);
        } else {
          for await (const record of records) if (add(record)) await send(false);
        }
        if (!id && added === 0) return report;
        await send(true);
        while (more) await receive();
        if (report.rows !== added) throw new Garbled("the number of outcomes is not the number of rows");
        return report;
      } catch (error) {
        if (open) {
          // Cancels the batch and reads its responses, so that the connection stays usable.
          if (c.pending.has(id)) c.send(Kind.cancel, false, id, undefined);
          c.send(Kind.batch, false, id, (w) => w.u8(0));
          while (c.pending.has(id) && !c.broken) await receive().catch(() => undefined);
        }
        throw error;
      }
    })));
  }
}
