//! Rows that a server sends column by column.

use crate::Target;
use bobak_core::{Row, Type, Value};
use bobak_wire::{ColumnBlock, ColumnBlockEncoder, HEADER_LENGTH};

/// Blocks. What is read can be sent again, and has the same values.
pub(crate) const BLOCKS: Target = Target {
    name: "wire-blocks",
    about: "rows of the wire, column by column",
    longest: 64 << 10,
    // A bit of a column becomes a value of 8 bytes when it is sent as another type.
    factor: 400,
    run: |input| {
        let Ok(block) = ColumnBlock::decode(input) else { return };
        let types: Vec<Type> = block.columns().iter().map(|column| column.ty()).collect();
        let mut encoder = ColumnBlockEncoder::new(types);
        for row in 0..block.rows() {
            encoder.push(&block.row(row)).expect("a short heap fits");
        }
        let body = body_of(&mut encoder);
        let again = ColumnBlock::decode(&body).expect("what was written can be read");
        assert_eq!(again.rows(), block.rows(), "rows were lost");
        for row in 0..block.rows() {
            let (ours, theirs) = (block.row(row), again.row(row));
            for column in 0..ours.len() {
                assert_eq!(ours.get(column), theirs.get(column), "row {row}, column {column}");
            }
        }
    },
    seeds: || {
        let types = [Type::Bool, Type::I16, Type::U64, Type::F32, Type::F64, Type::Currency];
        let more = [Type::Text, Type::Bytes, Type::Uuid, Type::Vector(2), Type::Date, Type::Any];
        let row = |number: i64| {
            let int = Value::Int(number % 2);
            let bytes = |length| Value::from(vec![number as u8; length]);
            let first = [int.clone(), int.clone(), int.clone(), Value::Float(0.5), int.clone()];
            let second = [int.clone(), Value::from(format!("é {number}")), bytes(3), bytes(16)];
            let any = if number % 3 == 0 { Value::from("x") } else { Value::Null };
            [&first[..], &second, &[bytes(8), int, any]].concat()
        };
        [0, 1, 9, 70]
            .map(|rows| {
                let mut encoder = ColumnBlockEncoder::new(types.into_iter().chain(more));
                for number in 0..rows {
                    encoder.push(&row(number).as_slice()).expect("a short heap fits");
                }
                encoder.push(&vec![Value::Null; 12].as_slice()).expect("a short heap fits");
                body_of(&mut encoder)
            })
            .to_vec()
    },
};

fn body_of(encoder: &mut ColumnBlockEncoder) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.write_frame(&mut out, 1, false).expect("a short block fits");
    out.split_off(HEADER_LENGTH)
}
