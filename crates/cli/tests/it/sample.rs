//! `bobak sample`: plausible rows.

use crate::program::Program;

#[test]
fn tables_are_filled_and_a_seed_makes_the_same_rows() {
    let program = Program::new();
    for database in ["a.db", "b.db"] {
        program.file(database, "");
        let customers = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE)";
        let orders = "CREATE TABLE orders (id INTEGER PRIMARY KEY, \
            customer_id INTEGER NOT NULL REFERENCES customers, quantity INTEGER NOT NULL CHECK (quantity > 0))";
        program.ok(&["query", database, customers]);
        program.ok(&["query", database, orders]);
        let run = program.run(&["sample", database, "--rows", "orders=5_000", "--seed", "7"]);
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
        assert!(run.err.contains("customers: 500 rows\norders: 5000 rows\n"), "{}", run.err);
        let orphans = "SELECT count(*) AS n FROM orders LEFT JOIN customers c ON c.id = customer_id WHERE c.id IS NULL";
        assert_eq!(program.ok(&["query", database, orphans, "--format", "csv"]), "n\n0\n");
    }
    let rows = |database| program.ok(&["export", database, "--table", "customers"]);
    assert_eq!(rows("a.db"), rows("b.db"));
    assert!(rows("a.db").contains("@example."));
    program.fails(1, "there is no table 'order'", &["sample", "a.db", "--rows", "order=1"]);
    program.fails(2, "write TABLE=NUMBER", &["sample", "a.db", "--rows", "orders"]);
    program.fails(1, "does not exist", &["sample", "none.db"]);
}
