//! Descriptions of tables, and the differences between a record's table and the one in a database.

use bobak_core::check::CheckExpression;
use bobak_core::engine::fallback::has_rows;
pub use bobak_core::{
    BrokenForeignKey, Collation, ColumnRole, ColumnSchema, ComputedIndex, ForeignKey, IndexSchema,
    InvalidDates, KeyGeneration, OnDelete, OnUpdate, Reference, ResultColumn, SchemaDetails,
    SchemaLoss, Storage, TableSchema, TableSchemaBuilder, Type,
};
use bobak_core::{Engine, Error, ErrorKind, Result, SchemaChange, TableAlteration};
use std::fmt;
use std::sync::Arc;

/// One difference between the model and a database. Its `Display` is a sentence.
///
/// The first name is the table's, the second the column's or index's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// The database has no such table.
    MissingTable(String),
    /// The table has no such column.
    MissingColumn(String, String),
    /// The table has a column that the record has not.
    ExtraColumn(String, String),
    /// The column is of another type: the model's, the table's.
    ColumnType(String, String, Type, Type),
    /// The column may be NULL in one of the two only; `true` if it may in the table.
    Nullable(String, String, bool),
    /// Another rule of the column differs: which, the model's, the table's.
    Rule(String, String, &'static str, String, String),
    /// The keys differ: the model's columns, the table's.
    Key(String, Vec<String>, Vec<String>),
    /// The table has no such index.
    MissingIndex(String, String),
    /// The table has an index that the record has not.
    ExtraIndex(String, String),
    /// The index has other columns, or is unique in one of the two only.
    Index(String, String),
    /// The table lacks this foreign key of several columns.
    MissingForeignKey(String, String),
    /// The table has a foreign key of several columns that the record has not.
    ExtraForeignKey(String, String),
}

/// Whether a column may be of a number type that is read as text, as numeric(18,0) of PostgreSQL.
fn is_wide_number(model: Type, stored: Type) -> bool {
    stored == Type::Text && matches!(model.storage(), Storage::Int | Storage::Float)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingTable(table) => write!(f, "table {table} is missing"),
            Self::MissingColumn(table, column) => {
                write!(f, "table {table}: column {column} is missing")
            }
            Self::ExtraColumn(table, column) => {
                write!(f, "table {table}: column {column} is not in the record")
            }
            Self::ColumnType(table, column, model, stored) => write!(
                f,
                "table {table}: column {column} is {} in the record, {} in the table{}",
                model.name(),
                stored.name(),
                if is_wide_number(*model, *stored) {
                    ", where a number of many digits is text: cast it, for example in the view"
                } else {
                    ""
                }
            ),
            Self::Nullable(table, column, stored) => {
                let (model, stored) = if *stored { ("may not", "may") } else { ("may", "may not") };
                write!(
                    f,
                    "table {table}: column {column} {model} be NULL in the record, {stored} in the table"
                )
            }
            Self::Rule(table, column, rule, model, stored) => write!(
                f,
                "table {table}: column {column} has the {rule} {model} in the record, {stored} in the table"
            ),
            Self::Key(table, model, stored) => write!(
                f,
                "table {table}: the key is {} in the record, {} in the table",
                model.join(", "),
                stored.join(", ")
            ),
            Self::MissingIndex(table, index) => {
                write!(f, "table {table}: index {index} is missing")
            }
            Self::ExtraIndex(table, index) => {
                write!(f, "table {table}: index {index} is not in the record")
            }
            Self::Index(table, index) => {
                write!(f, "table {table}: index {index} has other columns, or another uniqueness")
            }
            Self::MissingForeignKey(table, key) => {
                write!(f, "table {table}: the foreign key {key} is missing")
            }
            Self::ExtraForeignKey(table, key) => {
                write!(f, "table {table}: the foreign key {key} is not in the record")
            }
        }
    }
}

/// What differs between a table's description and the table that an engine found.
#[must_use]
pub fn diff(model: &TableSchema, stored: Option<&TableSchema>) -> Vec<Difference> {
    let table = model.name().to_owned();
    let Some(stored) = stored else {
        return vec![Difference::MissingTable(table)];
    };
    let mut found = Vec::new();
    let names = |schema: &TableSchema| -> Vec<String> {
        let name = |&place: &usize| schema.columns().get(place).map(|c| c.name.to_string());
        schema.key().iter().filter_map(name).collect()
    };
    for column in model.columns() {
        match find(stored, &column.name) {
            None => found.push(Difference::MissingColumn(table.clone(), column.name.to_string())),
            Some(other) => compare_columns((model, column), (stored, other), &mut found),
        }
    }
    for column in stored.columns() {
        if find(model, &column.name).is_none() {
            found.push(Difference::ExtraColumn(table.clone(), column.name.to_string()));
        }
    }
    if model.is_view() {
        return found;
    }
    let (wanted, there) = (names(model), names(stored));
    if !same_names(&wanted, &there) {
        found.push(Difference::Key(table.clone(), wanted.clone(), there));
    }
    let reuse = |table: &TableSchema| {
        if table.never_reuses_keys() { "never reused" } else { "reused" }.to_owned()
    };
    if reuse(model) != reuse(stored) {
        let (key, model, stored) = (wanted.join(", "), reuse(model), reuse(stored));
        found.push(Difference::Rule(table.clone(), key, "use of deleted keys", model, stored));
    }
    let search = |schema: &TableSchema| match schema.search() {
        None => "none".to_owned(),
        Some(search) => {
            format!("{} ({})", schema.column_names(&search.columns), search.language.name())
        }
    };
    if !search(model).eq_ignore_ascii_case(&search(stored)) {
        let (key, model, stored) = (wanted.join(", "), search(model), search(stored));
        found.push(Difference::Rule(table.clone(), key, "search", model, stored));
    }
    compare_indexes(&table, model, stored, &mut found);
    compare_foreign_keys(&table, model, stored, &mut found);
    found
}

fn compare_foreign_keys(
    table: &str,
    model: &TableSchema,
    stored: &TableSchema,
    found: &mut Vec<Difference>,
) {
    let all = |schema: &TableSchema| -> Vec<String> {
        schema.foreign_keys().iter().map(|key| describe_foreign_key(schema, key)).collect()
    };
    let (wanted, there) = (all(model), all(stored));
    let missing = wanted.iter().filter(|key| !there.contains(key));
    found.extend(missing.map(|k| Difference::MissingForeignKey(table.to_owned(), k.clone())));
    let extra = there.iter().filter(|key| !wanted.contains(key));
    found.extend(extra.map(|k| Difference::ExtraForeignKey(table.to_owned(), k.clone())));
}

/// As `(shop, number) to order(shop, number) Cascade`.
fn describe_foreign_key(schema: &TableSchema, key: &ForeignKey) -> String {
    let columns = schema.column_names(&key.columns);
    let actions = describe_actions(key.on_delete, key.on_update, key.deferred);
    format!("({columns}) to {}({}) {actions}", key.table, key.referenced.join(", "))
}

fn compare_columns(
    (model_table, model): (&TableSchema, &ColumnSchema),
    (stored_table, stored): (&TableSchema, &ColumnSchema),
    found: &mut Vec<Difference>,
) {
    let place = || (model_table.name().to_owned(), model.name.to_string());
    let (table, column) = place();
    if model.ty != stored.ty || model.storage != stored.storage {
        found.push(Difference::ColumnType(table, column, model.ty, stored.ty));
    }
    if model.nullable != stored.nullable {
        let (table, column) = place();
        found.push(Difference::Nullable(table, column, stored.nullable));
    }
    let mut rule = |rule, model: String, stored: String| {
        if model != stored {
            let (table, column) = place();
            found.push(Difference::Rule(table, column, rule, model, stored));
        }
    };
    let shown = |option: Option<String>| option.unwrap_or_else(|| "none".to_owned());
    let limit = |column: &ColumnSchema| shown(column.max_chars.map(|max| max.to_string()));
    rule("limit of characters", limit(model), limit(stored));
    rule("collation", format!("{:?}", model.collation), format!("{:?}", stored.collation));
    let default = |column: &ColumnSchema| shown(column.default.as_ref().map(ToString::to_string));
    // A column that was added later has one in the table, for the rows that were there.
    let added = model.default.is_none() && stored.default == Some(model.added_value());
    if !added {
        rule("default", default(model), default(stored));
    }
    let check = |table: &TableSchema, column: &ColumnSchema| {
        shown(column.check.as_deref().map(|text| canonical_check(table, text)))
    };
    rule("check", check(model_table, model), check(stored_table, stored));
    let expression =
        |table: &TableSchema, column: &ColumnSchema| shown(column.generated_text(table));
    rule("expression", expression(model_table, model), expression(stored_table, stored));
    let reference =
        |column: &ColumnSchema| shown(column.reference.as_ref().map(describe_reference));
    rule("foreign key", reference(model), reference(stored));
}

/// As `city(id) Cascade`; what is not the default of updates and deferral follows.
fn describe_reference(reference: &Reference) -> String {
    let Reference { table, column, on_delete, on_update, deferred } = reference;
    format!("{table}({column}) {}", describe_actions(*on_delete, *on_update, *deferred))
}

fn describe_actions(on_delete: OnDelete, on_update: OnUpdate, deferred: bool) -> String {
    let update = match on_update {
        OnUpdate::NoAction => String::new(),
        action => format!(", on update {action:?}"),
    };
    let deferred = if deferred { ", deferred" } else { "" };
    format!("{:?}{update}{deferred}", on_delete.compared())
}

/// The constraint's text in its canonical spelling: engines return it in different ones.
fn canonical_check(table: &TableSchema, text: &str) -> String {
    let parsed = CheckExpression::parse(text, table);
    parsed.map_or_else(|_| text.to_owned(), |check| check.to_text(table))
}

fn compare_indexes(
    table: &str,
    model: &TableSchema,
    stored: &TableSchema,
    found: &mut Vec<Difference>,
) {
    let named = |schema: &TableSchema, place: usize| -> Vec<String> {
        let columns = schema.indexes().get(place).map_or(&[][..], |index| &index.columns);
        let name = |&place: &usize| schema.columns().get(place).map(|c| c.name.to_string());
        columns.iter().filter_map(name).collect()
    };
    for (place, index) in model.indexes().iter().enumerate() {
        let other = stored.indexes().iter().position(|o| o.name.eq_ignore_ascii_case(&index.name));
        match other {
            None => found.push(Difference::MissingIndex(table.to_owned(), index.name.to_string())),
            Some(other) => {
                let unique = stored.indexes().get(other).is_some_and(|o| o.unique == index.unique);
                if !unique || !same_names(&named(model, place), &named(stored, other)) {
                    found.push(Difference::Index(table.to_owned(), index.name.to_string()));
                }
            }
        }
    }
    for index in stored.indexes() {
        if model.indexes().iter().all(|other| !other.name.eq_ignore_ascii_case(&index.name)) {
            found.push(Difference::ExtraIndex(table.to_owned(), index.name.to_string()));
        }
    }
}

/// Rejects a new table that refers to a table that does not exist and is not created with it.
fn check_referenced(
    table: &TableSchema,
    wanted: &[Arc<TableSchema>],
    stored: &[TableSchema],
    elsewhere: &dyn Fn(&str) -> Option<String>,
) -> Result<()> {
    let is_known = |name: &str| {
        let mut known = wanted.iter().map(|table| &**table).chain(stored);
        known.any(|other| other.name().eq_ignore_ascii_case(name))
    };
    let missing = |key: &&ForeignKey| !is_known(&key.table);
    let keys = table.all_foreign_keys();
    let Some(key) = keys.iter().find(missing) else { return Ok(()) };
    let message = match elsewhere(&key.table) {
        Some(engine) => format!(
            "the referenced table '{}' is on the engine '{engine}', and a foreign key stays on its own engine: leave \
             `references` out, and make the relation with `Column::refers_to`",
            key.table
        ),
        None => format!(
            "the referenced table '{}' does not exist: register its record with the builder, too, or create the table",
            key.table
        ),
    };
    let error = Error::new(ErrorKind::Schema, message).in_table(table.name());
    Err(error.in_columns(table, &key.columns))
}

/// The changes that add what a database lacks, and a line of words for each. `elsewhere` names the engine of a table that is on
/// another one.
///
/// # Errors
/// `Schema` if a new column is part of the key, or is required and existing rows have no value for it; or if
/// the table could not store the record with the additions.
pub(crate) fn missing(
    wanted: &[Arc<TableSchema>],
    stored: &[TableSchema],
    engine: &dyn Engine,
    elsewhere: &dyn Fn(&str) -> Option<String>,
) -> Result<(Vec<SchemaChange>, Vec<String>)> {
    let (mut changes, mut words) = (Vec::new(), Vec::new());
    for table in in_order_of_references(wanted) {
        let name = table.name();
        if table.is_view() {
            continue;
        }
        let Some(found) = stored.iter().find(|t| t.name().eq_ignore_ascii_case(name)) else {
            check_referenced(&table, wanted, stored, elsewhere)?;
            words.push(format!("created table {name}"));
            changes.push(SchemaChange::CreateTable(table));
            continue;
        };
        check_additions(&table, found, engine)?;
        for (place, column) in table.columns().iter().enumerate() {
            if find(found, &column.name).is_some() {
                continue;
            }
            if table.key().contains(&place) {
                let message = "the table exists without this column of the key";
                let error = Error::new(ErrorKind::Schema, message);
                return Err(error.in_table(name).in_column(column.name.clone()));
            }
            words.push(format!("added column {name}.{}", column.name));
            changes.push(SchemaChange::AddColumn { table: Arc::clone(&table), column: place });
        }
        for (place, index) in table.indexes().iter().enumerate() {
            if found.indexes().iter().all(|other| !other.name.eq_ignore_ascii_case(&index.name)) {
                words.push(format!("added index {} on {name}", index.name));
                changes.push(SchemaChange::AddIndex { table: Arc::clone(&table), index: place });
            }
        }
        let is_added = |change: &SchemaChange| change.table().name() == name;
        if let Some(search) = table.search().filter(|_| found.search().is_none())
            && engine.capabilities().alter_table
            && !changes.iter().any(is_added)
        {
            let columns = search.columns.iter().filter_map(|at| table.columns().get(*at));
            let columns: Vec<_> = columns.map(|column| column.name.clone()).collect();
            let to = found.clone().into_builder().search(columns, search.language).build()?;
            let change = TableAlteration::new(Arc::new(found.clone()), Arc::new(to), &[], &[])?;
            words.push(format!("added the search of {name}"));
            changes.push(SchemaChange::AlterTable(Arc::new(change)));
        }
    }
    Ok((changes, words))
}

/// Rejects columns that cannot be added to a table, and additions that would leave it unusable.
fn check_additions(model: &TableSchema, stored: &TableSchema, engine: &dyn Engine) -> Result<()> {
    let differences = diff(model, Some(stored));
    let is_added = |difference: &Difference| matches!(difference, Difference::MissingColumn(..));
    if !differences.iter().any(is_added) {
        return Ok(());
    }
    let without_value = model.columns().iter().enumerate().find(|(place, column)| {
        let is_given = column.nullable
            || column.default.is_some()
            || column.generated.is_some()
            || column.role == ColumnRole::Version;
        find(stored, &column.name).is_none() && !is_given && !model.key().contains(place)
    });
    let reject = |message: String, column: &str| {
        Err(Error::new(ErrorKind::Schema, message).in_table(model.name()).in_column(column))
    };
    let needed = |column: &&ColumnSchema| {
        let has_value = column.nullable || column.default.is_some() || column.generated.is_some();
        find(model, &column.name).is_none() && !has_value
    };
    if let Some(column) = stored.columns().iter().find(needed) {
        let message = "the table requires this column, which the record does not have: if a field was \
                       renamed, name its column with `column = \"…\"`; else rename or drop the column";
        return reject(message.to_owned(), &column.name);
    }
    if let Some((_, column)) = without_value
        && has_rows(&*engine.session()?, &Arc::new(stored.clone()))?
    {
        let message = "the rows of the table have no value for this new column: add a default, or \
                       make the field an Option";
        return reject(message.to_owned(), &column.name);
    }
    let differences = differences.into_iter().filter(|one| !is_added(one));
    check_differences(model, stored, engine.capabilities().weak_types, differences)
}

/// Rejects a table that cannot store a record: the first reason, and what to do.
///
/// # Errors
/// `Schema`.
pub(crate) fn check_usable(
    model: &TableSchema,
    stored: Option<&TableSchema>,
    weak_types: bool,
) -> Result<()> {
    let fail = |message: String| Err(Error::new(ErrorKind::Schema, message).in_table(model.name()));
    let Some(stored) = stored else {
        return fail(match model.is_view() {
            true => "the view does not exist: create it with SQL".to_owned(),
            false => "the table does not exist: call create_missing_tables first".to_owned(),
        });
    };
    if stored.is_view() && !model.is_view() {
        return fail("it is a view: mark its record with #[record(view)]".to_owned());
    }
    check_differences(model, stored, weak_types, diff(model, Some(stored)))
}

fn check_differences(
    model: &TableSchema,
    stored: &TableSchema,
    weak_types: bool,
    differences: impl IntoIterator<Item = Difference>,
) -> Result<()> {
    let fail = |message: String| Err(Error::new(ErrorKind::Schema, message).in_table(model.name()));
    for difference in differences {
        match difference {
            Difference::MissingColumn(..) => {
                return fail(format!("{difference}: call create_missing_tables first"));
            }
            Difference::ColumnType(_, ref column, ..) => {
                // A type may differ in name only: what counts is how values are stored.
                let storage = |schema| find(schema, column).map(|c: &ColumnSchema| c.storage);
                let (wanted, there) = (storage(model), storage(stored));
                // A column with a type may hold any value in SQLite, and a field of values reads them.
                let holds_any = weak_types && wanted == Some(Storage::Any);
                if wanted != there && there != Some(Storage::Any) && !holds_any {
                    return fail(difference.to_string());
                }
            }
            Difference::ExtraColumn(_, ref column) => {
                let required =
                    find(stored, column).is_some_and(|c| !c.nullable && c.default.is_none());
                if required {
                    return fail(format!("{difference}, but may not be NULL and has no default"));
                }
            }
            Difference::Key(..) => return fail(difference.to_string()),
            // Also one of an earlier version of Bobak, whose index has other words.
            Difference::Rule(_, _, "search", ..) if stored.search().is_none() => {
                let message = "the table has no search, or that of an earlier version of Bobak: call \
                               create_missing_tables, or add a migration with `add search`";
                return fail(message.to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tables after those that they refer to, unless references are circular.
fn in_order_of_references(tables: &[Arc<TableSchema>]) -> Vec<Arc<TableSchema>> {
    let mut waiting: Vec<_> = tables.to_vec();
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let needs = |table: &TableSchema, other: &TableSchema| {
            let keys = table.all_foreign_keys();
            keys.iter().any(|key| key.table.eq_ignore_ascii_case(other.name()))
        };
        let ready = |table: &Arc<TableSchema>| {
            waiting.iter().all(|other| Arc::ptr_eq(table, other) || !needs(table, other))
        };
        // In a cycle no table is ready: the first one goes first.
        let place = waiting.iter().position(ready).unwrap_or(0);
        ordered.push(waiting.remove(place));
    }
    ordered
}

fn find<'s>(schema: &'s TableSchema, name: &str) -> Option<&'s ColumnSchema> {
    schema.columns().iter().find(|column| column.name.eq_ignore_ascii_case(name))
}

fn same_names(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.eq_ignore_ascii_case(b))
}
