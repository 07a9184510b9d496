//! Generates Go structs for existing tables.

use super::client_table::{
    ClientColumn, ClientTable, NameRules, OptionValue, client_tables, line, quoted,
};
use super::names::upper_first;
use super::rust::one_line;
use bobak::schema::{TableSchema, Type};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Names in Go have letters and digits alone: no marks, and no numbers that are letters in other languages.
const RULES: NameRules = NameRules {
    reserved: &[],
    keywords: &[],
    spelled: |name| name.nfc().filter(|&c| is_of_a_name(c)).collect(),
};

fn is_of_a_name(c: char) -> bool {
    use GeneralCategory as Category;
    let letters = [
        Category::UppercaseLetter,
        Category::LowercaseLetter,
        Category::TitlecaseLetter,
        Category::ModifierLetter,
        Category::OtherLetter,
        Category::DecimalNumber,
    ];
    c == '_' || letters.contains(&c.general_category())
}

/// A file with one struct per table. `others` are lines on what else the database has.
#[must_use]
pub fn go_file(tables: &[TableSchema], others: &[String]) -> String {
    let (found, without) = client_tables(tables, others, &RULES);
    let types: Vec<_> =
        found.iter().flat_map(|table| &table.columns).map(|one| go_type(one.column.ty)).collect();
    let mut text = "package models\n".to_owned();
    let uses = |package: &str| types.iter().any(|ty| ty.starts_with(package));
    let standard = [("json.", "encoding/json"), ("time.", "time")];
    let standard = standard.iter().filter(|(prefix, _)| uses(prefix)).map(|(_, import)| *import);
    let mut imports: Vec<_> = standard.map(|import| format!("\t{import:?}\n")).collect();
    if uses("bobak.") {
        let gap = if imports.is_empty() { "" } else { "\n" };
        imports.push(format!("{gap}\tbobak \"github.com/bobak-db/bobak/clients/go\"\n"));
    }
    if !imports.is_empty() {
        line(&mut text, &format!("\nimport (\n{})", imports.concat()));
    }
    for other in without {
        line(&mut text, &format!("\n// In no struct: {other}"));
    }
    found.iter().for_each(|table| structure(&mut text, table));
    text
}

fn structure(text: &mut String, table: &ClientTable<'_>) {
    let name = &table.name;
    line(
        text,
        &format!(
            "\n// {name} is a row of {}.\ntype {name} struct {{",
            one_line(table.table.name())
        ),
    );
    let mut fields = Vec::new();
    // A field and the method cannot have the same name.
    let mut taken = HashSet::from(["TableName".to_owned()]);
    for column in &table.columns {
        match tag(table, column) {
            Some(tag) => {
                fields.push((exported(&column.field, &mut taken), field_type(column), tag))
            }
            None => line(text, &format!("\t// Not here: {}", one_line(&column.column.name))),
        }
    }
    // As gofmt aligns them.
    let width = |of: fn(&(String, String, String)) -> &str| {
        fields.iter().map(|field| of(field).chars().count()).max().unwrap_or(0)
    };
    let (names, types) = (width(|field| &field.0), width(|field| &field.1));
    for (field, ty, tag) in &fields {
        line(text, &format!("\t{field:names$} {ty:types$} {tag}"));
    }
    let table = quoted(table.table.name());
    line(text, "}");
    line(
        text,
        &format!(
            "\n// TableName names the table of {name}.\nfunc ({name}) TableName() string {{ return {table} }}"
        ),
    );
}

/// `DepTime` for `dep_time`, and `ID` for `id`; unique among `taken`, to which it is added.
fn exported(field: &str, taken: &mut HashSet<String>) -> String {
    let words = field.split('_').map(|word| match word {
        "id" | "url" | "uuid" => word.to_uppercase(),
        word => upper_first(word),
    });
    let mut name: String = words.collect();
    // Fields in snake case differ, perhaps by the lines at their ends only.
    name.extend(field.chars().rev().take_while(|c| *c == '_'));
    // A field whose name does not begin with an upper-case letter is not exported.
    if !name.starts_with(char::is_uppercase) {
        name.insert(0, 'X');
    }
    // For example `i_d` is `ID`, too.
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

fn go_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::I8 => "int8",
        Type::I16 => "int16",
        Type::I32 => "int32",
        Type::I64 => "int64",
        Type::U8 => "uint8",
        Type::U16 => "uint16",
        Type::U32 => "uint32",
        Type::U64 => "uint64",
        Type::F32 => "float32",
        Type::F64 => "float64",
        Type::Bytes => "[]byte",
        Type::Uuid => "bobak.UUID",
        Type::Currency => "bobak.Currency",
        Type::Date | Type::DateTime | Type::Timestamp => "time.Time",
        Type::Time => "time.Duration",
        Type::Json => "json.RawMessage",
        Type::Any => "any",
        Type::Vector(_) => "[]float32",
        _ => "string",
    }
}

/// Whether the type's own nil is NULL.
fn has_nil(ty: Type) -> bool {
    matches!(ty, Type::Bytes | Type::Json | Type::Any | Type::Vector(_))
}

fn field_type(column: &ClientColumn<'_>) -> String {
    let (ty, nullable) = (column.column.ty, column.column.nullable);
    let pointer = if nullable && !has_nil(ty) { "*" } else { "" };
    format!("{pointer}{}", go_type(ty))
}

/// The tag of a field; `None` if the column's name cannot be in one.
fn tag(table: &ClientTable<'_>, column: &ClientColumn<'_>) -> Option<String> {
    let name = &column.column.name;
    if name.contains([',', '\'', '(', ')', '`']) || name.chars().any(char::is_control) {
        return None;
    }
    let mut words = vec![name.to_string()];
    words.extend(match column.column.ty {
        Type::Date | Type::DateTime => Some(format!("type={}", column.column.ty.name())),
        Type::Vector(length) => Some(format!("vector={length}")),
        _ => None,
    });
    if column.column.nullable && matches!(column.column.ty, Type::Bytes | Type::Vector(_)) {
        words.push("null".to_owned());
    }
    for (name, value) in &column.options {
        words.push(match value {
            OptionValue::Yes => (*name).to_owned(),
            OptionValue::Number(number) => format!("{name}={number}"),
            // A tag ends at a back quote, and an option at a comma.
            OptionValue::Text(value) if value.contains(['`', ',']) => continue,
            OptionValue::Text(value) => format!("{name}={value}"),
        });
    }
    let indexes = table.indexes.iter().filter(|index| !index.name.contains(['`', ',']));
    for index in indexes.filter(|index| index.columns.contains(&column.place)) {
        let option = if index.unique { "unique_index" } else { "index" };
        words.push(format!("{option}={}", index.name));
    }
    Some(format!("`bobak:{}`", quoted(&words.join(","))))
}
