//! Each mistake has an exit code and a message; nothing panics, no partial output stays.

use crate::program::{Program, data};

#[test]
fn wrong_usage_exits_with_2() {
    let program = Program::new();
    program.file("t.csv", "a\n1\n");
    for (sentence, arguments) in [
        ("Usage", &[][..]),
        ("unrecognized subcommand", &["fly"]),
        ("required", &["import", "t.csv"]),
        ("unexpected argument", &["schema", "sqlite:t.db", "--colour"]),
        (
            "there is no type",
            &["import", "sqlite:t.db", "t.csv", "--table", "t", "--type", "a=string"],
        ),
        (
            "--type names the column \"b\"",
            &["import", "sqlite:t.db", "t.csv", "--table", "t", "--type", "b=i64"],
        ),
        (
            "--key names the column \"b\"",
            &["import", "sqlite:t.db", "t.csv", "--table", "t", "--key", "b"],
        ),
        ("omit --member", &["import", "sqlite:t.db", "t.csv", "--table", "t", "--member", "x"]),
        ("no file; write sqlite:FILE", &["import", "sqlite:", "t.csv", "--table", "t"]),
        ("unknown engine", &["schema", "db2:t.db"]),
        ("possible values", &["export", "sqlite:t.db", "--table", "t", "--format", "xml"]),
        ("at least 1", &["bench", "--rows", "0"]),
        ("no engine is called", &["bench", "--engines", "abacus"]),
        ("no cell is called", &["bench", "--cells", "guess"]),
    ] {
        program.fails(2, sentence, arguments);
    }
    // A database without a scheme is an SQLite file.
    program.ok(&["import", "plain.db", "t.csv", "--table", "t"]);
    assert!(program.ok(&["query", "plain.db", "SELECT a + 41 FROM t"]).contains("42"));
}

#[test]
fn help_exits_with_0() {
    let program = Program::new();
    for arguments in [&["--help"][..], &["import", "--help"], &["help", "export"], &["--version"]] {
        assert!(!program.ok(arguments).is_empty());
    }
}

#[test]
fn input_that_is_not_csv_is_rejected() {
    let program = Program::new();
    program
        .file("empty.csv", "")
        .file("elf.csv", b"\x7fELF\x02\x01\x01\x00\x00\n\x00")
        .file("utf16.csv", b"\xff\xfea\x00,\x00b\x00\n")
        .file("latin.csv", b"a,b\n1,caf\xe9\n")
        .file("open.csv", "a,b\n1,\"2\n3,4\n")
        .file("twice.csv", "a,A\n1,2\n")
        .file("gz.csv", b"\x1f\x8b\x08 and no more")
        .file("zip.csv", b"PK\x03\x04 and no more");
    for (file, sentence) in [
        ("missing.csv", "could not open missing.csv: "),
        ("empty.csv", "empty.csv is empty"),
        ("elf.csv", "elf.csv is not a CSV file"),
        ("utf16.csv", "utf16.csv is not valid UTF-16"),
        ("latin.csv", "latin.csv, line 2: column b: \"caf\u{fffd}\" is not UTF-8"),
        ("open.csv", "open.csv, line 2: a quote is never closed"),
        ("twice.csv", "twice.csv has two columns named"),
        ("gz.csv", "gz.csv"),
        ("zip.csv", "zip.csv begins as a ZIP archive or a workbook, but is damaged or incomplete"),
        (".", "is a folder"),
    ] {
        program.fails(1, sentence, &["import", "sqlite:t.db", file, "--table", "t"]);
        assert!(!program.path("t.db").exists(), "{file}");
    }
}

#[test]
fn value_of_wrong_type_names_line_and_column() {
    let program = Program::new();
    program.file("t.csv", "a,b\n1,2\n2,x\n");
    let sentence = "t.csv, line 3: column b: \"x\" is not an i64; nothing was imported";
    let arguments = ["import", "sqlite:t.db", "t.csv", "--table", "t", "--type", "b=i64"];
    program.fails(1, sentence, &arguments);
    program.file("t.csv", "a,b\n1,2\n,3\n");
    let arguments = ["import", "sqlite:t.db", "t.csv", "--table", "t", "--key", "a"];
    program.fails(1, "t.csv, line 3: column a: NULL is not allowed", &arguments);
}

#[test]
fn unusable_databases_are_reported() {
    let program = Program::new();
    program.file(
        "no.db",
        "this is a text, and long enough to be taken for more than an empty file\n".repeat(20),
    );
    let airlines = data("airlines.csv");
    for arguments in [
        &["schema", "sqlite:no.db"][..],
        &["query", "sqlite:no.db", "SELECT 1 FROM t"],
        &["export", "sqlite:no.db", "--table", "t"],
        &["import", "sqlite:no.db", &airlines, "--table", "t"],
    ] {
        program.fails(1, "no.db: the file is not an SQLite database", arguments);
    }
    for arguments in [
        &["schema", "sqlite:missing.db"][..],
        &["query", "sqlite:missing.db", "SELECT 1"],
        &["export", "sqlite:missing.db", "--table", "t"],
    ] {
        program.fails(1, "file missing.db does not exist", arguments);
        assert!(!program.path("missing.db").exists());
    }
    program.fails(
        2,
        "write sqlite:t.db for one in the current folder",
        &["schema", "sqlite://t.db"],
    );
    program.fails(1, "", &["import", "sqlite:no/such/folder/t.db", &airlines, "--table", "t"]);
}

#[test]
fn missing_table_or_column_is_reported() {
    let program = Program::new();
    program.ok(&["import", "sqlite:t.db", &data("airlines.csv"), "--table", "airlines"]);
    for (sentence, arguments) in [
        (
            "there is no table 'planes'; there are: airlines",
            &["export", "sqlite:t.db", "--table", "planes"][..],
        ),
        ("'speed'", &["export", "sqlite:t.db", "--table", "airlines", "--columns", "speed"]),
        ("planes", &["query", "sqlite:t.db", "SELECT * FROM planes"]),
        ("speed", &["query", "sqlite:t.db", "SELECT speed FROM airlines"]),
        ("syntax error", &["query", "sqlite:t.db", "SELEC 1"]),
    ] {
        program.fails(1, sentence, arguments);
    }
}

#[test]
fn unwritable_output_is_reported() {
    let program = Program::new();
    program.ok(&["import", "sqlite:t.db", &data("airlines.csv"), "--table", "airlines"]);
    let arguments =
        ["export", "sqlite:t.db", "--table", "airlines", "--output", "no/such/folder/t.csv"];
    program.fails(1, "no/such/folder/t.csv", &arguments);
}

/// `bobak query … | head`: closing the pipe early is not a failure.
#[cfg(unix)]
#[test]
fn closed_pipe_is_not_an_error() {
    use std::process::{Command, Stdio};
    let program = Program::new();
    program.ok(&["import", "sqlite:t.db", &data("airports.csv"), "--table", "a"]);
    let sql = "SELECT x.name FROM a x, a y LIMIT 200000";
    let mut child = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(["query", "sqlite:t.db", sql, "--format", "csv"])
        .current_dir(program.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
