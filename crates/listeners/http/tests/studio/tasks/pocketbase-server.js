// PocketBase with the shop's data, and a page that is signed in.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { customers, insert, orders, products } from "./shop.js";

const ACCOUNT = { identity: "admin@example.com", password: "correct horse" };
/** Keys have 15 characters. */
export const key = (id) => String(id).padStart(15, "0");

const field = (name, type, rest = {}) => ({ name, type, ...rest });
const collections = [
  { name: "customer", type: "base", fields: [field("name", "text", { required: true, presentable: true }), field("email", "text"), field("city", "text"), field("country", "text")] },
  { name: "product", type: "base", fields: [field("name", "text", { required: true, presentable: true }), field("price", "number")] },
];
const ordersOf = (ids) => ({
  name: "orders",
  type: "base",
  fields: [field("customer", "relation", { required: true, collectionId: ids.customer, maxSelect: 1 }), field("product", "relation", { required: true, collectionId: ids.product, maxSelect: 1 }), field("status", "select", { required: true, values: ["new", "paid", "sent", "lost"], maxSelect: 1 }), field("created", "date"), field("total", "number")],
});

export async function startPocketBase(program) {
  const folder = mkdtempSync(join(tmpdir(), "peer-pocketbase-"));
  const data = join(folder, "data");
  execFileSync(program, ["superuser", "upsert", ACCOUNT.identity, ACCOUNT.password, "--dir", data], { stdio: "ignore" });
  const address = "http://127.0.0.1:8592";
  const child = spawn(program, ["serve", "--http", "127.0.0.1:8592", "--dir", data], { stdio: ["ignore", "ignore", "inherit"] });
  const request = async (method, path, body, token) => {
    const response = await fetch(`${address}/api/${path}`, { method, headers: { "content-type": "application/json", ...(token ? { authorization: token } : {}) }, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  };
  for (let tries = 0; ; tries++) {
    try {
      await request("GET", "health");
      break;
    } catch (error) {
      if (tries > 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const { token } = await request("POST", "collections/_superusers/auth-with-password", ACCOUNT);
  const api = (method, path, body) => request(method, path, body, token);
  const ids = {};
  for (const one of collections) ids[one.name] = (await api("POST", "collections", one)).id;
  await api("POST", "collections", ordersOf(ids));
  const of = { customer: customers(), product: products(), orders: orders() };
  const rows = { customer: of.customer.map((row) => ({ ...row, id: key(row.id) })), product: of.product.map((row) => ({ ...row, id: key(row.id) })), orders: of.orders.map((row) => ({ ...row, id: key(row.id), customer: key(row.customer), product: key(row.product), created: `${row.created} 00:00:00.000Z` })) };
  const sql = Object.entries(rows).map(([table, all]) => insert(table, all)).join("");
  execFileSync("sqlite3", [join(data, "data.db")], { input: `.timeout 5000\nBEGIN;\n${sql}COMMIT;\n` });
  return {
    address,
    folder,
    api,
    async signIn(page) {
      await page.goto(`${address}/_/`);
      await page.fill("input[type=email]", ACCOUNT.identity);
      await page.fill("input[type=password]", ACCOUNT.password);
      await page.keyboard.press("Enter");
    },
    sql: (statement) => execFileSync("sqlite3", [join(data, "data.db"), statement], { encoding: "utf8" }).trim(),
    stop() {
      child.kill();
      child.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    },
  };
}
