//! Generates TypeScript interfaces and tables for existing tables.

use super::client_table::{
    ClientColumn, ClientTable, NameRules, OptionValue, client_tables, line, quoted,
};
use super::names::upper_first;
use bobak::schema::{TableSchema, Type};

/// No class has the name of another type in the module.
const RULES: NameRules = NameRules {
    reserved: &["Float32Array", "Money", "Tables", "Uint8Array", "Value"],
    keywords: &[],
    spelled: str::to_owned,
};

/// A module with an interface and a table for each table, and an interface `Tables` with all of them. `others` are lines on what
/// else the database has.
#[must_use]
pub fn typescript_module(tables: &[TableSchema], others: &[String]) -> String {
    let (found, without) = client_tables(tables, others, &RULES);
    let uses = |ty: Type| found.iter().flat_map(|table| &table.columns).any(|c| c.column.ty == ty);
    let mut text = "import { column, table } from \"bobak\";\n".to_owned();
    let types = [(Type::Currency, "Money"), (Type::Any, "Value")];
    let types: Vec<_> = types.iter().filter(|(ty, _)| uses(*ty)).map(|(_, name)| *name).collect();
    if !types.is_empty() {
        line(&mut text, &format!("import type {{ {} }} from \"bobak\";", types.join(", ")));
    }
    for other in without {
        line(&mut text, &format!("// In no interface: {other}"));
    }
    for table in &found {
        interface(&mut text, table);
        constant(&mut text, table);
    }
    line(
        &mut text,
        "\n/** The tables by name, for `connect<Tables>(url)`. */\nexport interface Tables {",
    );
    for table in &found {
        line(&mut text, &format!("  {}: {};", key(table.table.name()), table.name));
    }
    line(&mut text, "}");
    text
}

fn interface(text: &mut String, table: &ClientTable<'_>) {
    line(text, &format!("\nexport interface {} {{", table.name));
    for column in &table.columns {
        let null = if column.column.nullable { " | null" } else { "" };
        let (name, ty) = (key(&column.column.name), type_name(column.column.ty));
        line(text, &format!("  {name}: {ty}{null};"));
    }
    line(text, "}");
}

fn constant(text: &mut String, table: &ClientTable<'_>) {
    let name = quoted(table.table.name());
    line(text, &format!("\nexport const {}Table = table({name}, [", lower_first(&table.name)));
    for column in &table.columns {
        line(text, &format!("  {},", definition(column)));
    }
    let indexes = table.indexes.iter().map(|index| {
        let columns = index.columns.iter().filter_map(|&at| table.table.columns().get(at));
        let columns: Vec<_> = columns.map(|column| quoted(&column.name)).collect();
        let unique = if index.unique { ", unique: true" } else { "" };
        format!(
            "  {{ name: {}, columns: [{}]{unique} }},\n",
            quoted(&index.name),
            columns.join(", ")
        )
    });
    let indexes: String = indexes.collect();
    line(text, &if indexes.is_empty() { "]);".to_owned() } else { format!("], [\n{indexes}]);") });
}

fn definition(column: &ClientColumn<'_>) -> String {
    let ty = match column.column.ty {
        Type::Vector(_) => "vector",
        ty => ty.name(),
    };
    let mut options = Vec::new();
    if let Type::Vector(length) = column.column.ty {
        options.push(format!("length: {length}"));
    }
    if column.column.nullable {
        options.push("nullable: true".to_owned());
    }
    options.extend(column.options.iter().map(|(name, value)| {
        let name = camel(name);
        match value {
            OptionValue::Yes => format!("{name}: true"),
            OptionValue::Number(number) => format!("{name}: {number}"),
            OptionValue::Text(value) => format!("{name}: {}", quoted(value)),
        }
    }));
    let options =
        if options.is_empty() { String::new() } else { format!(", {{ {} }}", options.join(", ")) };
    format!("column({}, {}{options})", quoted(&column.column.name), quoted(ty))
}

fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "boolean",
        Type::I64 | Type::U64 => "bigint",
        Type::I8 | Type::I16 | Type::I32 | Type::U8 | Type::U16 | Type::U32 => "number",
        Type::F32 | Type::F64 => "number",
        Type::Bytes => "Uint8Array",
        Type::Currency => "Money",
        Type::Any => "Value",
        Type::Vector(_) => "Float32Array",
        _ => "string",
    }
}

/// `onDelete` for `on_delete`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &upper_first(word))
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(char::to_lowercase).into_iter().flatten().collect::<String>() + chars.as_str()
}

/// The name of a property, in quotes unless it is a plain word.
fn key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain && !name.is_empty() { name.to_owned() } else { quoted(name) }
}
