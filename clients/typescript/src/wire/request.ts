// Requests: each function appends the body of a frame.
import { BobakError } from "../errors.js";
import type { Stored, Writer } from "./code.js";
import { describe, types, type TableSchema, type Type } from "./schema.js";

export const verbs = ["insert", "insert_or_ignore", "insert_or_replace", "upsert", "update", "delete", "upsert_on"] as const;
export type Verb = (typeof verbs)[number];
export const steps = ["begin", "commit", "rollback", "savepoint", "release", "roll_back_to"] as const;
export type Step = (typeof steps)[number];
export const comparisons = ["=", "<>", "<", "<=", ">", ">="] as const;
export type Comparison = (typeof comparisons)[number];
export const expressions = ["column", "count", "count_of", "sum", "min", "max", "avg", "rank", "distance"] as const;
export type Expression = (typeof expressions)[number];

/** A condition over positions of columns and stored values. */
export type Placed =
  | { is: "compare"; place: number; comparison: Comparison; value: Stored }
  | { is: "columns"; place: number; comparison: Comparison; right: number }
  | { is: "in"; place: number; values: Stored[] }
  | { is: "like"; place: number; text: string }
  | { is: "starts_with"; place: number; text: string }
  | { is: "like_escape"; place: number; text: string; escape: string }
  | { is: "contains"; place: number; text: string }
  | { is: "ends_with"; place: number; text: string }
  | { is: "null"; place: number }
  | { is: "in_query"; place: number; table: number | TableSchema; column: number; where: Placed | null }
  | { is: "and"; parts: Placed[] }
  | { is: "or"; parts: Placed[] }
  | { is: "not"; part: Placed };

const tags = ["compare", "columns", "in", "like", "starts_with", "null", "and", "or", "not", "like_escape", "contains", "ends_with", "in_query"];

/** A query over one table. */
export interface Select {
  columns: { what: Expression; place: number }[];
  condition: Placed | null;
  group: number[];
  order: { place: number; descending: boolean }[];
  limit: number | null;
  offset: number;
  lock?: RowLock | null;
  /** What the texts of rows must have, and whether the best rows come first. */
  search?: { text: string; ranked: boolean } | null;
  /** From which vector the distances of a column of vectors are measured; `to` is its stored form. */
  nearest?: { place: number; metric: Metric; to: Uint8Array } | null;
}

export const metrics = ["cosine", "euclidean", "dot"] as const;
/** How the distance of two vectors is measured: the smaller, the nearer. */
export type Metric = (typeof metrics)[number];

const locks = ["wait", "no_wait", "skip_locked"] as const;
/** How a query locks rows that another transaction has locked: it waits, at most so many milliseconds, fails, or leaves them out. */
export type RowLock = (typeof locks)[number] | { waitAtMost: number };

export interface Assign {
  place: number;
  value: Stored;
  adds: boolean;
}

export interface Credentials {
  token?: string | undefined;
  user?: string | undefined;
  password?: string | undefined;
}

/** @internal */
export function hello(w: Writer, versions: [number, number], database: string, client: string, shown: Credentials): void {
  w.raw(Buffer.from("BOBK")).u16(versions[0]).u16(versions[1]).text(database).text(client);
  if (shown.token !== undefined) w.u8(1).text(shown.token);
  else if (shown.user !== undefined) w.u8(2).text(shown.user).text(shown.password ?? "");
  else w.u8(0);
}

/** @internal */
export function control(w: Writer, step: Step, name?: string): void {
  w.u8(steps.indexOf(step));
  if (name !== undefined) w.text(name);
}

/**
 * What precedes the row of a write, or the rows of a run of a batch. `by` is the columns of the unique index of an upsert.
 * @internal
 */
export function run(w: Writer, table: number, verb: Verb, sets: readonly number[], by?: readonly number[]): void {
  w.u32(table).u8(verbs.indexOf(verb));
  if (by) places(w, by);
  places(w, sets);
}

function places(w: Writer, sets: readonly number[]): void {
  const words: bigint[] = [];
  for (const place of sets) {
    const word = Math.floor(place / 64);
    while (words.length <= word) words.push(0n);
    words[word]! |= 1n << BigInt(place % 64);
  }
  w.u8(words.length);
  for (const word of words) w.u64(word);
}

/** @internal */
export function change(w: Writer, table: number, where: Placed | null, assigns: Assign[] | null): void {
  w.u32(table).option(where, (where) => condition(w, where));
  w.option(assigns, (assigns) => {
    w.u16(assigns.length);
    for (const one of assigns) w.bool(one.adds).u16(one.place).value(one.value);
  });
}

/** @internal */
export function condition(w: Writer, it: Placed, depth = 200): void {
  if (depth === 0) throw new BobakError("OutOfRange", "a condition nests deeper than 200");
  w.u8(tags.indexOf(it.is));
  if (it.is === "and" || it.is === "or") {
    w.u32(it.parts.length);
    for (const part of it.parts) condition(w, part, depth - 1);
    return;
  }
  if (it.is === "not") return condition(w, it.part, depth - 1);
  w.u16(it.place);
  if (it.is === "compare") w.u8(comparisons.indexOf(it.comparison)).value(it.value);
  else if (it.is === "columns") w.u8(comparisons.indexOf(it.comparison)).u16(it.right);
  else if (it.is === "in") {
    w.u32(it.values.length);
    for (const value of it.values) w.value(value);
  } else if (it.is === "in_query") {
    if (typeof it.table !== "number") throw new BobakError("Misuse", "the other table of a condition has no number");
    w.u32(it.table).u16(it.column).option(it.where, (where) => condition(w, where, depth - 1));
  } else if (it.is !== "null") w.text(it.text);
  if (it.is === "like_escape") w.text(it.escape);
}

/**
 * The condition with the numbers of the tables that it names.
 * @internal
 */
export function numbered(it: Placed, number: (table: TableSchema) => number): Placed {
  if (it.is === "and" || it.is === "or") return { is: it.is, parts: it.parts.map((part) => numbered(part, number)) };
  if (it.is === "not") return { is: "not", part: numbered(it.part, number) };
  if (it.is !== "in_query") return it;
  const table = typeof it.table === "number" ? it.table : number(it.table);
  return { ...it, table, where: it.where && numbered(it.where, number) };
}

/** @internal */
export function select(w: Writer, table: number, it: Select): void {
  w.u8(it.nearest ? 5 : it.search ? 4 : it.lock ? 3 : 0).u32(table).u16(it.columns.length);
  for (const one of it.columns) w.u8(expressions.indexOf(one.what)).u16(one.place);
  w.option(it.condition, (where) => condition(w, where)).places(it.group).u16(it.order.length);
  for (const step of it.order) w.u16(step.place).bool(step.descending);
  w.option(it.limit, (limit) => w.u64(BigInt(limit))).u64(BigInt(it.offset));
  if (it.nearest) {
    w.u16(it.nearest.place).u8(metrics.indexOf(it.nearest.metric)).u16(it.nearest.to.length / 4).raw(it.nearest.to);
    return;
  }
  if (it.search) w.text(it.search.text).bool(it.search.ranked).bool(!!it.lock);
  if (typeof it.lock === "string") w.u8(locks.indexOf(it.lock));
  else if (it.lock) w.u8(3).u32(Math.max(1, Math.round(it.lock.waitAtMost)));
}

/** A parameter of an SQL text: a stored value, and its type. */
export interface Parameter {
  value: Stored;
  type: Type;
}

/** @internal */
export function sql(w: Writer, text: string, parameters: Parameter[]): void {
  putParameters(w.u8(1).text(text), parameters);
}

/** @internal */
export function statement(w: Writer, number: number, parameters: Parameter[]): void {
  putParameters(w.u8(2).u32(number), parameters);
}

function putParameters(w: Writer, parameters: Parameter[]): void {
  w.row(parameters.map((parameter) => parameter.value));
  for (const parameter of parameters) w.u8(types.indexOf(parameter.type));
}

export const schemaChanges = ["create_table", "add_column", "add_index", "track", "untrack"] as const;
export type SchemaChange = (typeof schemaChanges)[number];

/**
 * One change of an Alter. If the place is 1, the log of a tracked table gets an index over the key.
 * @internal
 */
export function schemaChange(w: Writer, what: SchemaChange, place: number, it: TableSchema): void {
  w.u8(schemaChanges.indexOf(what)).u16(place).raw(describe(it));
}
