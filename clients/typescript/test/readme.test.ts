// Every program of the README compiles and runs, as one that has installed this package.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { here, inFolder, program } from "./serving.js";

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
