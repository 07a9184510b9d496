//! The columns of a table, with their constraints.

use super::foreign_key::DeclaredForeignKey;
use super::text::{add_check, checks, generated, has_word, names, with_texts};
use crate::connection::Connection;
use bobak_core::sql_token::number;
use bobak_core::{Collation, ColumnSchema, Result, Storage, TextOrder, Type, Value};
use bobak_sql::{DefaultExpression, Dialect, LONG_DECIMAL, parse_declared, storage_check};

/// A column, and its position in the key, counted from 1; 0 if it is not part of the key.
#[derive(Debug)]
pub(super) struct CatalogColumn {
    pub schema: ColumnSchema,
    pub key_place: i64,
}

/// The table's columns, with the table's own CHECKs; generated ones have the text of their expression. `sql` is the table's CREATE statement,
/// `keys` are its foreign keys.
pub(super) fn read(
    connection: &mut Connection,
    table: &str,
    sql: &str,
    keys: &[DeclaredForeignKey],
) -> Result<Vec<CatalogColumn>> {
    let rows = connection.all_rows(
        "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?) \
         WHERE hidden <> 1 ORDER BY cid",
        &[Value::from(table)],
    )?;
    let own: Vec<_> = rows.iter().map(|row| text(row.first().cloned())).collect();
    let plain = |expression: String| with_texts(&expression, &own);
    let checks: Vec<_> =
        checks(sql).into_iter().map(|(column, check)| (column, plain(check))).collect();
    let expressions: Vec<_> =
        generated(sql).into_iter().map(|(column, text)| (column, plain(text))).collect();
    let is_strict = has_word(sql.rsplit(')').next().unwrap_or_default(), "STRICT");
    let mut columns = Vec::new();
    for row in rows {
        let mut row = row.into_iter();
        let name = text(row.next());
        // In a STRICT table, ANY stores each value as it is: elsewhere that is so without a type.
        let declared_type = Some(text(row.next()))
            .filter(|declared| !is_strict || !declared.eq_ignore_ascii_case("ANY"))
            .unwrap_or_default();
        let not_null = flag(row.next());
        let default = row.next();
        let key_place = match row.next() {
            Some(Value::Int(place)) => place,
            _ => 0,
        };
        let known = known_collation(&connection.db.column_collation(table, &name));
        let mut schema = of_type(name.clone(), declared_type)
            .nullable(!not_null && key_place == 0)
            .collation(known.unwrap_or_default());
        if known.is_none() {
            schema.text_order = TextOrder::Engine;
        }
        let same = |other: &str| other.eq_ignore_ascii_case(&name);
        if flag(row.next()) {
            let expression = expressions.iter().find(|(column, _)| same(column));
            schema.generated = Some(expression.map_or("", |(_, text)| text).to_owned().into());
        }
        let default = text(default);
        match DefaultExpression::parse(&default) {
            Some(parsed) if parsed.is_constant() => {
                schema.default = constant(connection, &schema, &parsed)?;
            }
            Some(parsed) if may_evaluate(connection, &parsed)? => {
                schema.default_sql = Some(default.into());
            }
            _ => {}
        }
        let own = |(column, _): &&(Option<String>, String)| column.as_deref().is_some_and(same);
        let storage = storage_check(&schema);
        for (_, check) in checks.iter().filter(own).filter(|(_, c)| storage.as_ref() != Some(c)) {
            add_check(&mut schema, check);
        }
        let references = keys.iter().filter_map(DeclaredForeignKey::reference);
        schema.reference =
            references.into_iter().find(|(column, _)| same(column)).map(|(_, reference)| reference);
        columns.push(CatalogColumn { schema, key_place });
    }
    // A rule of the table is as good as one of a column that it names.
    for (_, check) in checks.iter().filter(|(column, _)| column.is_none()) {
        let names = names(check);
        let is_named = |column: &CatalogColumn| {
            names.iter().any(|name| name.eq_ignore_ascii_case(&column.schema.name))
        };
        let place = columns.iter().position(is_named).unwrap_or(0);
        if let Some(column) = columns.get_mut(place) {
            add_check(&mut column.schema, check);
        }
    }
    Ok(columns)
}

/// A column of this declared type.
pub(super) fn of_type(name: String, declared_type: String) -> ColumnSchema {
    let declared = parse_declared(Dialect::Sqlite, &declared_type);
    let mut schema = ColumnSchema::new(name, declared.ty).role(declared.role);
    schema.max_chars = declared.max_chars;
    let is_named = declared.ty == Type::Any && !declared_type.is_empty();
    if is_named || declared_type == LONG_DECIMAL {
        schema.declared = Some(declared_type.into());
    }
    if declared.as_text { schema.as_text() } else { schema }
}

/// The text in a pragma's cell; empty for any other value.
pub(super) fn text(cell: Option<Value<'static>>) -> String {
    match cell {
        Some(Value::Text(text)) => text.into_owned(),
        _ => String::new(),
    }
}

/// Whether a pragma's cell is not 0.
pub(super) fn flag(cell: Option<Value<'static>>) -> bool {
    matches!(cell, Some(Value::Int(number)) if number != 0)
}

/// Bobak's collation with this name in SQLite.
pub(super) fn known_collation(name: &str) -> Option<Collation> {
    match name.to_ascii_uppercase().as_str() {
        "BINARY" => Some(Collation::Binary),
        "NOCASE" => Some(Collation::NoCase),
        "BOBAK_UNICODE_NOCASE" => Some(Collation::UnicodeNoCase),
        _ => None,
    }
}

/// Whether a statement may evaluate the default: SQLite evaluates fewer functions in a schema than in
/// a statement.
fn may_evaluate(connection: &mut Connection, default: &DefaultExpression) -> Result<bool> {
    for function in default.functions() {
        let found = connection.all_rows(
            "SELECT 1 FROM pragma_function_list WHERE name = ? COLLATE NOCASE AND type = 's' AND flags & ? = 0",
            &[Value::from(function.as_str()), Value::Int(DIRECT_ONLY)],
        )?;
        if found.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// SQLite's flag for functions that schemas cannot call.
const DIRECT_ONLY: i64 = 0x8_0000;

/// The value of a constant default, evaluated by SQLite.
fn constant(
    connection: &mut Connection,
    column: &ColumnSchema,
    default: &DefaultExpression,
) -> Result<Option<Value<'static>>> {
    let rows = connection.all_rows(&format!("SELECT {}", default.sql()), &[]);
    let value = rows?.into_iter().flatten().next().unwrap_or_default();
    if value.is_null() {
        return Ok(None);
    }
    Ok(column.accept(as_stored(column, value)).ok())
}

/// A default as SQLite stores it: a text that is a number becomes one in a column of numbers, and an integer a text in
/// one of texts.
fn as_stored(column: &ColumnSchema, value: Value<'static>) -> Value<'static> {
    let is_numeric = match column.storage {
        Storage::Any => column.declared.is_some(),
        Storage::Int | Storage::Float => !column.ty.has_text_form(),
        Storage::Text | Storage::Bytes => false,
    };
    let found = match &value {
        Value::Text(text) if is_numeric && !text.contains(['x', 'X']) => number(text.trim_ascii()),
        Value::Int(integer) if column.ty == Type::Text => return integer.to_string().into(),
        Value::Float(float) if is_numeric => Some(Value::Float(*float)),
        _ => None,
    };
    match found {
        Some(Value::Float(float)) if float.fract() == 0.0 && float.abs() < 9e15 => {
            Value::Int(float as i64)
        }
        Some(number) => number,
        None => value,
    }
}
