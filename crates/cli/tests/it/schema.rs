//! `bobak schema`: tables in words and in Rust.

use crate::program::{Program, data};

#[test]
fn tables_are_shown_in_words_and_in_rust() {
    let program = Program::new();
    let planes = data("planes.csv");
    program.ok(&["import", "sqlite:t.db", &planes, "--table", "planes", "--key", "tailnum"]);
    program.ok(&["import", "sqlite:t.db", &data("airlines.csv"), "--table", "airlines"]);
    let words = program.ok(&["schema", "sqlite:t.db"]);
    assert!(
        words.starts_with("table airlines\n  id       i64   key, given by the engine\n"),
        "{words}"
    );
    assert!(
        words.contains("\n\ntable planes\n  tailnum       text  key\n  year          i64?\n"),
        "{words}"
    );
    let rust = program.ok(&["schema", "sqlite:t.db", "--rust", "--table", "PLANES"]);
    assert_eq!(
        rust,
        r#"use bobak::prelude::*;

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "planes")]
pub struct Plane {
    #[record(key)]
    pub tailnum: String,
    pub year: Option<i64>,
    #[record(column = "type")]
    pub type_: String,
    pub manufacturer: String,
    pub model: String,
    pub engines: i64,
    pub seats: i64,
    pub speed: Option<i64>,
    pub engine: String,
}
"#
    );
}

#[test]
fn a_table_that_is_not_there_is_told_which_are() {
    let program = Program::new();
    program.ok(&["import", "sqlite:t.db", &data("airlines.csv"), "--table", "airlines"]);
    program.fails(1, "airlines", &["schema", "sqlite:t.db", "--table", "planes"]);
}

/// What `bobak schema --rust` prints for a table with everything in it, compiled.
mod printed {
    use bobak::prelude::*;

    #[derive(Record, Debug, Clone, PartialEq)]
    #[record(table = "planes", index(type_, year, unique, name = "planes_type_year"))]
    pub struct Plane {
        #[record(key, max = 6)]
        pub tailnum: String,
        #[record(column = "type", default = "a \"jet\"")]
        pub type_: String,
        #[record(index)]
        pub year: Option<i64>,
        #[record(column = "is new", default = true)]
        pub is_new: bool,
        #[record(unique)]
        pub serial: i32,
    }
}

#[test]
fn what_is_printed_of_a_record_is_the_record() {
    let program = Program::new();
    let url = format!("sqlite:{}", program.path("t.db").display());
    let db = bobak::Db::builder().record::<printed::Plane>().open(&url).expect("opens");
    db.create_missing_tables().expect("creates");
    drop(db);
    let rust = program.ok(&["schema", "sqlite:t.db", "--rust"]);
    let source = include_str!("schema.rs");
    let begin = source.find("    use bobak::prelude::*;").expect("is there");
    let end = source[begin..].find("\n}\n").expect("is there") + begin;
    let expected: String = source[begin..end]
        .lines()
        .map(|line| line.strip_prefix("    ").unwrap_or(line).to_owned() + "\n")
        .collect();
    assert_eq!(rust, expected);
}
