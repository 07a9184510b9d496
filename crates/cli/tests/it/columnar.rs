//! Files of Arrow and Parquet as input and output. The inputs are written by pyarrow: see `tests/columnar/make_files.py`.

use crate::program::Program;

fn file(name: &str) -> String {
    format!("{}/tests/columnar/{name}", env!("CARGO_MANIFEST_DIR"))
}

const ROWS: &str = "\
number,name,kind,yes,share,single,price,exact,day,at,seen,clock,raw,place,nothing
1,Zürich,a,true,0.1,0.10000000149011612,19.99,0.1234567890,2024-02-29,2024-02-29T12:00:00.000001,2024-02-29T12:00:00Z,23:59:59,AP8=,\"[1,2]\",NULL
2,NULL,b,false,NULL,2.5,-0.01,NULL,NULL,NULL,NULL,00:00:00,\"\",NULL,NULL
3,007,a,NULL,-1e300,NULL,NULL,123456789012345678.0000000001,1850-01-01,1969-12-31T23:59:59,1969-12-31T00:00:00Z,NULL,NULL,\"[3,-4.5]\",NULL
";

#[test]
fn files_of_other_programs_keep_their_types() {
    let program = Program::new();
    let names = [
        "snappy.parquet",
        "zstd.parquet",
        "gzip.parquet",
        "lz4.parquet",
        "lz4.feather",
        "plain.arrow",
        "plain.arrows",
    ];
    for name in names {
        let name = file(name);
        program.ok(&["import", "a.db", &name, "--table", "t", "--key", "number"]);
        let export = ["export", "a.db", "--table", "t", "--null", "NULL"];
        assert_eq!(program.ok(&export), ROWS, "{name}");
        std::fs::remove_file(program.path("a.db")).unwrap();
    }
    let types = program.ok(&["import", "a.db", &file("zstd.parquet"), "--dry-run"]);
    for line in
        ["number", "u16", "price", "currency", "exact", "text", "seen", "timestamp", "vector(2)"]
    {
        assert!(types.contains(line), "{line} in {types}");
    }
}

#[test]
fn tables_and_results_survive_as_files() {
    let program = Program::new();
    program.ok(&["import", "a.db", &file("zstd.parquet"), "--table", "t", "--key", "number"]);
    for name in ["t.parquet", "t.arrow"] {
        program.ok(&["export", "a.db", "--table", "t", "--output", name]);
        program.ok(&["import", "b.db", name, "--key", "number"]);
        let export = ["export", "b.db", "--table", "t", "--null", "NULL"];
        assert_eq!(program.ok(&export), ROWS, "{name}");
        program.ok(&["query", "b.db", "DELETE FROM t"]);
        program.ok(&["import", "b.db", name, "--append"]);
        assert_eq!(program.ok(&export), ROWS, "{name}");
        std::fs::remove_file(program.path("b.db")).unwrap();
    }
    let sql = "SELECT number, sum(price) AS total, 1.5 AS half FROM t GROUP BY 1 ORDER BY 1";
    program.ok(&["query", "a.db", sql, "--format", "parquet", "--output", "r"]);
    program.ok(&["import", "c.db", "r", "--key", "number"]);
    let rows = program.ok(&["export", "c.db", "--table", "r"]);
    assert_eq!(rows, "number,total,half\n1,19.99,1.5\n2,-0.01,1.5\n3,,1.5\n");
    program.ok(&["query", "a.db", "SELECT number FROM t WHERE number > 9", "--output", "e.arrow"]);
    program.ok(&["import", "c.db", "e.arrow", "--table", "e"]);
    assert_eq!(
        program.ok(&["query", "c.db", "SELECT count(*) AS n FROM e", "--format", "csv"]),
        "n\n0\n"
    );
}

#[test]
fn what_a_table_cannot_hold_is_an_error() {
    let program = Program::new();
    let import = |name: &str| vec!["import".to_owned(), "a.db".to_owned(), file(name)];
    for (arguments, sentence) in [
        (import("zstd.feather"), "is compressed with zstd: write it with LZ4"),
        (import("brotli.parquet"), "is compressed with brotli"),
        (import("nested.parquet"), "column point: no column of a table takes the type"),
        (import("nanoseconds.parquet"), "cannot be stored without rounding"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        program.fails(1, sentence, &arguments);
    }
    program.file("broken.parquet", "PAR1 and no more");
    program.fails(1, "could not read the Parquet file", &["import", "a.db", "broken.parquet"]);
    program.file("broken.arrow", "ARROW1\0\0 and no more");
    program.fails(1, "could not read broken.arrow", &["import", "a.db", "broken.arrow"]);
    let mixed = "SELECT 1 AS x UNION ALL SELECT 'a'";
    program.ok(&["import", "a.db", &file("zstd.parquet"), "--table", "t", "--key", "number"]);
    program.fails(
        1,
        "an Arrow column has values of one type",
        &["query", "a.db", mixed, "--format", "arrow"],
    );
}

/// The libraries that read these files panic at some of these.
#[test]
fn damaged_files_are_errors() {
    let program = Program::new();
    let mut errors = 0;
    for name in ["plain.arrow", "plain.arrows", "snappy.parquet"] {
        let whole = std::fs::read(file(name)).unwrap();
        for at in (8..whole.len()).step_by(whole.len() / 60) {
            let mut damaged = whole.clone();
            damaged[at] = damaged[at].wrapping_add(0x7f);
            program.file(name, damaged);
            let run = program.run(&["import", "a.db", name, "--dry-run"]);
            assert!(!run.err.contains("panicked") && run.code <= 1, "{name} {at}: {}", run.err);
            assert!(run.code == 0 || run.err.starts_with("bobak: "), "{name} {at}: {}", run.err);
            errors += run.code;
        }
    }
    assert!(errors > 20, "{errors}");
}
