//! An export in any format, imported into a table of the same columns, gives equal rows; what could not come back is not
//! exported.

use crate::program::Program;
use bobak::schema::{ColumnSchema, TableSchema, TableSchemaBuilder, Type};
use bobak::{Db, DynRow, Query, Value};

/// Values of a type that texts could mistake for others.
fn odd_values(ty: Type) -> Vec<Value<'static>> {
    let integers = |(low, high): (i64, i64)| [low, high, 0, 1].map(Value::Int).to_vec();
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from((*text).to_owned())).collect();
    match ty {
        Type::F32 => [0.1_f32, f32::MAX, -1.0, f32::MIN_POSITIVE]
            .map(|float| Value::Float(float.into()))
            .to_vec(),
        Type::F64 => {
            [0.1, 1e300, -5e-324, 3.0, f64::INFINITY, f64::NEG_INFINITY].map(Value::Float).to_vec()
        }
        Type::Text => texts(&[
            "",
            " ",
            "NULL",
            "null",
            "NA",
            "12",
            "007",
            "1e5",
            "true",
            "2013-01-31",
            "{\"a\":1}",
            "[1]",
            "a,b;c\td|e",
            "\"",
            "\"\"",
            "'",
            "\\",
            "\n",
            "\r\n",
            "\r",
            "\u{1}text\u{1}x",
            "\u{1}null\u{1}",
            "\u{0}",
            "\u{feff}",
            "é😀",
            "AQI=",
            "inf",
            "-0",
            "x\"y",
        ]),
        Type::Bytes => {
            [&b""[..], b"\0", b"text", b"\xff\xfe"].map(|b| Value::from(b.to_vec())).to_vec()
        }
        Type::Uuid => [[0_u8; 16], [0xab; 16]].map(|bytes| Value::from(bytes.to_vec())).to_vec(),
        Type::Json => texts(&[
            "{\"a\": [1, 2.50]}",
            "[]",
            "\"text\"",
            "\"\"",
            "12",
            "true",
            "1e400",
            "\"a\\u00e9\\n\"",
        ]),
        Type::Any => {
            let mut all =
                vec![Value::Int(12), Value::Int(i64::MIN), Value::Float(0.5), Value::Float(1e300)];
            let more: Vec<Value<'static>> = texts(&["", "x", "{\"a\":1}", "\u{1}json\u{1}"]);
            all.extend(more);
            all
        }
        ty => integers(ty.integer_range().unwrap_or((i64::MIN, i64::MAX))),
    }
}

fn table(name: &'static str) -> TableSchema {
    let types: Vec<Type> = Type::ALL.iter().copied().filter(|ty| *ty != Type::Decimal).collect();
    let plain = types.iter().map(|ty| ColumnSchema::new(ty.name(), *ty).nullable(true));
    let texts = types.iter().filter(|ty| ty.has_text_form());
    let texts = texts.map(|ty| {
        ColumnSchema::new(format!("{} as text", ty.name()), *ty).nullable(true).as_text()
    });
    let odd =
        ["a;b", "[c]", "\"d\""].map(|name| ColumnSchema::new(name, Type::Text).nullable(true));
    let builder = TableSchema::builder(name)
        .column(ColumnSchema::new("id", Type::I64))
        .key(["id"])
        .given_key();
    plain
        .chain(texts)
        .chain(odd)
        .fold(builder, TableSchemaBuilder::column)
        .build()
        .expect("a valid table")
}

fn fill(db: &Db) {
    let t = db.create_table(table("t")).expect("creates");
    let columns = t.schema().columns().to_vec();
    let most = columns.iter().map(|column| odd_values(column.ty).len()).max().unwrap_or(0);
    for id in 0..=most {
        let mut row = DynRow::new();
        row.set("id", id as i64).expect("sets");
        for column in columns.iter().filter(|column| column.name != "id") {
            let value = odd_values(column.ty).into_iter().nth(id).unwrap_or(Value::Null);
            row.set(&column.name, value).expect("sets");
        }
        t.insert(&row).expect("inserts");
    }
}

/// The rows but for one column; documents of JSON as what they mean.
fn rows(db: &Db, without: Option<&str>) -> Vec<Vec<String>> {
    let t = db.dynamic("t").expect("opens");
    let columns = t.schema().columns().to_vec();
    let rows = t.list(Query::all()).expect("reads");
    let shown = |(value, column): (&Value<'static>, &ColumnSchema)| match (column.ty, value) {
        (Type::Json, Value::Text(text)) => match serde_json::from_str::<String>(text) {
            Ok(string) => format!("string {string:?}"),
            Err(_) => text.split_whitespace().collect::<String>(),
        },
        _ => format!("{value:?}"),
    };
    let is_compared =
        |(_, column): &(&Value<'static>, &ColumnSchema)| without != Some(&*column.name);
    let line =
        |row: &DynRow| row.values().iter().zip(&columns).filter(is_compared).map(shown).collect();
    rows.iter().map(line).collect()
}

#[test]
fn every_export_can_be_imported() {
    let program = Program::new();
    let open =
        |name: &str| Db::open(&format!("sqlite:{}", program.path(name).display())).expect("opens");
    let from = open("from.db");
    fill(&from);
    let formats: [&[&str]; 6] = [
        &["--format", "csv"],
        &["--format", "csv", "--delimiter", ";"],
        &["--format", "csv", "--delimiter", "tab"],
        &["--format", "ndjson"],
        &["--format", "json"],
        // A cell has no integers of 64 bits but in a column of that type.
        &["--format", "xlsx", "--exclude", "any"],
    ];
    for (number, format) in formats.iter().enumerate() {
        let (file, target) = (format!("out{number}"), format!("to{number}.db"));
        program.ok(&[&["export", "from.db", "--table", "t", "--output", &file], *format].concat());
        open(&target).create_table(table("t")).expect("creates");
        program.ok(&["import", &target, &file, "--table", "t", "--append"]);
        let without = format.iter().copied().skip_while(|word| *word != "--exclude").nth(1);
        let expected = rows(&from, without);
        let found = rows(&open(&target), without);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{format:?}");
        }
        assert_eq!(found.len(), expected.len(), "{format:?}");
    }
}

#[test]
fn what_would_come_back_as_another_value_is_not_exported() {
    let program = Program::new();
    let db = Db::open(&format!("sqlite:{}", program.path("t.db").display())).expect("opens");
    for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, any, total INT AS (id * 2))",
        "INSERT INTO t (id, s, any) VALUES (1, 'x', '12'), (2, x'01', 1)",
        "CREATE TABLE one (n TEXT PRIMARY KEY)",
        "INSERT INTO one VALUES (NULL), ('')",
    ] {
        db.execute(sql, ()).expect(sql);
    }
    let fails = |sentence: &str, arguments: &[&str]| {
        program.fails(1, sentence, &[&["export", "t.db", "--table"], arguments].concat());
    };
    fails("row 1, column any: an import would read this text", &["t"]);
    for format in ["csv", "ndjson", "json", "xlsx"] {
        let arguments = ["t", "--exclude", "any", "--format", format];
        fails("row 2, column s: an import would read this value", &arguments);
    }
    fails("NULL alone in a line", &["one", "--columns", "n"]);
    program.ok(&["export", "t.db", "--table", "one", "--null", "none"]);
    let columns = ["--columns", "id,any", "--format", "ndjson"];
    let exported = program.run(&[&["export", "t.db", "--table", "t"], &columns[..]].concat());
    assert_eq!(exported.out, "{\"id\":1,\"any\":\"12\"}\n{\"id\":2,\"any\":1}\n");
    assert!(
        exported.err.contains("generated column total AS (id * 2) is not exported"),
        "{}",
        exported.err
    );
}
