//! Vectors as JSON arrays of numbers: `[0.5,-1,2e-7]`.

use bobak_core::{vector_bytes, vector_numbers};
use std::fmt::Write;

/// Adds the numbers of a stored vector, each in the shortest text that reads back as the same `f32`; returns `false` for
/// bytes that are no vector.
pub(crate) fn write(out: &mut String, bytes: &[u8]) -> bool {
    if !bytes.len().is_multiple_of(4) || !vector_numbers(bytes).all(f32::is_finite) {
        return false;
    }
    out.push('[');
    for (place, number) in vector_numbers(bytes).enumerate() {
        out.push_str(if place > 0 { "," } else { "" });
        write!(out, "{number:?}").expect("writing to a String does not fail");
        if out.ends_with(".0") {
            out.truncate(out.len() - 2);
        }
    }
    out.push(']');
    true
}

/// The numbers of a JSON array, each as the nearest `f32`; `None` if it is none, or a number is beyond `f32`.
pub fn numbers(text: &str) -> Option<Vec<f32>> {
    let numbers: Vec<f64> = serde_json::from_str(text).ok()?;
    let narrow = numbers.iter().map(|number| *number as f32);
    narrow.map(|number| number.is_finite().then_some(number)).collect()
}

/// The stored form of a vector of this length.
pub(crate) fn parse(text: &str, length: u16) -> Option<Vec<u8>> {
    let numbers = numbers(text)?;
    (numbers.len() == usize::from(length)).then(|| vector_bytes(&numbers))
}
