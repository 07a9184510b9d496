//! `bobak export`: the forms of output.

use crate::program::Program;

fn program() -> Program {
    let program = Program::new();
    program.file("t.csv", "a,b,at\n1,\"x, y\",2013-01-01\n9007199254740993,NA,2013-01-02\n");
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t"]);
    program
}

#[test]
fn each_form_is_exact() {
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

#[test]
fn a_file_says_its_form_and_is_whole_or_not_there() {
    let program = program();
    program.ok(&["export", "sqlite:t.db", "--table", "t", "--output", "t.ndjson"]);
    assert!(program.text("t.ndjson").starts_with("{\"id\":1,"));
    // NULL as `1` could not be told from the number.
    let arguments = ["export", "sqlite:t.db", "--table", "t", "--null", "1", "--output", "u.csv"];
    program.fails(1, "row 1, column id: a value is \"1\", as NULL is written", &arguments);
    assert!(!program.path("u.csv").exists());
}

#[test]
fn an_empty_table_has_a_header() {
    let program = Program::new();
    program.file("t.csv", "a,b\n");
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t"]);
    assert_eq!(program.ok(&["export", "sqlite:t.db", "--table", "t"]), "id,a,b\n");
    assert_eq!(program.ok(&["export", "sqlite:t.db", "--table", "t", "--format", "json"]), "[]\n");
}
