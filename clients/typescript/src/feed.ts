// The changes of tracked tables, from the logs that the engine writes. A log is read like any table.
// docs/change-capture.md says what numbers, times and actors mean.
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection.js";
import { queryRows, type Options, type Session } from "./database.js";
import { BobakError } from "./errors.js";
import { Rows } from "./rows.js";
import { load } from "./values.js";
import type { Stored } from "./wire/code.js";
import * as request from "./wire/request.js";
import { column, type TableSchema } from "./wire/schema.js";

/** One change of one row of a tracked table. */
export interface Change<T> {
  /** Larger than that of every change committed before, in any tracked table. */
  id: number;
  /** The table's name. */
  table: string;
  kind: "insert" | "update" | "delete";
  /** The time of the change, in UTC, as the text of a timestamp; it never decreases. */
  at: string;
  /** Who made the change, if the server knows. */
  actor: string | null;
  /** The record before and after the change, or null. A column that was added later is null. */
  before: T | null;
  after: T | null;
}

/** Some changes, and where to continue. */
export interface ChangePage<T> {
  changes: Change<T>[];
  /** The value of `since` for the next page. */
  next: number;
}

/** Which changes. */
export interface ChangeOptions extends Options {
  /** Only those with numbers above this one; 0 (all) unless set. */
  since?: number;
  /** At most this number; 1,000 unless set. */
  limit?: number;
}

/** Which changes to follow. */
export interface FollowOptions extends Options {
  /** Those with numbers above this one; those from now on unless set. */
  since?: number;
}

const kinds = { 1: "insert", 2: "update", 3: "delete" } as const;
/** Columns of a log before those of its table: number, time, actor, verb. */
const head = 4;
const pageOf = 1_000;
/** Milliseconds between two reads without changes: at first, and at most. */
const [pollInterval, longestInterval] = [2, 100];

const tracked: TableSchema = {
  name: "bobak_tracked", columns: [column("id", "i64"), column("name", "text"), column("pruned", "i64")],
  key: [0], keysBy: 0, indexes: [],
};

const logs = new WeakMap<TableSchema, TableSchema>();

/** The log of a table, as the engine creates it. */
function logOf(table: TableSchema): TableSchema {
  let log = logs.get(table);
  if (!log) {
    const columns = [column("seq", "i64"), column("at", "i64"), column("who", "text", { nullable: true }), column("verb", "i64")];
    for (const { name, type, asText, length } of table.columns) {
      for (const when of ["old", "new"]) {
        columns.push(column(`${when}_${name}`, type, { nullable: true, store: asText ? "text" : undefined, length }));
      }
    }
    log = { name: `bobak_log_${table.name}`, columns, key: [0], keysBy: 2, indexes: [] };
    logs.set(table, log);
  }
  return log;
}

/**
 * At most `limit` changes of some tables with numbers above `since`, in the order of their commits.
 * @internal
 */
export function page<T>(session: Session, tables: Rows[], options: ChangeOptions): Promise<ChangePage<T>> {
  const [since, limit] = [options.since ?? 0, Math.max(1, options.limit ?? pageOf)];
  return session.run(false, options.signal, async (c) => {
    // A reader that sees a number can read all smaller ones. So the largest number is read first, and then each log up to
    // it.
    let last = since;
    for (const rows of tables) last = Math.max(last, await lastIn(c, rows));
    const parts: request.Placed[] = [
      { is: "compare", place: 0, comparison: ">", value: BigInt(since) },
      { is: "compare", place: 0, comparison: "<=", value: BigInt(last) },
    ];
    const changes: Change<T>[] = [];
    for (const rows of tables) changes.push(...(await read<T>(c, rows, { is: "and", parts }, limit)));
    // Pruning records its number in the same transaction. If it is not recorded now, nothing was missing from what was read.
    const pruned = await prunedOf(c, tables);
    if (pruned > since) {
      const words = `changes up to ${pruned} were pruned, and ${since} is before that: begin with a copy`;
      throw new BobakError("NotFound", words);
    }
    changes.sort((a, b) => a.id - b.id);
    if (changes.length < limit) return { changes, next: last };
    return { changes: changes.slice(0, limit), next: changes[limit - 1]!.id };
  });
}

/**
 * The number of the last change of some tables, also if it was pruned; 0 if there is none.
 * @internal
 */
export function lastOf(session: Session, tables: Rows[]): Promise<number> {
  return session.run(false, undefined, async (c) => {
    let last = await prunedOf(c, tables);
    for (const rows of tables) last = Math.max(last, await lastIn(c, rows));
    return last;
  });
}

/**
 * The changes of some tables as they happen, until the loop ends or the signal aborts.
 * @internal
 */
export async function* follow<T>(session: Session, tables: Rows[], options: FollowOptions): AsyncGenerator<Change<T>> {
  const { signal } = options;
  let since = options.since ?? (await lastOf(session, tables));
  for (let pause = pollInterval; ;) {
    const { changes, next } = await page<T>(session, tables, { since, signal });
    yield* changes;
    since = next;
    if (changes.length === 0) await sleep(pause, undefined, { signal: signal as AbortSignal | undefined }).catch(() => signal?.throwIfAborted());
    pause = changes.length ? pollInterval : Math.min(2 * pause, longestInterval);
  }
}

/**
 * The changes of the row with a key, in their order.
 * @internal
 */
export function historyOf<T>(session: Session, rows: Rows, key: unknown): Promise<Change<T>[]> {
  const stored = rows.key(key);
  const side = (after: number): request.Placed => ({
    is: "and",
    parts: rows.schema.key.map((place, number) => (
      { is: "compare", place: head + 2 * place + after, comparison: "=", value: stored[number]! }
    )),
  });
  return session.run(false, undefined, (c) => read<T>(c, rows, { is: "or", parts: [side(0), side(1)] }, null));
}

/**
 * The names of the tracked tables, in lower case.
 * @internal
 */
export function trackedNames(session: Session): Promise<Set<string>> {
  return session.run(false, undefined, async (c) => new Set((await allTracked(c)).keys()));
}

async function read<T>(c: Connection, rows: Rows, condition: request.Placed, limit: number | null): Promise<Change<T>[]> {
  const columns = logOf(rows.schema).columns.map((_, place) => ({ what: "column" as const, place }));
  const select = { columns, condition, group: [], order: [{ place: 0, descending: false }], limit, offset: 0 };
  const changes: Change<T>[] = [];
  await readLog(c, rows, select, (row) => changes.push(changeOf<T>(rows, row)));
  return changes;
}

function changeOf<T>(rows: Rows, row: Stored[]): Change<T> {
  const kind = kinds[Number(row[3]) as 1 | 2 | 3] as Change<T>["kind"] | undefined;
  if (!kind) throw new BobakError("Corrupt", `the log has a change of kind ${row[3]}; kinds are 1 to 3`);
  const image = (after: number) => rows.record<T>(rows.schema.columns.map((_, place) => row[head + 2 * place + after] ?? null));
  return {
    id: Number(row[0]), table: rows.schema.name, kind, at: String(load(row[1] ?? null, "timestamp")),
    actor: row[2] == null ? null : String(row[2]), before: kind === "insert" ? null : image(0),
    after: kind === "delete" ? null : image(1),
  };
}

async function lastIn(c: Connection, rows: Rows): Promise<number> {
  const columns = [{ what: "max" as const, place: 0 }];
  let last = 0;
  await readLog(c, rows, { columns, condition: null, group: [], order: [], limit: null, offset: 0 }, (row) => {
    last = Number(row[0] ?? 0n);
  });
  return last;
}

async function prunedOf(c: Connection, tables: Rows[]): Promise<number> {
  const all = await allTracked(c);
  return Math.max(0, ...tables.map((rows) => all.get(rows.schema.name.toLowerCase()) ?? 0));
}

/** The tracked tables, and the largest number that was pruned from each log. */
async function allTracked(c: Connection): Promise<Map<string, number>> {
  const columns = [1, 2].map((place) => ({ what: "column" as const, place }));
  const found = new Map<string, number>();
  try {
    await select(c, tracked, { columns, condition: null, group: [], order: [], limit: null, offset: 0 }, ([name, pruned]) => {
      found.set(String(name).toLowerCase(), Number(pruned));
    });
  } catch (error) {
    // If nothing was ever tracked, the table does not exist.
    if (!(error instanceof BobakError && error.kind === "Schema")) throw error;
  }
  return found;
}

async function readLog(c: Connection, rows: Rows, what: request.Select, each: (row: Stored[]) => void): Promise<void> {
  try {
    await select(c, logOf(rows.schema), what, each);
  } catch (error) {
    if (!(error instanceof BobakError && error.kind === "Schema")) throw error;
    const words = "the table is not tracked, or this user may not read its log: use track";
    throw new BobakError("Schema", words, { table: rows.schema.name }, error);
  }
}

async function select(c: Connection, from: TableSchema, what: request.Select, each: (row: Stored[]) => void): Promise<void> {
  const table = c.table(from);
  await queryRows(c, (w) => request.select(w, table, what), undefined, each);
}
