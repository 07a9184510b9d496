// Full-text search.
import assert from "node:assert/strict";
import { test } from "node:test";
import { col, column, connect, rank, table } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Article {
  id: bigint;
  title: string;
  stars: bigint;
  body: string | null;
}

const english = { search: "english" };
const article = () => table("article", [
  column("id", "i64"), column("title", "text", english), column("stars", "i64"), column("body", "text", { ...english, nullable: true }),
]);

overEachTransport("search", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ article: Article }>>>;
  await db.create(article());
  const articles = await db.table("article");
  assert.deepEqual(articles.schema.search, { columns: [1, 3], language: "english" });
  await articles.insertMany([
    { id: 1n, title: "Wolves", stars: 1n, body: "They howl. A fox does not." },
    { id: 2n, title: "Foxes", stars: 5n, body: "The quick fox jumps over lazy dogs." },
    { id: 3n, title: "Nothing", stars: 5n, body: null },
  ]);
  const foxes = articles.where().search("fox");
  const titles = async (found: typeof foxes) => (await found.all()).map((one) => one.title);
  assert.deepEqual(await titles(foxes), ["Foxes", "Wolves"]);
  assert.deepEqual(await titles(foxes.orderBy("id")), ["Wolves", "Foxes"]);
  assert.deepEqual(await titles(foxes.limit(1, 1)), ["Wolves"]);
  assert.deepEqual(await titles(articles.where(col("stars").gt(1)).search("fox")), ["Foxes"]);
  assert.deepEqual(await titles(articles.where().search('"lazy dog" NOT wolf')), ["Foxes"]);
  assert.equal(await foxes.count(), 2);
  const ranks = (await foxes.select(["id", rank()])) as [bigint, number][];
  assert.equal(ranks[0]![0], 2n);
  assert.ok(ranks[0]![1] > ranks[1]![1]);
  await assert.rejects(articles.where().search("(fox").all(), fails("Syntax"));
  await assert.rejects(foxes.delete(), fails("Misuse"));
  assert.equal(await foxes.count(), 2);
});

test("the columns of a search have one language", () => {
  const columns = [column("id", "i64"), column("a", "text", english), column("b", "text", { search: true })];
  assert.throws(() => table("wrong", columns), fails("Schema"));
});
