//! `bobak import`: types, bad lines, packings.

use crate::program::{Program, data};
use std::io::Write;

const DATABASE: &str = "sqlite:t.db";

fn import(program: &Program, file: &str, more: &[&str]) -> String {
    program.ok(&[&["import", DATABASE, file, "--table", "t"][..], more].concat())
}

fn export(program: &Program, more: &[&str]) -> String {
    program.ok(&[&["export", "sqlite:t.db", "--table", "t"][..], more].concat())
}

#[test]
fn types_are_guessed_from_the_whole_file() {
    let program = Program::new();
    let mut text = "n,late,zip,at,ok,void\n".to_owned();
    for n in 0..2_000 {
        text.push_str(&format!("{n},1,1,2013-01-01T00:00:00Z,true,NA\n"));
    }
    text.push_str("2000,0.5,007,2013-01-01T00:00:00.25Z,false,\n");
    program.file("t.csv", text);
    let plan = import(&program, "t.csv", &["--dry-run"]);
    assert_eq!(
        plan,
        "table t\n  id    i64        key, given by the engine\n  n     i64\n  late  f64\n  zip   text\n  \
         at    timestamp\n  ok    bool\n  void  text?\n"
    );
    assert!(!program.path("t.db").exists(), "a dry run changes nothing");
    import(&program, "t.csv", &[]);
    let sql = "SELECT typeof(n), typeof(late), typeof(zip), typeof(at), typeof(ok), typeof(void), zip FROM t WHERE n = 2000";
    let out = program.ok(&["query", "sqlite:t.db", sql, "--format", "csv", "--no-header"]);
    assert_eq!(out, "integer,real,text,integer,integer,null,007\n");
}

#[test]
fn types_can_be_given() {
    let program = Program::new();
    program.file("t.csv", "a,b,c\n1,2,19.99\n3,4,-0.5\n");
    import(&program, "t.csv", &["--type", "a=text", "--type", "b=u8", "--type", "c=currency"]);
    assert_eq!(
        export(&program, &["--format", "ndjson", "--exclude", "id"]),
        "{\"a\":\"1\",\"b\":2,\"c\":19.99}\n{\"a\":\"3\",\"b\":4,\"c\":-0.50}\n"
    );
    let sum = program.ok(&[
        "query",
        "sqlite:t.db",
        "SELECT sum(c) AS c FROM t",
        "--type",
        "c=currency",
        "--format",
        "csv",
    ]);
    assert_eq!(sum, "c\n19.49\n");
}

#[test]
fn null_texts_can_be_set() {
    let program = Program::new();
    program.file("t.csv", "a,b\nNA,-\n,x\n");
    import(&program, "t.csv", &["--null", "-"]);
    assert_eq!(
        export(&program, &["--format", "ndjson", "--exclude", "id"]),
        "{\"a\":\"NA\",\"b\":null}\n{\"a\":\"\",\"b\":\"x\"}\n"
    );
}

#[test]
fn packed_files_and_standard_input_are_read() {
    let plain = std::fs::read(data("airlines.csv")).expect("reads");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).expect("packs");
    let gzip = gzip.finish().expect("packs");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("airlines.csv", zip::write::SimpleFileOptions::default()).expect("starts");
    zip.write_all(&plain).expect("packs");
    let zip = zip.finish().expect("packs").into_inner();

    let program = Program::new();
    // The names say nothing.
    program.file("a", &plain).file("b.csv", gzip.clone()).file("c.gz", zip.clone());
    for file in ["a", "b.csv", "c.gz"] {
        let table = file.replace('.', "_");
        program.ok(&["import", "sqlite:t.db", file, "--table", &table, "--key", "carrier"]);
    }
    for (table, input) in [("p", &plain), ("g", &gzip), ("z", &zip)] {
        let arguments = ["import", "sqlite:t.db", "-", "--table", table, "--key", "carrier"];
        let run = program.run_with_input(&arguments, input);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let [first, others @ ..] = ["a", "b_csv", "c_gz", "p", "g", "z"]
        .map(|table| program.ok(&["export", "sqlite:t.db", "--table", table]));
    assert_eq!(first.as_bytes(), plain);
    assert!(others.iter().all(|other| *other == first));
}

#[test]
fn a_bad_line_stops_the_import_and_nothing_is_kept() {
    let program = Program::new();
    program.file("t.csv", "a,b\n1,2\n\n3\n4,5\n");
    let arguments = [&["import", DATABASE, "t.csv", "--table", "t"][..]].concat();
    program.fails(
        1,
        "t.csv, line 4: 1 field where there are 2 columns; nothing was imported",
        &arguments,
    );
    assert!(!program.path("t.db").exists());
    // A line that only the database refuses: its key is there already.
    program.file("t.csv", "a,b\n1,2\n3,4\n1,5\n");
    let arguments = [&arguments[..], &["--key", "a"]].concat();
    program.fails(1, "t.csv, line 4: ", &arguments);
    assert_eq!(program.ok(&["schema", "sqlite:t.db"]), "");
}

#[test]
fn bad_lines_are_set_aside_when_asked() {
    let program = Program::new();
    program.file("t.csv", "a,b\n1,2\n3\n4,x\n5,\"6\n7\"\n1,8\n9,10\n");
    let more = ["--key", "a", "--type", "b=i64", "--rejects", "bad.csv"];
    let run = program.run(&[&["import", DATABASE, "t.csv", "--table", "t"][..], &more].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    for told in [
        "line 3: 1 field where there are 2 columns",
        "line 4: column b: \"x\" is not an i64",
        "line 5: column b: \"6\\n7\" is not an i64",
        "line 7: ",
        "rejected lines in bad.csv: 4",
    ] {
        assert!(run.err.contains(told), "{told}: {}", run.err);
    }
    assert_eq!(program.text("bad.csv"), "a,b\n3\n4,x\n5,\"6\n7\"\n1,8\n");
    assert_eq!(export(&program, &[]), "a,b\n1,2\n9,10\n");
}

#[test]
fn many_rows_keep_their_order_and_their_bad_lines() {
    let program = Program::new();
    let mut text = "n\n".to_owned();
    for n in 0..25_000 {
        text.push_str(&if n % 10_000 == 7 { "oops\n".to_owned() } else { format!("{n}\n") });
    }
    program.file("t.csv", text);
    import(&program, "t.csv", &["--type", "n=i64", "--rejects", "bad.csv"]);
    let sql =
        "SELECT count(*) AS n, sum(id) AS ids, sum(n = id - 1) AS first FROM t WHERE n < 10007";
    let out = program.ok(&["query", "sqlite:t.db", sql, "--format", "csv", "--no-header"]);
    assert_eq!(out, "10006,50065021,7\n");
    assert_eq!(program.text("bad.csv"), "n\noops\noops\noops\n");
}

#[test]
fn rows_are_added_to_a_table_that_is_there() {
    let program = Program::new();
    program
        .file("t.csv", "a,b\n1,x\n")
        .file("more.csv", "B,A\ny,2\n")
        .file("wrong.csv", "a,c\n1,2\n");
    import(&program, "t.csv", &["--type", "a=text"]);
    program.fails(
        1,
        "table t is there already",
        &[&["import", DATABASE, "more.csv", "--table", "t"][..]].concat(),
    );
    import(&program, "more.csv", &["--append"]);
    assert_eq!(export(&program, &[]), "id,a,b\n1,1,x\n2,2,y\n");
    program.fails(
        1,
        "'c'",
        &[&["import", DATABASE, "wrong.csv", "--table", "t"][..], &["--append"]].concat(),
    );
    let elsewhere = ["import", "sqlite:t.db", "t.csv", "--table", "u", "--append"];
    program.fails(1, "there is no table u to add to", &elsewhere);
}

#[test]
fn columns_that_the_file_lacks_get_defaults_that_are_computed() {
    let program = Program::new();
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, made TEXT DEFAULT (upper('now')))";
    let url = format!("sqlite:{}", program.path("t.db").display());
    bobak::Db::open(&url).expect("opens").execute(sql, ()).expect("creates");
    program.file("t.csv", "a\nx\n").file("more.csv", "a,made\ny,\n");
    import(&program, "t.csv", &["--append"]);
    import(&program, "more.csv", &["--append"]);
    assert_eq!(export(&program, &[]), "id,a,made\n1,x,NOW\n2,y,\n");
}

#[test]
fn a_file_without_header_has_its_columns_named() {
    let program = Program::new();
    program.file("t.csv", "1;x\n2;y\n");
    import(&program, "t.csv", &["--columns", "a,b"]);
    assert_eq!(export(&program, &["--delimiter", "tab"]), "id\ta\tb\n1\t1\tx\n2\t2\ty\n");
}

#[test]
fn quiet_is_quiet() {
    let program = Program::new();
    program.file("t.csv", "a\n1\n");
    let run =
        program.run(&[&["import", DATABASE, "t.csv", "--table", "t", "--quiet"][..]].concat());
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
}
