#!/usr/bin/env node
// bobak-types URL: the tables of a database as TypeScript interfaces, on standard output.
import { connect } from "./database.js";
import { typeName } from "./values.js";
import type { TableSchema } from "./wire/schema.js";

// Names with another meaning in the output.
const taken = ["Money", "Value", "Tables", "Uint8Array", "Float32Array"];

/** A name for each table's interface: the words of the table's name, capitalised, with a number if the name is taken. */
function names(tables: string[]): string[] {
  const used = new Set(taken);
  return tables.map((table) => {
    const words = table.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
    const text = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
    const base = /^\p{L}/u.test(text) ? text : `Table${text}`;
    let name = base;
    for (let number = 2; used.has(name); number += 1) name = `${base}${number}`;
    used.add(name);
    return name;
  });
}

/** Interfaces for tables, and an interface of all tables by name for `connect<Tables>`. */
export function interfaces(schemas: TableSchema[]): string {
  const sorted = [...schemas].sort((a, b) => (a.name < b.name ? -1 : 1));
  const named = names(sorted.map((schema) => schema.name));
  const parts = sorted.map((schema, place) => {
    const columns = schema.columns.map((column) =>
      `  ${JSON.stringify(column.name)}: ${typeName(column.type)}${column.nullable ? " | null" : ""};`);
    return `export interface ${named[place]} {\n${columns.join("\n")}\n}\n`;
  });
  const all = sorted.map((schema, place) => `  ${JSON.stringify(schema.name)}: ${named[place]};`);
  return [`import type { Money, Value } from "bobak";\n`, ...parts, `export interface Tables {\n${all.join("\n")}\n}\n`].join("\n");
}

const [, , url] = process.argv;
if (process.argv[1]?.match(/bobak-types(\.js)?$/)) {
  if (!url) {
    console.error("usage: bobak-types URL > tables.ts");
    process.exit(2);
  }
  try {
    const db = await connect(url);
    process.stdout.write(interfaces(await db.tables()));
    await db.close();
  } catch (error) {
    console.error(`bobak-types: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
