//! Building a [`TableSchema`], and the checks at the end.

use super::SearchSchema;
use super::fit::AcceptedValues;
use super::table::{CheckedColumn, FormerNames, Roles};
use super::{ColumnRole, ColumnSchema, ForeignKey, IndexSchema, KeyGeneration, TableSchema};
use crate::search::SearchLanguage;
use crate::{Error, ErrorKind, FieldSet, Result, Type};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Collects the parts of a table. See [`TableSchema::builder`].
///
/// ```
/// use bobak_core::{ColumnSchema, TableSchema};
/// let table = TableSchema::builder("plane")
///     .column(ColumnSchema::of::<String>("tailnum"))
///     .column(ColumnSchema::of::<Option<i32>>("year"))
///     .key(["tailnum"])
///     .index("plane_year", ["year"])
///     .build()?;
/// assert_eq!(table.key(), [0]);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableSchemaBuilder {
    name: Cow<'static, str>,
    columns: Vec<ColumnSchema>,
    key: Vec<Cow<'static, str>>,
    given: bool,
    hidden: bool,
    former: FormerNames,
    never_reused: bool,
    indexes: Vec<(Cow<'static, str>, Vec<Cow<'static, str>>, bool)>,
    foreign_keys: Vec<(Vec<Cow<'static, str>>, ForeignKey)>,
    search: Option<(Vec<Cow<'static, str>>, SearchLanguage)>,
    view: bool,
}

impl TableSchemaBuilder {
    pub(super) const fn new(name: Cow<'static, str>) -> Self {
        Self {
            name,
            columns: Vec::new(),
            key: Vec::new(),
            given: false,
            hidden: false,
            former: FormerNames { table: None, columns: Vec::new() },
            never_reused: false,
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            search: None,
            view: false,
        }
    }

    /// Appends a column.
    #[must_use]
    pub fn column(mut self, column: ColumnSchema) -> Self {
        self.columns.push(column);
        self
    }

    /// Inserts a column before the others.
    #[must_use]
    pub fn first_column(mut self, column: ColumnSchema) -> Self {
        self.columns.insert(0, column);
        self
    }

    /// Replaces the columns.
    #[must_use]
    pub fn columns(mut self, columns: Vec<ColumnSchema>) -> Self {
        self.columns = columns;
        self
    }

    /// Sets the key's columns. For a single `i64`, the engine makes a key if the value is 0; for a single
    /// UUID, Bobak makes one if it is nil. See [`given_key`](Self::given_key).
    #[must_use]
    pub fn key<N: Into<Cow<'static, str>>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.key = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Declares that the user sets every key: 0 and nil are ordinary keys.
    #[must_use]
    pub fn given_key(mut self) -> Self {
        self.given = true;
        self
    }

    /// Declares that the table has no primary key, and that this key is the engine's row number.
    #[must_use]
    pub const fn hidden_key(mut self) -> Self {
        self.hidden = true;
        self.given = false;
        self
    }

    /// Declares that the engine never makes a key again that it made for a row which was deleted since:
    /// `AUTOINCREMENT` in SQLite. PostgreSQL and MariaDB make all keys so.
    #[must_use]
    pub const fn never_reuse_keys(mut self) -> Self {
        self.never_reused = true;
        self
    }

    /// Declares that it is a view of the database, or a virtual table of an SQLite file: its rows can be read, and every write is `Unsupported`. Bobak
    /// never creates one. A view may have no [key](Self::key); its rows then have no order of their own, and none can
    /// be looked up by a key.
    #[must_use]
    pub const fn view(mut self) -> Self {
        self.view = true;
        self.given = true;
        self
    }

    /// Adds a foreign key of these columns, which its referenced columns follow in their order. A foreign key of
    /// one column is that column's [`reference`](ColumnSchema::reference), unless it has one.
    ///
    /// ```
    /// use bobak_core::{ColumnSchema, ForeignKey, OnDelete, TableSchema};
    /// let line = TableSchema::builder("line")
    ///     .column(ColumnSchema::of::<i64>("id"))
    ///     .column(ColumnSchema::of::<i64>("shop"))
    ///     .column(ColumnSchema::of::<i64>("order_number"))
    ///     .key(["id"])
    ///     .foreign_key(["shop", "order_number"], ForeignKey::new("order", ["shop", "number"], OnDelete::Cascade))
    ///     .build()?;
    /// assert_eq!(line.foreign_keys()[0].columns, [1, 2]);
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    #[must_use]
    pub fn foreign_key<N: Into<Cow<'static, str>>>(
        mut self,
        columns: impl IntoIterator<Item = N>,
        foreign_key: ForeignKey,
    ) -> Self {
        self.foreign_keys.push((columns.into_iter().map(Into::into).collect(), foreign_key));
        self
    }

    /// Declares that these columns are [searched](crate::search) together: texts of this language.
    #[must_use]
    pub fn search<N: Into<Cow<'static, str>>>(
        mut self,
        columns: impl IntoIterator<Item = N>,
        language: SearchLanguage,
    ) -> Self {
        self.search = Some((columns.into_iter().map(Into::into).collect(), language));
        self
    }

    /// Declares that the table is not searched.
    #[must_use]
    pub fn no_search(mut self) -> Self {
        self.search = None;
        self
    }

    /// Changes each column.
    #[must_use]
    pub fn map_columns(mut self, change: impl FnMut(ColumnSchema) -> ColumnSchema) -> Self {
        self.columns = self.columns.into_iter().map(change).collect();
        self
    }

    /// Changes the foreign keys that are no column's own, and drops those for which `change` returns `None`.
    #[must_use]
    pub fn map_foreign_keys(
        mut self,
        mut change: impl FnMut(ForeignKey) -> Option<ForeignKey>,
    ) -> Self {
        let keys = self.foreign_keys.into_iter();
        self.foreign_keys =
            keys.filter_map(|(columns, key)| Some((columns, change(key)?))).collect();
        self
    }

    /// Changes whether keys are [never reused](Self::never_reuse_keys).
    #[must_use]
    pub const fn reuse_keys(mut self) -> Self {
        self.never_reused = false;
        self
    }

    /// Sets the name that the table had before. A migration renames a table of that name, if the
    /// database has no table of the new name; nothing else uses it.
    #[must_use]
    pub fn renamed_from(mut self, former: impl Into<Cow<'static, str>>) -> Self {
        self.former.table = Some(former.into());
        self
    }

    /// Sets the name that a column had before: as [`renamed_from`](Self::renamed_from).
    #[must_use]
    pub fn column_renamed_from(
        mut self,
        column: impl Into<Cow<'static, str>>,
        former: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.former.columns.push((column.into(), former.into()));
        self
    }

    pub(super) fn former_names(mut self, former: FormerNames) -> Self {
        self.former = former;
        self
    }

    /// Adds an index.
    #[must_use]
    pub fn index<N: Into<Cow<'static, str>>>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        columns: impl IntoIterator<Item = N>,
    ) -> Self {
        self.indexes.push((name.into(), columns.into_iter().map(Into::into).collect(), false));
        self
    }

    /// Adds a unique index.
    #[must_use]
    pub fn unique_index<N: Into<Cow<'static, str>>>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        columns: impl IntoIterator<Item = N>,
    ) -> Self {
        self.indexes.push((name.into(), columns.into_iter().map(Into::into).collect(), true));
        self
    }

    /// Checks and builds the schema.
    ///
    /// # Errors
    /// `Schema`: no columns or too many, duplicate names, no key (unless it is a view) or a key that may be NULL, an index over a
    /// missing column, two columns with the same role, a foreign key whose columns are not as many as those that it
    /// references, keys that are never reused but not made by the engine, a search over columns that are not texts.
    pub fn build(self) -> Result<TableSchema> {
        let table = self.name.clone();
        self.assemble().map_err(|error| error.in_table(table))
    }

    fn assemble(self) -> Result<TableSchema> {
        if self.name.is_empty() || self.name.contains('\0') {
            return Err(schema_error(format!("'{}' is not a valid table name", self.name)));
        }
        check_columns(&self.columns)?;
        let place = |name: &Cow<'static, str>| find(&self.columns, name);
        let key = self.key.iter().map(place).collect::<Result<Vec<_>>>()?;
        if !(self.view && key.is_empty()) {
            check_key(&self.columns, &key)?;
        }
        let generation = key_generation(&self.columns, &key, self.given);
        let mut indexes = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            if column.unique && key != [place] {
                let name = format!("{}_{}_unique", self.name, column.name);
                indexes.push(IndexSchema { name: name.into(), columns: vec![place], unique: true });
            }
        }
        for (name, columns, unique) in &self.indexes {
            let columns = columns.iter().map(place).collect::<Result<Vec<_>>>()?;
            if columns.is_empty() || indexes.iter().any(|index| index.name == *name) {
                return Err(schema_error(format!("index '{name}' has no column, or exists twice")));
            }
            indexes.push(IndexSchema { name: name.clone(), columns, unique: *unique });
        }
        check_no_vector(&self.columns, &key)?;
        indexes.iter().try_for_each(|index| check_no_vector(&self.columns, &index.columns))?;
        let mut foreign_keys = Vec::new();
        for (columns, foreign_key) in self.foreign_keys {
            let columns = columns.iter().map(place).collect::<Result<Vec<_>>>()?;
            check_foreign_key(&columns, &foreign_key)?;
            foreign_keys.push(foreign_key.of_columns(columns));
        }
        let search = search(&self.columns, &self.search)?;
        if search.is_some() && self.view {
            return Err(schema_error("a view cannot be searched".to_owned()));
        }
        if self.never_reused && generation != KeyGeneration::Engine {
            let message = "only keys that the engine makes can be never reused: a single i64";
            return Err(schema_error(message.to_owned()));
        }
        let roles = find_roles(&self.columns)?;
        let checked = self.columns.iter().enumerate().filter_map(|(place, column)| {
            let as_text = column.is_kept_as_text();
            let short = column.max_chars.filter(|_| !as_text);
            (as_text || short.is_some()).then_some(CheckedColumn { place, short })
        });
        let checked: Vec<_> = checked.collect();
        let texts = checked.iter().any(|checked: &CheckedColumn| checked.short.is_none());
        let plain = !texts && generation != KeyGeneration::Uuid;
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        for (column, _) in &self.former.columns {
            place(column)?;
        }
        let (name, columns, former) = (self.name, self.columns, self.former);
        let fits = columns.iter().map(AcceptedValues::of).collect();
        let (hidden_key, never_reuses_keys) = (self.hidden, self.never_reused);
        let generated = columns.iter().any(|column| column.generated.is_some());
        Ok(TableSchema {
            id,
            name,
            columns,
            key,
            generation,
            indexes,
            roles,
            checked,
            plain,
            fits,
            hidden_key,
            former,
            never_reuses_keys,
            foreign_keys,
            search,
            view: self.view,
            generated,
        })
    }
}

fn search(
    columns: &[ColumnSchema],
    declared: &Option<(Vec<Cow<'static, str>>, SearchLanguage)>,
) -> Result<Option<SearchSchema>> {
    let Some((names, language)) = declared else { return Ok(None) };
    let places = names.iter().map(|name| find(columns, name)).collect::<Result<Vec<_>>>()?;
    let search = SearchSchema { columns: places, language: *language };
    search.check(columns)?;
    Ok(Some(search))
}

fn check_columns(columns: &[ColumnSchema]) -> Result<()> {
    if columns.is_empty() || columns.len() > FieldSet::MAX {
        let message = format!("a table has 1 to {} columns, not {}", FieldSet::MAX, columns.len());
        return Err(schema_error(message));
    }
    for (place, column) in columns.iter().enumerate() {
        if column.name.is_empty() || column.name.contains('\0') {
            return Err(schema_error(format!("'{}' is not a valid column name", column.name)));
        }
        if column.ty == Type::Decimal {
            let message =
                format!("column '{}': only SQL results have the type decimal", column.name);
            return Err(schema_error(message));
        }
        let before = columns.iter().take(place);
        if before.into_iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            return Err(schema_error(format!("column '{}' exists twice", column.name)));
        }
    }
    Ok(())
}

/// Vectors are too long for keys, and have no order that an index could use.
fn check_no_vector(columns: &[ColumnSchema], places: &[usize]) -> Result<()> {
    let mut found = places.iter().filter_map(|&place| columns.get(place));
    match found.find(|column| matches!(column.ty, Type::Vector(_))) {
        None => Ok(()),
        Some(column) => {
            let message = format!("column '{}': a vector has no key and no index", column.name);
            Err(schema_error(message))
        }
    }
}

fn check_key(columns: &[ColumnSchema], key: &[usize]) -> Result<()> {
    if key.is_empty() {
        return Err(schema_error("the table has no key: name its columns".to_owned()));
    }
    for (at, &place) in key.iter().enumerate() {
        let nullable = columns.get(place).is_some_and(|column| column.nullable);
        if nullable || key.iter().take(at).any(|&other| other == place) {
            let message = "the columns of a key must not be NULL and must not repeat".to_owned();
            return Err(schema_error(message));
        }
    }
    Ok(())
}

fn check_foreign_key(columns: &[usize], key: &ForeignKey) -> Result<()> {
    let is_repeated = |(at, column)| columns.iter().take(at).any(|other| other == column);
    if columns.is_empty()
        || columns.len() != key.referenced.len()
        || columns.iter().enumerate().any(is_repeated)
    {
        let message = format!(
            "the foreign key to '{}' needs one column for each column that it references",
            key.table
        );
        return Err(schema_error(message));
    }
    Ok(())
}

fn key_generation(columns: &[ColumnSchema], key: &[usize], given: bool) -> KeyGeneration {
    match *key {
        [place] if !given => match columns.get(place).map(|column| column.ty) {
            Some(Type::I64) => KeyGeneration::Engine,
            Some(Type::Uuid) => KeyGeneration::Uuid,
            _ => KeyGeneration::Given,
        },
        _ => KeyGeneration::Given,
    }
}

fn find_roles(columns: &[ColumnSchema]) -> Result<Roles> {
    let mut roles = Roles::default();
    for (place, column) in columns.iter().enumerate() {
        let role = match column.role {
            ColumnRole::Plain => continue,
            ColumnRole::CreatedAt => &mut roles.created,
            ColumnRole::ModifiedAt => &mut roles.modified,
            ColumnRole::Version => &mut roles.version,
        };
        let wanted = if column.role == ColumnRole::Version { Type::I64 } else { Type::Timestamp };
        if role.replace(place).is_some() || column.ty != wanted || column.nullable {
            return Err(schema_error(format!(
                "column '{}' cannot be {:?}: that is for one column of type {} that is never NULL",
                column.name,
                column.role,
                wanted.name()
            )));
        }
        roles.text_stamps |= wanted == Type::Timestamp && column.is_kept_as_text();
    }
    Ok(roles)
}

fn find(columns: &[ColumnSchema], name: &str) -> Result<usize> {
    columns
        .iter()
        .position(|column| column.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| schema_error(format!("there is no column '{name}'")))
}

fn schema_error(message: String) -> Error {
    Error::new(ErrorKind::Schema, message)
}
