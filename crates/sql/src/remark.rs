//! Metadata comments on columns, for engines whose SQL types do not express everything.
//!
//! `bobak: u8`, `bobak: timestamp text created`, `bobak: text nocase; check=cents >= 0`. After the words follow the check and
//! the default, each after `; `, as they were given.

use bobak_core::{Collation, ColumnRole, ColumnSchema, Type, Value, ValueRef};

const BEGIN: &str = "bobak: ";
const CHECK: &str = "; check=";
const DEFAULT: &str = "; default=";
const GENERATED: &str = "; generated=";

/// The content of a metadata comment.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataComment {
    /// The type.
    pub ty: Type,
    /// Whether values are stored as text although the type has another form.
    pub as_text: bool,
    /// The collation of texts.
    pub collation: Collation,
    /// The role: whether Bobak fills the column.
    pub role: ColumnRole,
    /// Whether it is a key that the program gives, although it could be generated.
    pub given: bool,
    /// Whether it is a key that the engine makes and never makes again.
    pub unreused: bool,
    /// The maximum number of characters, if the SQL type does not express it.
    pub max_chars: Option<u32>,
    /// The check, as it was given.
    pub check: Option<String>,
    /// The default.
    pub default: Option<Value<'static>>,
    /// The expression of a generated column.
    pub generated: Option<String>,
}

/// The remark of a column; `None` where its SQL type says it all.
pub(crate) fn write(column: &ColumnSchema, given: bool, unreused: bool) -> Option<String> {
    let plain = matches!(
        column.ty,
        Type::Bool
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::F32
            | Type::F64
            | Type::Text
            | Type::Bytes
            | Type::Uuid
            | Type::Currency
            | Type::Date
            | Type::Time
            | Type::DateTime
            | Type::Timestamp
            | Type::Json
    );
    let mut words = vec![column.ty.to_string()];
    let mut add = |said: bool, word: &str| {
        if said {
            words.push(word.to_owned());
        }
    };
    add(column.is_kept_as_text(), "kept-as-text");
    add(column.collation == Collation::NoCase, "nocase");
    add(column.collation == Collation::UnicodeNoCase, "unicode-nocase");
    add(column.role == ColumnRole::CreatedAt, "created");
    add(column.role == ColumnRole::ModifiedAt, "modified");
    add(column.role == ColumnRole::Version, "version");
    add(given, "given");
    add(unreused, "unreused");
    add(column.generated.is_some(), "generated");
    if let Some(max) = column.max_chars.filter(|_| column.ty != Type::Text) {
        add(true, &format!("max={max}"));
    }
    if plain && words.len() == 1 && column.check.is_none() && column.default.is_none() {
        return None;
    }
    let mut text = format!("{BEGIN}{}", words.join(" "));
    if let Some(expression) = &column.generated {
        text.push_str(GENERATED);
        text.push_str(expression);
    }
    if let Some(check) = &column.check {
        text.push_str(CHECK);
        text.push_str(check);
    }
    if let Some(default) = &column.default {
        text.push_str(DEFAULT);
        text.push_str(&value_text(default.as_ref()));
    }
    Some(text)
}

/// Reads a remark; `None` for any other comment.
///
/// ```
/// let remark = bobak_sql::parse_metadata_comment("bobak: u8; check=a > 1; default=i7").unwrap();
/// assert_eq!(remark.ty, bobak_core::Type::U8);
/// assert_eq!(remark.check.as_deref(), Some("a > 1"));
/// assert_eq!(remark.default, Some(7.into()));
/// assert_eq!(bobak_sql::parse_metadata_comment("the user's age"), None);
/// ```
#[must_use]
pub fn parse_metadata_comment(comment: &str) -> Option<MetadataComment> {
    let rest = comment.strip_prefix(BEGIN)?;
    let (words, check, default, generated) = match rest.split_once(GENERATED) {
        // It has no default.
        Some((words, rest)) if words.ends_with(" generated") => {
            let (expression, check) = split_check(rest);
            (words, check, None, Some(expression.to_owned()))
        }
        _ => {
            let (rest, default) = match rest.rsplit_once(DEFAULT) {
                Some((rest, value)) => (rest, Some(parse_value(value)?)),
                None => (rest, None),
            };
            let (words, check) = split_check(rest);
            (words, check, default, None)
        }
    };
    let mut words = words.split(' ');
    let ty = Type::from_name(words.next()?)?;
    let (collation, role) = (Collation::Binary, ColumnRole::Plain);
    let mut remark = MetadataComment {
        ty,
        as_text: false,
        collation,
        role,
        given: false,
        unreused: false,
        max_chars: None,
        check,
        default,
        generated,
    };
    for word in words {
        match word {
            "kept-as-text" => remark.as_text = true,
            "nocase" => remark.collation = Collation::NoCase,
            "unicode-nocase" => remark.collation = Collation::UnicodeNoCase,
            "created" => remark.role = ColumnRole::CreatedAt,
            "modified" => remark.role = ColumnRole::ModifiedAt,
            "version" => remark.role = ColumnRole::Version,
            "generated" => {}
            "given" => remark.given = true,
            "unreused" => remark.unreused = true,
            _ => remark.max_chars = Some(word.strip_prefix("max=")?.parse().ok()?),
        }
    }
    Some(remark)
}

/// The text before the check, and the check.
fn split_check(text: &str) -> (&str, Option<String>) {
    match text.split_once(CHECK) {
        Some((before, check)) => (before, Some(check.to_owned())),
        None => (text, None),
    }
}

/// A letter for the class, then the value; bytes in hexadecimal.
fn value_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "n".to_owned(),
        ValueRef::Int(integer) => format!("i{integer}"),
        ValueRef::Float(float) => format!("f{float:?}"),
        ValueRef::Text(text) => format!("t{text}"),
        ValueRef::Bytes(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("b{}", digits.concat())
        }
    }
}

fn parse_value(text: &str) -> Option<Value<'static>> {
    let mut rest = text.chars();
    let class = rest.next()?;
    let rest = rest.as_str();
    Some(match class {
        'n' => Value::Null,
        'i' => Value::Int(rest.parse().ok()?),
        'f' => Value::Float(rest.parse().ok()?),
        't' => Value::from(rest.to_owned()),
        'b' => {
            let byte = |at: usize| u8::from_str_radix(rest.get(at..at + 2)?, 16).ok();
            let bytes: Option<Vec<u8>> = (0..rest.len()).step_by(2).map(byte).collect();
            Value::from(bytes?)
        }
        _ => return None,
    })
}
