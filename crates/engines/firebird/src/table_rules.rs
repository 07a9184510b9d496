//! The key, the indexes and the constraints of a table, each as the statement that adds it.

use crate::columns::{exact, is_octets, sql_type};
use crate::names::Names;
use crate::values::is_text;
use bobak_core::check::CheckExpression;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, ForeignKey, IndexSchema, Result, TableSchema, Type,
};
use bobak_engine_common::{
    SchemaDialect, StatementDialect, check_name, column_error, index_name, key_name,
    reference_actions, reference_name, reference_pairs, reference_text,
};
use bobak_sql::in_index_order;

/// What a rule of a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuleKind {
    /// The key, or the index that stands for it.
    Key,
    /// The index with this position in [`TableSchema::indexes`].
    Index(usize),
    /// The CHECK of the column with this position.
    Check(usize),
    /// A foreign key to this table.
    Reference(String),
}

/// A rule, or an index.
#[derive(Clone, Debug)]
pub(crate) struct TableRule {
    pub kind: RuleKind,
    /// In the catalog.
    pub name: String,
    /// The columns of the key, the index or the foreign key.
    pub columns: Vec<usize>,
    /// The statement that adds it.
    pub text: String,
}

impl TableRule {
    /// Whether the two are the same, whatever positions they have.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }

    /// Whether it is among these.
    pub(crate) fn is_one_of(&self, rules: &[Self]) -> bool {
        rules.iter().any(|rule| rule.is_same(self))
    }

    /// Whether the rule mentions one of these columns, which are in quotes.
    pub(crate) fn mentions(&self, columns: &[String]) -> bool {
        columns.iter().any(|column| self.text.contains(&**column))
    }

    /// Whether a foreign key can reference its columns.
    pub(crate) fn can_be_referenced(&self) -> bool {
        matches!(self.kind, RuleKind::Key | RuleKind::Index(_))
            && self.text.contains(" CONSTRAINT ")
    }

    /// Whether it is a foreign key to this table.
    pub(crate) fn references(&self, table: &str) -> bool {
        matches!(&self.kind, RuleKind::Reference(to) if to.eq_ignore_ascii_case(table))
    }

    /// Whether Firebird takes it only after the columns that it mentions are committed.
    pub(crate) fn needs_committed_columns(&self) -> bool {
        matches!(self.kind, RuleKind::Check(_)) || self.text.contains(COMPUTED)
    }
}

const COMPUTED: &str = " COMPUTED BY (";

/// The rules of a table, in an order in which they can be added. `tables` has those that it references.
///
/// # Errors
/// `Unsupported` for rules that Firebird has not.
pub(crate) fn rules(
    names: Names,
    table: &TableSchema,
    tables: &[TableSchema],
) -> Result<Vec<TableRule>> {
    let mut rules = vec![key(names, table)?];
    for (place, index) in table.indexes().iter().enumerate() {
        let text = index_text(names, table, index, table)?;
        let (kind, columns) = (RuleKind::Index(place), index.columns.clone());
        rules.push(TableRule {
            kind,
            name: names.own(index_name(table, &index.name)),
            columns,
            text,
        });
    }
    for (place, column) in table.columns().iter().enumerate() {
        rules.extend(check(names, table, place, column)?);
    }
    rules.extend(table.all_foreign_keys().iter().map(|key| reference(names, table, key, tables)));
    Ok(rules)
}

fn alter(names: Names, table: &TableSchema) -> String {
    format!("ALTER TABLE {} ADD ", names.quoted(table.name()))
}

/// Whether the key is a constraint: each of its columns compares as it is kept.
pub(crate) fn has_plain_key(names: Names, table: &TableSchema) -> bool {
    table.key().iter().all(|place| names.folded(table, *place).is_none())
}

/// The constraint of a plain key.
pub(crate) fn key_constraint(names: Names, table: &TableSchema) -> String {
    let (name, columns) =
        (names.own(key_name(table)), names.columns(table, table.key().iter().copied()));
    format!("CONSTRAINT {name} PRIMARY KEY ({columns}) USING INDEX {name}")
}

/// The rule of the key.
///
/// # Errors
/// As [`rules`].
pub(crate) fn key(names: Names, table: &TableSchema) -> Result<TableRule> {
    let name = names.own(key_name(table));
    let text = match has_plain_key(names, table) {
        true => alter(names, table) + &key_constraint(names, table),
        false => computed_index(names, table, &name, table.key(), true)?,
    };
    Ok(TableRule { kind: RuleKind::Key, name, columns: table.key().to_vec(), text })
}

fn check(
    names: Names,
    table: &TableSchema,
    place: usize,
    column: &ColumnSchema,
) -> Result<Option<TableRule>> {
    let Some(check) = names.checks(table, place)?.pop() else { return Ok(None) };
    let name = names.own(check_name(table, &column.name));
    let text = alter(names, table) + &check;
    Ok(Some(TableRule { kind: RuleKind::Check(place), name, columns: Vec::new(), text }))
}

/// The error of a row that the CHECK of a column rejects.
pub(crate) fn check_error(table: &TableSchema, column: &ColumnSchema) -> Error {
    let text = column.check.as_deref().unwrap_or_default();
    match CheckExpression::parse(text, table) {
        Ok(check) => Error::check_violation(table, &check),
        Err(error) => error,
    }
}

/// The statement that adds an index. `created` is the table as it was made, whose columns are kept as they were without the index.
///
/// # Errors
/// As [`rules`].
pub(crate) fn index_text(
    names: Names,
    table: &TableSchema,
    index: &IndexSchema,
    created: &TableSchema,
) -> Result<String> {
    let name = names.own(index_name(table, &index.name));
    let is_plain = |place: &usize| {
        let Some(column) = table.columns().get(*place) else { return true };
        let at = created.column(&column.name).unwrap_or(*place);
        let is_blob = matches!(sql_type(created, at), Ok(ty) if ty.starts_with("BLOB"));
        // What only finds rows need not tell equal values from others.
        let is_loose = is_text(column) && !is_octets(created, at) || column.ty == Type::Bytes;
        let is_folded = is_loose || names.folded(table, *place).is_some();
        !(is_blob || index.unique && is_folded)
    };
    // Firebird takes rows for equal that are NULL in the same columns of several, and equal in the others.
    let is_partly_null = index.unique
        && index.columns.len() > 1
        && !names.not_null(table, &index.columns).is_empty();
    match is_partly_null || !index.columns.iter().all(is_plain) {
        true => computed_index(names, table, &name, &index.columns, index.unique),
        false if index.unique => {
            Ok(names.unique_constraint(table, index) + " USING INDEX " + &name)
        }
        false => Ok(names.plain_index(table, index)),
    }
}

/// An expression of bytes after their length.
fn after_length(text: &str) -> String {
    format!("CAST(OCTET_LENGTH({text}) AS VARCHAR(10) CHARACTER SET OCTETS) || x'3a' || {text}")
}

/// An index over what is compared, not what is kept: of several columns, each after its length. It is NULL if one is.
fn computed_index(
    names: Names,
    table: &TableSchema,
    name: &str,
    columns: &[usize],
    unique: bool,
) -> Result<String> {
    let is_float = |place: &&usize| {
        let column = table.columns().get(**place);
        column.is_some_and(|column| matches!(column.ty, Type::F32 | Type::F64))
    };
    if let Some(&place) = columns.iter().find(is_float).filter(|_| unique) {
        let message = "on Firebird, no unique index has floats along with texts or NULLs";
        return Err(column_error(table, &[place], (ErrorKind::Unsupported, message)));
    }
    let parts: Vec<String> = columns.iter().map(|&place| exact(names, table, place)).collect();
    let whole = match &parts[..] {
        [one] => one.clone(),
        many => many.iter().map(|part| after_length(part)).collect::<Vec<_>>().join(" || "),
    };
    let unique = if unique { "UNIQUE " } else { "" };
    Ok(format!("CREATE {unique}INDEX {name} ON {}{COMPUTED}{whole})", names.quoted(table.name())))
}

/// A foreign key of a table. `tables` has the one that it references.
pub(crate) fn reference(
    names: Names,
    table: &TableSchema,
    key: &ForeignKey,
    tables: &[TableSchema],
) -> TableRule {
    let name = names.own(reference_name(table, &key.columns, &key.table));
    // Firebird wants the columns in the order of the index of those that they reference.
    let parent = tables.iter().find(|known| known.name().eq_ignore_ascii_case(&key.table));
    let pairs: Vec<(usize, &str)> = reference_pairs(key).collect();
    let ordered = parent.and_then(|parent| in_index_order(&pairs, parent));
    let pairs = ordered.unwrap_or(pairs);
    let text = reference_text(&names, table, (&name, &key.table), pairs);
    let text = format!("{text}{} USING INDEX {name}", reference_actions(key));
    let kind = RuleKind::Reference(key.table.to_string());
    TableRule { kind, name, columns: key.columns.clone(), text }
}
