// A real server over each transport, and the tables of the tests.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BobakError, column, connect, Money, table } from "../src/index.js";

export const here = fileURLToPath(new URL("../..", import.meta.url));
export const token = "0123456789abcdef";

export function program(): string {
  const target = process.env["CARGO_TARGET_DIR"] ?? resolve(here, "../../target");
  const found = process.env["BOBAK_TEST_PROGRAM"] ?? ["debug", "release"].map((profile) => join(target, profile, "bobak")).find(existsSync);
  if (!found) throw new Error("no program to test against: run `cargo build -p bobak-cli` first");
  return found;
}

export const person = table("person", [
  column("id", "i64"), column("name", "text", { max: 40 }), column("age", "i32", { nullable: true }),
  column("balance", "currency", { default: Money.parse("0") }),
]);
export const note = table("note", [
  column("id", "uuid"), column("text", "text"), column("made", "timestamp", { createdAt: true }),
  column("changed", "timestamp", { modifiedAt: true, store: "text" }), column("version", "i64", { version: true }),
]);
export const square = table("square", [column("row", "i16", { key: true }), column("letter", "text", { key: true })]);

export interface Person {
  id: bigint;
  name: string;
  age: number | null;
  balance: Money;
}
export interface Tables {
  person: Person;
  note: { id: string; text: string; made: string; changed: string; version: bigint };
  square: { row: number; letter: string };
}

export const people = (count: number): Partial<Person>[] =>
  Array.from({ length: count }, (_, n) => ({ name: `P ${n}`, age: n % 90 || null, balance: new Money(BigInt(n * 100)) }));

export const fails = (kind: string, row?: number) => (error: unknown) => {
  assert.ok(error instanceof BobakError, String(error));
  assert.equal(error.kind, kind, error.toString());
  if (row !== undefined) assert.equal(error.row, row);
  return true;
};

export async function serve(folder: string, ...words: string[]): Promise<{ child: ChildProcess; place: string; kill: () => Promise<void> }> {
  const child = spawn(program(), ["serve", ...words], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { child, place: String(line).replace("listening on ", "").trim(), kill };
}
/** The URL of a shell script, which does not speak the protocol. */
export const shell = (text: string) => `bobak+stdio:sh -c ${text.replaceAll("%", "%25").replaceAll(" ", "%20")}`;
export const unix = (folder: string, ...more: string[]) => {
  rmSync(join(folder, "socket"), { force: true });
  return serve(folder, "app.db", "--unix", join(folder, "socket"), ...more);
};
export const tcp = (folder: string, ...more: string[]) => {
  writeFileSync(join(folder, "tokens"), `${token}\n`);
  return serve(folder, "main=app.db", "--listen", "127.0.0.1:0", "--token-file", "tokens", ...more);
};

export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bobak-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export type Db = Awaited<ReturnType<typeof connect<Tables>>>;

/** Runs a test on a new database over each transport. */
export function overEachTransport(name: string, work: (db: Db, folder: string) => Promise<void>): void {
  for (const transport of ["tcp", "unix", "stdio"] as const) {
    test(`${name} over ${transport}`, () => inFolder(async (folder) => {
      const server = transport === "tcp" ? await tcp(folder) : transport === "unix" ? await unix(folder) : undefined;
      const urls = {
        tcp: `bobak://${server?.place}/main?token=${token}`, unix: `bobak+unix:${server?.place}`,
        stdio: `bobak+stdio:${program()} serve ${folder}/app.db --stdio`,
      };
      try {
        const db = await connect<Tables>(urls[transport]);
        try {
          await work(db, folder);
        } finally {
          await db.close();
        }
      } finally {
        await server?.kill();
      }
    }));
  }
}
