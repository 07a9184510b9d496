// The data of the tasks: the same for each product.

/** The cities and countries of the customers. */
const PLACES = [["Bern", "CH"], ["Basel", "CH"], ["Lyon", "FR"], ["Paris", "FR"], ["Turin", "IT"], ["Milan", "IT"], ["Graz", "AT"]];
const STATES = ["new", "paid", "sent", "lost"];
const range = (length) => Array.from({ length }, (_, index) => index + 1);
const day = (number) => new Date(Date.UTC(2025, 0, 1 + (number % 365))).toISOString().slice(0, 10);

export const CUSTOMERS = 500;
export const ORDERS = 5_000;
/** So many of the customers have orders. */
export const BUYERS = 490;

export const customers = () => range(CUSTOMERS).map((id) => ({ id, name: `Customer ${id}`, email: `customer${id}@example.com`, city: PLACES[id % 7][0], country: PLACES[id % 7][1] }));
export const products = () => range(20).map((id) => ({ id, name: `Product ${id}`, price: id * 2.5 }));
export const orders = () => range(ORDERS).map((id) => ({ id, customer: ((id * 37) % BUYERS) + 1, product: (id % 20) + 1, status: STATES[id % 4], created: day(id), total: (id % 20) * 2.5 }));

/** Suppliers to make a table of. */
export const SUPPLIERS = `name,city,since,rating\n${range(40).map((id) => `Supplier ${id},${PLACES[id % 7][0]},20${10 + (id % 10)}-03-0${1 + (id % 9)},${(id % 50) / 10}`).join("\n")}\n`;
/** Products to add to those that exist. */
export const MORE_PRODUCTS = `name,price\n${range(10).map((id) => `Imported ${id},${id}.5`).join("\n")}\n`;

/** Statements that create the tables, for SQLite. */
export const TABLES = `CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, city TEXT, country TEXT);
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customer(id), product INTEGER NOT NULL REFERENCES product(id), status TEXT NOT NULL, created TEXT NOT NULL, total REAL NOT NULL);
`;

const text = (value) => (typeof value === "number" ? String(value) : `'${String(value).replaceAll("'", "''")}'`);

/** An INSERT of rows. */
export function insert(table, rows) {
  const names = Object.keys(rows[0]);
  return `INSERT INTO ${table} (${names.join(", ")}) VALUES\n${rows.map((row) => `(${names.map((name) => text(row[name])).join(", ")})`).join(",\n")};\n`;
}

/** The statements that make the whole shop. */
export const shop = () => `BEGIN;\n${TABLES}${insert("customer", customers())}${insert("product", products())}${insert("orders", orders())}COMMIT;\n`;
