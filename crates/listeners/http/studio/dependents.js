// What the database changes in other rows when a row is deleted: foreign keys with ON DELETE CASCADE and SET NULL.

import { name } from "./api.js";
import { count } from "./dom.js";
import { literal } from "./values.js";

/** So many rows are looked for by one filter. */
const PART = 50;

/** What happens to rows that refer to these when they are deleted, in words; rows that this account can't see are left out. */
export async function dependentsOf(table, rows) {
  const found = await Promise.all(table.dependents.map((key) => describe(table, rows, key)));
  return found.filter(Boolean);
}

async function describe(table, rows, key) {
  const other = await table.database.table(key.table);
  const referred = rows.filter((row) => key.to.every((column) => row[column] != null));
  let number = 0;
  try {
    for (let at = 0; at < referred.length; at += PART) {
      const filter = referred.slice(at, at + PART).map((row) => condition(table, row, key)).join(" or ");
      const found = await other.aggregate({ values: "count", filter }, { quiet: true });
      number += Number(found.rows[0]?.count ?? 0);
    }
  } catch {
    // Not everybody may count them.
    number = undefined;
  }
  if (number === 0) return null;
  const what = number === undefined ? `rows of ${other.name} may` : `${count(number)} ${number === 1 ? "row" : "rows"} of ${other.name} will`;
  if (key.onDelete === "set_null") return `${what} have NULL in ${key.columns.join(", ")}`;
  return `${what} be deleted${other.dependents.length ? " with what depends on them" : ""}`;
}

const condition = (table, row, { columns, to }) => `(${columns.map((column, at) => `${name(column)} = ${literal(row[to[at]], table.column(to[at]))}`).join(" and ")})`;
