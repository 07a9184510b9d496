//! Parts of JSON documents, as servers find them.
//!
//! PostgreSQL's `json` has the meaning of [`JoinFunction::of_json`]: a name is that of an object, of a name that an object has
//! twice the last one counts, and numbers stay as they are written. MariaDB differs: it finds only names that the document
//! spells without escapes, and the first of two. So it calculates generated columns, but no queries.

use crate::Dialect;
use crate::literal::push_literal;
use crate::writer::Writer;
use bobak_core::check::{CheckFunction, sqlite_json_part};
use bobak_core::{JsonPath, JsonPathStep, TableSchema, ValueRef};

/// The text of an integer as JSON has it: neither -0 nor a fraction. One of 19 digits may need more than 64 bits.
const INTEGER: &str = "'^(0|[-]{0,1}[1-9][0-9]{0,18})$'";
const INTEGERS: &str = "BETWEEN -9223372036854775808 AND 9223372036854775807";

/// Writes a value of a part of a document, for a CHECK or a generated column; a truth value in PostgreSQL. The writer fails
/// for a text that is no path.
pub(crate) fn push_part(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    function: CheckFunction,
    place: usize,
    path: &str,
) {
    let column = table.columns().get(place).map_or("", |column| column.name.as_ref());
    let (dialect, column) = (writer.dialect, writer.quoted_column(column));
    let steps = match JsonPath::parse(path) {
        Ok(steps) => steps,
        Err(error) => return writer.fail(error),
    };
    writer.raw(&match dialect {
        Dialect::Sqlite => sqlite_json_part(function, &column, path),
        Dialect::Postgres => postgres_part(function, &postgres_document(&column, &steps)),
        Dialect::MariaDb | Dialect::MySql => mysql_part(dialect, function, &column, &steps),
    });
}

fn text_literal(dialect: Dialect, value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    push_literal(dialect, &mut text, ValueRef::Text(value));
    text
}

/// The part of a document at a path, as PostgreSQL's `json`. `->` of a name is of objects only, and that of a number of arrays.
pub(crate) fn postgres_document(column: &str, path: &JsonPath<'_>) -> String {
    let mut part = match path.steps() {
        // The text of a whole document can have blanks around it.
        [] => format!("(('[' || {column}::text || ']')::json -> 0"),
        _ => format!("({column}"),
    };
    for step in path.steps() {
        part += &match step {
            JsonPathStep::Name(name) => {
                format!(" -> {}::text", text_literal(Dialect::Postgres, name))
            }
            JsonPathStep::Place(place) => format!(" -> {place}"),
        };
    }
    part.push(')');
    part
}

/// A value of a part, in PostgreSQL. CASE is what keeps the server from a cast that fails.
pub(crate) fn postgres_part(function: CheckFunction, part: &str) -> String {
    let (ty, value) = match function {
        CheckFunction::JsonText => ("string", format!("{part} #>> '{{}}'")),
        CheckFunction::JsonInteger => {
            let digits = format!("({part} #>> '{{}}')");
            let value = format!(
                "CASE WHEN {digits} COLLATE \"C\" ~ {INTEGER} THEN \
                 CASE WHEN {digits}::numeric {INTEGERS} THEN {digits}::int8 END END"
            );
            ("number", value)
        }
        CheckFunction::JsonFloat => ("number", format!("({part} #>> '{{}}')::float8")),
        CheckFunction::JsonTruth => ("boolean", format!("({part} #>> '{{}}')::bool")),
        _ => ("array", format!("json_array_length({part})::int8")),
    };
    format!("(CASE json_typeof({part}) WHEN '{ty}' THEN {value} END)")
}

/// A value of a part of a document in a generated column, in MariaDB and MySQL.
fn mysql_part(
    dialect: Dialect,
    function: CheckFunction,
    column: &str,
    path: &JsonPath<'_>,
) -> String {
    let part = mysql_document(dialect, column, path);
    let value = format!("JSON_UNQUOTE({part}) COLLATE utf8mb4_bin");
    let (types, value) = match function {
        CheckFunction::JsonText => ("'STRING'", value),
        CheckFunction::JsonInteger => (
            "'INTEGER'",
            format!(
                "CASE WHEN {value} REGEXP {INTEGER} THEN CASE WHEN CAST({value} AS DECIMAL(20, 0)) {INTEGERS} \
                 THEN CAST({value} AS SIGNED) END END"
            ),
        ),
        CheckFunction::JsonFloat => {
            ("'INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL'", format!("{value} + 0e0"))
        }
        CheckFunction::JsonTruth => ("'BOOLEAN'", format!("{value} = 'true'")),
        _ => ("'ARRAY'", format!("JSON_LENGTH({part})")),
    };
    format!("(CASE WHEN JSON_TYPE({part}) IN ({types}) THEN {value} END)")
}

/// The part of a document at a path. MariaDB takes everything for an array with one element.
fn mysql_document(dialect: Dialect, column: &str, path: &JsonPath<'_>) -> String {
    let mut steps = "$".to_owned();
    let extract = |steps: &str| format!("JSON_EXTRACT({column}, {})", text_literal(dialect, steps));
    let mut arrays = Vec::new();
    for step in path.steps() {
        match step {
            JsonPathStep::Name(name) => {
                steps += &format!(".\"{}\"", name.replace('\\', "\\\\"));
            }
            JsonPathStep::Place(place) => {
                arrays.push(format!("JSON_TYPE({}) = 'ARRAY'", extract(&steps)));
                steps += &format!("[{place}]");
            }
        }
    }
    match arrays.is_empty() {
        true => extract(&steps),
        false => format!("CASE WHEN {} THEN {} END", arrays.join(" AND "), extract(&steps)),
    }
}
