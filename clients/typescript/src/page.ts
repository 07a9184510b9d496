// Pages of a query: the next one begins behind the last row of the one before, in any order.
import { BobakError, Garbled } from "./errors.js";
import { Reader, Writer, type Stored } from "./wire/code.js";
import type { Placed, Select } from "./wire/request.js";
import type { TableSchema } from "./wire/schema.js";

/** One page of a query. */
export interface Page<T> {
  items: T[];
  /**
   * Where the next page begins; null on the last page. A short text, with the last row's values in the columns of the order and
   * of the key.
   */
  next: string | null;
}

/** The place behind a row. */
export function tokenOf(select: Select, row: Stored[]): string {
  const bytes = new Writer().row(select.order.map(({ place }) => row[place]!)).bytes;
  return Buffer.from(bytes.subarray(4)).toString("hex");
}

/** The condition that a row is behind the place of a token. */
export function afterToken(schema: TableSchema, select: Select, token: string): Placed {
  const values = valuesOf(schema, token, select.order.length);
  return select.order.reduceRight<Placed | null>((rest, { place, descending }, number) => {
    const value = values[number]!;
    const later = laterValue(place, descending, value, schema.columns[place]!.nullable);
    if (rest === null) return later;
    const same: Placed = value === null ? { is: "null", place } : { is: "compare", place, comparison: "=", value };
    return { is: "or", parts: [later, { is: "and", parts: [same, rest] }] };
  }, null)!;
}

function valuesOf(schema: TableSchema, token: string, count: number): Stored[] {
  const other = new BobakError("Mismatch", "the page token belongs to another query", { table: schema.name });
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
  if (values.length !== count) throw other;
  return values;
}

/** That a column's value comes after another one. NULL is the smallest value. */
function laterValue(place: number, descending: boolean, value: Stored, nullable: boolean): Placed {
  const isNull: Placed = { is: "null", place };
  if (value === null) return descending ? { is: "or", parts: [] } : { is: "not", part: isNull };
  if (!descending) return { is: "compare", place, comparison: ">", value };
  const less: Placed = { is: "compare", place, comparison: "<", value };
  return nullable ? { is: "or", parts: [less, isNull] } : less;
}
