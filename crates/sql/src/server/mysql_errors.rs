//! The errors of MariaDB and MySQL, by number: their texts differ between servers and languages.

use bobak_core::check::CheckExpression;
use bobak_core::{ColumnSchema, Error, ErrorKind, TableSchema};

/// The server's error as Bobak's, with table and column if the message names them.
#[must_use]
pub fn error(kind: ErrorKind, code: u16, message: &str, table: Option<&TableSchema>) -> Error {
    place(Error::new(kind, sentence(kind, code, message)), code, message, table)
}

/// MySQL's and MariaDB's error numbers.
#[must_use]
pub fn kind_of(code: u16) -> ErrorKind {
    match code {
        1022 | 1062 | 1169 | 1557 | 1569 | 1586 | 1761 | 1762 | 1859 => ErrorKind::Duplicate,
        1048 | 1216 | 1217 | 1263 | 1364 | 1451 | 1452 | 3819 | 4025 => ErrorKind::Constraint,
        1406 => ErrorKind::TooLong,
        1153 | 1162 | 1264 | 1441 | 1690 | 1916 => ErrorKind::OutOfRange,
        1265 | 1292 | 1366 | 1411 | 1525 | 3140 | 3156 | 4078 => ErrorKind::Mismatch,
        1005 | 1007 | 1008 | 1049 | 1050 | 1051 | 1054 | 1060 | 1061 | 1068 | 1072 | 1091
        | 1136 | 1146 | 1176 | 1215 | 1347 | 1356 | 1412 | 1822 | 1823 | 1824 | 1825 | 3780 => {
            ErrorKind::Schema
        }
        1064 | 1065 | 1149 | 1166 | 1221 | 1222 | 1305 | 1327 | 1582 | 1630 => ErrorKind::Syntax,
        1205 => ErrorKind::Busy,
        1020 | 1047 | 1180 | 1213 | 1614 => ErrorKind::Serialization,
        1969 | 3024 => ErrorKind::Timeout,
        1317 => ErrorKind::Interrupted,
        1053 | 1077..=1081 | 1152 | 1154..=1161 | 1184 | 1927 | 4031 => ErrorKind::Unreachable,
        1044 | 1045 | 1095 | 1130 | 1142 | 1143 | 1227 | 1251 | 1370 | 1698 | 1820 | 1862
        | 3118 => ErrorKind::Denied,
        167 | 1021 | 1041 | 1114 | 1467 => ErrorKind::Full,
        1036 | 1290 | 1792 | 1836 => ErrorKind::ReadOnly,
        1059 | 1069 | 1070 | 1071 | 1074 | 1112 | 1117 | 1118 | 1170 | 1178 | 1229 | 1235
        | 1273 | 1286 | 1901 | 1904 | 1906 => ErrorKind::Unsupported,
        1210 => ErrorKind::Misuse,
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 => ErrorKind::Corrupt,
        1040 | 1203 | 1226 | 1461 => ErrorKind::Busy,
        _ => ErrorKind::Engine,
    }
}

fn sentence(kind: ErrorKind, code: u16, message: &str) -> String {
    let message = lower(message);
    match (kind, code) {
        (ErrorKind::Duplicate, _) => {
            "a row with this key or unique value already exists".to_owned()
        }
        (ErrorKind::Constraint, 1048 | 1263) => "a required value is NULL".to_owned(),
        (ErrorKind::Full, 167 | 1467) => {
            "the largest possible key is in use: there is no next one".to_owned()
        }
        (ErrorKind::Serialization, _) => {
            format!("the transaction conflicted with another one and was rolled back: {message}")
        }
        (ErrorKind::Busy, 1205) => "another transaction held a lock for too long".to_owned(),
        // MySQL 5.7, and servers that speak its dialect.
        (ErrorKind::Unsupported, 1273) => {
            format!("{message}: Bobak's tables need MariaDB, or MySQL 8.0.17 or later")
        }
        (ErrorKind::Timeout, _) => "the statement ran for too long and was cancelled".to_owned(),
        _ => message,
    }
}

/// One line, beginning in lower case, without a closing full stop.
#[must_use]
pub fn lower(message: &str) -> String {
    let line = message.replace(['\n', '\r'], " ");
    let line = line.trim().trim_end_matches('.');
    let mut letters = line.chars();
    match letters.next() {
        // SQL words stay as they are.
        Some(_) if line.chars().nth(1).is_some_and(char::is_uppercase) => line.to_owned(),
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "the server gave no reason".to_owned(),
    }
}

/// Names table and column if the server's message does; of a rule about several columns, all.
fn place(error: Error, code: u16, message: &str, table: Option<&TableSchema>) -> Error {
    if matches!(code, 1451 | 1452)
        && let Some(referring) = quoted(message, "`.`", '`')
        && let Some(columns) = quoted(message, "FOREIGN KEY (`", ')')
        && let Some(parent) = quoted(message, ") REFERENCES `", '`')
    {
        let columns = columns.replace('`', "");
        return match code {
            1451 => Error::still_referenced(&referring, &columns, &parent),
            _ => Error::missing_parent(&referring, &columns, &parent),
        };
    }
    let Some(table) = table else { return error };
    let column = match code {
        1062 | 1586 => return duplicate(error, message, table),
        3819 | 4025 => return check_violation(error, message, table),
        1048 | 1263 | 1264 | 1364 | 1366 | 1406 | 1292 | 1265 | 1054 => {
            quoted(message, "olumn '", '\'')
        }
        _ => None,
    };
    let known = column.filter(|name| table.columns().iter().any(|column| column.name == *name));
    match known {
        Some(column) => error.in_column(column),
        None => error,
    }
}

/// MariaDB's ``CONSTRAINT `bill.cents` failed for …`` names the column that declares the check, MySQL's
/// `Check constraint 'bill_chk_1' is violated.` its number.
fn check_violation(error: Error, message: &str, table: &TableSchema) -> Error {
    let is_declared = |column: &&ColumnSchema| column.check.is_some() || column.generated.is_some();
    let mut declared = table.columns().iter().filter(is_declared);
    let column = match quoted(message, "CONSTRAINT `", '`') {
        Some(name) => declared.find(|column| {
            name == column.name || name.rsplit('.').next() == Some(column.name.as_ref())
        }),
        None => quoted(message, "onstraint '", '\'')
            .and_then(|name| name.rsplit('_').next()?.parse::<usize>().ok())
            .and_then(|number| declared.nth(number.checked_sub(1)?)),
    };
    if let Some(column) = column.filter(|column| column.check.is_none()) {
        // A generated column is NOT NULL by a check.
        let error =
            Error::new(ErrorKind::Constraint, "a required value is NULL").with_source(error);
        return error.in_table(table.name().to_owned()).in_column(column.name.to_string());
    }
    let text = column.and_then(|column| column.check.as_deref());
    match text.and_then(|text| CheckExpression::parse(text, table).ok()) {
        Some(check) => Error::check_violation(table, &check),
        None => error,
    }
}

/// The text between `before` and the next `end`.
fn quoted(message: &str, before: &str, end: char) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(end).map(|(name, _)| name.to_owned())
}

/// `… for key 'PRIMARY'`, `… for key 'person_email_unique'`, MySQL's `… for key 'person.PRIMARY'`.
fn duplicate(error: Error, message: &str, table: &TableSchema) -> Error {
    let Some((_, rest)) = message.rsplit_once("for key '") else { return error };
    let key = rest.strip_suffix('\'').unwrap_or(rest);
    let key = key.strip_prefix(&format!("{}.", table.name())).unwrap_or(key);
    if key == "PRIMARY" {
        return Error::duplicate(table, table.key());
    }
    match table.indexes().iter().find(|index| crate::mysql_index_name(&index.name) == key) {
        Some(index) => Error::duplicate(table, &index.columns),
        None => error,
    }
}
