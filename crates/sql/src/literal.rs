//! Values written into the text itself: defaults, and what is beyond the number of parameters.

use crate::Dialect;
use bobak_core::{ColumnSchema, Currency, Type, ValueRef};
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

/// A value of a column: some engines have no cast from the number that Bobak keeps to their own type.
pub(crate) fn push_literal_of(
    dialect: Dialect,
    text: &mut String,
    column: &ColumnSchema,
    value: ValueRef<'_>,
) {
    let (Dialect::Postgres, ValueRef::Int(integer)) = (dialect, value) else {
        return push_literal(dialect, text, value);
    };
    let micros = |text: &mut String, begin: &str, micros: i64| {
        push_display(text, format_args!("({begin} + interval '{micros} microseconds')"));
    };
    match column.ty {
        Type::Bool => text.push_str(if integer == 0 { "FALSE" } else { "TRUE" }),
        Type::Currency => {
            let money = Currency::from_scaled(integer);
            push_display(text, format_args!("'{money}'::numeric(19,4)"));
        }
        Type::Date => push_display(text, format_args!("(date '1970-01-01' + '{integer}'::int4)")),
        Type::Time => micros(text, "time '00:00'", integer),
        Type::DateTime => micros(text, "timestamp '1970-01-01'", integer),
        Type::Timestamp => micros(text, "timestamptz '1970-01-01 00:00:00+00'", integer),
        _ => push_display(text, format_args!("'{integer}'::int8")),
    }
}

fn push_float(dialect: Dialect, text: &mut String, float: f64) {
    match dialect {
        // There is no literal for infinity, but a literal too large for a float becomes one.
        Dialect::Sqlite if float == f64::INFINITY => text.push_str("9e999"),
        Dialect::Sqlite if float == f64::NEG_INFINITY => text.push_str("-9e999"),
        // The shortest digits that give the float back, always with a point or an exponent.
        Dialect::Sqlite => push_display(text, format_args!("{float:?}")),
        Dialect::Postgres if float.is_infinite() => {
            text.push_str(if float > 0.0 { "'Infinity'::float8" } else { "'-Infinity'::float8" });
        }
        Dialect::Postgres => push_display(text, format_args!("'{float:?}'::float8")),
        // Always with an exponent: without one it would be an exact decimal number. Infinities are
        // rejected by the server: it has no value for them.
        Dialect::MariaDb | Dialect::MySql => push_display(text, format_args!("{float:e}")),
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
        // A backslash means something else in one mode or another. Not `_utf8mb4 x'c3a9'`: MariaDB 10.11 keeps such a literal
        // in the text of a default or check as `_utf8mb4'\xC3\xA9'`, and reads that as `xC3xA9`.
        Dialect::MariaDb | Dialect::MySql
            if value.contains(|letter: char| letter == '\\' || letter.is_control()) =>
        {
            text.push_str("CONVERT(");
            push_bytes(dialect, text, value.as_bytes());
            text.push_str(" USING utf8mb4)");
        }
        // Without a backslash's special meaning: the server's default, and the standard's.
        Dialect::Sqlite | Dialect::Postgres | Dialect::MariaDb | Dialect::MySql => {
            text.push('\'');
            text.push_str(&value.replace('\'', "''"));
            text.push('\'');
        }
    }
}

fn push_bytes(dialect: Dialect, text: &mut String, bytes: &[u8]) {
    match dialect {
        Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql => {
            text.push_str("x'");
            for byte in bytes {
                push_display(text, format_args!("{byte:02x}"));
            }
            text.push('\'');
        }
        Dialect::Postgres => {
            text.push_str("'\\x");
            for byte in bytes {
                push_display(text, format_args!("{byte:02x}"));
            }
            text.push_str("'::bytea");
        }
    }
}

fn push_display(text: &mut String, value: impl std::fmt::Display) {
    // Writing to a String does not fail.
    let _ = write!(text, "{value}");
}
