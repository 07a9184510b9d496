//! What a column's comment says in MariaDB and MySQL: all that its type there does not.
//!
//! `bobak:timestamp,role=created` and the like: the type's name, then parts parted by commas, the
//! values with `%`, `,` and what is no plain letter as `%` and two hexadecimal digits. Comments have
//! 1,024 characters at most: a check or default that is too long is left out.

use bobak_core::{Collation, ColumnRole, ColumnSchema, Type, Value, ValueRef};
use std::borrow::Cow;

const MAX_LENGTH: usize = 1_000;
const ROLES: &[(ColumnRole, &str)] = &[
    (ColumnRole::CreatedAt, "created"),
    (ColumnRole::ModifiedAt, "modified"),
    (ColumnRole::Version, "version"),
];

/// What a comment says of a column's part in the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommentedKey {
    /// The column is of a key which the user gives.
    pub given: bool,
    /// It is a key which the server makes, and never makes again.
    pub unreused: bool,
}

/// The comment.
pub(crate) fn comment(column: &ColumnSchema, given: bool, unreused: bool) -> String {
    let mut text = format!("bobak:{}", column.ty);
    let mut add = |part: String| {
        if text.len() + part.len() < MAX_LENGTH {
            text.push(',');
            text.push_str(&part);
        }
    };
    if column.is_kept_as_text() {
        add("text".to_owned());
    }
    if given {
        add("given".to_owned());
    }
    if unreused {
        add("unreused".to_owned());
    }
    match column.collation {
        Collation::Binary => {}
        Collation::NoCase => add("nocase".to_owned()),
        Collation::UnicodeNoCase => add("unicode_nocase".to_owned()),
    }
    if let Some((_, role)) = ROLES.iter().find(|(role, _)| *role == column.role) {
        add(format!("role={role}"));
    }
    if let Some(max) = column.max_chars {
        add(format!("max={max}"));
    }
    if let Some(default) = &column.default {
        add(format!("default={}", write_value(default)));
    }
    if let Some(check) = &column.check {
        add(format!("check={}", escape(check)));
    }
    if let Some(expression) = &column.generated {
        // The server says that each of them may be NULL.
        if !column.nullable {
            add("required".to_owned());
        }
        add(format!("generated={}", escape(expression)));
    }
    text
}

/// The column that a comment describes, but for its name, NULLs, uniqueness and reference, which
/// the table itself tells; and what it says of the key. `None` where Bobak did not write it.
///
/// ```
/// use bobak_core::{ColumnRole, Type};
/// let (column, key) = bobak_sql::parse_comment("made", "bobak:timestamp,role=created").unwrap();
/// assert_eq!((column.ty, column.role, key.given), (Type::Timestamp, ColumnRole::CreatedAt, false));
/// assert!(bobak_sql::parse_comment("made", "when it was made").is_none());
/// ```
#[must_use]
pub fn parse_comment(name: &str, comment: &str) -> Option<(ColumnSchema, CommentedKey)> {
    let mut parts = comment.strip_prefix("bobak:")?.split(',');
    let mut column = ColumnSchema::new(name.to_owned(), Type::from_name(parts.next()?)?);
    let (mut key, mut is_required) = (CommentedKey::default(), false);
    for part in parts {
        let (word, value) = part.split_once('=').unwrap_or((part, ""));
        match word {
            "text" => column = column.as_text(),
            "required" => is_required = true,
            "generated" => {
                column.generated = Some(Cow::Owned(String::from_utf8(unescape(value)?).ok()?));
            }
            "given" => key.given = true,
            "unreused" => key.unreused = true,
            "nocase" => column.collation = Collation::NoCase,
            "unicode_nocase" => column.collation = Collation::UnicodeNoCase,
            "role" => column.role = ROLES.iter().find(|(_, name)| *name == value)?.0,
            "max" => column.max_chars = Some(value.parse().ok()?),
            "default" => column.default = Some(read_value(value)?),
            "check" => {
                column.check = Some(Cow::Owned(String::from_utf8(unescape(value)?).ok()?));
            }
            _ => return None,
        }
    }
    column.nullable = column.generated.is_some() && !is_required;
    Some((column, key))
}

/// A letter for the class, then the value.
fn write_value(value: &Value<'_>) -> String {
    match value.as_ref() {
        ValueRef::Null => "n".to_owned(),
        ValueRef::Int(integer) => format!("i{integer}"),
        ValueRef::Float(float) => format!("f{float:e}"),
        ValueRef::Text(text) => format!("t{}", escape(text)),
        ValueRef::Bytes(bytes) => std::iter::once("b".to_owned())
            .chain(bytes.iter().map(|b| format!("%{b:02x}")))
            .collect(),
    }
}

fn read_value(text: &str) -> Option<Value<'static>> {
    let rest = text.get(1..)?;
    Some(match text.get(..1)? {
        "n" => Value::Null,
        "i" => Value::Int(rest.parse().ok()?),
        "f" => Value::Float(rest.parse().ok()?),
        "t" => Value::from(String::from_utf8(unescape(rest)?).ok()?),
        "b" => Value::from(unescape(rest)?),
        _ => return None,
    })
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | b',' | b'\'' | b'\\' => escaped.push_str(&format!("%{byte:02x}")),
            b' '..=b'~' => escaped.push(char::from(byte)),
            _ => escaped.push_str(&format!("%{byte:02x}")),
        }
    }
    escaped
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|c| char::from(c).to_digit(16));
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_say_what_types_do_not() {
        let columns = [
            ColumnSchema::new("a", Type::Timestamp).role(ColumnRole::CreatedAt),
            ColumnSchema::new("a", Type::Uuid).as_text(),
            ColumnSchema::new("a", Type::Text)
                .max_chars(40)
                .collation(Collation::UnicodeNoCase)
                .default("it's, 100 %\0 ü")
                .check("a <> 'x,y'"),
            ColumnSchema::new("a", Type::Bytes).default(vec![0_u8, 255]),
            ColumnSchema::new("a", Type::F64).default(-0.1),
            ColumnSchema::new("a", Type::I64).default(Value::Int(i64::MIN)),
            ColumnSchema::new("a", Type::Text).generated("b || 'x,y'").check("a <> ''"),
            ColumnSchema::new("a", Type::I64).generated("b + 1").nullable(true),
        ];
        for column in columns {
            for (given, unreused) in [(false, false), (true, false), (false, true)] {
                let text = comment(&column, given, unreused);
                let key = CommentedKey { given, unreused };
                assert_eq!(parse_comment("a", &text), Some((column.clone(), key)), "{text}");
            }
        }
        assert_eq!(parse_comment("a", "bobak:colour"), None);
    }
}
