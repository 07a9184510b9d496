//! `bobak check`: SQL in files, against a database's tables.

use crate::program::Program;

fn program() -> Program {
    let program = Program::new();
    program.file("city.csv", "id,name,people\n1,Bern,134000\n");
    program.ok(&["import", "app.db", "city.csv", "--table", "city", "--key", "id"]);
    program
}

#[test]
fn statements_of_a_file_must_fit_the_tables() {
    let program = program();
    let good = "SELECT name FROM city WHERE people > ?;\nINSERT INTO city (id, name, people) VALUES (?, ?, ?);\n";
    program.file("good.sql", good);
    program.ok(&["check", "app.db", "good.sql"]);
    program.file(
        "bad.sql",
        format!("{good}\n\nSELECT nosuch FROM city;\nSELEC 1;\nSELECT * FROM town;VACUUM"),
    );
    let run = program.run(&["check", "app.db", "bad.sql"]);
    assert_eq!(run.code, 1);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines[0], "bad.sql:5: there is no such column (column nosuch)");
    assert_eq!(
        lines[1].find("bad.sql:6: no SQL statement begins with SELEC"),
        Some(0),
        "{lines:?}"
    );
    assert_eq!(lines[2].find("bad.sql:7: "), Some(0), "{lines:?}");
    assert_eq!(run.err, "bobak: 3 problems in 5 statements; 1 could not be checked\n");
    // Nothing ran.
    assert_eq!(
        program.ok(&["query", "app.db", "SELECT count(*) AS n FROM city", "-f", "csv"]),
        "n\n1\n"
    );
}

#[test]
fn kinds_of_parameters_must_not_be_mixed() {
    let program = program();
    let text = "SELECT * FROM city WHERE id = ? AND name = :n;\nCREATE TABLE q (a);\n";
    program.file("mixed.sql", text);
    for url in ["app.db", "memory:"] {
        let run = program.run(&["check", url, "mixed.sql"]);
        let expected = "mixed.sql:1: the text has a parameter ?, and the values have names: ";
        assert!(run.code == 1 && run.out.starts_with(expected), "{url}: {} {}", run.out, run.err);
        let problems = "bobak: 1 problem in 1 statement; 1 could not be checked\n";
        assert_eq!((run.out.lines().count(), &*run.err), (1, problems), "{url}");
    }
}

#[test]
fn calls_in_rust_must_fit_their_parameters_and_columns() {
    let program = program();
    let source = |body: &str| {
        format!(
            "#[derive(bobak::FromRow)]\nstruct Row {{ id: i64, #[row(column = \"name\")] title: String, \
             #[row(skip)] other: u8 }}\nfn f(db: &Db) {{ {body} }}\n"
        )
    };
    let good = r#"
        assert_eq!(db.sql::<(i64, String)>("SELECT id, name FROM city WHERE id = ?", (7,))?.len(), 1);
        db.sql::<Row>("SELECT * FROM city", ())?;
        db.sql::<Vec<u8>>(&format!("SELECT {column}"), ())?;
        db.execute(r"DELETE FROM city WHERE id = ? AND name = ?", (1, "a"))?;
        db.execute("UPDATE city SET people = ?", values)?;
        db.sql::<i64>("SELECT id FROM city WHERE name = :name AND id IN (:ids)", named! { name, ids: SqlList(all) })?;
        db.sql::<i64>("SELECT id FROM city WHERE id IN (?)", (SqlList([1, 2]),))?;
        other.execute("x");
        let rows: Vec<Row> = db.sql("SELECT id, name FROM city", ())?;
        let last: Vec<Row> = db.sql("SELECT 1 AS other", ())?.into_iter().map(row).collect();
        let one: Option<Row> = db.sql("SELECT 1 AS other", ())?.pop();
        for Row { id, .. } in db.sql("SELECT 1 AS other", ())? { let all: Vec<Row> = f(); }
    "#;
    program.file("good.rs", source(good));
    program.ok(&["check", "app.db", "good.rs"]);
    for (call, problem) in [
        (
            "db.sql::<i64>(\"SELECT id FROM city WHERE id = ?\", ());",
            "bad.rs:3: 0 parameters are given, and the text has 1",
        ),
        (
            "db.sql::<i64>(\"SELECT id FROM city WHERE id = :id\", bobak::named! { id: 1, key: 2 });",
            "bad.rs:3: the text has no parameter :key",
        ),
        (
            "db.sql::<(i64,)>(\"SELECT id, name FROM city\", ());",
            "bad.rs:3: 1 column is read, and the result has 2",
        ),
        (
            "db.sql::<Row>(\"SELECT id FROM city\", ());",
            "bad.rs:3: Row reads the column name, which the result does not have",
        ),
        (
            "let rows: Vec<Row> = db.sql(\"SELECT id FROM city\", ())?;",
            "bad.rs:3: Row reads the column name, which the result does not have",
        ),
        (
            "let mut rows: bobak::Result<Vec<(i64,)>> = db.sql(\"SELECT id, name FROM city\", ());",
            "bad.rs:3: 1 column is read, and the result has 2",
        ),
        (
            "let rows: Vec<self::Row> = self.db.sql(\"SELECT id FROM city\", ()).expect(\"rows\");",
            "bad.rs:3: Row reads the column name, which the result does not have",
        ),
        (
            "db.execute(\"DELETE FROM cities\", ());",
            "bad.rs:3: there is no such table (table cities)",
        ),
    ] {
        program.file("bad.rs", source(call));
        let run = program.run(&["check", "app.db", "bad.rs"]);
        assert_eq!((run.code, run.out), (1, format!("{problem}\n")));
        assert_eq!(run.err, "bobak: 1 problem in 1 statement\n");
    }
    program.fails(1, "nosuch.rs", &["check", "app.db", "good.rs", "nosuch.rs"]);
}
