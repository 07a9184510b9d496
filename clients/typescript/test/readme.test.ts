// Every program of the README compiles and runs with the installed package.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { here, inFolder, program } from "./serving.js";

/** A program that uses no library of types but the language's own. */
const plain = `
import { col, column, connect, table, type CancelSignal, type Database, type Table } from "bobak";
interface City { id: bigint; name: string }
export async function names(signal: CancelSignal): Promise<string[]> {
  const db: Database<{ city: City }> = await connect<{ city: City }>("bobak+stdio:bobak serve cities.db --stdio");
  await db.create(table("city", [column("id", "i64"), column("name", "text", { references: "name(text)" })]));
  const cities: Table<City> = await db.table("city");
  const found = await cities.where(col("name").like("B%")).all({ signal });
  await db.transaction(async (transaction) => {
    await cities.in(transaction).insert({ name: "Bern" });
    await transaction.savepoint("s", async () => undefined);
  });
  for await (const change of db.follow(["city"])) return [change.after?.name ?? ""];
  return found.map((city) => city.name);
}
// @ts-expect-error: connections are not a part of the API.
export const hidden = (db: Database) => db.target;
`;

test("the types need neither Node's nor the browser's", () => inFolder(async (folder) => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(here, join(folder, "node_modules/bobak"));
  writeFileSync(join(folder, "plain.mts"), plain);
  const settings = {
    compilerOptions: {
      strict: true, target: "es2022", module: "nodenext", lib: ["es2022"], types: [], noEmit: true, preserveSymlinks: true,
      skipLibCheck: false,
    },
    files: ["plain.mts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const { status, stdout } = spawnSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc")], { cwd: folder, encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
}));

test("the README's programs", () => inFolder(async (folder) => {
  const readme = readFileSync(join(here, "README.md"), "utf8");
  const programs = [...readme.matchAll(/```ts\n(.*?)```/gs)].map((found) => found[1]!);
  const names = programs.map((_, number) => `program${number}`);
  programs.forEach((text, number) => writeFileSync(join(folder, `${names[number]}.mts`), text));
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  symlinkSync(here, join(folder, "node_modules/bobak"));
  symlinkSync(join(here, "node_modules/@types/node"), join(folder, "node_modules/@types/node"));
  symlinkSync(resolve(program()), join(folder, "bobak"));
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
  const run = (...words: string[]) => String(execFileSync(process.execPath, words, { cwd: folder, env, encoding: "utf8" }));
  const settings = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
  run(join(here, "node_modules/typescript/bin/tsc"), ...settings, ...names.map((name) => `${name}.mts`));
  const [first, records, changes] = names.map((name) => run(`${name}.mjs`));
  assert.equal(first, "{ id: 1n, name: 'Ada' }\n");
  assert.match(records!, /^10000\n10000 \[\n[^]*\[ \{ n: 10000n \} \]\n$/);
  assert.match(changes!, /^\[\n {2}\[ 'insert', null[^]*\n2 \{ id: 1n, name: 'Bern' \} \{ id: 1n, name: 'Thun' \}\n/);
}));
