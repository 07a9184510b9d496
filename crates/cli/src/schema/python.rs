//! Generates Python dataclasses for existing tables.

use super::client_table::{
    ClientColumn, ClientTable, NameRules, OptionValue, client_tables, line, quoted,
};
use bobak::schema::{TableSchema, Type};
use unicode_normalization::UnicodeNormalization;

/// Keywords, and what the generated classes use in their bodies: a field with the name of a type would hide the type.
const KEYWORDS: &[&str] = &[
    "Any", "Decimal", "False", "None", "True", "UUID", "and", "as", "assert", "async", "await",
    "bobak", "bool", "break", "bytes", "class", "continue", "def", "del", "dict", "dt", "elif",
    "else", "except", "finally", "float", "for", "from", "global", "if", "import", "in", "int",
    "is", "lambda", "list", "nonlocal", "not", "or", "pass", "raise", "return", "str", "try",
    "while", "with", "yield",
];

/// Python normalizes the names in a module, so that some of different letters are the same.
const RULES: NameRules = NameRules {
    reserved: &["Any", "Decimal", "UUID"],
    keywords: KEYWORDS,
    spelled: |name| name.nfkc().collect(),
};

/// A module with one dataclass per table. `others` are lines on what else the database has.
#[must_use]
pub fn python_module(tables: &[TableSchema], others: &[String]) -> String {
    let (found, without) = client_tables(tables, others, &RULES);
    let columns = || found.iter().flat_map(|table| &table.columns).map(|one| one.column.ty);
    let uses = |types: &[Type]| columns().any(|ty| types.contains(&ty));
    let mut text = "from __future__ import annotations\n\n".to_owned();
    let dates = uses(&[Type::Date, Type::Time, Type::DateTime, Type::Timestamp]);
    for (is_used, import) in [
        (dates, "import datetime as dt\n"),
        (true, "from dataclasses import dataclass\n"),
        (uses(&[Type::Currency]), "from decimal import Decimal\n"),
        (uses(&[Type::Json, Type::Any]), "from typing import Any\n"),
        (uses(&[Type::Uuid]), "from uuid import UUID\n"),
    ] {
        text.push_str(if is_used { import } else { "" });
    }
    text.push_str("\nimport bobak\n");
    if !without.is_empty() {
        line(&mut text, "");
    }
    without.iter().for_each(|missing| line(&mut text, &format!("# In no class: {missing}")));
    found.iter().for_each(|table| class(&mut text, table));
    text
}

fn class(text: &mut String, table: &ClientTable<'_>) {
    line(text, &format!("\n\n@dataclass(kw_only=True)\nclass {}:", table.name));
    for column in &table.columns {
        line(text, &format!("    {}", field(column)));
    }
    line(text, &format!("\n    __table__ = {}", quoted(table.table.name())));
    for (name, unique) in [("__indexes__", false), ("__unique__", true)] {
        let indexes = table.indexes.iter().filter(|index| index.unique == unique);
        let indexes: Vec<_> = indexes.map(|index| columns(table, &index.columns)).collect();
        if !indexes.is_empty() {
            line(text, &format!("    {name} = {}", tuple(&indexes)));
        }
    }
}

/// The columns of an index.
fn columns(table: &ClientTable<'_>, places: &[usize]) -> String {
    let columns = places.iter().filter_map(|&place| table.table.columns().get(place));
    tuple(&columns.map(|column| quoted(&column.name)).collect::<Vec<_>>())
}

fn tuple(items: &[String]) -> String {
    match items {
        [item] => format!("({item},)"),
        items => format!("({})", items.join(", ")),
    }
}

fn field(column: &ClientColumn<'_>) -> String {
    let (name, hint) = (&column.field, hint(column));
    let mut arguments = Vec::new();
    if *name != column.column.name {
        arguments.push(format!("name={}", quoted(&column.column.name)));
    }
    arguments.extend(stored_type(column.column.ty));
    arguments.extend(column.options.iter().map(|(name, value)| match value {
        OptionValue::Yes => format!("{name}=True"),
        OptionValue::Number(number) => format!("{name}={number}"),
        OptionValue::Text(value) => format!("{name}={}", quoted(value)),
    }));
    let default = match column.column.ty {
        Type::Uuid if column.is_generated_key => Some("UUID(int=0)"),
        _ if column.is_generated_key => Some("0"),
        Type::Any => Some("None"),
        _ if column.column.nullable => Some("None"),
        _ => None,
    };
    match default {
        Some(default) if arguments.is_empty() => format!("{name}: {hint} = {default}"),
        None if arguments.is_empty() => format!("{name}: {hint}"),
        default => {
            arguments.extend(default.map(|default| format!("default={default}")));
            format!("{name}: {hint} = bobak.column({})", arguments.join(", "))
        }
    }
}

fn hint(column: &ClientColumn<'_>) -> String {
    let plain = match column.column.ty {
        Type::Bool => "bool",
        Type::F32 | Type::F64 => "float",
        Type::Text => "str",
        Type::Bytes => "bytes",
        Type::Uuid => "UUID",
        Type::Currency => "Decimal",
        Type::Date => "dt.date",
        Type::Time => "dt.time",
        Type::DateTime | Type::Timestamp => "dt.datetime",
        Type::Vector(_) => "list[float]",
        Type::Json | Type::Any => return "Any".to_owned(),
        _ => "int",
    };
    // The time stamps of a new record are None.
    let is_stamp = |(name, _): &(&str, OptionValue)| name.ends_with("_at");
    let may_be_none = column.column.nullable || column.options.iter().any(is_stamp);
    if may_be_none { format!("{plain} | None") } else { plain.to_owned() }
}

/// The argument for a type that the annotation does not say.
fn stored_type(ty: Type) -> Option<String> {
    match ty {
        Type::Vector(length) => Some(format!("vector={length}")),
        Type::I8 | Type::I16 | Type::I32 | Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
            named(ty)
        }
        Type::F32 | Type::Timestamp | Type::Json => named(ty),
        _ => None,
    }
}

fn named(ty: Type) -> Option<String> {
    Some(format!("type=\"{}\"", ty.name()))
}
