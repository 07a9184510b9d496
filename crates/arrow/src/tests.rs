use crate::arrow_array::cast::AsArray;
use crate::arrow_array::types::Float64Type;
use crate::column_values::check_length;
use crate::{BatchBuilder, RecordBatch, StreamReader, StreamWriter, column_type, field};
use arrow_schema::{DataType, Field};
use bobak_core::{ErrorKind, ResultColumn, Type, Value};

fn all_types() -> impl Iterator<Item = Type> {
    Type::ALL.iter().copied().chain([Type::Vector(3)])
}

#[test]
fn types_survive() {
    for ty in all_types().filter(|ty| *ty != Type::Any) {
        assert_eq!(column_type(&field("x", ty, true)), Some(ty));
    }
    for (data_type, ty) in [
        (DataType::Decimal128(10, 2), Some(Type::Currency)),
        (DataType::Decimal64(18, 4), Some(Type::Currency)),
        (DataType::Decimal128(19, 2), Some(Type::Text)),
        (DataType::Decimal128(10, 5), Some(Type::Text)),
        (DataType::Decimal256(5, 2), Some(Type::Text)),
        (DataType::FixedSizeBinary(15), Some(Type::Bytes)),
        (DataType::Null, None),
    ] {
        assert_eq!(column_type(&Field::new("x", data_type.clone(), true)), ty, "{data_type}");
    }
}

#[test]
fn a_batch_ends_after_the_row_that_reaches_the_most_bytes() {
    let columns = [ResultColumn::new("text", Type::Text), ResultColumn::new("any", Type::Any)];
    let mut builder = BatchBuilder::new(&columns, usize::MAX).max_bytes(100);
    let row = [Value::from("x".repeat(40)), Value::from(vec![0; 10])];
    builder.push(&row.as_slice()).unwrap();
    assert!(!builder.is_full());
    builder.push(&row.as_slice()).unwrap();
    assert!(builder.is_full());
    assert_eq!(builder.push(&row.as_slice()).unwrap_err().kind(), ErrorKind::Misuse);
    assert_eq!(builder.finish().unwrap().num_rows(), 2);
    assert!(!builder.is_full());
}

#[test]
fn a_value_without_an_offset_is_too_long() {
    let longest = (i32::MAX as usize) - crate::BATCH_BYTES;
    check_length(longest).unwrap();
    assert_eq!(check_length(longest + 1).unwrap_err().kind(), ErrorKind::TooLong);
}

#[test]
fn a_stream_has_the_batches() {
    let columns: Vec<_> = all_types().map(|ty| ResultColumn::new(ty.to_string(), ty)).collect();
    let mut builder = BatchBuilder::new(&columns, 10);
    builder.push(&vec![Value::Null; columns.len()].as_slice()).unwrap();
    let batch = builder.finish().unwrap();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let read: Vec<RecordBatch> =
        StreamReader::try_new(&*bytes, None).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(read, [batch]);
}

#[test]
fn integers_that_no_float_equals_are_not_widened() {
    let mut builder = BatchBuilder::new(&[ResultColumn::new("x", Type::Any)], 10);
    builder.push(&[Value::Int((1 << 53) + 1)].as_slice()).unwrap();
    let error = builder.push(&[Value::Float(0.5)].as_slice()).unwrap_err();
    assert_eq!((error.column(), error.row()), (Some("x"), Some(1)));
    let mut builder = BatchBuilder::new(&[ResultColumn::new("x", Type::Any)], 10);
    builder.push(&[Value::Int(1)].as_slice()).unwrap();
    builder.push(&[Value::Float(0.5)].as_slice()).unwrap();
    let batch = builder.finish().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Float64Type>().values(), &[1.0, 0.5]);
}
