//! `bobak export`: output formats.

use crate::program::Program;

fn program() -> Program {
    let program = Program::new();
    program.file("t.csv", "a,b,at\n1,\"x, y\",2013-01-01\n9007199254740993,,2013-01-02\n");
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t"]);
    program
}

#[test]
fn every_format_is_exact() {
    let program = program();
    let export = |more: &[&str]| {
        program.ok(&[&["export", "sqlite:t.db", "--table", "t"][..], more].concat())
    };
    assert_eq!(export(&[]), "id,a,b,at\n1,1,\"x, y\",2013-01-01\n2,9007199254740993,,2013-01-02\n");
    assert_eq!(
        export(&["--format", "ndjson", "--columns", "at,a,b"]),
        "{\"at\":\"2013-01-01\",\"a\":1,\"b\":\"x, y\"}\n{\"at\":\"2013-01-02\",\"a\":9007199254740993,\"b\":null}\n"
    );
    assert_eq!(export(&["--format", "json", "--columns", "id"]), "[\n{\"id\":1},\n{\"id\":2}\n]\n");
    assert_eq!(
        export(&["--exclude", "id,at", "--null", "NA", "--no-header"]),
        "1,\"x, y\"\n9007199254740993,NA\n"
    );
}

/// See also `dates_that_do_not_exist_are_listed_before_a_copy` of the crate `bobak`.
#[test]
fn columns_that_are_left_out_are_not_read() {
    let program = program();
    program.ok(&["query", "sqlite:t.db", "UPDATE t SET b = CAST(x'ff' AS TEXT) WHERE id = 2"]);
    let export = ["export", "sqlite:t.db", "--table", "t"];
    program.fails(1, "row 2, column b", &export);
    let without = [&export[..], &["--exclude", "b,at"]].concat();
    assert_eq!(program.ok(&without), "id,a\n1,1\n2,9007199254740993\n");
    let twice = [&export[..], &["--columns", "a,id,a", "--no-header"]].concat();
    assert_eq!(program.ok(&twice), "1,1,1\n9007199254740993,2,9007199254740993\n");
}

#[test]
fn format_follows_extension_and_file_is_complete_or_absent() {
    let program = program();
    program.ok(&["export", "sqlite:t.db", "--table", "t", "--output", "t.ndjson"]);
    assert!(program.text("t.ndjson").starts_with("{\"id\":1,"));
    // With `1` as the text for NULL, the number 1 would be ambiguous.
    let arguments = ["export", "sqlite:t.db", "--table", "t", "--null", "1", "--output", "u.csv"];
    program.fails(1, "row 1, column id: the value \"1\" is also the text for NULL", &arguments);
    assert!(!program.path("u.csv").exists());
    let export = |file: &str| program.ok(&["export", "t.db", "--table", "t", "--output", file]);
    export("t.tsv");
    assert!(program.text("t.tsv").starts_with("id\ta\tb\t"), "{}", program.text("t.tsv"));
    for name in ["t.csv.gz", "t.ndjson.gz"] {
        export(name);
        assert!(std::fs::read(program.path(name)).expect("reads").starts_with(&[0x1f, 0x8b]));
        program.ok(&["import", "gz.db", name, "--table", &name[..4]]);
        let rows = |database: &str, table: &str| {
            program.ok(&["export", database, "--table", table, "--columns", "id,a"])
        };
        assert_eq!(rows("gz.db", &name[..4]), rows("t.db", "t"), "{name}");
    }
    let query = ["query", "t.db", "SELECT 1 AS one", "--output"];
    program.ok(&[&query[..], &["q.tsv.gz"]].concat());
    for (file, sentence) in [
        ("t.xls", "no output format has the extension .xls: name the file .csv"),
        ("t.sql", "choose the format with --format"),
        ("t.csv.zst", "no output is compressed as .zst"),
        ("t.xlsx.gz", "omit .gz"),
    ] {
        program.fails(2, sentence, &["export", "t.db", "--table", "t", "--output", file]);
        program.fails(2, sentence, &[&query[..], &[file]].concat());
        assert!(!program.path(file).exists(), "{file}");
    }
    program.ok(&[&query[..], &["q.txt", "--format", "csv"]].concat());
    assert_eq!(program.text("q.txt"), "one\n1\n");
}

#[test]
fn empty_table_has_header() {
    let program = Program::new();
    program.file("t.csv", "a,b\n");
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t"]);
    assert_eq!(program.ok(&["export", "sqlite:t.db", "--table", "t"]), "id,a,b\n");
    assert_eq!(program.ok(&["export", "sqlite:t.db", "--table", "t", "--format", "json"]), "[]\n");
}

#[test]
fn an_output_does_not_replace_a_database_or_an_input() {
    let program = program();
    program.file("in.csv", "id,n\n1,a\n2\n");
    program.ok(&["copy", "t.db", "memory:s.bobak"]);
    let query = |database: &str, output: &str, message: &str| {
        let sql = "SELECT * FROM t";
        program.fails(2, message, &["query", database, sql, "--format", "csv", "-o", output]);
        let export = ["export", database, "-t", "t", "--format", "ndjson", "-o", output];
        program.fails(2, message, &export);
    };
    std::fs::hard_link(program.path("t.db"), program.path("link.db")).expect("links");
    query("t.db", "t.db", "t.db is the database itself");
    query("memory:s.bobak", "s.bobak", "s.bobak is the database itself");
    query("t.db", "link.db", "link.db is a database");
    query("t.db", "s.bobak", "s.bobak is a database");
    let import = |rejects: &str, message: &str| {
        let arguments = ["import", "t.db", "in.csv", "--table", "u", "--rejects", rejects];
        program.fails(2, message, &arguments);
    };
    import("t.db", "t.db is the database itself");
    import("in.csv", "in.csv is the file that is read");
    assert_eq!(program.text("in.csv"), "id,n\n1,a\n2\n");
    assert_eq!(program.ok(&["export", "t.db", "-t", "t", "--columns", "id"]), "id\n1\n2\n");
}
