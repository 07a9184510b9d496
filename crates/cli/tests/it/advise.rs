//! `bobak advise`: indexes that are measured on a copy.

use crate::program::Program;

fn program() -> Program {
    let program = Program::new();
    let mut orders = String::from("id,customer,city,total\n");
    for n in 0..20_000 {
        orders.push_str(&format!("{n},{},city {},{}\n", n % 700, n % 500, n % 90));
    }
    program.file("orders.csv", &orders);
    program.ok(&["import", "app.db", "orders.csv", "--table", "orders", "--key", "id"]);
    program
}

fn indexes(program: &Program) -> String {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'index'";
    program.ok(&["query", "app.db", sql, "-f", "csv"])
}

#[test]
fn an_index_is_proposed_with_its_measured_gain_and_created_by_apply() {
    let program = program();
    program.file(
        "statements.sql",
        "-- reports\nSELECT sum(total) FROM orders WHERE city = ?;\nSELECT id FROM orders WHERE id = ?;\n\
         SELECT sum(total) FROM orders WHERE city = ?;\nDELETE FROM orders WHERE city = 'city 7';\n\
         SELECT ? || 'a';\nSELECT o.id FROM orders AS o WHERE o.customer IN (?, ?) LIMIT ?",
    );
    let advise = ["advise", "app.db", "--statements", "statements.sql"];
    let out = program.ok(&advise);
    assert!(out.contains(r#"CREATE INDEX "orders_city" ON "orders" ("city");"#), "{out}");
    assert!(out.contains("  built in ") && out.contains(" before, "), "{out}");
    assert!(out.contains("  2 × SELECT sum(total) FROM orders WHERE city = ?: "), "{out}");
    assert!(out.contains(r#"CREATE INDEX "orders_customer" ON "orders" ("customer");"#), "{out}");
    assert!(
        out.contains("left out: DELETE FROM orders WHERE city = 'city 7': it writes\n"),
        "{out}"
    );
    assert!(out.contains("left out: SELECT ? || 'a': no column"), "{out}");
    assert!(out.ends_with("3 of 5 statements were tried\n"), "{out}");
    assert_eq!(indexes(&program), "name\n", "the database did not change");
    program.ok(&[&advise[..], &["--apply"]].concat());
    assert_eq!(indexes(&program), "name\norders_city\norders_customer\n");
    let out = program.ok(&advise);
    assert!(out.starts_with("no index makes these statements faster\n"), "{out}");
}

#[test]
fn recorded_statistics_are_read() {
    let program = program();
    let other = |text: &str| {
        format!(
            r#"{{"text": "{text}", "count": 7, "errors": 0, "rows": 0, "total_ms": 1.0, "mean_ms": 0.05,
            "p95_ms": 1.25, "max_ms": 20.4, "waited_ms": 0.0, "last_origin": null}}, "#
        )
    };
    let others = [
        "READ SCHEMA",
        "BEGIN",
        "BEGIN READ ONLY",
        "COMMIT",
        "ROLLBACK TO",
        "SAVEPOINT",
        "RELEASE",
    ];
    let list = r#"{"total": 1, "statements": [OTHERS{"text": "SELECT * FROM orders WHERE city IN (?, …) ORDER BY id",
        "count": 40, "errors": 0, "rows": 3, "total_ms": 7.0, "mean_ms": 0.05, "p95_ms": 1.25,
        "max_ms": 20.4, "waited_ms": 0.0, "last_origin": null}]}"#;
    program.file("statements.json", list.replace("OTHERS", &others.map(other).concat()));
    let out = program.ok(&["advise", "app.db", "--statements", "statements.json"]);
    assert!(out.contains(r#"CREATE INDEX "orders_city" ON "orders" ("city");"#), "{out}");
    assert!(out.contains("  40 × SELECT * FROM orders WHERE city IN (?) ORDER BY id: "), "{out}");
    // What no index could serve is not mentioned.
    assert!(!out.contains("left out") && out.ends_with("1 of 1 statements were tried\n"), "{out}");
}

#[test]
fn other_databases_are_rejected() {
    let program = Program::new();
    program.fails(
        2,
        "a copy of an SQLite file",
        &["advise", "memory:app.bobak", "--statements", "a.sql"],
    );
    program.fails(2, "a copy of an SQLite file", &["advise", "postgres://localhost/app"]);
    program.file("t.csv", "id\n1\n");
    program.ok(&["import", "app.db", "t.csv"]);
    let elsewhere = ["advise", "app.db", "--server", "/nosuch/http.socket"];
    program.fails(1, "--statements reads a file instead", &elsewhere);
    program.fails(1, "does not exist", &["advise", "nosuch.db", "--statements", "a.sql"]);
}
