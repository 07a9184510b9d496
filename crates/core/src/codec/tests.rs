//! Tests of the row codec.

use super::*;
use crate::Value;

fn sample() -> Vec<Value<'static>> {
    vec![
        Value::Int(i64::MIN),
        Value::Null,
        "Namé\0 1".into(),
        Value::Float(-0.5),
        Value::Bytes(vec![0, 255].into()),
        "".into(),
    ]
}

#[test]
fn decoding_returns_the_encoded_values() {
    let mut out = Vec::new();
    encode(&mut out, &sample().as_slice()).unwrap();
    let mut again = Vec::new();
    encode_slice(&mut again, &sample()).unwrap();
    assert_eq!(again, out);
    encode(&mut out, &[].as_slice() as &&[Value<'_>]).unwrap();
    let (row, used) = split_first(&out).unwrap();
    let row = EncodedRow::check(row.as_bytes()).unwrap();
    let back: Vec<_> = (0..row.len()).map(|i| row.get(i).to_owned()).collect();
    assert_eq!(back, sample());
    let kept = sample();
    let raw: Vec<_> = kept.iter().map(|v| RawValue::from(v.as_ref())).collect();
    let passed: Vec<_> = row.raw_values().collect();
    let mut seen = Vec::new();
    row.for_each_raw(|place, value| seen.push((place, value)));
    assert_eq!(seen, passed.iter().copied().enumerate().collect::<Vec<_>>());
    assert_eq!(format!("{passed:?}"), format!("{raw:?}"));
    let single: Vec<_> = (0..row.len()).map(|i| row.raw_value(i)).collect();
    assert_eq!(format!("{single:?}"), format!("{raw:?}"));
    assert_eq!(row.get(6), ValueRef::Null);
    assert_eq!(split_first(&out[used..]).unwrap().0.len(), 0);
}

#[test]
fn damaged_bytes_are_rejected_without_panic() {
    let mut out = Vec::new();
    encode(&mut out, &sample().as_slice()).unwrap();
    let whole = out[FRAME..].to_vec();
    for cut in 0..whole.len() {
        assert!(EncodedRow::check(&whole[..cut]).is_err(), "cut at {cut}");
        assert!(split_first(&out[..cut]).is_err());
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            // Either rejected, or a different row that can be read without a panic.
            let _ = EncodedRow::check(&bytes);
            let row = EncodedRow::new(&bytes);
            (0..row.len().min(100)).for_each(|i| drop(row.get(i).to_owned()));
            row.raw_values().for_each(drop);
            row.for_each_raw(|_, _| ());
        }
    }
}
