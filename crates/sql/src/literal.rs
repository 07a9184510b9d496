//! Values written into the text itself: defaults, and what is beyond the number of parameters.

use crate::Dialect;
use bobak_core::ValueRef;
use std::fmt::Write;

pub(crate) fn push_literal(dialect: Dialect, text: &mut String, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => text.push_str("NULL"),
        ValueRef::Int(integer) => push_display(text, integer),
        ValueRef::Float(float) => push_float(dialect, text, float),
        ValueRef::Text(value) => push_text(dialect, text, value),
        ValueRef::Bytes(bytes) => push_bytes(dialect, text, bytes),
    }
}

fn push_float(dialect: Dialect, text: &mut String, float: f64) {
    match dialect {
        // There is no word for infinity, but what is too large for a float becomes one.
        Dialect::Sqlite if float == f64::INFINITY => text.push_str("9e999"),
        Dialect::Sqlite if float == f64::NEG_INFINITY => text.push_str("-9e999"),
        // The shortest digits that give the float back, always with a point or an exponent.
        Dialect::Sqlite => push_display(text, format_args!("{float:?}")),
    }
}

fn push_text(dialect: Dialect, text: &mut String, value: &str) {
    match dialect {
        // The text of a statement ends at a NUL.
        Dialect::Sqlite if value.contains('\0') => {
            text.push_str("CAST(");
            push_bytes(dialect, text, value.as_bytes());
            text.push_str(" AS TEXT)");
        }
        Dialect::Sqlite => {
            text.push('\'');
            text.push_str(&value.replace('\'', "''"));
            text.push('\'');
        }
    }
}

fn push_bytes(dialect: Dialect, text: &mut String, bytes: &[u8]) {
    match dialect {
        Dialect::Sqlite => {
            text.push_str("x'");
            for byte in bytes {
                push_display(text, format_args!("{byte:02x}"));
            }
            text.push('\'');
        }
    }
}

fn push_display(text: &mut String, value: impl std::fmt::Display) {
    // Writing to a String does not fail.
    let _ = write!(text, "{value}");
}
