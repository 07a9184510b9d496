//! CHECK constraints as each dialect receives them.

use crate::types::current;
use bobak_core::{Collation, ColumnSchema, Currency, Date, ErrorKind, TableSchema};
use bobak_sql::{Dialect, add_column, create_table};

fn table(check: &str) -> TableSchema {
    TableSchema::builder("t")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Currency>("price").check(check.to_owned()))
        .column(ColumnSchema::of::<Date>("day"))
        .column(ColumnSchema::of::<String>("name").collation(Collation::NoCase))
        .key(["id"])
        .build()
        .unwrap()
}

/// The table of docs/types.md; `BOBAK_WRITE_DOCS=1` writes it.
#[test]
fn the_table_of_constraints_is_current() {
    let mut table = String::from("| check | SQLite | PostgreSQL | MariaDB |\n|---|---|---|---|\n");
    for check in ["price >= 0.50", "day >= '2013-01-01'", "price * 2 < 10 and id % 2 = 0"] {
        let cell = |dialect| format!(" `` {} `` |", rendered(dialect, check));
        let cells = [Dialect::Sqlite, Dialect::Postgres, Dialect::MariaDb].map(cell).concat();
        table.push_str(&format!("| `{check}` |{cells}\n"));
    }
    current("types.md", "<!-- begin: made by crates/sql/tests/it/checks.rs -->\n", &table);
}

fn rendered(dialect: Dialect, check: &str) -> String {
    let storage = r#" CHECK (("price" | 0) IS "price")"#;
    let statement =
        create_table(dialect, &table(check)).unwrap().swap_remove(0).replace(storage, "");
    let (_, after) = statement.split_once(" CHECK (").unwrap();
    let end = [r#"), "day""#, "), `day`"].iter().find_map(|end| after.find(end)).unwrap();
    let text = &after[..end];
    match dialect {
        // In parentheses of its own, so that errors show it whole.
        Dialect::Sqlite => text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text),
        _ => text,
    }
    .to_owned()
}

#[test]
fn constraints_compute_with_stored_values() {
    for (check, sqlite, postgres, mariadb) in [
        (
            "price >= 1.5",
            r#""price" >= 15000"#,
            r#"("price" * 10000)::int8 >= 15000"#,
            "(`price` * 10000) >= 15000",
        ),
        (
            "day > '1970-01-02' or id < 3",
            r#""day" > 1 OR "id" < 3"#,
            r#"("day" - date '1970-01-01') > 1 OR "id" < 3"#,
            "DATEDIFF(`day`, DATE'1970-01-01') > 1 OR `id` < 3",
        ),
        (
            "id / 2 = 1",
            r#""id" / 2 = 1"#,
            r#"trunc(("id")::numeric / NULLIF((2)::numeric, 0)) = 1"#,
            "CAST(`id` AS DECIMAL(65, 0)) DIV NULLIF(CAST(2 AS DECIMAL(65, 0)), 0) = 1",
        ),
        (
            "(id < 1 or id > 2) and id <> 5 and not (id = 6 and (id + 1) * 2 > 3)",
            r#"("id" < 1 OR "id" > 2) AND "id" <> 5 AND NOT ("id" = 6 AND ("id" + 1) * 2 > 3)"#,
            r#"("id" < 1 OR "id" > 2) AND "id" <> 5 AND NOT ("id" = 6 AND (("id")::numeric + (1)::numeric)::numeric * (2)::numeric > 3)"#,
            "(`id` < 1 OR `id` > 2) AND `id` <> 5 AND NOT (`id` = 6 AND \
             CAST(CAST(`id` AS DECIMAL(65, 0)) + CAST(1 AS DECIMAL(65, 0)) AS DECIMAL(65, 0)) * \
             CAST(2 AS DECIMAL(65, 0)) > 3)",
        ),
        (
            "name = 'X'",
            r#""name" = 'X'"#,
            r#"lower(("name") COLLATE "C") = lower(('X') COLLATE "C")"#,
            "",
        ),
    ] {
        assert_eq!(rendered(Dialect::Sqlite, check), sqlite);
        assert_eq!(rendered(Dialect::Postgres, check), postgres);
        let server = rendered(Dialect::MariaDb, check);
        assert!(mariadb.is_empty() && server.contains("REPLACE(") || server == mariadb, "{server}");
    }
}

/// What the audit ran as other SQL: none of it becomes a statement, in any dialect.
#[test]
fn injected_sql_is_rejected() {
    for check in [
        "1=1); insert into orders(id,clerk) select 100+id, v from secrets; create table pwned(a int); --",
        "1=1)) as select * from secrets -- ",
        "1) REFERENCES secrets(id) CHECK (1",
        "price > (select 1)",
        "glob('a', name)); drop table t; --",
        "glob('a', name) /* */",
        "glob('a', ?)",
        "'open",
    ] {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MariaDb, Dialect::MySql] {
            let created = create_table(dialect, &table(check)).unwrap_err();
            assert_eq!(created.kind(), ErrorKind::Unsupported, "{check}");
            assert_eq!((created.table(), created.column()), (Some("t"), Some("price")));
            let added = add_column(dialect, &table(check), 1).unwrap_err();
            assert_eq!(added.kind(), ErrorKind::Unsupported, "{check}");
        }
    }
}

/// SQLite's own functions: only for SQLite, which evaluates nothing but the expression.
#[test]
fn functions_of_sqlite_stay_with_sqlite() {
    let check = "name GLOB 'a*' AND json_valid(name)";
    assert_eq!(rendered(Dialect::Sqlite, check), check);
    for dialect in [Dialect::Postgres, Dialect::MariaDb] {
        let error = create_table(dialect, &table(check)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    // They would compute with ten-thousandths and days.
    for check in ["round(price) > 1", "strftime('%Y', \"day\") > '2000'", "price = 0.00015"] {
        assert!(create_table(Dialect::Sqlite, &table(check)).is_err(), "{check}");
    }
}

#[test]
fn nested_comments_stay_inside_a_string() {
    let check = "/* /* */ name <> 'x */ 1=1) ); create table pwn3(a int); --'";
    let literal = "'x */ 1=1) ); create table pwn3(a int); --'";
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let text = rendered(dialect, check);
        assert!(text.contains(literal) && !text.contains("/*"), "{text}");
    }
}
