//! The types that columns are declared with, and what a declared type says.

use crate::Dialect;
use bobak_core::{ColumnRole, ColumnSchema, Type};

/// SQLite's names: `(type, kept as text, name)`. The first of a type is what it is declared with.
///
/// SQLite makes an affinity of the name, by the letters in it, which may convert what is stored.
/// Here nothing is converted: integers have INT, texts have TEXT or CHAR, floats have REAL or FLOA
/// in their names; the others have NUMERIC affinity, which leaves integers and bytes as they are,
/// and no other value reaches them. The one exception: SQLite keeps whole floats as integers, so
/// that -0.0 comes back as 0.0, which it equals.
///
/// The names that others give to dates, money, 32-bit integers and floats are not among them: what
/// others store under DATE or FLOAT is often something else. Bobak's own say their unit.
const SQLITE: &[(Type, bool, &str)] = &[
    (Type::Bool, false, "BOOLEAN"),
    (Type::I8, false, "TINYINT"),
    (Type::I16, false, "SMALLINT"),
    (Type::I32, false, "INT4"),
    // The only name under which a key is the rowid itself.
    (Type::I64, false, "INTEGER"),
    (Type::U8, false, "UNSIGNED TINYINT"),
    (Type::U16, false, "UNSIGNED SMALLINT"),
    (Type::U32, false, "UNSIGNED INT4"),
    (Type::U64, false, "UNSIGNED BIGINT"),
    (Type::F32, false, "FLOAT4"),
    (Type::F64, false, "REAL"),
    (Type::Text, false, "TEXT"),
    (Type::Bytes, false, "BLOB"),
    (Type::Uuid, false, "UUID"),
    (Type::Uuid, true, "UUID_TEXT"),
    (Type::Currency, false, "CURRENCY_E4"),
    (Type::Date, false, "DATE_DAYS"),
    (Type::Date, true, "DATE_TEXT"),
    (Type::Time, false, "TIME_MICROS"),
    (Type::Time, true, "TIME_TEXT"),
    (Type::DateTime, false, "DATETIME_MICROS"),
    (Type::DateTime, true, "DATETIME_TEXT"),
    (Type::Timestamp, false, "TIMESTAMP_MICROS"),
    (Type::Timestamp, true, "TIMESTAMP_TEXT"),
    (Type::Json, false, "JSON_TEXT"),
    (Type::Any, false, ""),
];

/// SQLite's name of vectors, before their length. Its affinity, NUMERIC, leaves bytes as they are.
const VECTOR: &str = "VECTOR_F32";

/// What follows the type's name where Bobak fills the column, so that a table opened without its
/// struct is stamped all the same. None of them changes the affinity.
const SQLITE_ROLES: &[(ColumnRole, &str)] = &[
    (ColumnRole::CreatedAt, "_CREATED"),
    (ColumnRole::ModifiedAt, "_MODIFIED"),
    (ColumnRole::Version, "_VERSION"),
];

/// What a declared type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredType {
    /// The type.
    pub ty: Type,
    /// The most characters of a text.
    pub max_chars: Option<u32>,
    /// Whether values are kept as text though the type has another form.
    pub as_text: bool,
    /// Whether Bobak fills the column.
    pub role: ColumnRole,
}

/// The declared type of a column; empty if it has none.
///
/// ```
/// use bobak_core::ColumnSchema;
/// use bobak_sql::{Dialect, declared_type};
/// let email = ColumnSchema::of::<String>("email").max_chars(80);
/// assert_eq!(declared_type(Dialect::Sqlite, &email), "VARCHAR(80)");
/// ```
#[must_use]
pub fn declared_type(dialect: Dialect, column: &ColumnSchema) -> String {
    match dialect {
        Dialect::Sqlite if column.ty == Type::Any => column
            .declared
            .as_deref()
            .filter(|name| is_untyped(name))
            .unwrap_or_default()
            .to_owned(),
        Dialect::Sqlite if column.declared.as_deref() == Some(LONG_DECIMAL) => {
            LONG_DECIMAL.to_owned()
        }
        Dialect::Sqlite => {
            let wanted = (column.ty, column.is_kept_as_text());
            let name = SQLITE
                .iter()
                .find(|&&(ty, as_text, _)| (ty, as_text) == wanted)
                .map_or("", |&(_, _, name)| name);
            match (column.ty, column.max_chars) {
                (Type::Text, Some(max)) => format!("VARCHAR({max})"),
                (Type::Json, Some(max)) => format!("{name}({max})"),
                (Type::Vector(numbers), _) => format!("{VECTOR}({numbers})"),
                _ => {
                    let role = SQLITE_ROLES.iter().find(|(role, _)| *role == column.role);
                    format!("{name}{}", role.map_or("", |(_, suffix)| suffix))
                }
            }
        }
        Dialect::Postgres => postgres_type(column),
        Dialect::MariaDb | Dialect::MySql => mysql_type(column),
    }
}

/// Whether the text is a type name, as other programs write it, whose columns hold values of any type.
fn is_untyped(declared: &str) -> bool {
    let (name, size) = declared.split_once('(').unwrap_or((declared, ")"));
    let size = size.strip_suffix(')');
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' '))
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && size.is_some_and(|size| {
            size.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b' '))
        })
        && !name
            .split_ascii_whitespace()
            .any(|word| KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word)))
        && parse_declared(Dialect::Sqlite, declared).ty == Type::Any
}

/// Words that begin a rule of a column, which a type's name must not contain.
const KEYWORDS: &[&str] = &[
    "AS",
    "CHECK",
    "COLLATE",
    "CONSTRAINT",
    "DEFAULT",
    "GENERATED",
    "NOT",
    "NULL",
    "PRIMARY",
    "REFERENCES",
    "UNIQUE",
];

/// PostgreSQL's types have their own values, so that other programs see what they expect: money in units, dates as dates.
/// What they cannot express (a narrower range, a role) is in the column's metadata comment: see [`remark`](crate::remark).
fn postgres_type(column: &ColumnSchema) -> String {
    let name = match (column.ty, column.is_kept_as_text(), column.max_chars) {
        (Type::Text, ..) if column.declared.as_deref() == Some(LONG_DECIMAL) => "numeric",
        (Type::Text, _, Some(max)) => return format!("varchar({max})"),
        (_, true, _) | (Type::Text, _, None) => "text",
        (Type::Bool, ..) => "boolean",
        (Type::I8 | Type::I16 | Type::U8, ..) => "smallint",
        (Type::I32 | Type::U16, ..) => "integer",
        (Type::I64 | Type::U32 | Type::U64, ..) => "bigint",
        (Type::F32, ..) => "real",
        (Type::F64, ..) => "double precision",
        (Type::Bytes | Type::Vector(_), ..) => "bytea",
        (Type::Uuid, ..) => "uuid",
        (Type::Currency, ..) => "numeric(19,4)",
        (Type::Date, ..) => "date",
        (Type::Time, ..) => "time",
        (Type::DateTime, ..) => "timestamp",
        (Type::Timestamp, ..) => "timestamptz",
        // Not jsonb, which keeps the value but not the text.
        (Type::Json, ..) => "json",
        // A type that it has not: rejected before.
        _ => "any",
    };
    name.to_owned()
}

/// What a declared type says. The inverse of [`declared_type`].
///
/// Names that Bobak does not write count as what the engine makes of them: a type whose values are
/// those that the engine can store under that name.
///
/// ```
/// use bobak_core::{ColumnRole, Type};
/// use bobak_sql::{Dialect, parse_declared};
/// let declared = parse_declared(Dialect::Sqlite, "nvarchar (20)");
/// assert_eq!((declared.ty, declared.max_chars), (Type::Text, Some(20)));
/// let declared = parse_declared(Dialect::Sqlite, "TIMESTAMP_TEXT_CREATED");
/// assert_eq!((declared.ty, declared.as_text), (Type::Timestamp, true));
/// assert_eq!(declared.role, ColumnRole::CreatedAt);
/// assert_eq!(parse_declared(Dialect::Sqlite, "DECIMAL(10,2)").ty, Type::Any);
/// ```
#[must_use]
pub fn parse_declared(dialect: Dialect, declared: &str) -> DeclaredType {
    match dialect {
        Dialect::Sqlite => {
            let (name, size) = split_size(declared);
            if let Some(ty) = vector_type(&name, size) {
                let (max_chars, role) = (None, ColumnRole::Plain);
                return DeclaredType { ty, max_chars, as_text: false, role };
            }
            let filled = SQLITE_ROLES.iter().find_map(|&(role, suffix)| {
                let name = name.strip_suffix(suffix)?;
                sqlite_type(name).map(|(ty, as_text)| (ty, as_text, role))
            });
            let plain = || {
                let (ty, as_text) = sqlite_type(&name).unwrap_or((sqlite_affinity(&name), false));
                (ty, as_text, ColumnRole::Plain)
            };
            let (ty, as_text, role) = filled.unwrap_or_else(plain);
            let max_chars = size.filter(|_| matches!(ty, Type::Text | Type::Json));
            DeclaredType { ty, max_chars, as_text, role }
        }
        Dialect::Postgres => postgres_declared(declared),
        Dialect::MariaDb | Dialect::MySql => parse_mysql(declared),
    }
}

/// The types as `format_type` writes them.
fn postgres_declared(declared: &str) -> DeclaredType {
    let (name, size) = split_size(declared);
    let is = |part: &str| declared.contains(part);
    let ty = match name.as_str() {
        _ if is_array(declared) => Type::Text,
        "BOOLEAN" => Type::Bool,
        "SMALLINT" => Type::I16,
        "INTEGER" => Type::I32,
        "BIGINT" => Type::I64,
        "REAL" => Type::F32,
        "DOUBLE PRECISION" => Type::F64,
        "BYTEA" => Type::Bytes,
        "UUID" => Type::Uuid,
        "NUMERIC" if declared.contains('(') && money_holds(declared) => Type::Currency,
        "DATE" => Type::Date,
        "TIMESTAMPTZ" => Type::Timestamp,
        _ if is("timestamp") && is("with time zone") => Type::Timestamp,
        _ if is("timestamp") => Type::DateTime,
        _ if name == "TIME" || is("time without time zone") => Type::Time,
        "JSON" | "JSONB" => Type::Json,
        // Names, enumerations, addresses, arrays: in their text form. Numbers of more digits than money
        // has: their digits.
        _ => Type::Text,
    };
    let chars = matches!(name.as_str(), "CHARACTER VARYING" | "CHARACTER" | "VARCHAR" | "CHAR")
        && !is_array(declared);
    DeclaredType { ty, max_chars: size.filter(|_| chars), as_text: false, role: ColumnRole::Plain }
}

fn is_array(declared: &str) -> bool {
    declared.ends_with(']')
}

/// Whether all of a `numeric(p,s)` fits Bobak's money.
fn money_holds(declared: &str) -> bool {
    matches!(digits_of(declared), Some((p, s)) if s <= 4 && p.saturating_sub(s) <= 15)
}

/// The `p` and `s` of `numeric(p,s)`.
fn digits_of(declared: &str) -> Option<(u32, u32)> {
    let digits = declared.split(['(', ')']).nth(1).unwrap_or_default();
    let mut digits = digits.split(',').map(|part| part.trim().parse::<u32>().ok());
    Some((digits.next()??, digits.next().unwrap_or(Some(0))?))
}

/// The declared type of columns of such numbers, on attached engines too: see [`is_long_decimal`].
pub const LONG_DECIMAL: &str = "DECIMAL_TEXT";

/// Whether a declared type is one of numbers that Bobak keeps as the text of their digits, since neither
/// its money nor its integers hold them all: `numeric(30,10)`.
///
/// ```
/// use bobak_sql::{Dialect, is_long_decimal};
/// assert!(is_long_decimal(Dialect::Postgres, "numeric"));
/// assert!(is_long_decimal(Dialect::MariaDb, "decimal(30,10)"));
/// assert!(!is_long_decimal(Dialect::MariaDb, "decimal(10,2)"));
/// ```
#[must_use]
pub fn is_long_decimal(dialect: Dialect, declared: &str) -> bool {
    let (name, _) = split_size(declared);
    let is_decimal = matches!(name.split(' ').next(), Some("NUMERIC" | "DECIMAL"));
    is_decimal && !is_array(declared) && parse_declared(dialect, declared).ty == Type::Text
}

/// The types of MariaDB and MySQL; `_` stands for a length. What a type cannot express (an instant or a time without a zone,
/// JSON, a version, …) is in the column's comment.
///
/// UUIDs are BINARY(16), because MariaDB's own type sorts by other bytes first. JSON is a text, because MySQL's own type
/// rewrites documents. Instants are DATETIME(6) in UTC, because TIMESTAMP ends in 2038 or 2106 and is converted to each
/// session's time zone.
const MYSQL: &[(Type, &str)] = &[
    (Type::Bool, "TINYINT(1)"),
    (Type::I8, "TINYINT"),
    (Type::I16, "SMALLINT"),
    (Type::I32, "INT"),
    (Type::I64, "BIGINT"),
    (Type::U8, "TINYINT UNSIGNED"),
    (Type::U16, "SMALLINT UNSIGNED"),
    (Type::U32, "INT UNSIGNED"),
    (Type::U64, "BIGINT UNSIGNED"),
    // FLOAT has only six digits in the text protocol, which unprepared statements use.
    (Type::F32, "DOUBLE"),
    (Type::F64, "DOUBLE"),
    (Type::Text, "LONGTEXT"),
    (Type::Bytes, "LONGBLOB"),
    (Type::Uuid, "BINARY(16)"),
    (Type::Currency, "DECIMAL(19,4)"),
    (Type::Date, "DATE"),
    (Type::Time, "TIME(6)"),
    (Type::DateTime, "DATETIME(6)"),
    (Type::Timestamp, "DATETIME(6)"),
    (Type::Json, "LONGTEXT"),
];

/// Longer texts are LONGTEXT, since a row's VARCHARs may have 65,535 bytes together; their limit
/// is then Bobak's alone.
const LONGEST_VARCHAR: u32 = 4_000;

fn mysql_type(column: &ColumnSchema) -> String {
    if column.is_kept_as_text() {
        return "VARCHAR(40)".to_owned();
    }
    match (column.ty, column.max_chars) {
        (Type::Text | Type::Json, Some(max)) if max <= LONGEST_VARCHAR => format!("VARCHAR({max})"),
        (Type::Vector(_), _) => "LONGBLOB".to_owned(),
        _ => {
            let known = MYSQL.iter().find(|(ty, _)| *ty == column.ty);
            known.map_or("", |(_, name)| name).to_owned()
        }
    }
}

/// What a type of a table that Bobak did not make says, as `information_schema` writes it.
fn parse_mysql(declared: &str) -> DeclaredType {
    let (name, size) = split_size(declared);
    let unsigned = declared.to_ascii_uppercase().contains("UNSIGNED");
    let word = name.split(' ').next().unwrap_or_default();
    let ty = match (word, unsigned) {
        ("TINYINT", false) if size == Some(1) => Type::Bool,
        ("TINYINT", false) => Type::I8,
        ("TINYINT", true) => Type::U8,
        ("SMALLINT", false) => Type::I16,
        ("SMALLINT", true) | ("YEAR", _) => Type::U16,
        ("MEDIUMINT" | "INT" | "INTEGER", false) => Type::I32,
        ("MEDIUMINT" | "INT" | "INTEGER", true) => Type::U32,
        ("BIGINT", false) => Type::I64,
        ("BIGINT" | "BIT", _) => Type::U64,
        ("FLOAT" | "DOUBLE" | "REAL", _) => Type::F64,
        // A sum of integers is of no decimals, too.
        ("DECIMAL" | "NUMERIC", _) => match digits_of(declared) {
            Some((precision, 0)) if precision <= 18 => Type::I64,
            Some((_, 1..)) if money_holds(declared) => Type::Currency,
            _ => Type::Text,
        },
        ("DATE", _) => Type::Date,
        ("TIME", _) => Type::Time,
        ("DATETIME", _) => Type::DateTime,
        ("TIMESTAMP", _) => Type::Timestamp,
        ("BINARY", _) if size == Some(16) => Type::Uuid,
        ("BINARY" | "VARBINARY" | "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB", _) => {
            Type::Bytes
        }
        ("JSON", _) => Type::Json,
        _ => Type::Text,
    };
    let max_chars = size.filter(|_| matches!(word, "CHAR" | "VARCHAR"));
    DeclaredType { ty, max_chars, as_text: false, role: ColumnRole::Plain }
}

/// The type of vectors that Bobak declares by this name and length.
fn vector_type(name: &str, size: Option<u32>) -> Option<Type> {
    let numbers = size.filter(|_| name == VECTOR).and_then(|size| u16::try_from(size).ok());
    numbers.filter(|numbers| *numbers > 0).map(Type::Vector)
}

/// The type that Bobak declares by this name.
fn sqlite_type(name: &str) -> Option<(Type, bool)> {
    let known = SQLITE.iter().find(|(_, _, known)| *known == name)?;
    Some((known.0, known.1))
}

/// `"unsigned  int (10)"` as `("UNSIGNED INT", Some(10))`.
fn split_size(declared: &str) -> (String, Option<u32>) {
    let (name, size) = match declared.split_once('(') {
        Some((name, rest)) => {
            let inside = rest.split(')').next().unwrap_or_default();
            (name, inside.trim().parse().ok())
        }
        None => (declared, None),
    };
    let words: Vec<_> = name.split_ascii_whitespace().collect();
    (words.join(" ").to_ascii_uppercase(), size)
}

/// The rules of "Determination Of Column Affinity" in SQLite's documentation, in their order.
fn sqlite_affinity(name: &str) -> Type {
    let has = |part: &str| name.contains(part);
    if has("INT") {
        Type::I64
    } else if has("CHAR") || has("CLOB") || has("TEXT") {
        Type::Text
    } else if has("BLOB") {
        Type::Bytes
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        Type::F64
    } else {
        Type::Any
    }
}
