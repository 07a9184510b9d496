//! One database that follows another.

use crate::program::{Program, data};

#[test]
fn it_copies_then_goes_on_and_is_compared() {
    let program = Program::new();
    let file = data("airlines.csv");
    let import =
        ["import", &file, "--table", "airlines", "--to", "sqlite:from.db", "--key", "carrier"];
    program.ok(&import);
    let follow = ["follow", "sqlite:from.db", "memory:to.bobak", "--once"];
    program.fails(1, "no table of the source is tracked", &follow);
    let run = program.run(&[&follow[..], &["--track"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("airlines is tracked from now on"), "{}", run.err);
    assert!(run.err.contains("airlines copied, up to change 0"), "{}", run.err);
    let update = "UPDATE airlines SET name = upper(name) WHERE carrier < 'B'";
    program.ok(&["query", "sqlite:from.db", update]);
    let run = program.run(&follow);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("goes on behind change 0"), "{}", run.err);
    assert!(run.err.contains("3 changes, up to 3"), "{}", run.err);
    let run = program.run(&["follow", "sqlite:from.db", "memory:to.bobak", "--check"]);
    assert!(run.err.contains("airlines: 16 rows, the same, checksum "), "{}", run.err);
    let export = |file: &str| program.ok(&["export", file, "--table", "airlines"]);
    assert_eq!(export("sqlite:from.db"), export("memory:to.bobak"));
    program.fails(2, "both databases are the same", &["follow", "a", "a"]);
}
