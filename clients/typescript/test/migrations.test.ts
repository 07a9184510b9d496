// The version of a database, by its migrations.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { connect } from "../src/index.js";
import { fails, inFolder, program } from "./serving.js";

test("migrations are verified", () => inFolder(async (folder) => {
  mkdirSync(`${folder}/migrations`);
  const table = '{"name":"t","key":["id"],"columns":[{"name":"id","type":"i64"}],"indexes":[]}';
  writeFileSync(`${folder}/migrations/0001_a.migration`, `bobak migration 1\nfirst\nup\ncreate table ${table}\n`);
  writeFileSync(`${folder}/migrations/0002_b.migration`, "bobak migration 1\nafter 0001_a\nup\nrename table t to u\n");
  const verify = async (last: string) => {
    const db = await connect(`bobak+stdio:${program()} serve ${folder}/app.db --stdio`);
    try {
      await db.verifyMigrations(last);
    } finally {
      await db.close();
    }
  };
  await assert.rejects(verify("0001_a"), fails("Schema"));
  execFileSync(program(), ["migrate", "up", "app.db"], { cwd: folder, stdio: "pipe" });
  await verify("0002_b");
  await assert.rejects(verify("0001_a"), /newer than the program: it has migration 0002_b/);
  await assert.rejects(verify("0001_a"), fails("Conflict"));
  await assert.rejects(verify("0003_c"), /older than the program: migrate it to 0003_c first/);
}));
