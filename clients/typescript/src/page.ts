// Pages of a query: the next one begins behind the last row of the one before, in any order.
import { BobakError, Garbled } from "./errors.js";
import { Reader, Writer, type Stored } from "./wire/code.js";
import type { Placed, Select } from "./wire/request.js";
import type { TableSchema } from "./wire/schema.js";

/** One page of a query. */
export interface Page<T> {
  items: T[];
  /**
   * Where the next page begins; null on the last page. A short text, with the order, and the last row's values in its columns and in
   * those of the key.
   */
  next: string | null;
}

/** The place behind a row. */
export function tokenOf(schema: TableSchema, select: Select, row: Stored[]): string {
  const bytes = new Writer().row([orderText(schema, select), ...select.order.map(({ place }) => row[place]!)]).bytes;
  return Buffer.from(bytes.subarray(4)).toString("hex");
}

/** The condition that a row is behind the place of a token. */
export function afterToken(schema: TableSchema, select: Select, token: string): Placed {
  const values = valuesOf(schema, token, select);
  return select.order.reduceRight<Placed | null>((rest, { place, descending }, number) => {
    const value = values[number]!;
    const later = laterValue(place, descending, value, schema.columns[place]!.nullable);
    if (rest === null) return later;
    const same: Placed = value === null ? { is: "null", place } : { is: "compare", place, comparison: "=", value };
    return { is: "or", parts: [later, { is: "and", parts: [same, rest] }] };
  }, null)!;
}

/** The order of a page, which its token begins with. */
function orderText(schema: TableSchema, select: Select): string {
  return select.order.map(({ place, descending }) => `${descending ? "-" : ""}${schema.columns[place]!.name}`).join(",");
}

function valuesOf(schema: TableSchema, token: string, select: Select): Stored[] {
  const other = new BobakError("Mismatch", "the text is no page token", { table: schema.name });
  const row = Buffer.from(token, "hex");
  if (row.length * 2 !== token.length) throw other;
  const framed = Buffer.alloc(4 + row.length);
  framed.writeUInt32LE(row.length);
  row.copy(framed, 4);
  let values: Stored[];
  try {
    values = new Reader(framed).row();
  } catch (error) {
    if (error instanceof Garbled) throw other;
    throw error;
  }
  const [of, ...rest] = values;
  if (typeof of !== "string") throw other;
  const order = orderText(schema, select);
  if (of === order && rest.length === select.order.length) return rest;
  throw new BobakError("Misuse", `the page token belongs to the order ${of}, and the query has ${order}`, { table: schema.name });
}

/** That a column's value comes after another one. NULL is the smallest value. */
function laterValue(place: number, descending: boolean, value: Stored, nullable: boolean): Placed {
  const isNull: Placed = { is: "null", place };
  if (value === null) return descending ? { is: "or", parts: [] } : { is: "not", part: isNull };
  if (!descending) return { is: "compare", place, comparison: ">", value };
  const less: Placed = { is: "compare", place, comparison: "<", value };
  return nullable ? { is: "or", parts: [less, isNull] } : less;
}
