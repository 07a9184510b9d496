//! Changes of the schema that add something, as the statements of a server.

use crate::{
    SchemaDialect, StatementDialect, TableAdditions, add_created_tables, find_table,
    foreign_keys_of, key_name, reference_name,
};
use bobak_core::{
    ForeignKey, IndexSchema, OnDelete, OnUpdate, Result, SchemaChange, TableSchema, Value,
};

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
    type Dialect: SchemaDialect;

    /// How statements are written.
    fn dialect(&self) -> Self::Dialect;

    /// Adds a statement, and the table that its errors name.
    fn push(&mut self, table: &TableSchema, text: String);

    /// What else the statement defines that creates a table: its checks.
    ///
    /// # Errors
    /// `Unsupported` for a check that the server cannot have.
    fn constraints(&self, table: &TableSchema) -> Result<Vec<String>> {
        let checks = (0..table.columns().len()).map(|place| self.dialect().checks(table, place));
        Ok(checks.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The key.
    ///
    /// # Errors
    /// `Unsupported` for a key that the server cannot have.
    fn key(&self, table: &TableSchema) -> Result<PlannedKey> {
        let dialect = self.dialect();
        let (name, key) = (dialect.own(key_name(table)), table.key().iter().copied());
        if key.clone().all(|place| dialect.folded(table, place).is_none()) {
            let columns = dialect.columns(table, key);
            return Ok(PlannedKey::Constraint(format!(
                "CONSTRAINT {name} PRIMARY KEY ({columns})"
            )));
        }
        let columns: Vec<_> = key.map(|place| dialect.indexed(table, place)).collect();
        let (to, columns) = (dialect.quoted(table.name()), columns.join(", "));
        Ok(PlannedKey::Index(format!("CREATE UNIQUE INDEX {name} ON {to} ({columns})")))
    }

    /// Adds what a table needs before it is created.
    fn before_table(&mut self, _: &TableSchema) {}

    /// Adds a column.
    ///
    /// # Errors
    /// As [`SchemaDialect::definition`].
    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let (dialect, column) = (self.dialect(), table.column_at(place)?);
        let value = column.added_value();
        let alter = format!("ALTER TABLE {}", dialect.quoted(table.name()));
        let default = Some(&value).filter(|value| **value != Value::Null);
        let is_required = !column.nullable && default.is_some();
        let text = dialect.definition(table, place, default, is_required)?;
        let text = dialect.added(column, text, default.is_some());
        self.push(table, format!("{alter} ADD {text}"));
        // The default is that of old rows only.
        if default.is_some() && column.default.is_none() {
            self.push(table, format!("{alter} {}", dialect.without_default(table, column)));
        }
        for check in dialect.checks(table, place)? {
            self.push(table, format!("{alter} ADD {check}"));
        }
        Ok(())
    }

    /// The statement that adds an index. `created` is the table as it was made, whose columns may have another type without the
    /// index.
    ///
    /// # Errors
    /// `Unsupported` for an index that the server cannot have.
    fn index_text(
        &self,
        table: &TableSchema,
        index: &IndexSchema,
        created: &TableSchema,
    ) -> Result<String>;

    /// Prepares a column of an older table for an index.
    ///
    /// # Errors
    /// `Unsupported` for a column that cannot be changed.
    fn prepare_column(
        &mut self,
        _table: &TableSchema,
        _place: usize,
        _created: &TableSchema,
    ) -> Result<()> {
        Ok(())
    }

    /// Adds an index.
    ///
    /// # Errors
    /// `Unsupported` for an index that the server cannot have.
    fn add_index(
        &mut self,
        table: &TableSchema,
        index: usize,
        created: &TableSchema,
    ) -> Result<()> {
        let Some(index) = table.indexes().get(index) else { return Ok(()) };
        index.columns.iter().try_for_each(|&place| self.prepare_column(table, place, created))?;
        self.push(table, self.index_text(table, index, created)?);
        Ok(())
    }

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
        _tables: &[TableSchema],
    ) -> Result<()> {
        let dialect = self.dialect();
        let name = dialect.own(reference_name(table, &key.columns, &key.table));
        let text = reference_text(&dialect, table, (&name, &key.table), reference_pairs(key));
        self.push(table, text + &reference_actions(key));
        Ok(())
    }

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
            let default = column.default.as_ref();
            parts.push(self.dialect().definition(table, place, default, is_required)?);
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
