//! Rows in the row codec, and the forms of types, against the files that all implementations share.

use crate::vectors::{hex, hold};
use bobak_core::codec::{self, EncodedRow};
use bobak_core::{ColumnSchema, Currency, ErrorKind, Row, Type, Value, ValueRef};
use serde_json::{Value as Json, json};

pub fn value_json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Int(i) if i.unsigned_abs() <= 1 << 53 => json!(i),
        ValueRef::Int(i) => json!({"int": i.to_string()}),
        ValueRef::Float(f) => json!({"float": format!("{f:?}")}),
        ValueRef::Text(text) => json!(text),
        ValueRef::Bytes(bytes) => json!({"hex": hex(bytes)}),
    }
}

fn encode(values: &[Value<'_>]) -> Vec<u8> {
    let mut framed = Vec::new();
    codec::encode_values(&mut framed, values.len(), |place| values[place].as_ref()).unwrap();
    framed
}

/// Rows of every class, with the extremes of each.
fn rows() -> Vec<(&'static str, Vec<Value<'static>>)> {
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec().into());
    let integers = [0, 1, -1, 1 << 53, -(1 << 53) - 1, i64::MAX, i64::MIN];
    let floats = [
        0.0,
        -0.0,
        1.0,
        0.1,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let long = "xyz".repeat(100);
    vec![
        ("no column", Vec::new()),
        ("NULL", vec![Value::Null]),
        ("integers", integers.map(Value::Int).into()),
        ("floats", floats.map(Value::Float).into()),
        ("texts", ["", "a", "\0", "é", "\u{10ffff}", "\u{feff}"].map(Value::from).into()),
        ("bytes", vec![bytes(&[]), bytes(&[0]), bytes(&[0xff, 0xfe, 0x80])]),
        ("a long text", vec![long.into(), Value::Int(1)]),
        (
            "one of each",
            vec![
                Value::Int(5),
                "x".into(),
                Value::Null,
                bytes(&[1]),
                "y".into(),
                Value::Float(2.5),
            ],
        ),
        ("many columns", (0..300).map(Value::Int).collect()),
    ]
}

/// Bytes that are no row, and what is wrong with them.
fn wrong() -> Vec<(&'static str, Vec<u8>)> {
    let good = encode(&["ab".into(), Value::Int(1), "é".into()])[codec::FRAME..].to_vec();
    // Two bytes of a count, three tags, three slots, the heap.
    let (tags, slots, heap) = (2, 5, 29);
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        bytes
    };
    let null = encode(&[Value::Null])[codec::FRAME..].to_vec();
    let mut full_null = null.clone();
    full_null[3] = 1;
    let mut nan = encode(&[Value::Float(0.0)])[codec::FRAME..].to_vec();
    nan[3..].copy_from_slice(&f64::NAN.to_le_bytes());
    vec![
        ("nothing", Vec::new()),
        ("half a count", vec![1]),
        ("a head cut short", good[..heap - 1].to_vec()),
        ("a heap cut short", good[..good.len() - 1].to_vec()),
        ("a byte too many", [&good[..], &[0]].concat()),
        ("an unknown tag", with(tags + 1, 5)),
        ("a gap in the heap", with(slots + 16, 3)),
        ("a text beyond the heap", with(slots + 4, 200)),
        ("a text that is no UTF-8", with(heap + 2, 0xff)),
        ("texts that overlap", with(slots + 16, 1)),
        ("a NULL with a slot", full_null),
        ("not a number", nan),
    ]
}

#[test]
fn the_file_of_rows_holds_them() {
    let mut all = Vec::new();
    for (name, values) in rows() {
        let bytes = encode(&values);
        let row = EncodedRow::check(&bytes[codec::FRAME..]).unwrap();
        let read = (0..Row::len(&row)).map(|place| value_json(row.value(place)));
        let values: Vec<Json> = values.iter().map(|value| value_json(value.as_ref())).collect();
        assert_eq!(read.collect::<Vec<_>>(), values, "{name}");
        all.push(json!({"name": name, "hex": hex(row.as_bytes()), "values": values}));
    }
    for (name, bytes) in wrong() {
        assert!(EncodedRow::check(&bytes).is_err(), "{name}");
        all.push(json!({"name": name, "hex": hex(&bytes), "values": Json::Null}));
    }
    hold("rows.json", &all);
}

/// Types with two forms, and texts of them; the extremes are those of the calendar.
const FORMS: &[(Type, &[&str])] = &[
    (
        Type::Date,
        &["1970-01-01", "1969-12-31", "1815-12-10", "2024-02-29", "0001-01-01", "9999-12-31"],
    ),
    (Type::Time, &["00:00:00.000000", "12:34:56.789012", "23:59:59.999999"]),
    (
        Type::DateTime,
        &[
            "1970-01-01T00:00:00.000000",
            "1969-12-31T23:59:59.999999",
            "2013-01-01T05:15:00.000000",
            "0001-01-01T00:00:00.000000",
            "9999-12-30T22:00:00.000000",
        ],
    ),
    (
        Type::Timestamp,
        &[
            "1970-01-01T00:00:00.000000Z",
            "1969-12-31T23:59:59.999999Z",
            "2038-01-19T03:14:08.000001Z",
            "0001-01-01T00:00:00.000000Z",
            "9999-12-30T22:00:00.000000Z",
        ],
    ),
    (
        Type::Uuid,
        &[
            "00000000-0000-0000-0000-000000000000",
            "01890a5d-ac96-774b-bcce-b302099a8057",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
    ),
];

/// Texts that look like it and are no value of the type, or of another: all must reject them.
const WRONG: &[(Type, &[&str])] = &[
    (
        Type::Date,
        &["2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00", ""],
    ),
    (Type::Time, &["24:00:00", "12:60:00", "12:00:61", "noon"]),
    (
        Type::DateTime,
        &[
            "2023-02-29T12:00:00",
            "2024-04-31T12:00:00.000001",
            "2024-01-01T24:00:00",
            "2024-01-01T12:60:00",
            "2024-01-01T12:00:00Z",
        ],
    ),
    (
        Type::Timestamp,
        &[
            "2023-02-29T12:00:00Z",
            "2024-04-31T12:00:00.000001+01:00",
            "2024-01-01T24:00:00Z",
            "2024-01-01T12:60:00Z",
            "2024-01-01T12:00:00",
        ],
    ),
    (Type::Uuid, &["01890a5d-ac96-774b-bcce-b302099a805", "01890a5d-ac96-774b-bcce-b302099a80gg"]),
];

#[test]
fn the_file_of_types_holds_their_forms() {
    let mut all = Vec::new();
    for (ty, texts) in FORMS {
        let column = ColumnSchema::new("c", *ty);
        for text in *texts {
            let stored = column.accept(Value::from(*text)).unwrap();
            let back = column.clone().as_text().accept(stored.clone()).unwrap();
            assert_eq!(back, Value::from(*text));
            all.push(
                json!({"type": ty.name(), "text": text, "stored": value_json(stored.as_ref())}),
            );
        }
    }
    let amounts = [
        "0.00",
        "-0.0001",
        "12.30",
        "0.50",
        "1.2345",
        "-3.00",
        "922337203685477.5807",
        "-922337203685477.5808",
    ];
    for text in amounts {
        let amount: Currency = text.parse().unwrap();
        assert_eq!(amount.to_string(), text);
        let stored = value_json(ValueRef::Int(amount.scaled()));
        all.push(json!({"type": "currency", "text": text, "stored": stored}));
    }
    for text in ["1.23456", "922337203685477.5808", "1e3", "", "NaN"] {
        assert!(text.parse::<Currency>().is_err());
        all.push(json!({"type": "currency", "text": text, "stored": Json::Null}));
    }
    for (ty, texts) in WRONG {
        for text in *texts {
            let rejected = ColumnSchema::new("c", *ty).accept(Value::from(*text)).unwrap_err();
            assert_eq!(rejected.kind(), ErrorKind::Mismatch, "{text}");
            all.push(json!({"type": ty.name(), "text": text, "stored": Json::Null}));
        }
    }
    hold("types.json", &all);
}
