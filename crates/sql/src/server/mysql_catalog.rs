//! The schema of a database, created by any program, as [`TableSchema`]s: the inverse of `create_table`.
//!
//! Columns that Bobak made say in their comments what their types can't. Left out, since a schema
//! has no place for them: tables without a key, keys and references over expressions or several
//! columns; of tables that others made also generated columns, collations, and the CHECKs and defaults
//! that Bobak cannot express. All of them stay in force in the database.

use super::mariadb_expressions::{self, MariaDbColumn};
use super::{SqlServer, TableWithChecks, add_checks, text_order};
use crate::{
    CommentedKey, ConstraintNames, Dialect, FOLDED, FOLDED_KEY, LONG_DECIMAL, SEARCH_COLUMN,
    is_long_decimal, parse_comment, parse_declared, parse_mysql_index_comment,
    parse_search_comment,
};
use bobak_core::{
    ColumnRole, ColumnSchema, ErrorKind, ForeignKey, OnDelete, OnUpdate, Result, TableSchema,
    TableSchemaBuilder, Type, ValueRef,
};

/// A column as the server describes it.
#[derive(Clone)]
struct CatalogColumn {
    schema: ColumnSchema,
    /// What Bobak's comment says of the key.
    key: CommentedKey,
    auto_increment: bool,
    /// Whether Bobak's comment says what the column is.
    is_described: bool,
    sql_type: String,
    collation: String,
}

/// An index as the server describes it.
struct CatalogIndex {
    name: String,
    unique: bool,
    columns: Vec<String>,
    /// Its number in Bobak's schema, where Bobak made it.
    number: Option<usize>,
}

/// Rows of a description, each with its table's name first.
type Facts = Vec<Vec<String>>;

/// The rows that describe one table.
struct TableFacts {
    columns: Facts,
    indexes: Facts,
    references: Facts,
    checks: Facts,
}

const CHECKS: &str = "SELECT TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE \
    FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1, 2";

/// The names of all tables.
pub fn names(server: &mut dyn SqlServer) -> Result<Vec<String>> {
    let rows = facts(
        server,
        "SELECT TABLE_NAME FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')",
    )?;
    Ok(rows.into_iter().flatten().collect())
}

/// The tables that can be described, but for the change feed's own.
pub fn read(server: &mut dyn SqlServer) -> Result<Vec<TableSchema>> {
    let mut tables = with_logs(server)?;
    tables.retain(|table| !bobak_core::change_log::is_change_log_table(table.name()));
    Ok(tables)
}

/// The views.
pub fn views(server: &mut dyn SqlServer) -> Result<Vec<TableSchema>> {
    let rows = facts(
        server,
        "SELECT c.TABLE_NAME, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE, c.EXTRA, c.COLUMN_COMMENT \
         FROM information_schema.COLUMNS AS c JOIN information_schema.VIEWS AS v \
         ON v.TABLE_SCHEMA = c.TABLE_SCHEMA AND v.TABLE_NAME = c.TABLE_NAME \
         WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION",
    )?;
    let views = rows.chunk_by(|a, b| part(a, 0) == part(b, 0)).filter_map(|rows| {
        let builder = TableSchema::builder(part(rows.first()?, 0).to_owned()).view();
        // Roles are for writing.
        let columns = rows.iter().map(|row| column(server, row).schema.role(ColumnRole::Plain));
        columns.fold(builder, TableSchemaBuilder::column).build().ok()
    });
    Ok(views.collect())
}

/// As [`read`], with the change feed's.
pub fn with_logs(server: &mut dyn SqlServer) -> Result<Vec<TableSchema>> {
    Ok(with_checks(server)?.into_iter().map(|table| table.schema).collect())
}

/// As [`with_logs`], with the names of the CHECKs that the schemas have: on MariaDB only.
pub fn with_checks(server: &mut dyn SqlServer) -> Result<Vec<TableWithChecks>> {
    let names = names(server)?;
    let columns = facts(
        server,
        "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, EXTRA, COLUMN_COMMENT, \
         COLUMN_DEFAULT, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
         ORDER BY TABLE_NAME, ORDINAL_POSITION",
    )?;
    let indexes = facts(
        server,
        "SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, INDEX_COMMENT \
         FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
         ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
    )?;
    let references = facts(
        server,
        "SELECT k.TABLE_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, \
         r.DELETE_RULE, k.CONSTRAINT_NAME, r.UPDATE_RULE FROM information_schema.KEY_COLUMN_USAGE AS k \
         JOIN information_schema.REFERENTIAL_CONSTRAINTS AS r \
         ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME \
         AND r.TABLE_NAME = k.TABLE_NAME \
         WHERE k.TABLE_SCHEMA = DATABASE() AND k.REFERENCED_TABLE_NAME IS NOT NULL \
         ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION",
    )?;
    let checks = match server.dialect() {
        Dialect::MariaDb => facts(server, CHECKS)?,
        _ => Facts::new(),
    };
    let mut tables = Vec::new();
    for name in names {
        let of = |facts: &Facts| -> Facts {
            let own = |row: &&Vec<String>| row.first() == Some(&name);
            facts.iter().filter(own).cloned().collect()
        };
        let found = TableFacts {
            columns: of(&columns),
            indexes: of(&indexes),
            references: of(&references),
            checks: of(&checks),
        };
        match table(server, &name, &found) {
            Ok(found) => tables.extend(found),
            Err(error) if error.kind() == ErrorKind::Schema => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tables)
}

/// The triggers of the database's tables, those that this user may see.
pub fn triggers(server: &mut dyn SqlServer) -> Result<Vec<bobak_core::change_log::Trigger>> {
    let sql = crate::list_triggers(server.dialect());
    let rows = facts(server, sql)?;
    let trigger = |row: Vec<String>| bobak_core::change_log::Trigger {
        table: part(&row, 0).to_owned(),
        name: part(&row, 1).to_owned(),
        is_outdated: part(&row, 2) == "1",
    };
    Ok(rows.into_iter().map(trigger).collect())
}

/// The names of a table's foreign keys of one column.
pub fn constraint_names(
    server: &mut dyn SqlServer,
    table: &TableSchema,
) -> Result<ConstraintNames> {
    let rows = facts(
        server,
        "SELECT TABLE_NAME, COLUMN_NAME, CONSTRAINT_NAME FROM information_schema.KEY_COLUMN_USAGE \
         WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL",
    )?;
    let own: Vec<_> = rows.iter().filter(|row| part(row, 0) == table.name()).collect();
    let has_one_column = |row: &&&Vec<String>| {
        own.iter().filter(|other| part(other, 2) == part(row, 2)).count() == 1
    };
    let references = own
        .iter()
        .filter(has_one_column)
        .map(|row| (part(row, 1).to_owned(), part(row, 2).to_owned()));
    let mut foreign_keys: Vec<(Vec<String>, String)> = Vec::new();
    for row in own.iter().filter(|row| !has_one_column(row)) {
        let (column, name) = (part(row, 1).to_owned(), part(row, 2));
        match foreign_keys.iter_mut().find(|(_, known)| known == name) {
            Some((columns, _)) => columns.push(column),
            None => foreign_keys.push((vec![column], name.to_owned())),
        }
    }
    foreign_keys.iter_mut().for_each(|(columns, _)| columns.sort());
    let references = references.collect();
    Ok(ConstraintNames { references, foreign_keys, ..ConstraintNames::default() })
}

impl TableFacts {
    /// The rows of the columns that a schema has: not of those that another program lets the server compute.
    fn plain_columns(&self) -> impl Iterator<Item = &Vec<String>> {
        let is_known = |row: &&Vec<String>| {
            let described = parse_comment(part(row, 1), part(row, 5));
            !is_generated(row) || described.is_some_and(|(column, _)| column.generated.is_some())
        };
        self.columns.iter().filter(is_known)
    }
}

impl CatalogColumn {
    fn declared(&self) -> MariaDbColumn<'_> {
        MariaDbColumn { schema: &self.schema, sql_type: &self.sql_type, collation: &self.collation }
    }
}

/// Makes the columns JSON that have MariaDB's CHECK of documents, and returns the names of those CHECKs.
fn json_checks(columns: &mut [CatalogColumn], checks: &Facts) -> Vec<String> {
    let mut kept = Vec::new();
    for check in checks {
        let Some(name) = mariadb_expressions::json_column(part(check, 2)) else { continue };
        let is_named = |column: &&mut CatalogColumn| column.schema.name == name;
        let Some(column) = columns.iter_mut().find(is_named) else { continue };
        let is_text = column.schema.ty == Type::Text && column.schema.declared.is_none();
        if is_text && !column.is_described {
            let json = ColumnSchema::new(name.into_owned(), Type::Json);
            let text_order = column.schema.text_order;
            column.schema = json.nullable(column.schema.nullable);
            column.schema.text_order = text_order;
        }
        if column.schema.ty == Type::Json {
            kept.push(part(check, 1).to_owned());
        }
    }
    kept
}

/// Adds the CHECKs of other programs to the table, as far as Bobak has them.
fn with_checks_of(
    table: TableSchema,
    columns: &[CatalogColumn],
    mut kept: Vec<String>,
    checks: &Facts,
) -> TableWithChecks {
    let declared: Vec<_> = columns.iter().map(CatalogColumn::declared).collect();
    let mut found = Vec::new();
    for row in checks {
        let (name, clause) = (part(row, 1), part(row, 2));
        let is_own = |column: &ColumnSchema| {
            column.check.is_some() && column.name.eq_ignore_ascii_case(name)
        };
        if kept.iter().any(|kept| kept == name) {
            // It is the type.
        } else if table.columns().iter().any(is_own) {
            kept.push(name.to_owned());
        } else if let Some(check) = mariadb_expressions::check(clause, &table, &declared)
            && let Some(&position) = check.columns().first()
            && columns.get(position).is_some_and(|column| !column.is_described)
        {
            found.push((name.to_owned(), position, check));
        }
    }
    add_checks(table, kept, found)
}

/// Rows of texts: a number is its digits, NULL is the empty text.
pub fn facts(server: &mut dyn SqlServer, sql: &str) -> Result<Facts> {
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Null => String::new(),
        ValueRef::Int(integer) => integer.to_string(),
        ValueRef::Float(float) => float.to_string(),
        ValueRef::Text(text) => text.to_owned(),
        ValueRef::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let mut rows = Vec::new();
    server.ask(sql, &[], &mut |row| {
        rows.push((0..row.len()).map(|column| text(row.get(column))).collect());
    })?;
    Ok(rows)
}

/// One of the texts; empty if there is none.
#[must_use]
pub fn part(row: &[String], at: usize) -> &str {
    row.get(at).map_or("", String::as_str)
}

fn table(
    server: &dyn SqlServer,
    name: &str,
    found: &TableFacts,
) -> Result<Option<TableWithChecks>> {
    let TableFacts { indexes, references, checks, .. } = found;
    let search = found.columns.iter().find(|row| part(row, 1) == SEARCH_COLUMN);
    let search = search.and_then(|row| parse_search_comment(part(row, 5)));
    let mut columns: Vec<CatalogColumn> =
        found.plain_columns().map(|row| column(server, row)).collect();
    let kept = json_checks(&mut columns, checks);
    if server.dialect() == Dialect::MariaDb {
        for (column, row) in columns.iter_mut().zip(found.plain_columns()) {
            let constant = mariadb_expressions::default(part(row, 6), column.declared());
            if !column.is_described {
                column.schema.default = constant;
            }
        }
    }
    let mut indexes = grouped(indexes);
    let Some(at) = indexes.iter().position(|index| index.name == "PRIMARY") else {
        return Ok(None);
    };
    let key = indexes.remove(at).columns;
    // A key of another width that the server generates is what a key of 64 bits is to a program.
    for column in columns.iter_mut().filter(|column| column.auto_increment) {
        if key == [&*column.schema.name] && column.schema.ty.integer_range().is_some() {
            column.schema.ty = Type::I64;
        }
    }
    let mut further = Vec::new();
    for rows in references.chunk_by(|a, b| part(a, 5) == part(b, 5)) {
        let names: Vec<&str> = rows.iter().map(|row| part(row, 1)).collect();
        let Some(key) = foreign_key(rows) else { continue };
        let find = |name: &str| columns.iter().position(|c| c.schema.name == name);
        match names[..] {
            [name] => {
                let Some(column) = find(name).and_then(|at| columns.get_mut(at)) else { continue };
                if column.schema.reference.is_none() {
                    column.schema.reference = key.into_reference();
                } else {
                    further.push((vec![name], key));
                }
            }
            _ if names.iter().all(|name| find(name).is_some()) => further.push((names, key)),
            _ => {}
        }
    }
    // The server makes an index for a foreign key that has none; its name outlives changes of the columns' names.
    let is_made = |index: &CatalogIndex| {
        let mut keys = references.chunk_by(|a, b| part(a, 5) == part(b, 5));
        keys.any(|rows| rows.iter().map(|row| part(row, 1)).eq(&index.columns))
    };
    indexes.retain(|index| {
        ![FOLDED_KEY, SEARCH_COLUMN].contains(&&*index.name)
            && (index.unique || index.number.is_some() || !is_made(index))
    });
    indexes.sort_by_key(|index| index.number.unwrap_or(usize::MAX));
    let described = columns.clone();
    let mut table = build(name, columns, key, &indexes, further)?;
    if let Some((language, columns)) = search {
        table = table.into_builder().search(columns, language).build()?;
    }
    Ok(Some(with_checks_of(table, &described, kept, checks)))
}

fn column(server: &dyn SqlServer, row: &[String]) -> CatalogColumn {
    let (name, declared, comment) = (part(row, 1), part(row, 2), part(row, 5));
    let declared_type = parse_declared(server.dialect(), declared);
    let described = parse_comment(name, comment)
        // One that was changed by another is what it is now.
        .filter(|(schema, _)| declared_type.ty.storage() == schema.storage);
    let is_described = described.is_some();
    let (mut schema, key) = described.unwrap_or_else(|| {
        let mut schema = ColumnSchema::new(name.to_owned(), declared_type.ty);
        schema.max_chars = declared_type.max_chars;
        let is_long = is_long_decimal(server.dialect(), declared);
        schema.declared = is_long.then(|| LONG_DECIMAL.into());
        (schema, CommentedKey::default())
    });
    if !is_generated(row) {
        schema.generated = None;
        schema.nullable = part(row, 3) == "YES";
    }
    schema.text_order = text_order::of_mysql(&schema, declared, part(row, 7));
    CatalogColumn {
        schema,
        key,
        auto_increment: part(row, 4).contains("auto_increment"),
        is_described,
        sql_type: declared.to_owned(),
        collation: part(row, 7).to_owned(),
    }
}

/// Whether the server computes the column.
fn is_generated(row: &[String]) -> bool {
    part(row, 4).to_ascii_uppercase().contains("GENERATED")
}

/// The indexes, their columns' rows put together.
fn grouped(rows: &Facts) -> Vec<CatalogIndex> {
    let mut indexes: Vec<CatalogIndex> = Vec::new();
    for row in rows {
        let name = part(row, 1);
        let column = part(row, 3);
        let column = column.strip_prefix(FOLDED).unwrap_or(column).to_owned();
        let (number, own) = parse_mysql_index_comment(part(row, 4));
        let name = own.unwrap_or(name);
        match indexes.last_mut().filter(|index| index.name == name) {
            Some(index) => index.columns.push(column),
            None => indexes.push(CatalogIndex {
                name: name.to_owned(),
                unique: part(row, 2) == "0",
                columns: vec![column],
                number,
            }),
        }
    }
    indexes
}

/// The foreign key of these rows, one for each column.
fn foreign_key(rows: &[Vec<String>]) -> Option<ForeignKey> {
    let row = rows.first()?;
    let on_delete = match part(row, 4) {
        "CASCADE" => OnDelete::Cascade,
        "SET NULL" => OnDelete::SetNull,
        "NO ACTION" => OnDelete::NoAction,
        _ => OnDelete::Restrict,
    };
    let on_update = match part(row, 6) {
        "CASCADE" => OnUpdate::Cascade,
        "SET NULL" => OnUpdate::SetNull,
        // That is also what MariaDB calls a rule that names no action.
        "RESTRICT" => OnUpdate::Restrict,
        _ => OnUpdate::NoAction,
    };
    let referenced = rows.iter().map(|row| part(row, 3).to_owned());
    Some(ForeignKey::new(part(row, 2).to_owned(), referenced, on_delete).on_update(on_update))
}

fn build(
    table: &str,
    columns: Vec<CatalogColumn>,
    key: Vec<String>,
    indexes: &[CatalogIndex],
    foreign_keys: Vec<(Vec<&str>, ForeignKey)>,
) -> Result<TableSchema> {
    let is_rule = |index: &CatalogIndex| match &index.columns[..] {
        [column] => index.unique && index.name == format!("{table}_{column}_unique"),
        _ => false,
    };
    let mut builder = TableSchema::builder(table.to_owned());
    let given = columns.iter().any(|column| {
        let in_key = key.contains(&column.schema.name.to_string());
        in_key && (column.key.given || (column.schema.ty == Type::I64 && !column.auto_increment))
    });
    let unreused = columns.iter().any(|column| column.key.unreused && column.auto_increment);
    for mut column in columns {
        let own = |index: &&CatalogIndex| {
            is_rule(index) && index.columns.contains(&column.schema.name.to_string())
        };
        column.schema.unique = indexes.iter().any(|index| own(&index));
        builder = builder.column(column.schema);
    }
    builder = builder.key(key);
    if given {
        builder = builder.given_key();
    } else if unreused {
        builder = builder.never_reuse_keys();
    }
    for (names, key) in foreign_keys {
        let names = names.into_iter().map(str::to_owned);
        builder = builder.foreign_key(names, key);
    }
    for index in indexes.iter().filter(|index| !is_rule(index)) {
        let (name, columns) = (index.name.clone(), index.columns.clone());
        builder = if index.unique {
            builder.unique_index(name, columns)
        } else {
            builder.index(name, columns)
        };
    }
    builder.build()
}
