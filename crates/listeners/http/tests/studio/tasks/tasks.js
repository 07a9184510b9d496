// The tasks, in the words of the table. What a product does for each is in the file of the product.

export const TASKS = {
  csv: "Create a table from a CSV file",
  idle: "Find the customers without orders",
  change: "Change the city of a customer",
  undo: "Undo a wrong edit",
  restore: "Get back the data of a backup",
  grant: "Give a colleague read access to two tables",
  chart: "Chart the sales by month",
  index: "Explain a slow query, and add its index",
  find: "Find a customer by the e-mail address",
  add: "Add a product",
  follow: "Go from an order to its customer",
  count: "Count the orders of each status",
  export: "Save the customers of one country as CSV",
  import: "Import products from a CSV file",
  bulk: "Mark all lost orders as sent",
  column: "Add a column",
  sort: "List the largest orders first",
  history: "See who changed an order, and what",
  live: "Watch changes as they happen",
  backup: "Make a backup, and download it",
};

/** Sales by month, as SQL of SQLite. */
export const BY_MONTH = "SELECT substr(created, 1, 7) AS month, sum(total) AS sales FROM orders GROUP BY 1 ORDER BY 1";
/** A query that reads all orders. */
export const SLOW = "SELECT * FROM orders WHERE customer = 77";
export const COLLEAGUE = { name: "colleague@example.com", password: "correct horse battery" };
