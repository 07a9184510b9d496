// Changes to many subscribers, next to PocketBase's: `node fanout.js BOBAK POCKETBASE [SUBSCRIBERS] [CHANGES] [ROUNDS]`.
//
// Rows are inserted one after the other; the time counts from the first insert until the last subscriber has the last event.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuSeconds } from "./cpu.js";

const [BOBAK, POCKETBASE, SUBSCRIBERS = "1000", CHANGES = "100", ROUNDS = "3"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "peer-fanout-"));
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const first = (program, words) => spawn("nice", ["-n", "-15", program, ...words], { stdio: "ignore" });
const TOKEN = "a-token-of-the-comparison";
const ADMIN = { identity: "admin@example.com", password: "correct horse" };

async function until(address) {
  for (let tries = 0; tries < 300; tries++) {
    if (await fetch(address).then((response) => response.ok, () => false)) return;
    await pause(100);
  }
  throw new Error(`${address} does not answer`);
}

const post = async (address, body, headers) => {
  const response = await fetch(address, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? undefined : response.json();
};

async function startBobak(port) {
  execFileSync("sqlite3", [join(folder, "bobak.db"), "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount REAL)"]);
  writeFileSync(join(folder, "tokens.txt"), `${TOKEN}\n`);
  const child = first(BOBAK, ["serve", join(folder, "bobak.db"), "--http", `127.0.0.1:${port}`, "--track", "item", "--token-file", join(folder, "tokens.txt")]);
  const address = `http://127.0.0.1:${port}`;
  await until(`${address}/health`);
  const headers = { authorization: `Bearer ${TOKEN}` };
  return {
    name: "Bobak", child, port, path: "/tables/item/changes", headers: `authorization: Bearer ${TOKEN}\r\n`, event: "event: insert",
    subscribe: () => undefined,
    create: (number) => post(`${address}/tables/item/rows`, { name: `Item ${number}`, amount: 1.5 }, headers),
  };
}

async function startPocketBase(port) {
  const data = join(folder, "pocketbase", "data");
  execFileSync(POCKETBASE, ["superuser", "upsert", ADMIN.identity, ADMIN.password, "--dir", data], { stdio: "ignore" });
  const child = first(POCKETBASE, ["serve", "--http", `127.0.0.1:${port}`, "--dir", data]);
  const api = `http://127.0.0.1:${port}/api`;
  await until(`${api}/health`);
  const { token } = await post(`${api}/collections/_superusers/auth-with-password`, ADMIN);
  const definition = { name: "item", type: "base", listRule: "", viewRule: "", createRule: "", fields: [{ name: "name", type: "text", required: true }, { name: "amount", type: "number" }] };
  await post(`${api}/collections`, definition, { authorization: token });
  return {
    name: "PocketBase", child, port, path: "/api/realtime", headers: "", event: "event:item",
    subscribe: (text) => post(`${api}/realtime`, { clientId: /"clientId":"([^"]+)"/.exec(text)[1], subscriptions: ["item/*"] }),
    create: (number) => post(`${api}/collections/item/records`, { name: `Item ${number}`, amount: 1.5 }),
  };
}

/** Opens a connection that counts the events of the product. */
async function subscriber(server, counter) {
  const socket = net.connect(server.port, "127.0.0.1");
  socket.setEncoding("latin1");
  socket.write(`GET ${server.path} HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\naccept: text/event-stream\r\n${server.headers}\r\n`);
  let start = "";
  await new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.on("data", function begin(text) {
      start += text;
      if (!/\r\n\r\n/.test(start) || (server.name === "PocketBase" && !/"clientId":"[^"]+"/.test(start))) return;
      socket.off("data", begin);
      if (!start.startsWith("HTTP/1.1 200")) reject(new Error(start.slice(0, 300)));
      resolve();
    });
  });
  let rest = "";
  socket.on("data", (text) => {
    const parts = (rest + text).split(server.event);
    counter.events += parts.length - 1;
    rest = parts.at(-1).slice(-server.event.length);
    if (counter.events >= counter.wanted) counter.done?.();
  });
  socket.on("error", () => undefined);
  await server.subscribe(start);
  return socket;
}

async function round(server) {
  const counter = { events: 0, wanted: Infinity };
  const sockets = [];
  for (let at = 0; at < Number(SUBSCRIBERS); at += 50) sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => subscriber(server, counter)))));
  await pause(500);
  counter.events = 0;
  counter.wanted = Number(SUBSCRIBERS) * Number(CHANGES);
  const all = new Promise((resolve, reject) => {
    counter.done = resolve;
    setTimeout(() => reject(new Error(`${server.name}: ${counter.events} of ${counter.wanted} events after two minutes`)), 120_000).unref();
  });
  const [begun, used] = [performance.now(), cpuSeconds(server.child.pid)];
  for (let number = 0; number < Number(CHANGES); number++) await server.create(number);
  await all;
  const seconds = (performance.now() - begun) / 1_000;
  const cost = ((cpuSeconds(server.child.pid) - used) * 1e6) / counter.wanted;
  for (const socket of sockets) socket.destroy();
  await pause(1_000);
  return { rate: counter.wanted / seconds, cost };
}

const servers = [await startBobak(8605), await startPocketBase(8606)];
const rates = servers.map(() => []);
try {
  for (let at = 0; at < Number(ROUNDS); at++) for (const [index, server] of servers.entries()) rates[index].push(await round(server));
  for (const [index, server] of servers.entries()) {
    const of = (key) => rates[index].map((one) => one[key]);
    console.log(`${server.name}: ${Math.round(median(of("rate"))).toLocaleString("en")} events per second (${of("rate").map(Math.round).join(", ")}), ${median(of("cost")).toFixed(1)} microseconds of processor time each (${of("cost").map((one) => one.toFixed(1)).join(", ")})`);
  }
} finally {
  for (const { child } of servers) child.kill();
  await pause(1_000);
  rmSync(folder, { recursive: true, force: true });
}
