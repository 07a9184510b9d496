// bobak-types: names that are identifiers, each of one table only.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { interfaces } from "../src/bobak-types.js";
import type { TableSchema } from "../src/wire/schema.js";
import { here } from "./serving.js";

test("tables of any name have interfaces of their own", () => {
  const names = ["money", "tables", "a b", "a_b", "1abc", "odd name/%", "größe", "%", "person_2", "person", "Person"];
  const text = interfaces(names.map((name) => ({ name, columns: [] }) as unknown as TableSchema));
  const found = [...text.matchAll(/^export interface (.*) \{$/gm)].map((match) => match[1]!);
  assert.equal(new Set(found).size, names.length + 1);
  for (const name of found) assert.match(name, /^\p{L}[\p{L}\p{N}]*$/u);
  for (const [table, name] of [["money", "Money2"], ["a b", "AB"], ["a_b", "AB2"], ["1abc", "Table1abc"], ["odd name/%", "OddName"], ["größe", "Größe"]])
    assert.ok(text.includes(`  ${JSON.stringify(table)}: ${name};\n`), `${table} is ${name}: ${text}`);
});

test("errors are one line", () => {
  const run = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [`${here}/dist/src/bobak-types.js`, ...words], { encoding: "utf8" });
    return [status, stdout, stderr];
  };
  assert.deepEqual(run(), [2, "", "usage: bobak-types URL > tables.ts\n"]);
  assert.deepEqual(run("bobak+unix:/nowhere"), [1, "", "bobak-types: could not reach /nowhere: connect ENOENT /nowhere\n"]);
});
