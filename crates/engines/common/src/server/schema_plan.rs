//! Changes of the schema that add something, as the statements of a server.

use crate::{StatementDialect, TableAdditions, add_created_tables, find_table, foreign_keys_of};
use bobak_core::{ForeignKey, OnDelete, OnUpdate, Result, SchemaChange, TableSchema, Value};

/// The key of a table that is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedKey {
    /// A constraint.
    Constraint(String),
    /// The statement that creates the index that stands for it.
    Index(String),
}

/// Collects the statements of changes: those of each change in their order, then foreign keys, then descriptions.
pub trait SchemaPlanner {
    /// How statements are written.
    type Dialect: StatementDialect;

    /// How statements are written.
    fn dialect(&self) -> Self::Dialect;

    /// Adds a statement, and the table that its errors name.
    fn push(&mut self, table: &TableSchema, text: String);

    /// The definition of a column: its name, type and default.
    ///
    /// # Errors
    /// `Unsupported` for a column that the server cannot have.
    fn definition(
        &self,
        table: &TableSchema,
        place: usize,
        default: Option<&Value<'_>>,
        is_required: bool,
    ) -> Result<String>;

    /// What else the statement defines that creates a table: its checks.
    ///
    /// # Errors
    /// `Unsupported` for a check that the server cannot have.
    fn constraints(&self, table: &TableSchema) -> Result<Vec<String>>;

    /// The key.
    ///
    /// # Errors
    /// `Unsupported` for a key that the server cannot have.
    fn key(&self, table: &TableSchema) -> Result<PlannedKey>;

    /// Adds what a table needs before it is created.
    fn before_table(&mut self, _: &TableSchema) {}

    /// Adds a column.
    ///
    /// # Errors
    /// As [`definition`](Self::definition).
    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()>;

    /// Adds an index. `created` is the table as it was made, whose columns may have another type without the index.
    ///
    /// # Errors
    /// `Unsupported` for an index that the server cannot have.
    fn add_index(&mut self, table: &TableSchema, index: usize, created: &TableSchema)
    -> Result<()>;

    /// Prepares the columns of a foreign key that a table gets later.
    ///
    /// # Errors
    /// `Unsupported` for columns that cannot be changed.
    fn before_reference(
        &mut self,
        _table: &TableSchema,
        _key: &ForeignKey,
        _created: &TableSchema,
    ) -> Result<()> {
        Ok(())
    }

    /// Adds a foreign key. `tables` has those that there will be.
    ///
    /// # Errors
    /// `Unsupported` for a foreign key that the server cannot have.
    fn add_reference(
        &mut self,
        table: &TableSchema,
        key: &ForeignKey,
        tables: &[TableSchema],
    ) -> Result<()>;

    /// Describes a table, for those that read the schema.
    ///
    /// # Errors
    /// `Unsupported` for a description that is too long.
    fn describe(&mut self, table: &TableSchema) -> Result<()>;

    /// Creates a table without its foreign keys.
    ///
    /// # Errors
    /// `Unsupported` for a table that the server cannot have.
    fn create(&mut self, table: &TableSchema) -> Result<()> {
        let mut parts = Vec::new();
        for (place, column) in table.columns().iter().enumerate() {
            let is_required = !column.nullable || table.key().contains(&place);
            parts.push(self.definition(table, place, column.default.as_ref(), is_required)?);
        }
        parts.extend(self.constraints(table)?);
        let mut key_index = None;
        match self.key(table)? {
            PlannedKey::Constraint(text) => parts.push(text),
            PlannedKey::Index(text) => key_index = Some(text),
        }
        self.before_table(table);
        let (name, parts) = (self.dialect().quoted(table.name()), parts.join(", "));
        self.push(table, format!("CREATE TABLE {name} ({parts})"));
        key_index.into_iter().for_each(|text| self.push(table, text));
        (0..table.indexes().len()).try_for_each(|index| self.add_index(table, index, table))
    }

    /// Creates a table with its foreign keys and its description.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn create_whole(&mut self, table: &TableSchema) -> Result<()> {
        self.create(table)?;
        let (keys, tables) = (table.all_foreign_keys(), [table.clone()]);
        keys.iter().try_for_each(|key| self.add_reference(table, key, &tables))?;
        self.describe(table)
    }

    /// Plans changes of the stored tables.
    ///
    /// # Errors
    /// As [`Session::alter`](bobak_core::Session::alter).
    fn plan(&mut self, mut stored: Vec<TableSchema>, changes: &[SchemaChange]) -> Result<()> {
        add_created_tables(&mut stored, changes)?;
        let old = stored.clone();
        for addition in TableAdditions::collect(changes)? {
            let place = find_table(&stored, addition.table());
            if let Some(known) = place.and_then(|place| stored.get_mut(place)) {
                *known = TableSchema::clone(&addition.rebuild(known)?.schema);
            }
        }
        let (mut references, mut described) = (Vec::new(), Vec::new());
        for change in changes {
            let place = find_table(&stored, change.table());
            let Some((whole, old)) = place.and_then(|at| stored.get(at).zip(old.get(at))) else {
                continue;
            };
            let (table, keys) = plan_change(self, change, whole, old)?;
            references.extend(keys.into_iter().map(|key| (table, key)));
            if find_table(&described, whole).is_none() {
                described.push(whole.clone());
            }
        }
        for (table, key) in &references {
            self.add_reference(table, key, &stored)?;
        }
        described.iter().try_for_each(|table| self.describe(table))
    }
}

/// Plans a change but for its foreign keys; these, and the table that they are of. `whole` is the table after all changes, `old`
/// before them.
fn plan_change<'t, P: SchemaPlanner + ?Sized>(
    planner: &mut P,
    change: &'t SchemaChange,
    whole: &'t TableSchema,
    old: &TableSchema,
) -> Result<(&'t TableSchema, Vec<ForeignKey>)> {
    match change {
        SchemaChange::CreateTable(table) => {
            planner.create(table)?;
            Ok((table, table.all_foreign_keys()))
        }
        SchemaChange::AddColumn { table, column } => {
            let place = whole.column(&table.column_at(*column)?.name)?;
            planner.add_column(whole, place)?;
            Ok((whole, foreign_keys_of(whole, place)))
        }
        SchemaChange::AddIndex { table, index } => {
            let name = table.indexes().get(*index).map(|index| &index.name);
            let mut indexes = whole.indexes().iter();
            if let Some(index) = indexes.position(|index| Some(&index.name) == name) {
                planner.add_index(whole, index, old)?;
            }
            Ok((whole, Vec::new()))
        }
        SchemaChange::AddReference { table, column } => {
            let keys = foreign_keys_of(table, *column);
            keys.iter().try_for_each(|key| planner.before_reference(table, key, old))?;
            Ok((table, keys))
        }
        SchemaChange::AddForeignKey { table, foreign_key } => {
            let keys: Vec<_> =
                table.foreign_keys().get(*foreign_key).cloned().into_iter().collect();
            keys.iter().try_for_each(|key| planner.before_reference(table, key, old))?;
            Ok((table, keys))
        }
        _ => Ok((whole, Vec::new())),
    }
}

/// The key of a table that is created: a constraint, or an index of `compared`, which writes each column as it is compared,
/// if one of them `is_folded` there.
pub fn key_text<D: StatementDialect>(
    dialect: &D,
    table: &TableSchema,
    name: &str,
    is_folded: impl Fn(usize) -> bool,
    compared: impl Fn(usize) -> String,
) -> PlannedKey {
    let key = table.key().iter().copied();
    if !key.clone().any(is_folded) {
        let columns = dialect.columns(table, key);
        return PlannedKey::Constraint(format!("CONSTRAINT {name} PRIMARY KEY ({columns})"));
    }
    let (to, columns) = (dialect.quoted(table.name()), key.map(compared).collect::<Vec<_>>());
    let columns = columns.join(", ");
    PlannedKey::Index(format!("CREATE UNIQUE INDEX {name} ON {to} ({columns})"))
}

/// The statement that adds a foreign key of columns to those of another table, without its actions.
pub fn reference_text<'n, D: StatementDialect>(
    dialect: &D,
    table: &TableSchema,
    (name, to): (&str, &str),
    pairs: impl IntoIterator<Item = (usize, &'n str)>,
) -> String {
    let pairs = pairs.into_iter().map(|(own, name)| (own, dialect.quoted(name)));
    let (own, theirs): (Vec<usize>, Vec<String>) = pairs.unzip();
    format!(
        "ALTER TABLE {} ADD CONSTRAINT {name} FOREIGN KEY ({}) REFERENCES {} ({})",
        dialect.quoted(table.name()),
        dialect.columns(table, own),
        dialect.quoted(to),
        theirs.join(", "),
    )
}

/// The columns of a foreign key with the names of those that they reference.
pub fn reference_pairs(key: &ForeignKey) -> impl Iterator<Item = (usize, &str)> {
    key.columns.iter().copied().zip(key.referenced.iter().map(|name| &**name))
}

/// ` ON DELETE … ON UPDATE …`, for servers whose NO ACTION is what RESTRICT is.
#[must_use]
pub fn reference_actions(key: &ForeignKey) -> String {
    let on_delete = match key.on_delete {
        OnDelete::Cascade => "CASCADE",
        OnDelete::SetNull => "SET NULL",
        _ => "NO ACTION",
    };
    let on_update = match key.on_update {
        OnUpdate::Cascade => "CASCADE",
        OnUpdate::SetNull => "SET NULL",
        _ => "NO ACTION",
    };
    format!(" ON DELETE {on_delete} ON UPDATE {on_update}")
}

/// A foreign key to a table, without columns, whose actions are those of a catalog.
#[must_use]
pub fn listed_reference(to: String, on_delete: &str, on_update: &str) -> ForeignKey {
    let on_delete = match on_delete {
        "CASCADE" => OnDelete::Cascade,
        "SET NULL" => OnDelete::SetNull,
        _ => OnDelete::NoAction,
    };
    ForeignKey::new(to, Vec::<String>::new(), on_delete).on_update(match on_update {
        "CASCADE" => OnUpdate::Cascade,
        "SET NULL" => OnUpdate::SetNull,
        _ => OnUpdate::NoAction,
    })
}
