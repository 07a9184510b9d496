//! Real data survives a round trip: an export equals the imported file.

use crate::program::{Program, data};

const TABLES: [(&str, &[&str]); 5] = [
    ("airlines", &["--key", "carrier"]),
    ("airports", &["--key", "faa"]),
    ("planes", &["--key", "tailnum"]),
    ("weather", &["--key", "origin,time_hour"]),
    ("flights", &[]),
];

fn import_all(program: &Program) {
    for (table, key) in TABLES {
        let file = data(&format!("{table}.csv"));
        let fixed = ["import", "sqlite:flights.db", &file, "--table", table, "--null", "NA"];
        program.ok(&[&fixed, key].concat());
    }
}

fn lines(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let line = |line: csv::Result<csv::StringRecord>| {
        line.expect("is CSV").iter().map(str::to_owned).collect()
    };
    reader.records().map(line).collect()
}

/// Compares numbers by value and text byte for byte.
fn same(a: &str, b: &str) -> bool {
    a == b || a.parse::<f64>().is_ok_and(|number| Ok(number) == b.parse::<f64>())
}

#[test]
fn csv_round_trip_is_identical() {
    let program = Program::new();
    import_all(&program);
    for (table, key) in TABLES {
        let mut arguments = vec!["export", "sqlite:flights.db", "--table", table, "--null", "NA"];
        if key.is_empty() {
            arguments.extend(["--exclude", "id"]);
        }
        let exported = program.ok(&arguments);
        let original = std::fs::read_to_string(data(&format!("{table}.csv"))).expect("reads");
        let (mut before, mut after) = (lines(&original), lines(&exported));
        // A table with a primary key is exported in key order.
        if !key.is_empty() {
            before[1..].sort();
            after[1..].sort();
        }
        assert_eq!(before.len(), after.len(), "{table}");
        for (before, after) in before.iter().zip(&after) {
            let equal = before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| same(before, after));
            assert!(equal, "{table}: {before:?} became {after:?}");
        }
    }
}

#[test]
fn exported_table_can_be_imported() {
    let program = Program::new();
    import_all(&program);
    for (table, key) in TABLES {
        program.ok(&["export", "sqlite:flights.db", "--table", table, "--output", "t.csv"]);
        let fixed = ["import", "sqlite:again.db", "t.csv", "--table", table];
        program.ok(&[&fixed, key].concat());
        let [first, second] = ["sqlite:flights.db", "sqlite:again.db"]
            .map(|url| program.ok(&["export", url, "--table", table, "--format", "ndjson"]));
        assert!(first == second, "{table}");
    }
}

#[test]
fn imported_tables_can_be_joined() {
    let program = Program::new();
    import_all(&program);
    let sql = "SELECT a.name, count(*) AS flights, count(p.tailnum) AS known_planes, round(avg(w.temp), 1) AS temp
               FROM flights f JOIN airlines a ON a.carrier = f.carrier
               LEFT JOIN planes p ON p.tailnum = f.tailnum
               LEFT JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
               GROUP BY a.carrier ORDER BY flights DESC LIMIT 2";
    assert_eq!(
        program.ok(&["query", "sqlite:flights.db", sql, "--format", "csv"]),
        "name,flights,known_planes,temp\nUnited Air Lines Inc.,165,161,37.5\nJetBlue Airways,163,160,36.6\n"
    );
}

#[test]
fn row_counts_match_source() {
    let program = Program::new();
    import_all(&program);
    for (table, rows) in [
        ("airlines", 16),
        ("airports", 1_458),
        ("planes", 3_322),
        ("weather", 67),
        ("flights", 842),
    ] {
        let sql = format!("SELECT count(*) AS n FROM {table}");
        let out = program.ok(&["query", "sqlite:flights.db", &sql, "--format", "ndjson"]);
        assert_eq!(out, format!("{{\"n\":{rows}}}\n"));
    }
}

#[test]
fn text_round_trips_byte_for_byte() {
    let program = Program::new();
    let text = "a,b\n\" x \",1\n\"a,\"\"b\"\"\",2\n\"one\ntwo\r\nthree\",3\nnul\u{0}nul,4\né😀\u{301},5\n007,6\n\"tab\tbell\u{7}\",7\nnull,8\n";
    program.file("t.csv", text);
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t", "--key", "b"]);
    let exported = program.ok(&["export", "sqlite:t.db", "--table", "t"]);
    assert_eq!(lines(&exported), lines(text));
    let ndjson = program.ok(&["export", "sqlite:t.db", "--table", "t", "--format", "ndjson"]);
    for (line, expected) in ndjson.lines().zip(lines(text).iter().skip(1)) {
        let line: serde_json::Value = serde_json::from_str(line).expect("is JSON");
        assert_eq!(line["a"], expected[0].as_str());
    }
}

#[test]
fn numbers_round_trip_by_value() {
    let program = Program::new();
    // One column each; the last value prevents a narrower type.
    let columns: [&[&str]; 8] = [
        &["1", "9223372036854775807", "-9223372036854775808"],
        &["1", "9223372036854775808", "2"],
        &["0.1", "1e300", "5e-324"],
        &["48.053808600000004", "0.30000000000000004", "-1.5"],
        &["1.5", "9007199254740993", "2"],
        &["0", "-0", "1"],
        &["1.5", "-0.0", "1"],
        &["1e400", "NaN", "inf"],
    ];
    let mut text = "c0,c1,c2,c3,c4,c5,c6,c7\n".to_owned();
    for row in 0..3 {
        text += &(columns.map(|column| column[row]).join(",") + "\n");
    }
    program.file("t.csv", &text);
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t"]);
    let exported = program.ok(&["export", "sqlite:t.db", "--table", "t", "--exclude", "id"]);
    for (before, after) in lines(&text).iter().zip(&lines(&exported)) {
        for (place, (before, after)) in before.iter().zip(after).enumerate() {
            // The third and fourth columns are floats; the others are integers or text.
            let kept = if matches!(place, 2 | 3) { same(before, after) } else { before == after };
            assert!(kept, "column {place}: {before} became {after}");
        }
    }
}
