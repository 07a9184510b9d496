//! What the clients for other languages say of a table. The options of columns have the same names in each.

use super::names::{field_name, starts_like_a_name, struct_name};
use super::rust::{delete_action, is_of_a_field, is_of_field, is_plain, one_line};
use bobak::schema::{
    Collation, ColumnRole, ColumnSchema, IndexSchema, KeyGeneration, TableSchema, Type,
};
use std::collections::HashSet;

/// A table, and the name of its class.
pub(super) struct ClientTable<'a> {
    pub table: &'a TableSchema,
    pub name: String,
    pub columns: Vec<ClientColumn<'a>>,
    /// The indexes of several columns, and others that no column's option says.
    pub indexes: Vec<&'a IndexSchema>,
}

/// A column, and the name of its field in snake case.
pub(super) struct ClientColumn<'a> {
    pub column: &'a ColumnSchema,
    pub place: usize,
    pub field: String,
    /// Whether a missing value is generated.
    pub is_generated_key: bool,
    /// Its options, named as in Go and Python.
    pub options: Vec<(&'static str, OptionValue)>,
}

/// The value of an option.
pub(super) enum OptionValue {
    Yes,
    Number(u32),
    Text(String),
}

/// The names that a language takes.
pub(super) struct NameRules {
    /// What no class is named.
    pub reserved: &'static [&'static str],
    /// What no field is named.
    pub keywords: &'static [&'static str],
    /// A name as the language spells it.
    pub spelled: fn(&str) -> String,
}

/// The tables; the second part has what a client has no class for, and why: `others` are lines on what else the database has.
pub(super) fn client_tables<'a>(
    tables: &'a [TableSchema],
    others: &[String],
    rules: &NameRules,
) -> (Vec<ClientTable<'a>>, Vec<String>) {
    let mut taken: HashSet<String> = rules.reserved.iter().map(|&name| name.to_owned()).collect();
    let mut found = Vec::new();
    let mut without: Vec<_> = others.iter().map(|other| one_line(other)).collect();
    for table in tables {
        if table.key().is_empty() {
            without.push(format!("{}: it has no key", one_line(table.name())));
            continue;
        }
        let mut name = (rules.spelled)(&struct_name(table.name()));
        if !starts_like_a_name(&name) {
            name.insert_str(0, "Table");
        }
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        let mut fields = HashSet::new();
        // No client writes generated columns.
        let columns = in_key_order(table).into_iter().filter(|(_, c)| c.generated.is_none());
        let columns = columns.map(|(place, column)| {
            let field = field_name(&column.name, rules.keywords, rules.spelled, &mut fields);
            client_column(table, place, column, field)
        });
        found.push(ClientTable {
            table,
            name,
            columns: columns.collect(),
            indexes: indexes(table),
        });
    }
    (found, without)
}

/// The columns of a table. Those of its key have the order of the key among themselves: the clients take a key in that order.
fn in_key_order(table: &TableSchema) -> Vec<(usize, &ColumnSchema)> {
    let mut key = table.key().iter();
    let places =
        (0..table.columns().len()).filter_map(|place| match table.key().contains(&place) {
            true => key.next().copied(),
            false => Some(place),
        });
    places.filter_map(|place| Some((place, table.columns().get(place)?))).collect()
}

/// A string literal, which is the same in Go, Python and TypeScript as in JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Appends a line.
pub(super) fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The indexes that no option of a column says, of columns that every client has.
fn indexes(table: &TableSchema) -> Vec<&IndexSchema> {
    let is_written =
        |place: &usize| table.columns().get(*place).is_some_and(|c| c.generated.is_none());
    let indexes = table.indexes().iter().filter(|index| !is_of_a_field(table, index));
    indexes.filter(|index| index.columns.iter().all(is_written)).collect()
}

fn client_column<'a>(
    table: &TableSchema,
    place: usize,
    column: &'a ColumnSchema,
    field: String,
) -> ClientColumn<'a> {
    let is_key = table.key().contains(&place);
    let can_be_generated = table.key().len() == 1 && matches!(column.ty, Type::I64 | Type::Uuid);
    let is_given = table.key_generation() == KeyGeneration::Given;
    let mut options = Vec::new();
    let mut add = |name, value| options.push((name, value));
    if is_key && can_be_generated && is_given {
        add("key", OptionValue::Text("given".to_owned()));
    } else if is_key && (column.name != "id" || table.key().len() > 1) {
        add("key", OptionValue::Yes);
    }
    if let Some(max) = column.max_chars.filter(|_| column.ty == Type::Text) {
        add("max", OptionValue::Number(max));
    }
    if column.unique {
        add("unique", OptionValue::Yes);
    } else if table.indexes().iter().any(|index| is_of_field(table, index, place)) {
        add("index", OptionValue::Yes);
    }
    match column.role {
        ColumnRole::Plain => {}
        ColumnRole::CreatedAt => add("created_at", OptionValue::Yes),
        ColumnRole::ModifiedAt => add("modified_at", OptionValue::Yes),
        ColumnRole::Version => add("version", OptionValue::Yes),
    }
    if column.is_kept_as_text() {
        add("store", OptionValue::Text("text".to_owned()));
    }
    let collation = match column.collation {
        Collation::NoCase => Some("nocase"),
        Collation::UnicodeNoCase => Some("unicode_nocase"),
        Collation::Binary => None,
    };
    if let Some(collation) = collation.filter(|_| column.ty == Type::Text) {
        add("collation", OptionValue::Text(collation.to_owned()));
    }
    if let Some(check) = &column.check {
        add("check", OptionValue::Text(check.to_string()));
    }
    if let Some(search) = table.search().filter(|search| search.columns.contains(&place)) {
        add(
            "search",
            match search.language.name() {
                "simple" => OptionValue::Yes,
                language => OptionValue::Text(language.to_owned()),
            },
        );
    }
    options.extend(reference(column));
    let is_generated_key = is_key && can_be_generated && !is_given;
    ClientColumn { column, place, field, is_generated_key, options }
}

/// The foreign key of a column, as options.
fn reference(column: &ColumnSchema) -> Vec<(&'static str, OptionValue)> {
    let Some(reference) = &column.reference else { return Vec::new() };
    if ![&reference.table, &reference.column].iter().all(|name| is_plain(name)) {
        return Vec::new();
    }
    let target = format!("{}({})", reference.table, reference.column);
    let mut options = vec![("references", OptionValue::Text(target))];
    if let Some(action) = delete_action(reference.on_delete, column.nullable) {
        options.push(("on_delete", OptionValue::Text(action.to_owned())));
    }
    options
}
