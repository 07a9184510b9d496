#!/usr/bin/env node
// bobak-types URL: the tables of a database as TypeScript interfaces, on standard output.
import { connect } from "./database.js";
import { typeName } from "./values.js";
import type { TableSchema } from "./wire/schema.js";

const capital = (name: string) => name.replace(/(^|[^a-zA-Z0-9]+)([a-zA-Z0-9])/g, (_, __, first: string) => first.toUpperCase());

/** Interfaces for tables, and one of all of them by name, for `connect<Tables>`. */
export function interfaces(schemas: TableSchema[]): string {
  const sorted = [...schemas].sort((a, b) => (a.name < b.name ? -1 : 1));
  const parts = sorted.map((schema) => {
    const columns = schema.columns.map((column) =>
      `  ${JSON.stringify(column.name)}: ${typeName(column.type)}${column.nullable ? " | null" : ""};`);
    return `export interface ${capital(schema.name)} {\n${columns.join("\n")}\n}\n`;
  });
  const all = sorted.map((schema) => `  ${JSON.stringify(schema.name)}: ${capital(schema.name)};`);
  return [`import type { Money, Value } from "bobak";\n`, ...parts, `export interface Tables {\n${all.join("\n")}\n}\n`].join("\n");
}

const [, , url] = process.argv;
if (process.argv[1]?.match(/bobak-types(\.js)?$/)) {
  if (!url) {
    console.error("usage: bobak-types URL > tables.ts");
    process.exit(2);
  }
  const db = await connect(url);
  process.stdout.write(interfaces(await db.tables()));
  await db.close();
}
