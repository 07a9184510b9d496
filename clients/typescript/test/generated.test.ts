// The interfaces and tables that `bobak schema --typescript` writes describe the tables that they were written from.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { column, connect, table } from "../src/index.js";
import { here, program } from "./serving.js";

const airport = table("airport", [
  column("code", "text", { key: true, max: 3 }), column("name", "text", { unique: true, collation: "nocase" }),
]);
const flights = table("flights", [
  column("id", "uuid"), column("origin", "text", { references: airport, onDelete: "cascade", index: true }),
  column("number", "u16", { check: "number > 0" }), column("day", "date"), column("leaves", "time", { store: "text" }),
  column("lands", "datetime", { nullable: true }), column("price", "currency"), column("late", "bool", { nullable: true }),
  column("distance", "f64"), column("share", "f32"), column("notes", "text", { search: "english" }),
  column("data", "bytes", { nullable: true }), column("tags", "json"), column("extra", "any", { nullable: true }),
  column("place", "vector", { length: 2, nullable: true }), column("odd name", "text"),
  column("made", "timestamp", { createdAt: true }), column("changed", "timestamp", { modifiedAt: true }),
  column("version", "i64", { version: true }),
], [{ name: "number_of_day", columns: ["number", "day"], unique: true }]);

test("generated tables are those that they were written from", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bobak"));
  const url = (file: string) => `bobak+stdio:${program()} serve ${join(folder, file)} --stdio`;
  const schema = (file: string, ...words: string[]) => execFileSync(program(), ["schema", file, ...words], { cwd: folder, encoding: "utf8" });
  const given = await connect(url("given.db"));
  await given.create(airport);
  await given.create(flights);
  await given.close();
  const text = schema("given.db", "--typescript");
  assert.match(text, /\n  price: Money;\n  late: boolean \| null;\n/);
  assert.match(text, /export interface Tables \{\n  airport: Airport;\n  flights: Flight;\n\}\n$/);
  // The types hold, by the compiler.
  const file = join(here, "test", `generated-${process.pid}.ts`);
  const index = pathToFileURL(join(here, "dist/src/index.js")).href;
  writeFileSync(file, text.replaceAll('from "bobak"', 'from "../src/index.js"'));
  try {
    const options: ts.CompilerOptions = {
      strict: true, noEmit: true, skipLibCheck: true, types: ["node"], target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext,
    };
    const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options));
    assert.deepEqual(found.map((one) => ts.flattenDiagnosticMessageText(one.messageText, "\n")), []);
  } finally {
    rmSync(file);
  }
  const code = ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } });
  writeFileSync(join(folder, "made.mjs"), code.outputText.replaceAll('"bobak"', JSON.stringify(index)));
  const tables = await import(pathToFileURL(join(folder, "made.mjs")).href) as Record<string, typeof airport>;
  const made = await connect(url("made.db"));
  await made.create(tables["airportTable"]!);
  await made.create(tables["flightTable"]!);
  await made.close();
  assert.equal(schema("made.db"), schema("given.db"));
  rmSync(folder, { recursive: true });
});
