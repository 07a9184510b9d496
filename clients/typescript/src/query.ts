// Conditions, assignments and expressions over named columns: plain values.
import { BobakError } from "./errors.js";
import type { Rows } from "./rows.js";
import type * as request from "./wire/request.js";
import type { TableSchema } from "./wire/schema.js";

/** Selects rows. Make one with `col`, and combine several with `and`, `or` and `not`. */
export type Condition = (rows: never) => unknown;

/** @internal */
export type PlacedCondition = (rows: Rows) => request.Placed;

const compare = (name: string, comparison: request.Comparison) => (value: unknown): Condition => (rows: Rows): request.Placed => {
  const place = rows.place(name);
  if (value instanceof Field) return { is: "columns", place, comparison, right: rows.place(value.name) };
  const stored = rows.store(place, value);
  if (stored === null) throw new BobakError("Misuse", "no value is equal to NULL, greater or less: use isNull", { column: name });
  return { is: "compare", place, comparison, value: stored };
};

class Field {
  constructor(readonly name: string) {}
  eq = (value: unknown) => compare(this.name, "=")(value);
  ne = (value: unknown) => compare(this.name, "<>")(value);
  lt = (value: unknown) => compare(this.name, "<")(value);
  le = (value: unknown) => compare(this.name, "<=")(value);
  gt = (value: unknown) => compare(this.name, ">")(value);
  ge = (value: unknown) => compare(this.name, ">=")(value);
  isNull = (): Condition => (rows: Rows): request.Placed => ({ is: "null", place: rows.place(this.name) });
  /** `%` stands for any characters, `_` for one. After `escape`, another character than these, the next one stands for itself. */
  like = (text: string, escape?: string): Condition => (rows: Rows): request.Placed => {
    const place = rows.place(this.name);
    return escape === undefined ? { is: "like", place, text } : { is: "like_escape", place, text, escape };
  };
  contains = (text: string): Condition => (rows: Rows): request.Placed => ({ is: "contains", place: rows.place(this.name), text });
  endsWith = (text: string): Condition => (rows: Rows): request.Placed => ({ is: "ends_with", place: rows.place(this.name), text });
  startsWith = (text: string): Condition => (rows: Rows): request.Placed => ({ is: "starts_with", place: rows.place(this.name), text });
  /** One of the values (null among them matches nothing), or a value in rows of another table: `orders.where(col("customer_id").in(customers.where().column("id")))`. */
  in = (values: unknown[] | ColumnOfRows): Condition => (rows: Rows): request.Placed => {
    const place = rows.place(this.name);
    if (values instanceof ColumnOfRows) {
      return { is: "in_query", place, table: values.table, column: values.place, where: values.where() };
    }
    return { is: "in", place, values: values.filter((value) => value != null).map((value) => rows.store(place, value)) };
  };
}

/** A column of the rows that a selection matches, for `in`. The server compares; the rows are not sent. */
export class ColumnOfRows {
  /** @internal */
  constructor(readonly table: TableSchema, readonly place: number, readonly where: () => request.Placed | null) {}
}

/** A column by its name: `col("age").gt(30)`. */
export const col = (name: string): Field => new Field(name);
export const and = (...parts: Condition[]): Condition => (rows: Rows): request.Placed => ({ is: "and", parts: parts.map((one) => placed(one, rows)) });
export const or = (...parts: Condition[]): Condition => (rows: Rows): request.Placed => ({ is: "or", parts: parts.map((one) => placed(one, rows)) });
export const not = (part: Condition): Condition => (rows: Rows): request.Placed => ({ is: "not", part: placed(part, rows) });

/**
 * A condition over positions of columns.
 * @internal
 */
export function placed(condition: Condition, rows: Rows): request.Placed {
  if (typeof condition === "function") return (condition as PlacedCondition)(rows);
  throw new BobakError("Misuse", `a condition compares a column, as col("age").gt(30), and is not ${String(condition)}`);
}

/**
 * Checks names of columns, which are texts.
 * @internal
 */
export function checkNames(names: readonly unknown[], what: string): void {
  if (names.every((name) => typeof name === "string")) return;
  throw new BobakError("Misuse", `${what} takes names of columns, such as "age"`);
}

/**
 * Checks a number of rows.
 * @internal
 */
export function checkNumber(rows: number, what: string): void {
  if (!Number.isSafeInteger(rows) || rows < 0) throw new BobakError("Misuse", `${what} is a whole number from 0, and not ${rows}`);
}

/** See `add`. */
export class Added {
  constructor(readonly value: unknown) {}
}
/** Assigned to a column: adds to it, in one step on the server. */
export const add = (value: unknown): Added => new Added(value);

/** A column, or an aggregate. */
export interface Expression {
  what: request.Expression;
  name: string;
}
const expression = (what: request.Expression) => (name: string): Expression => ({ what, name });
/** How well a row fits the search of its query: the larger the better. Compare those of one query only. */
export const rank = (): Expression => ({ what: "rank", name: "" });
/** The distance of a row in a query for the nearest rows. */
export const distance = (): Expression => ({ what: "distance", name: "" });
export const count = (): Expression => ({ what: "count", name: "" });
export const [countOf, sum, min, max, avg] =
  (["count_of", "sum", "min", "max", "avg"] as const).map(expression) as [typeof f, typeof f, typeof f, typeof f, typeof f];
declare const f: (name: string) => Expression;
