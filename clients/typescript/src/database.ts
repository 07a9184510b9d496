// Databases and transactions: which connection a call uses, and what happens if that breaks.
import { BobakError, Garbled } from "./errors.js";
import { Broken, Connection, grace, using, usesOf, type Lost } from "./connection.js";
import { follow, lastOf, page, trackedNames, type Change, type ChangeOptions, type ChangePage, type FollowOptions } from "./feed.js";
import { explain, type QueryPlan } from "./plan.js";
import { Rows } from "./rows.js";
import { bindSql, type SqlParameters } from "./sql-text.js";
import { Table } from "./table.js";
import { parseUrl, type Target } from "./url.js";
import { loadResult, type Value } from "./values.js";
import * as answer from "./wire/answer.js";
import type { ResultColumn } from "./wire/answer.js";
import type { Stored, Writer } from "./wire/code.js";
import { Kind } from "./wire/frame.js";
import * as request from "./wire/request.js";
import { checkKey, type TableSchema } from "./wire/schema.js";

/** Bytes of rows that the server may send before the client grants more. */
const credit = 1 << 20;

/** Options of a call. */
export interface Options {
  /** Cancels the call: the server stops it, and the connection stays usable. */
  signal?: CancelSignal | undefined;
}

/** What calls need of an `AbortSignal`, which need not be declared by a library of types. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: any;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

type Row = Record<string, any>;
/**
 * Encodes a source, once the connection is known.
 * @internal
 */
export type Ask = (connection: Connection) => (w: Writer) => void;

/** Tables and SQL: of a database, in which each call is a transaction, or of a transaction. */
export abstract class Session<Tables extends object = Record<string, Row>> {
  /** @internal */
  readonly known: Map<string, TableSchema>;

  /** @internal */
  constructor(known: Map<string, TableSchema>) {
    this.known = known;
  }

  /**
   * Runs an operation on a connection. One that only reads may be repeated on a new one.
   * @internal
   */
  abstract run<T>(writes: boolean, signal: CancelSignal | undefined, operation: (c: Connection) => Promise<T>): Promise<T>;
  /**
   * Runs work with a session that has its own connection.
   * @internal
   */
  abstract exclusive<T>(work: (session: Session<Tables>) => Promise<T>, signal?: CancelSignal): Promise<T>;
  /**
   * Returns a session for a cursor: all its calls use one connection, until `give` returns it.
   * @internal
   */
  abstract borrow(signal?: CancelSignal): Promise<Borrowed>;
  /** @internal */
  abstract atomic<T>(work: (session: Session<Tables>) => Promise<T>, signal?: CancelSignal): Promise<T>;

  /**
   * The same session, whose calls a signal cancels, also those of its tables: `accounts.in(db.withSignal(signal)).insert(…)`. The
   * server stops the call, and the connection stays usable.
   */
  withSignal(signal: CancelSignal): Session<Tables> {
    return new Cancellable<Tables>(this, signal);
  }

  /** The table with a name. Its schema is requested from the server at the first use. */
  async table<Name extends keyof Tables & string>(name: Name): Promise<Table<Tables[Name]>> {
    if (!this.known.has(name.toLowerCase())) await this.tables();
    const schema = this.known.get(name.toLowerCase());
    if (!schema) throw new BobakError("Schema", "the table does not exist", { table: name });
    return new Table<Tables[Name]>(this as unknown as Session, { rows: new Rows(schema) });
  }

  /** The existing tables. */
  async tables(): Promise<TableSchema[]> {
    const found = await this.run(false, undefined, async (c) =>
      answer.schemas((await c.receive(c.put(Kind.tables), Kind.schemas)).body));
    const same = (schema: TableSchema) => {
      const before = this.known.get(schema.name.toLowerCase());
      // The same object, so that connections still know its number.
      return before?.described && Buffer.compare(before.described, schema.described!) === 0 ? before : schema;
    };
    const schemas = found.map(same);
    this.known.clear();
    for (const schema of schemas) this.known.set(schema.name.toLowerCase(), schema);
    return schemas;
  }

  /**
   * Checks that the migration `last` is the last one that the database has: an error of the kind `Schema` says that it
   * is older, and one of the kind `Conflict` that it is newer. Call it after connecting, with the newest migration that
   * the program knows, such as `"0012_names"`.
   */
  async verifyMigrations(last: string): Promise<void> {
    const table = "bobak_migrations";
    const session = this as unknown as Session<{ bobak_migrations: { name: string; step: bigint } }>;
    if (!(await this.tables()).some((schema) => schema.name === table)) {
      const words = `the database is older than the program: migrate it to ${last} first; or this user may not read the table of its migrations`;
      throw new BobakError("Schema", words, { table });
    }
    const rows = await (await session.table(table)).where().all();
    const newer = rows.map((row) => row.name).filter((name) => name > last).sort().pop();
    if (newer !== undefined) {
      throw new BobakError("Conflict", `the database is newer than the program: it has migration ${newer}`, { table });
    }
    // A finished migration has -1 as its step.
    if (!rows.some((row) => row.name === last && row.step === -1n)) {
      throw new BobakError("Schema", `the database is older than the program: migrate it to ${last} first`, { table });
    }
  }

  /** Creates the missing tables. The error is Schema if an existing one has a key with the same columns in another order. */
  async create(...schemas: TableSchema[]): Promise<void> {
    await this.tables();
    const missing = schemas.filter((schema) => !this.known.has(schema.name.toLowerCase()));
    for (const schema of schemas) checkKey(schema, this.known.get(schema.name.toLowerCase()));
    if (missing.length === 0) return;
    await this.#alter("create_table", 0, missing);
    await this.tables();
  }

  /** Records every change of a table in the table `bobak_log_NAME`; with `history` that has an index over the key. */
  async track(name: string, options: { history?: boolean } = {}): Promise<void> {
    await this.#alter("track", options.history ? 1 : 0, [await this.#schema(name)]);
  }

  /** Ends the recording, and drops the log. */
  async untrack(name: string): Promise<void> {
    await this.#alter("untrack", 0, [await this.#schema(name)]);
  }

  /**
   * The changes of these tracked tables, or of all, with numbers above `since`, in the order of their commits. The error is
   * `NotFound` if changes after that number were pruned, and `Schema` for a table that is not tracked.
   */
  async changes<Name extends keyof Tables & string>(names: Name[] = [], options: ChangeOptions = {}): Promise<ChangePage<Tables[Name]>> {
    return page(this as unknown as Session, await this.#tracked(names), options);
  }

  /** The number of the last change of these tracked tables, or of all; 0 if there is none. */
  async lastChange(names: (keyof Tables & string)[] = []): Promise<number> {
    return lastOf(this as unknown as Session, await this.#tracked(names));
  }

  /**
   * The changes of these tracked tables, or of all, as they happen: after the number `since`, or from now on, until the
   * loop ends. A program that stores the `id` of the last one can continue after it at any time. The database is polled
   * every few milliseconds, and ten times a second if there are no changes.
   */
  async *follow<Name extends keyof Tables & string>(names: Name[] = [], options: FollowOptions = {}): AsyncGenerator<Change<Tables[Name]>> {
    yield* follow<Tables[Name]>(this as unknown as Session, await this.#tracked(names), options);
  }

  async #tracked(names: string[]): Promise<Rows[]> {
    const all = await this.tables();
    const wanted = new Set(names.map((name) => name.toLowerCase()));
    const chosen = names.length ? wanted : await trackedNames(this as unknown as Session);
    const found = all.filter((table) => chosen.has(table.name.toLowerCase()));
    if (names.length && found.length < wanted.size) throw new BobakError("Schema", `one of these tables does not exist: ${names.join(", ")}`);
    if (found.length === 0) throw new BobakError("Schema", "no table is tracked: use track");
    return found.map((table) => new Rows(table));
  }

  async #schema(name: string): Promise<TableSchema> {
    await this.tables();
    const schema = this.known.get(name.toLowerCase());
    if (!schema) throw new BobakError("Schema", "the table does not exist", { table: name });
    return schema;
  }

  async #alter(what: request.SchemaChange, place: number, schemas: TableSchema[]): Promise<void> {
    await this.run(true, undefined, async (c) => {
      const id = c.put(Kind.alter, (w) => {
        w.u16(schemas.length);
        for (const schema of schemas) request.schemaChange(w, what, place, schema);
      });
      await c.receive(id, Kind.ok);
    });
  }

  /**
   * All rows of an SQL statement: objects by column name, with the values that tables return. A decimal number, such as a sum of amounts
   * on PostgreSQL, is its text.
   *
   * The text has a `?` for each parameter, in order; or `:name`, with an object of values by name. An array in the place of a value has the
   * values of `IN (?)`, and may be empty.
   */
  async sql<T = Record<string, Value>>(text: string, parameters: SqlParameters = [], options: Options = {}): Promise<T[]> {
    const bound = bindSql(text, parameters);
    return this.run(true, options.signal, async (c) => {
      const rows: T[] = [];
      let columns: ResultColumn[] = [];
      await queryRows(c, c.sql(bound.text, bound.parameters), (found) => (columns = distinct(found)), (row) => {
        rows.push(resultRow<T>(row, columns));
      });
      return rows;
    });
  }

  /** As `sql`, in constant memory: the rows are fetched in blocks. */
  async *sqlRows<T = Record<string, Value>>(text: string, parameters: SqlParameters = []): AsyncGenerator<T> {
    const bound = bindSql(text, parameters);
    const rows = cursorRows(this as unknown as Session, (c) => c.sql(bound.text, bound.parameters));
    let named: ResultColumn[] | undefined;
    for await (const { row, columns } of rows) yield resultRow<T>(row, (named ??= distinct(columns)));
  }

  /** How the engine would run an SQL statement, and the indexes that would help. The error is Unsupported if the engine has no plans. */
  explain(text: string, parameters: SqlParameters = []): Promise<QueryPlan> {
    const bound = bindSql(text, parameters);
    return explain(this as unknown as Session, (c) => c.sql(bound.text, bound.parameters));
  }

  /** Runs an SQL statement, and returns the number of changed rows. */
  async execute(text: string, parameters: SqlParameters = [], options: Options = {}): Promise<number> {
    const bound = bindSql(text, parameters);
    return this.run(true, options.signal, async (c) => {
      const id = c.put(Kind.execute, c.sql(bound.text, bound.parameters));
      return Number(answer.count((await c.receive(id, Kind.count)).body));
    });
  }

  /** Runs a statement once for each list of parameters, all or none. The requests are pipelined. */
  async executeMany(text: string, parameters: Iterable<SqlParameters>): Promise<number> {
    return this.atomic((session) => session.run(true, undefined, async (c) => {
      const under: { id: number; row: number; size: number }[] = [];
      let [total, row, waits] = [0, 0, 0];
      let failed: BobakError | undefined;
      const answered = async () => {
        const one = under.shift()!;
        waits -= one.size;
        try {
          total += Number(answer.count((await c.receive(one.id, Kind.count)).body));
        } catch (error) {
          if (!(error instanceof BobakError)) throw error;
          error.row ??= one.row;
          failed ??= error;
        }
      };
      for (const values of parameters) {
        if (failed) break;
        let size = 0;
        const bound = bindSql(text, values);
        const put = c.sql(bound.text, bound.parameters);
        const id = c.put(Kind.execute, (w) => {
          put(w);
          size = w.length;
        });
        under.push({ id, row: row++, size });
        waits += size;
        while (under.length >= Math.max(1, Math.min(256, c.welcome.requests >> 1)) || waits > 1 << 20) await answered();
      }
      while (under.length) await answered();
      if (failed) throw failed;
      return total;
    }));
  }
}

function resultRow<T>(row: Stored[], columns: ResultColumn[]): T {
  return Object.fromEntries(row.map((value, place) => [columns[place]!.name, loadResult(value, columns[place]!.type)])) as T;
}

/** The names of the columns, which must be distinct in an object. */
function distinct(columns: ResultColumn[]): ResultColumn[] {
  const names = columns.map((column) => column.name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice === undefined) return columns;
  throw new BobakError("Misuse", `two columns have the name '${twice}': rename one with AS`);
}

/**
 * Reads all rows of a query. For SQL the columns precede them.
 * @internal
 */
export async function queryRows(
  c: Connection, source: (w: Writer) => void, columns: ((columns: ResultColumn[]) => void) | undefined, each: (row: Stored[]) => void,
): Promise<void> {
  const id = c.put(Kind.query, (w) => source(w.u32(credit).bool(columns !== undefined)));
  let taken = 0;
  let failed: unknown;
  if (columns) {
    const found = answer.columns((await c.receive(id, Kind.columns)).body).columns;
    try {
      columns(found);
    } catch (error) {
      failed = error;
      c.send(Kind.cancel, false, id, undefined);
    }
  }
  for (let more = true; more;) {
    const frame = await c.receive(id, Kind.rows).catch((error) => {
      throw failed ?? error;
    });
    more = frame.more;
    taken += frame.body.length;
    if (failed === undefined) {
      try {
        for (const row of answer.rows(frame.body)) each(row);
      } catch (error) {
        if (error instanceof Garbled) throw error;
        failed = error;
        if (more) c.send(Kind.cancel, false, id, undefined);
      }
    }
    if (more && failed === undefined && taken >= credit >> 1) {
      const size = taken;
      c.send(Kind.credit, false, id, (w) => w.u32(size));
      taken = 0;
    }
  }
  if (failed !== undefined) throw failed;
}

/**
 * The rows of a query with their columns, in blocks: all requests use one connection.
 * @internal
 */
export async function* cursorRows(from: Session, ask: Ask): AsyncGenerator<{ row: Stored[]; columns: ResultColumn[] }> {
  const { session, give } = await from.borrow();
  let open: { cursor: bigint; connection: Connection } | undefined;
  const here = (c: Connection) => {
    if (c === open?.connection) return open.cursor;
    throw new BobakError("Unreachable", "the connection broke, and the query is lost: run it again");
  };
  try {
    let columns: ResultColumn[] = [];
    open = await session.run(false, undefined, async (c) => {
      const found = answer.columns((await c.receive(c.put(Kind.open, ask(c)), Kind.columns)).body);
      ({ columns } = found);
      return { cursor: found.cursor, connection: c };
    });
    for (;;) {
      const rows = await session.run(false, undefined, async (c) => {
        const cursor = here(c);
        return answer.rows((await c.receive(c.put(Kind.fetch, (w) => w.u64(cursor)), Kind.rows)).body);
      });
      if (rows.length === 0) return;
      for (const row of rows) yield { row, columns };
    }
  } finally {
    if (open && !open.connection.broken) {
      const { cursor, connection } = open;
      await connection.call("nothing", undefined, async () => void connection.put(Kind.close, (w) => w.u64(cursor)));
    }
    await give();
  }
}

/** A session for a cursor, until `give` returns its connection. */
interface Borrowed {
  session: Session;
  give: () => Promise<void>;
}

/** A session whose calls a signal cancels. */
class Cancellable<Tables extends object> extends Session<Tables> {
  readonly #session: Session<Tables>;
  readonly #signal: CancelSignal;
  /** @internal */
  constructor(session: Session<Tables>, signal: CancelSignal) {
    super(session.known);
    [this.#session, this.#signal] = [session, signal];
  }

  /** @internal */
  override run<T>(writes: boolean, signal: CancelSignal | undefined, operation: (c: Connection) => Promise<T>): Promise<T> {
    return this.#session.run(writes, signal ?? this.#signal, operation);
  }

  /** @internal */
  override exclusive<T>(work: (session: Session<Tables>) => Promise<T>): Promise<T> {
    return this.#session.exclusive((session) => work(session.withSignal(this.#signal)), this.#signal);
  }

  /** @internal */
  override async borrow(): Promise<Borrowed> {
    const { session, give } = await this.#session.borrow(this.#signal);
    return { session: session.withSignal(this.#signal), give };
  }

  /** @internal */
  override atomic<T>(work: (session: Session<Tables>) => Promise<T>): Promise<T> {
    return this.#session.atomic((session) => work(session.withSignal(this.#signal)), this.#signal);
  }
}

/** A session with its own connection. */
class Held<Tables extends object> extends Session<Tables> {
  /** @internal */
  over = false;
  /** @internal */
  readonly connection: Connection;
  /** @internal */
  readonly lost: Lost | undefined;
  readonly #signal: CancelSignal | undefined;
  /** @internal */
  constructor(known: Map<string, TableSchema>, connection: Connection, lost?: Lost, signal?: CancelSignal) {
    super(known);
    [this.connection, this.lost, this.#signal] = [connection, lost, signal];
  }

  /** @internal */
  override async run<T>(writes: boolean, signal: CancelSignal | undefined, operation: (c: Connection) => Promise<T>): Promise<T> {
    if (this.over) throw new BobakError("Misuse", "the transaction has ended");
    // What broke in an earlier call has undone this transaction, if it is one.
    if (this.connection.broken) throw this.connection.broken.tell(this.lost ?? "nothing");
    return this.connection.call(this.lost ?? (writes ? "unknown" : "nothing"), signal ?? this.#signal, () => operation(this.connection));
  }

  /** @internal */
  override exclusive<T>(work: (session: Session<Tables>) => Promise<T>): Promise<T> {
    return work(this);
  }

  /** @internal */
  override async borrow(): Promise<Borrowed> {
    return { session: this as unknown as Session, give: async () => undefined };
  }

  /** @internal */
  override atomic<T>(work: (session: Session<Tables>) => Promise<T>): Promise<T> {
    return this.savepoint("bobak_many", () => work(this));
  }

  /** Runs work within a savepoint, and undoes it if it throws. */
  async savepoint<T>(name: string, work: () => Promise<T>): Promise<T> {
    const step = (step: request.Step) => this.run(true, undefined, (c) => control(c, step, name));
    await step("savepoint");
    try {
      const result = await work();
      await step("release");
      return result;
    } catch (error) {
      if (!this.connection.broken) await step("roll_back_to").then(() => step("release"));
      throw error;
    }
  }
}

/** A transaction; begun by `transaction` of a database. Calls that begin at the same time run one after the other. */
export type Transaction<Tables extends object = Record<string, Row>> = Held<Tables>;

async function control(c: Connection, step: request.Step, name?: string): Promise<void> {
  await c.receive(c.put(Kind.control, (w) => request.control(w, step, name)), Kind.ok);
}

/** Rolls back a transaction. */
async function undo(connection: Connection, signal: CancelSignal | undefined): Promise<void> {
  const limit = signal?.aborted ? AbortSignal.timeout(grace) : undefined;
  try {
    await connection.call("nothing", limit, () => control(connection, "rollback"));
  } catch (error) {
    // If the commit failed, the transaction has already ended, as the server says.
    const isOver = error instanceof BobakError && !limit?.aborted;
    if (!isOver) connection.break(new Broken("the transaction was not rolled back in time", "timeout"));
  }
}

/** A database on a server; opened by `connect`. */
export class Database<Tables extends object = Record<string, Row>> extends Session<Tables> {
  #rested: Connection[] = [];
  #open = 0;
  #closed = false;
  #waiting: (() => void)[] = [];
  /** The name of the database's engine, and the server's program and version. */
  engine = "";
  server = "";

  readonly #target: Target;
  /** @internal */
  constructor(target: Target) {
    super(new Map());
    this.#target = target;
  }

  /**
   * Runs work in a transaction: committed when it ends, rolled back if it throws. A signal cancels its calls, and the commit if that
   * has not begun.
   */
  async transaction<T>(work: (transaction: Transaction<Tables>) => Promise<T>, { signal }: Options = {}): Promise<T> {
    return this.#lend(false, signal, (c) => control(c, "begin"), async (connection) => {
      const held = new Held<Tables>(this.known, connection, "transaction", signal);
      try {
        const result = await using(this, () => work(held));
        // Calls that begin from here on are too late. Those that wait for their turn come first.
        held.over = true;
        if (!connection.broken) await connection.call("unknown", signal, () => control(connection, "commit"));
        else throw connection.broken.tell("transaction");
        return result;
      } catch (error) {
        held.over = true;
        if (!connection.broken) await undo(connection, signal);
        throw error;
      }
    });
  }

  /** Checks that the server responds. */
  async ping(): Promise<void> {
    await this.run(false, undefined, async (c) => void (await c.receive(c.put(Kind.ping), Kind.ok)));
  }

  /** Makes everything committed durable, if the engine defers that. */
  async flush(): Promise<void> {
    await this.run(false, undefined, async (c) => void (await c.receive(c.put(Kind.flush), Kind.ok)));
  }

  /** Closes the connections; a child process ends. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#rested.splice(0).map((connection) => connection.close()));
  }

  /** @internal */
  override run<T>(writes: boolean, signal: CancelSignal | undefined, operation: (c: Connection) => Promise<T>): Promise<T> {
    return this.#lend(writes, signal, operation, async (_, result) => result);
  }

  /** @internal */
  override exclusive<T>(work: (session: Session<Tables>) => Promise<T>, signal?: CancelSignal): Promise<T> {
    const nothing = async () => undefined;
    const held = (connection: Connection) => new Held<Tables>(this.known, connection);
    return this.#lend(false, signal, nothing, (connection) => using(this, () => work(held(connection))));
  }

  /** @internal */
  override async borrow(signal?: CancelSignal): Promise<Borrowed> {
    // Over pipes all share one connection.
    if ("program" in this.#target.transport) return { session: this as unknown as Session, give: async () => undefined };
    const [connection] = await this.#take(signal);
    const session = new Held<Tables>(this.known, connection) as unknown as Session;
    return { session, give: () => this.#give(connection) };
  }

  /** @internal */
  override atomic<T>(work: (session: Session<Tables>) => Promise<T>, signal?: CancelSignal): Promise<T> {
    return this.transaction(work, { signal });
  }

  /** Runs a first operation, which is repeated once if a pooled connection turns out to be broken, and then another one. */
  async #lend<F, T>(
    writes: boolean, signal: CancelSignal | undefined, first: (c: Connection) => Promise<F>,
    then: (c: Connection, result: F) => Promise<T>,
  ): Promise<T> {
    let [connection, rested] = await this.#take(signal);
    const attempt = () => connection.call(writes ? "unknown" : "nothing", signal, () => first(connection));
    try {
      let result: F;
      try {
        result = await attempt();
      } catch (error) {
        const { broken } = connection;
        if (!broken || writes || !rested || signal?.aborted || broken.kind === "timeout" || broken.kind === "garbled") throw error;
        await connection.close();
        connection = await Connection.open(this.#target, signal);
        result = await attempt();
      }
      return await then(connection, result);
    } finally {
      await this.#give(connection);
    }
  }

  async #take(signal?: CancelSignal): Promise<[Connection, boolean]> {
    const most = "program" in this.#target.transport ? 1 : this.#target.connections;
    for (;;) {
      if (this.#closed) throw new BobakError("Misuse", "the database is closed");
      const found = this.#rested.pop();
      if (found?.isIdle) return [found, true];
      if (found) {
        this.#open--;
        await found.close();
        continue;
      }
      if (this.#open < most) break;
      if (usesOf(this) >= most) {
        const words = "this call would wait for the transaction or the batch around it, which has all connections: in a transaction use its own tables, as `table.in(transaction)`, and SQL";
        throw new BobakError("Busy", words);
      }
      await this.#turn(most, signal);
    }
    this.#open++;
    try {
      return [await Connection.open(this.#target, signal), false];
    } catch (error) {
      this.#open--;
      this.#waiting.shift()?.();
      throw error;
    }
  }

  #turn(most: number, signal: CancelSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
      };
      const turn = () => {
        end();
        resolve();
      };
      const fail = (error: unknown) => {
        end();
        this.#waiting = this.#waiting.filter((other) => other !== turn);
        reject(error);
      };
      const aborted = () => fail(signal!.reason);
      const late = () => fail(new BobakError("Busy", `all ${most} connections to the server are in use`));
      const timer = setTimeout(late, this.#target.timeout || 60_000);
      signal?.addEventListener("abort", aborted);
      this.#waiting.push(turn);
    });
  }

  async #give(connection: Connection): Promise<void> {
    if (connection.isIdle && !this.#closed) this.#rested.push(connection);
    else {
      this.#open--;
      await connection.close();
    }
    this.#waiting.shift()?.();
  }
}

/**
 * Opens a database on a server: `bobak://HOST:PORT/DATABASE?token=…`, `bobak+unix:/PATH/TO/SOCKET`, or
 * `bobak+stdio:bobak serve app.db --stdio`, which starts the server as a child process.
 */
export async function connect<Tables extends object = Record<string, Row>>(url: string, { signal }: Options = {}): Promise<Database<Tables>> {
  const database = new Database<Tables>(parseUrl(url));
  await database.run(false, signal, async (c) => {
    ({ engine: database.engine, server: database.server } = c.welcome);
  });
  return database;
}

