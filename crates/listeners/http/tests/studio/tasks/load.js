// The HTTP API next to PocketBase's, by wrk: `node load.js BOBAK POCKETBASE [ROUNDS] [SECONDS]`.
//
// Both serve one table of 100,000 rows, first openly, then with a rule that lets each client see the rows it owns.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuSeconds } from "./cpu.js";

const [BOBAK, POCKETBASE, ROUNDS = "3", SECONDS = "8"] = process.argv.slice(2);
const ROWS = 100_000;
const CATEGORIES = 500;
const folder = mkdtempSync(join(tmpdir(), "peer-load-"));
const OWNER = "u".padStart(15, "0");
const ADMIN = { identity: "admin@example.com", password: "correct horse" };
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** Runs a program ahead of others, if the system lets it: the machine may be shared. */
const first = (program, words, options) => spawn("nice", ["-n", "-15", program, ...words], options);
const sqlite = (file, input) => execFileSync("sqlite3", [file], { input: `.timeout 9000\n${input}` });

/** Rows for the table of either, whose columns have the same names. */
const rows = (table) => `BEGIN; INSERT INTO ${table} (id, name, category, amount, owner)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
  SELECT printf('%015d', i), 'Item ' || i, 'c' || (i % ${CATEGORIES}), i * 1.5, '${OWNER}' FROM n; COMMIT;`;

async function until(address) {
  for (let tries = 0; tries < 300; tries++) {
    if (await fetch(address).then((response) => response.ok, () => false)) return;
    await pause(100);
  }
  throw new Error(`${address} does not answer`);
}

async function startBobak(withRules, port) {
  const file = join(folder, `bobak-${withRules}.db`);
  sqlite(file, `PRAGMA journal_mode = wal; CREATE TABLE item (id TEXT PRIMARY KEY, name TEXT NOT NULL, category TEXT, amount REAL, owner TEXT); CREATE INDEX item_category ON item (category); ${rows("item")}`);
  const words = ["serve", file, "--http", `127.0.0.1:${port}`];
  let token = "a-token-of-the-comparison";
  if (withRules) {
    const access = join(folder, "access.txt");
    writeFileSync(access, "");
    execFileSync(BOBAK, ["permissions", "grant", access, "owner", "read, insert on item where owner = :me"]);
    const made = execFileSync("sh", ["-c", `"$0" token client --role owner 2>&1 >> "$1"`, BOBAK, access], { encoding: "utf8" });
    token = /\S{30,}/.exec(made)[0];
    writeFileSync(access, readFileSync(access, "utf8").replace(/^(token client .*)$/m, `$1 with me = '${OWNER}'`));
    words.push("--access-file", access);
  } else {
    writeFileSync(join(folder, "tokens.txt"), `${token}\n`);
    words.push("--token-file", join(folder, "tokens.txt"));
  }
  const child = first(BOBAK, words, { stdio: ["ignore", "ignore", openSync(join(folder, "bobak.log"), "a")] });
  const address = `http://127.0.0.1:${port}`;
  await until(`${address}/health`);
  return {
    name: `Bobak${withRules ? ", rules" : ""}`, child, header: `Bearer ${token}`,
    get: (key) => `${address}/tables/item/rows/${key}`,
    list: (category) => `${address}/tables/item/rows?filter=${encodeURIComponent(`category = '${category}'`)}&limit=100`,
    create: `${address}/tables/item/rows`,
  };
}

async function startPocketBase(withRules, port) {
  const data = join(folder, `pocketbase-${withRules}`, "data");
  execFileSync(POCKETBASE, ["superuser", "upsert", ADMIN.identity, ADMIN.password, "--dir", data], { stdio: "ignore" });
  const child = first(POCKETBASE, ["serve", "--http", `127.0.0.1:${port}`, "--dir", data], { stdio: "ignore" });
  const address = `http://127.0.0.1:${port}`;
  await until(`${address}/api/health`);
  const send = async (path, body, token) => {
    const response = await fetch(`${address}/api/collections${path}`, { method: "POST", headers: { "content-type": "application/json", ...(token && { authorization: token }) }, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  const { token } = await send("/_superusers/auth-with-password", ADMIN);
  const rule = withRules ? "owner = @request.auth.id" : "";
  const text = (name) => ({ name, type: "text" });
  await send("", { name: "item", type: "base", listRule: rule, viewRule: rule, createRule: rule, fields: [{ ...text("name"), required: true }, text("category"), { name: "amount", type: "number" }, text("owner")], indexes: ["CREATE INDEX item_category ON item (category)"] }, token);
  sqlite(join(data, "data.db"), rows("item"));
  let own = "";
  if (withRules) {
    await send("/users/records", { id: OWNER, email: "client@example.com", password: ADMIN.password, passwordConfirm: ADMIN.password }, token);
    own = (await send("/users/auth-with-password", { identity: "client@example.com", password: ADMIN.password })).token;
  }
  const records = `${address}/api/collections/item/records`;
  return {
    name: `PocketBase${withRules ? ", rules" : ""}`, child, header: own,
    get: (key) => `${records}/${key}`,
    list: (category) => `${records}?filter=${encodeURIComponent(`category='${category}'`)}&perPage=100&skipTotal=1`,
    create: records,
  };
}

/** The request of a test, as Lua that wrk runs. */
function script(server, test, round) {
  const path = (address) => new URL(address).href.slice(new URL(address).origin.length);
  const headers = `wrk.headers["authorization"] = ${JSON.stringify(server.header)}\n`;
  const bad = `local bad = 0\nfunction response(status) if status >= 300 then bad = bad + 1; print("status " .. status) wrk.thread:stop() end end\n`;
  const make = {
    get: `math.randomseed(${round + 1})\nfunction request() return wrk.format("GET", (string.gsub(${JSON.stringify(path(server.get("KEY")))}, "KEY", string.format("%015d", math.random(${ROWS}))))) end`,
    list: `math.randomseed(${round + 1})\nfunction request() return wrk.format("GET", (string.gsub(${JSON.stringify(path(server.list("CATEGORY")))}, "CATEGORY", "c" .. math.random(0, ${CATEGORIES - 1})))) end`,
    create: `local n = 0\nwrk.headers["content-type"] = "application/json"\nfunction request() n = n + 1; return wrk.format("POST", ${JSON.stringify(path(server.create))}, nil, string.format('{"id":"n${round}%013d","name":"Item","category":"c%d","amount":1.5,"owner":"${OWNER}"}', n, n % ${CATEGORIES})) end`,
  }[test];
  const file = join(folder, "request.lua");
  writeFileSync(file, headers + bad + make);
  return file;
}

/** The bytes of a process that are in memory. */
const memory = (server) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, "utf8"))[1]) / 1024;

async function measure(server, test, round) {
  const used = cpuSeconds(server.child.pid);
  const words = ["-t1", "-c32", `-d${SECONDS}s`, "--latency", "-s", script(server, test, round), new URL(server.create).origin];
  const child = first("wrk", words, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  for await (const part of child.stdout) output += part;
  if (/^status/m.test(output) || /Non-2xx/.test(output)) throw new Error(`${server.name}, ${test}: ${output}`);
  const [, rate] = /Requests\/sec:\s+([\d.]+)/.exec(output);
  const [, late, unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(output);
  const [, requests] = /(\d+) requests in/.exec(output);
  const cost = ((cpuSeconds(server.child.pid) - used) * 1e6) / Number(requests);
  return { rate: Number(rate), cost, late: Number(late) * { us: 0.001, ms: 1, s: 1_000 }[unit] };
}

const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

for (const withRules of [false, true]) {
  const servers = [await startBobak(withRules, 8601), await startPocketBase(withRules, 8602)];
  try {
    await pause(3_000);
    for (const server of servers) {
      console.log(`${server.name}: ${memory(server).toFixed(1)} MB at rest`);
      const checks = await Promise.all([server.get("000000000000007"), server.list("c7")].map(async (address) => (await fetch(address, { headers: { authorization: server.header } })).json()));
      if (checks[0].name !== "Item 7" || (checks[1].rows ?? checks[1].items).length !== 100) throw new Error(`${server.name}: ${JSON.stringify(checks).slice(0, 300)}`);
    }
    for (const test of ["get", "list", "create"]) {
      const results = servers.map(() => []);
      for (let round = 0; round < Number(ROUNDS); round++) for (const [index, server] of servers.entries()) results[index].push(await measure(server, test, round));
      for (const [index, server] of servers.entries()) {
        const of = (key) => results[index].map((one) => one[key]);
        console.log(`${server.name}, ${test}: ${Math.round(median(of("rate"))).toLocaleString("en")} per second (${of("rate").map(Math.round).join(", ")}), p99 ${median(of("late")).toFixed(1)} ms, ${median(of("cost")).toFixed(0)} microseconds of processor time each (${of("cost").map((one) => one.toFixed(0)).join(", ")})`);
      }
    }
    for (const server of servers) console.log(`${server.name}: ${memory(server).toFixed(1)} MB afterwards`);
  } finally {
    for (const { child } of servers) child.kill();
    await pause(2_000);
  }
}
rmSync(folder, { recursive: true, force: true });
