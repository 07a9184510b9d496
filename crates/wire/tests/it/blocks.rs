//! Blocks: rows column by column.

use bobak_core::{ErrorKind, Row, Type, Value};
use bobak_wire::{ColumnBlock, ColumnBlockEncoder, HEADER_LENGTH, Inbox, Response};

/// The body of a block of these rows.
fn body(types: &[Type], rows: &[Vec<Value<'_>>]) -> Vec<u8> {
    let mut block = ColumnBlockEncoder::new(types.iter().copied());
    rows.iter().for_each(|row| block.push(&row.as_slice()).unwrap());
    let mut out = Vec::new();
    block.write_frame(&mut out, 7, false).unwrap();
    out.split_off(HEADER_LENGTH)
}

fn values(body: &[u8]) -> Vec<Vec<Value<'static>>> {
    let block = ColumnBlock::decode(body).unwrap();
    let read = |row: usize| {
        let row = block.row(row);
        (0..row.len()).map(|place| Value::from(row.get(place)).into_owned()).collect()
    };
    (0..block.rows()).map(read).collect()
}

fn types_of(body: &[u8]) -> Vec<Type> {
    ColumnBlock::decode(body).unwrap().columns().iter().map(|column| column.ty()).collect()
}

/// A column of each type, with its smallest and its largest value, and one that does not fit it.
fn samples() -> Vec<(Type, [Value<'static>; 2], Value<'static>)> {
    let int = Value::Int;
    let bytes = |length: usize| Value::from(vec![0x80_u8; length]);
    let text = || Value::from("no number");
    vec![
        (Type::Bool, [int(0), int(1)], int(2)),
        (Type::I8, [int(-128), int(127)], int(128)),
        (Type::I16, [int(-32_768), int(32_767)], int(-32_769)),
        (Type::I32, [int(i32::MIN.into()), int(i32::MAX.into())], int(1 << 31)),
        (Type::I64, [int(i64::MIN), int(i64::MAX)], text()),
        (Type::U8, [int(0), int(255)], int(-1)),
        (Type::U16, [int(0), int(65_535)], int(65_536)),
        (Type::U32, [int(0), int(u32::MAX.into())], int(1 << 32)),
        (Type::U64, [int(0), int(i64::MAX)], int(-1)),
        (Type::F32, [Value::Float(-0.5), Value::Float(f64::INFINITY)], Value::Float(0.1)),
        (Type::F64, [Value::Float(f64::MIN), Value::Float(0.1)], int(i64::MAX)),
        (Type::Text, [Value::from(""), Value::from("Zürich\0")], bytes(3)),
        (Type::Bytes, [bytes(0), bytes(9)], text()),
        (Type::Uuid, [Value::from(vec![0_u8; 16]), bytes(16)], bytes(15)),
        (Type::Currency, [int(i64::MIN), int(i64::MAX)], Value::Float(0.5)),
        (Type::Date, [int(-4_371_222), int(2_932_896)], Value::from("2001-02-03")),
        (Type::Time, [int(0), int(86_399_999_999)], text()),
        (Type::DateTime, [int(-1), int(1)], text()),
        (Type::Timestamp, [int(-1), int(1)], text()),
        (Type::Json, [Value::from("{}"), Value::from("[1]")], int(1)),
        (Type::Vector(3), [Value::from(vec![0_u8; 12]), bytes(12)], bytes(8)),
    ]
}

#[test]
fn blocks_have_the_values_of_their_rows() {
    for count in [0, 1, 2, 7, 8, 9, 64, 1_000] {
        for nulls in [0, 2, 3] {
            let row = |number: usize| -> Vec<Value<'static>> {
                let value = |(_, some, _): (Type, [Value<'static>; 2], _)| some[number % 2].clone();
                let is_null = nulls > 0 && number % 3 == nulls - 1;
                let values = samples().into_iter().map(value);
                values.map(|value| if is_null { Value::Null } else { value }).collect()
            };
            let rows: Vec<_> = (0..count).map(row).collect();
            let types: Vec<Type> = samples().into_iter().map(|(ty, _, _)| ty).collect();
            let body = body(&types, &rows);
            assert_eq!((values(&body), types_of(&body)), (rows, types), "{count} {nulls}");
            assert_eq!(body.len() % 8, 0);
        }
    }
}

#[test]
fn a_value_of_another_type_is_sent_as_it_is() {
    for (ty, [least, most], other) in samples() {
        let rows = [[Value::Null], [least.clone()], [other], [Value::Null], [most]];
        let rows = rows.map(Vec::from);
        let with_other = body(&[ty], &rows);
        assert_eq!((values(&with_other), types_of(&with_other)), (rows.to_vec(), vec![Type::Any]));
        // The next block has the type again.
        let mut block = ColumnBlockEncoder::new([ty]);
        let mut out = Vec::new();
        rows.iter().for_each(|row| block.push(&row.as_slice()).unwrap());
        block.write_frame(&mut out, 7, true).unwrap();
        block.push(&[least.clone()].as_slice()).unwrap();
        block.write_frame(&mut out, 7, false).unwrap();
        let mut inbox = Inbox::new(1 << 20);
        inbox.push(&out);
        let first = inbox.next_frame().unwrap().unwrap();
        assert!(first.more && inbox.body() == with_other);
        let second = inbox.next_frame().unwrap().unwrap();
        let Response::Block(block) = Response::decode(second, inbox.body()).unwrap() else {
            panic!("no block");
        };
        assert_eq!((block.rows(), block.columns()[0].ty()), (1, ty));
    }
}

#[test]
fn values_decide_about_a_column_whose_type_is_not_known() {
    let some = [Value::Int(1), Value::Float(0.5), Value::from("x"), Value::from(vec![1_u8])];
    for (value, ty) in some.into_iter().zip([Type::I64, Type::F64, Type::Text, Type::Bytes]) {
        let rows = [vec![Value::Null], vec![value], vec![Value::Null]];
        for unknown in [Type::Any, Type::Decimal] {
            let body = body(&[unknown], &rows);
            assert_eq!((values(&body), types_of(&body)), (rows.to_vec(), vec![ty]));
        }
    }
    let rows = [vec![Value::Null], vec![Value::Null]];
    let body = body(&[Type::Any], &rows);
    assert_eq!((values(&body), types_of(&body)), (rows.to_vec(), vec![Type::Any]));
    // A whole number may be stored as an integer.
    let rows = [vec![Value::Float(0.5)], vec![Value::Int(7)]];
    let floats = [vec![Value::Float(0.5)], vec![Value::Float(7.0)]];
    assert_eq!(values(&self::body(&[Type::F64], &rows)), floats);
}

/// The example of docs/wire.md, which the Python client reads too.
#[test]
fn the_example_in_the_documentation_is_a_block() {
    let rows = [
        vec![Value::Int(7), Value::from("Bern")],
        vec![Value::Null, Value::from("")],
        vec![Value::Int(-1), Value::from("Chur")],
    ];
    let body = body(&[Type::I32, Type::Text], &rows);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let page = include_str!("../../../../docs/wire.md");
    let table = page
        .split("### Blocks")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .find(|part| part.starts_with("| bytes | meaning |"));
    let cells = table.unwrap().lines().skip(2).map(|line| line.split('|').nth(1).unwrap());
    let example: String = cells.flat_map(str::chars).filter(char::is_ascii_hexdigit).collect();
    assert_eq!(example, hex(&body));
}

#[test]
fn damaged_blocks_are_one_error() {
    let rows = [
        vec![Value::Int(7), Value::from("Zürich"), Value::Int(1), Value::Float(0.5), Value::Int(1)],
        vec![Value::Null, Value::from("x"), Value::from("é"), Value::Float(1.5), Value::Int(2)],
    ];
    let good = body(&[Type::U64, Type::Text, Type::Any, Type::F64, Type::Currency], &rows);
    // After the head of 8 and 5 descriptions of 8 bytes, each buffer at a multiple of 8.
    let (valid, ints, offsets, heap, tags, slots) = (48, 56, 72, 88, 96, 104);
    let (any_heap, floats, money) = (120, 128, 144);
    assert_eq!(good.len(), 176);
    let damaged: &[(&str, usize, u8)] = &[
        ("more rows than values", 0, 200),
        ("other columns than descriptions", 4, 200),
        ("a head that is not 0", 6, 1),
        ("no such type", 8, 99),
        ("no such flag", 9, 2),
        ("a flag of the type any", 25, 1),
        ("a heap of integers", 12, 8),
        ("a longer heap", 20, 200),
        ("a shorter heap", 20, 3),
        ("a negative heap", 23, 0x80),
        ("an integer above the type's range", ints + 7, 0x80),
        ("offsets that do not begin at 0", offsets, 1),
        ("offsets that descend", offsets + 4, 60),
        ("an offset in a character", offsets + 4, 2),
        ("a text that is not UTF-8", heap + 1, 0xff),
        ("no such tag", tags, 5),
        ("a text whose tag says float", tags + 1, 2),
        ("a NULL with a value", tags, 0),
        ("a text outside the heap", slots + 12, 9),
        ("a gap in the heap", slots + 8, 1),
        ("a text of the type any that is not UTF-8", any_heap, b'x'),
        ("an amount beyond 64 bits", money + 15, 1),
    ];
    for (what, place, byte) in damaged {
        let mut bytes = good.clone();
        assert_ne!(std::mem::replace(&mut bytes[*place], *byte), *byte, "{what}");
        if *what == "a text whose tag says float" {
            bytes[slots + 8..slots + 16].copy_from_slice(&f64::NAN.to_le_bytes());
        }
        let error = ColumnBlock::decode(&bytes).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
    }
    let mut nan = good.clone();
    nan[floats..floats + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    assert_eq!(ColumnBlock::decode(&nan).unwrap_err().kind(), ErrorKind::Corrupt);
    for length in 0..good.len() {
        assert!(ColumnBlock::decode(&good[..length]).is_err(), "{length}");
    }
    assert!(ColumnBlock::decode(&[&good[..], &[0; 8]].concat()).is_err());
    let no_validity = &good[..valid];
    assert!(ColumnBlock::decode(no_validity).is_err());
    let many_rows_of_nothing = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    assert!(ColumnBlock::decode(&many_rows_of_nothing).is_err());
}

#[test]
fn changed_bits_do_no_harm() {
    let rows: Vec<Vec<Value<'static>>> = vec![
        samples().into_iter().map(|(_, [least, _], _)| least).collect(),
        samples().into_iter().map(|(_, [_, most], _)| most).collect(),
        samples().into_iter().map(|_| Value::Null).collect(),
    ];
    let good = body(&samples().into_iter().map(|(ty, _, _)| ty).collect::<Vec<_>>(), &rows);
    for place in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[place] ^= 1 << bit;
            let Ok(block) = ColumnBlock::decode(&bytes) else { continue };
            for row in 0..block.rows() {
                let row = block.row(row);
                (0..row.len()).for_each(|place| {
                    let _ = row.get(place).class();
                });
            }
        }
    }
}
