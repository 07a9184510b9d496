//! DeclaredType types there and back, and what SQLite's affinity makes of values.

use crate::engine::Sqlite;
use crate::tables;
use bobak_core::{
    ColumnRole, ColumnSchema, FieldSet, Select, Storage, TableSchema, Type, Value, Verb,
};
use bobak_sql::{
    DeclaredType, Dialect, create_table, declared_type, insert, parse_declared, select,
};

const DIALECTS: &[Dialect] = &[Dialect::Sqlite];

#[test]
fn what_is_declared_is_read_back() {
    for &dialect in DIALECTS {
        for &ty in Type::ALL {
            let plain = ColumnSchema::new("x", ty);
            for column in [plain.clone(), plain.as_text()] {
                let declared = declared_type(dialect, &column);
                let as_text = column.is_kept_as_text();
                let expected =
                    DeclaredType { ty, max_chars: None, as_text, role: ColumnRole::Plain };
                assert_eq!(parse_declared(dialect, &declared), expected, "{declared}");
            }
        }
        for ty in [Type::Text, Type::Json] {
            let declared = declared_type(dialect, &ColumnSchema::new("x", ty).max_chars(40));
            let parsed = parse_declared(dialect, &declared);
            assert_eq!((parsed.ty, parsed.max_chars, parsed.as_text), (ty, Some(40), false));
        }
    }
}

#[test]
fn columns_that_bobak_fills_are_read_back() {
    for &dialect in DIALECTS {
        for (role, ty) in [
            (ColumnRole::CreatedAt, Type::Timestamp),
            (ColumnRole::ModifiedAt, Type::Timestamp),
            (ColumnRole::Version, Type::I64),
        ] {
            let plain = ColumnSchema::new("x", ty).role(role);
            for column in [plain.clone(), plain.as_text()] {
                let parsed = parse_declared(dialect, &declared_type(dialect, &column));
                let as_text = column.is_kept_as_text();
                assert_eq!(parsed, DeclaredType { ty, max_chars: None, as_text, role });
            }
        }
    }
}

#[test]
fn other_names_count_by_affinity() {
    for (declared, ty, max) in [
        ("bigint", Type::I64, None),
        ("Integer", Type::I64, None),
        ("unsigned   big int", Type::I64, None),
        ("MEDIUMINT(9)", Type::I64, None),
        ("FLOATING POINT", Type::I64, None),
        ("unsigned\tbigint", Type::U64, None),
        ("INT", Type::I64, None),
        ("DATE", Type::Any, None),
        ("FLOAT", Type::F64, None),
        ("varchar", Type::Text, None),
        ("NATIVE CHARACTER(70)", Type::Text, Some(70)),
        ("varchar( 255 )", Type::Text, Some(255)),
        ("CLOB", Type::Text, None),
        ("CHAR(99999999999)", Type::Text, None),
        ("CHAR(", Type::Text, None),
        ("longblob", Type::Bytes, None),
        ("DOUBLE PRECISION", Type::F64, None),
        ("NUMERIC(10,2)", Type::Any, None),
        ("STRING", Type::Any, None),
        ("DÉCIMAL", Type::Any, None),
        ("", Type::Any, None),
    ] {
        let expected = DeclaredType { ty, max_chars: max, as_text: false, role: ColumnRole::Plain };
        assert_eq!(parse_declared(Dialect::Sqlite, declared), expected, "{declared}");
    }
}

/// Values at the edges of a storage class, and texts that look like numbers.
fn edges(ty: Type, storage: Storage) -> Vec<Value<'static>> {
    let (low, high) = ty.integer_range().unwrap_or((0, 0));
    let integers = vec![Value::Int(low), Value::Int(high), Value::Int(high / 3)];
    let large = if ty == Type::F32 { f64::from(f32::MIN) } else { -1e300 };
    let floats: Vec<Value<'static>> =
        [0.1, 1.0, large, 5e-324, 9_007_199_254_740_993.0, f64::INFINITY, f64::NEG_INFINITY]
            .map(Value::Float)
            .to_vec();
    let texts = match ty {
        Type::Json => ["\"\"", "1", "1.50", " 2 ", "1e3", "\"x\\u0000y\"", "[\"2013-01-01\"]"],
        _ => ["", "1", "1.50", " 2 ", "1e3", "x\0y", "2013-01-01"],
    };
    let texts: Vec<Value<'static>> = texts.map(Value::from).to_vec();
    let bytes: Vec<Value<'static>> =
        [&b""[..], b"12", b"1.5", &[b'1'; 16], &[0; 16]].map(Value::from).to_vec();
    match storage {
        Storage::Int => integers,
        Storage::Float => floats,
        Storage::Text => texts,
        Storage::Bytes => bytes,
        Storage::Any => [integers, floats, texts, bytes].concat(),
    }
}

#[test]
fn no_value_is_converted() {
    let (sqlite, table) = (Sqlite::new(), tables::everything());
    for text in create_table(Dialect::Sqlite, &table).unwrap() {
        sqlite.execute(&text).unwrap();
    }
    let text = insert(Dialect::Sqlite, &table, Verb::Insert, FieldSet::EMPTY, 1, false);
    let mut expected: Vec<Vec<Value<'static>>> = Vec::new();
    for (place, column) in table.columns().iter().enumerate().skip(1) {
        for value in edges(column.ty, column.storage) {
            let mut row = vec![Value::Null; table.columns().len()];
            row[0] = (expected.len() as u128).to_be_bytes().to_vec().into();
            row[place] = value;
            sqlite.run(&text, &row).unwrap();
            expected.push(row);
        }
    }
    let query = Select::all(&table);
    assert_eq!(sqlite.statement(&select(Dialect::Sqlite, &query)).unwrap(), expected);
}

#[test]
fn defaults_are_exact() {
    let values: [(Type, Value<'static>); 9] = [
        (Type::I64, Value::Int(i64::MIN)),
        (Type::Currency, Value::Int(i64::MAX)),
        (Type::F64, Value::Float(0.1)),
        (Type::F64, Value::Float(f64::MIN_POSITIVE)),
        (Type::F64, Value::Float(f64::INFINITY)),
        (Type::F64, Value::Float(f64::NEG_INFINITY)),
        (Type::Text, "it's \"quoted\"\0, and more".into()),
        (Type::Bytes, (&[0_u8, 255, b'\''][..]).into()),
        (Type::Any, Value::Float(1.0)),
    ];
    let mut table = TableSchema::builder("t").column(ColumnSchema::of::<i64>("id")).key(["id"]);
    for (place, (ty, value)) in values.iter().enumerate() {
        table = table.column(ColumnSchema::new(format!("c{place}"), *ty).default(value.clone()));
    }
    let table = table.build().unwrap();
    let expected: Vec<_> = values.into_iter().map(|(_, value)| value).collect();
    // Created with them, then added one by one to a table that has a row.
    let sqlite = Sqlite::new();
    sqlite.execute(&create_table(Dialect::Sqlite, &table).unwrap()[0]).unwrap();
    sqlite.execute("INSERT INTO t (id) VALUES (1)").unwrap();
    assert_eq!(sqlite.execute("SELECT * FROM t").unwrap()[0][1..], expected);
    let sqlite = Sqlite::new();
    sqlite.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)").unwrap();
    sqlite.execute("INSERT INTO t (id) VALUES (1)").unwrap();
    for place in 1..table.columns().len() {
        for text in bobak_sql::add_column(Dialect::Sqlite, &table, place).unwrap() {
            sqlite.execute(&text).unwrap();
        }
    }
    assert_eq!(sqlite.execute("SELECT * FROM t").unwrap()[0][1..], expected);
}

#[test]
fn an_added_column_fills_old_rows() {
    let sqlite = Sqlite::new();
    sqlite.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)").unwrap();
    sqlite.execute("INSERT INTO t (id) VALUES (1)").unwrap();
    let table = TableSchema::builder("t")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<u16>("a"))
        .column(ColumnSchema::of::<f32>("b"))
        .column(ColumnSchema::of::<String>("c").unique())
        .column(ColumnSchema::of::<Vec<u8>>("d"))
        .column(ColumnSchema::of::<Option<bool>>("e"))
        .key(["id"])
        .build()
        .unwrap();
    for place in 1..6 {
        for text in bobak_sql::add_column(Dialect::Sqlite, &table, place).unwrap() {
            sqlite.execute(&text).unwrap();
        }
    }
    sqlite.execute(&bobak_sql::add_index(Dialect::Sqlite, &table, 0).unwrap()).unwrap();
    let row = vec![
        Value::Int(1),
        Value::Int(0),
        Value::Float(0.0),
        "".into(),
        Value::Bytes(Vec::new().into()),
        Value::Null,
    ];
    assert_eq!(sqlite.execute("SELECT * FROM t").unwrap(), [row]);
}
