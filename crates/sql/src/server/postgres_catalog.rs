//! Reads the tables of a database from the server's catalog and the metadata comments of their columns.

use super::postgres_expressions::{self, PostgresColumn};
use super::{SqlServer, TableWithChecks, add_checks, text_order};
use crate::{
    ConstraintNames, Dialect, FOLDED_INDEX, KEY_INDEX, LONG_DECIMAL, SEARCH_COLUMN, declared_type,
    is_long_decimal, parse_declared, parse_metadata_comment, parse_search_comment,
    split_index_comment,
};
use bobak_core::check::CheckExpression;
use bobak_core::search::SearchLanguage;
use bobak_core::{
    ColumnRole, ColumnSchema, ForeignKey, OnDelete, OnUpdate, Result, Row, TableSchema,
    TableSchemaBuilder, Type, Value, ValueRef,
};
use std::collections::{BTreeMap, BTreeSet};

const SQL: Dialect = Dialect::Postgres;

const COLUMNS: &str = "SELECT c.oid::int8, c.relname::text, a.attnum, a.attname::text, \
    CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) \
    ELSE format_type(a.atttypid, a.atttypmod) END, a.attnotnull OR t.typnotnull, \
    a.attidentity <> '' OR d.adbin IS NOT NULL, col_description(c.oid, a.attnum), \
    CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END, a.attgenerated <> '', \
    COALESCE((SELECT CASE l.collname WHEN 'default' THEN 'a'::text > 'Z'::text \
    ELSE l.collname IN ('C', 'POSIX', 'ucs_basic', 'pg_c_utf8') END \
    FROM pg_collation l WHERE l.oid = a.attcollation), false) \
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid \
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND c.relkind::text = ANY (string_to_array($1, ' ')) AND NOT c.relispartition \
    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.oid, a.attnum";

/// Kinds of relations: tables, partitioned tables, foreign tables.
const TABLES: &str = "r p f";
/// Views, materialized views.
const VIEWS: &str = "v m";

const INDEXES: &str = "SELECT i.indrelid::int8, n.relname::text, i.indisunique, i.indisprimary, \
    array_to_string((i.indkey::int2[])[0:i.indnkeyatts - 1], ' '), \
    obj_description(i.indexrelid, 'pg_class'), i.indpred IS NOT NULL \
    FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid \
    WHERE n.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND (i.indisvalid OR n.relkind = 'I') ORDER BY i.indexrelid";

/// One row for each column of a foreign key to a table of the same schema, oldest key first.
const LINKS: &str = "SELECT k.conrelid::int8, k.oid::int8, u.own::int8, r.relname::text, a.attname::text, \
    k.confdeltype::text, k.confupdtype::text, k.condeferred FROM pg_constraint k \
    JOIN pg_class r ON r.oid = k.confrelid \
    CROSS JOIN unnest(k.conkey, k.confkey) WITH ORDINALITY AS u (own, other, at) \
    JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.other \
    WHERE k.contype = 'f' AND left(k.conname::text, 14) <> 'bobak_pending_' AND r.relnamespace = \
    (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) ORDER BY k.oid, u.at";

/// The CHECKs, oldest first.
const CHECKS: &str = "SELECT conrelid::int8, conname::text, pg_get_constraintdef(oid), \
    array_to_string(conkey, ' ') FROM pg_constraint \
    WHERE contype = 'c' AND convalidated AND left(conname::text, 14) <> 'bobak_pending_' \
    AND connamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) ORDER BY oid";

const CONSTRAINTS: &str = "SELECT t.relname::text, k.contype::text, k.conname::text, \
    (SELECT string_agg(a.attname::text, chr(1) ORDER BY a.attname::text COLLATE \"C\") FROM pg_attribute a \
    WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)) \
    FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid \
    WHERE k.contype IN ('c', 'f') AND left(k.conname::text, 14) <> 'bobak_pending_' AND t.relnamespace = \
    (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

const INDEX_NAMES: &str = "SELECT t.relname::text, n.relname::text, \
    obj_description(i.indexrelid, 'pg_class') \
    FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid \
    WHERE n.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// A table as it is being put together.
#[derive(Default)]
struct CatalogTable {
    name: String,
    columns: Vec<FoundColumn>,
    key: Vec<usize>,
    indexes: Vec<(String, Vec<usize>, bool)>,
    given: bool,
    unreused: bool,
    foreign_keys: Vec<(i64, ForeignKey)>,
    checks: Vec<FoundCheck>,
    search: Option<(SearchLanguage, Vec<String>)>,
    /// The foreign keys with a column that the schema lacks.
    partial_keys: Vec<i64>,
}

#[derive(Clone)]
struct FoundColumn {
    number: i64,
    schema: ColumnSchema,
    /// The type as the server writes it.
    sql_type: String,
    /// Whether Bobak's comment says what the column is.
    is_described: bool,
    /// Whether the server generates a value if an insert has none.
    is_made: bool,
}

struct FoundCheck {
    name: String,
    definition: String,
    /// The numbers of its columns.
    columns: Vec<i64>,
}

/// All tables of the schema in use that have a key, but for the change feed's own.
///
/// # Errors
/// Those of the server and the connection.
pub fn tables(server: &mut dyn SqlServer) -> Result<Vec<TableSchema>> {
    let mut tables = with_logs(server)?;
    tables.retain(|table| !bobak_core::change_log::is_change_log_table(table.name()));
    Ok(tables)
}

/// The views of the schema in use, materialized ones too.
///
/// # Errors
/// Those of the server and the connection.
pub fn views(server: &mut dyn SqlServer) -> Result<Vec<TableSchema>> {
    let views = columns(server, VIEWS)?.into_values().filter_map(|view| {
        let builder = TableSchema::builder(view.name).view();
        // Roles are for writing.
        let columns = view.columns.into_iter().map(|c| c.schema.role(ColumnRole::Plain));
        let columns = columns.map(|column| ColumnSchema { default: None, ..column });
        columns.fold(builder, TableSchemaBuilder::column).build().ok()
    });
    Ok(views.collect())
}

/// The relations of these kinds with their columns, by number.
fn columns(server: &mut dyn SqlServer, kinds: &str) -> Result<BTreeMap<i64, CatalogTable>> {
    let mut tables: BTreeMap<i64, CatalogTable> = BTreeMap::new();
    server.ask(COLUMNS, &[Value::from(kinds)], &mut |row| {
        let table = tables.entry(integer(row, 0)).or_default();
        table.name = text(row, 1);
        add_column(table, row);
    })?;
    Ok(tables)
}

/// The triggers of the schema's tables that are not switched off.
pub fn triggers(server: &mut dyn SqlServer) -> Result<Vec<bobak_core::change_log::Trigger>> {
    let mut triggers = Vec::new();
    let sql = crate::list_triggers(SQL);
    server.ask(sql, &[], &mut |row| {
        let (table, name, is_outdated) = (text(row, 0), text(row, 1), integer(row, 2) != 0);
        let trigger = bobak_core::change_log::Trigger { table, name, is_outdated };
        triggers.push(trigger);
    })?;
    Ok(triggers)
}

/// As [`tables`], with the change feed's.
///
/// # Errors
/// As [`tables`].
pub fn with_logs(server: &mut dyn SqlServer) -> Result<Vec<TableSchema>> {
    Ok(with_checks(server)?.into_iter().map(|table| table.schema).collect())
}

/// As [`with_logs`], with the names of the CHECKs that the schemas have.
///
/// # Errors
/// As [`tables`].
pub fn with_checks(server: &mut dyn SqlServer) -> Result<Vec<TableWithChecks>> {
    let mut tables = columns(server, TABLES)?;
    server.ask(INDEXES, &[], &mut |row| {
        if let Some(table) = tables.get_mut(&integer(row, 0)) {
            add_index(table, row);
        }
    })?;
    server.ask(LINKS, &[], &mut |row| {
        if let Some(table) = tables.get_mut(&integer(row, 0)) {
            add_link(table, row);
        }
    })?;
    server.ask(CHECKS, &[], &mut |row| {
        if let Some(table) = tables.get_mut(&integer(row, 0)) {
            let columns =
                text(row, 3).split(' ').filter_map(|number| number.parse().ok()).collect();
            table.checks.push(FoundCheck { name: text(row, 1), definition: text(row, 2), columns });
        }
    })?;
    // What has no key is no record's table.
    Ok(tables.into_values().filter_map(CatalogTable::build).collect())
}

/// The names of a table's constraints and indexes.
///
/// # Errors
/// Those of the server and the connection.
pub fn constraint_names(
    server: &mut dyn SqlServer,
    table: &TableSchema,
) -> Result<ConstraintNames> {
    let mut names = ConstraintNames::default();
    server.ask(CONSTRAINTS, &[], &mut |row| {
        let columns: Vec<_> = text(row, 3).split('\u{1}').map(str::to_owned).collect();
        match (text(row, 0) == table.name(), text(row, 1).as_str(), &columns[..]) {
            (true, "c", _) => names.checks.push((columns, text(row, 2))),
            (true, "f", [column]) => names.references.push((column.clone(), text(row, 2))),
            (true, "f", _) => {
                let mut columns = columns;
                columns.sort();
                names.foreign_keys.push((columns, text(row, 2)));
            }
            _ => {}
        }
    })?;
    server.ask(INDEX_NAMES, &[], &mut |row| {
        let comment = text(row, 2);
        match split_index_comment(&comment) {
            _ if text(row, 0) != table.name() => {}
            (_, Some(own)) => names.indexes.push((own.to_owned(), text(row, 1))),
            (comment, None) if comment.starts_with(KEY_INDEX) => {
                names.key_index = Some(text(row, 1));
            }
            _ => {}
        }
    })?;
    Ok(names)
}

/// Takes note of one column of a foreign key.
fn add_link(table: &mut CatalogTable, row: &dyn Row) {
    let Some(place) = table.columns.iter().position(|c| c.number == integer(row, 2)) else {
        table.partial_keys.push(integer(row, 1));
        return;
    };
    if table.foreign_keys.last().is_none_or(|(oid, _)| *oid != integer(row, 1)) {
        let on_delete = match text(row, 5).as_str() {
            "c" => OnDelete::Cascade,
            "n" => OnDelete::SetNull,
            "r" => OnDelete::Restrict,
            _ => OnDelete::NoAction,
        };
        let mut key = ForeignKey::new(text(row, 3), Vec::<String>::new(), on_delete);
        key.on_update = match text(row, 6).as_str() {
            "c" => OnUpdate::Cascade,
            "n" => OnUpdate::SetNull,
            "r" => OnUpdate::Restrict,
            _ => OnUpdate::NoAction,
        };
        key.deferred = integer(row, 7) != 0;
        table.foreign_keys.push((integer(row, 1), key));
    }
    if let Some((_, key)) = table.foreign_keys.last_mut() {
        key.columns.push(place);
        key.referenced.push(text(row, 4).into());
    }
}

/// Takes note of a column.
fn add_column(table: &mut CatalogTable, row: &dyn Row) {
    if text(row, 3) == SEARCH_COLUMN
        && let Some(search) = parse_search_comment(&text(row, 7))
    {
        table.search = Some(search);
        return;
    }
    let sql_type = text(row, 4);
    let declared = parse_declared(SQL, &sql_type);
    let mut schema = ColumnSchema::new(text(row, 3), declared.ty).nullable(integer(row, 5) == 0);
    schema.max_chars = declared.max_chars;
    schema.declared = is_long_decimal(SQL, &sql_type).then(|| LONG_DECIMAL.into());
    let declared_column = PostgresColumn { schema: &schema, sql_type: &sql_type };
    let default = postgres_expressions::default(&text(row, 8), declared_column);
    let mut is_described = false;
    if let ValueRef::Text(comment) = row.get(7)
        && let Some(remark) = parse_metadata_comment(comment)
    {
        let mut said = ColumnSchema::new(text(row, 3), remark.ty).nullable(schema.nullable);
        if remark.as_text {
            said = said.as_text();
        }
        said.max_chars = remark.max_chars.or(schema.max_chars);
        // A column that was altered since is what it is now.
        if parse_declared(SQL, &declared_type(SQL, &said)).ty == declared.ty {
            said.collation = remark.collation;
            said.role = remark.role;
            said.check = remark.check.map(Into::into);
            said.default = remark.default;
            // One that computes nothing any more is an ordinary column.
            said.generated = remark.generated.filter(|_| integer(row, 9) != 0).map(Into::into);
            table.given |= remark.given;
            table.unreused |= remark.unreused;
            schema = said;
            is_described = true;
        }
    }
    // It cannot be written, so that a schema leaves it out.
    if schema.generated.is_none() && integer(row, 9) != 0 {
        return;
    }
    if !is_described {
        schema.default = default;
    }
    schema.text_order = text_order::of_postgres(&schema, &sql_type, integer(row, 10) != 0);
    let (number, is_made) = (integer(row, 2), integer(row, 6) != 0);
    table.columns.push(FoundColumn { number, schema, sql_type, is_described, is_made });
}

fn add_index(table: &mut CatalogTable, row: &dyn Row) {
    let comment = text(row, 5);
    let (comment, own_name) = split_index_comment(&comment);
    let said = |begin: &str| {
        let places = comment.strip_prefix(begin)?.split(' ');
        places.map(|place| place.parse().ok()).collect::<Option<Vec<usize>>>()
    };
    if let Some(key) = said(KEY_INDEX) {
        table.key = key;
        return;
    }
    let numbers = text(row, 4);
    let place = |number: &str| {
        let number: i64 = number.parse().ok()?;
        table.columns.iter().position(|column| column.number == number)
    };
    let plain = || numbers.split(' ').map(place).collect::<Option<Vec<usize>>>();
    // Of an index over expressions, or over a part of the rows, nothing can be said.
    let partial = integer(row, 6) != 0;
    let Some(places) = said(FOLDED_INDEX).or_else(plain).filter(|_| !partial) else { return };
    let name = own_name.map_or_else(|| text(row, 1), str::to_owned);
    let unique = integer(row, 2) != 0;
    if integer(row, 3) != 0 {
        table.key = places;
        return;
    }
    if let (true, [place]) = (unique, &places[..])
        && let Some(column) = table.columns.get_mut(*place)
        && name == format!("{}_{}_unique", table.name, column.schema.name)
    {
        column.schema.unique = true;
        return;
    }
    table.indexes.push((name, places, unique));
}

impl CatalogTable {
    fn build(mut self) -> Option<TableWithChecks> {
        let checks = std::mem::take(&mut self.checks);
        let columns = self.columns.clone();
        let schema = self.build_table()?;
        Some(with_checks_of(schema, &columns, checks))
    }

    fn build_table(mut self) -> Option<TableSchema> {
        if self.key.is_empty() {
            // Of foreign tables: what can tell rows apart as well as a key.
            let never_null = |place: &usize| {
                self.columns.get(*place).is_some_and(|column| !column.schema.nullable)
            };
            let (_, places, _) = self
                .indexes
                .iter()
                .find(|(_, places, unique)| *unique && places.iter().all(never_null))?;
            self.key.clone_from(places);
        }
        // A key of another width that the server generates is what a key of 64 bits is to a program.
        if let [place] = self.key[..]
            && let Some(column) = self.columns.get_mut(place)
            && column.is_made
            && matches!(column.schema.ty, Type::I16 | Type::I32)
        {
            column.schema.ty = Type::I64;
        }
        let made = |place: &usize| {
            let column = self.columns.get(*place);
            column.is_some_and(|column| column.schema.ty != Type::I64 || column.is_made)
        };
        let given = self.given || !self.key.iter().all(made);
        let names: Vec<String> =
            self.columns.iter().map(|column| column.schema.name.to_string()).collect();
        let named = |places: &[usize]| -> Vec<String> {
            places.iter().filter_map(|place| names.get(*place).cloned()).collect()
        };
        let mut builder = TableSchema::builder(self.name);
        self.foreign_keys.retain(|(oid, _)| !self.partial_keys.contains(oid));
        for (_, key) in self.foreign_keys {
            let place = *key.columns.first()?;
            let own = self
                .columns
                .get_mut(place)
                .filter(|column| key.columns.len() == 1 && column.schema.reference.is_none());
            match own {
                Some(column) => column.schema.reference = key.into_reference(),
                None => builder = builder.foreign_key(named(&key.columns), key),
            }
        }
        for column in self.columns {
            builder = builder.column(column.schema);
        }
        builder = builder.key(named(&self.key));
        for (name, places, unique) in self.indexes {
            builder = if unique {
                builder.unique_index(name, named(&places))
            } else {
                builder.index(name, named(&places))
            };
        }
        if let Some((language, columns)) = self.search {
            builder = builder.search(columns, language);
        }
        if given {
            builder = builder.given_key();
        } else if self.unreused {
            builder = builder.never_reuse_keys();
        }
        builder.build().ok()
    }
}

/// Adds the CHECKs of other programs to the table, as far as Bobak has them.
fn with_checks_of(
    table: TableSchema,
    columns: &[FoundColumn],
    checks: Vec<FoundCheck>,
) -> TableWithChecks {
    let declared: Vec<_> = columns
        .iter()
        .map(|column| PostgresColumn { schema: &column.schema, sql_type: &column.sql_type })
        .collect();
    let number = |position: usize| columns.get(position).map(|column| column.number);
    let is_described = |position: usize| columns.get(position).is_some_and(|c| c.is_described);
    let table = without_dropped_checks(table, columns, &checks);
    // Bobak's own CHECKs are known from the comments; the server's name the same columns.
    let own = table.columns().iter().filter_map(|column| {
        let columns = CheckExpression::parse(column.check.as_deref()?, &table).ok()?.columns();
        columns.into_iter().map(number).collect::<Option<Vec<i64>>>()
    });
    let own: Vec<Vec<i64>> = own.collect();
    let (mut kept, mut found) = (Vec::new(), Vec::new());
    for check in checks {
        let FoundCheck { name, definition, mut columns } = check;
        columns.sort_unstable();
        if own.contains(&columns) {
            kept.push(name);
        } else if let Some(check) = postgres_expressions::check(&definition, &table, &declared)
            && let Some(&position) = check.columns().first()
            && !is_described(position)
        {
            found.push((name, position, check));
        }
    }
    add_checks(table, kept, found)
}

/// The table without the CHECKs that only the comments of its columns still have, because another program dropped the constraints.
fn without_dropped_checks(
    table: TableSchema,
    columns: &[FoundColumn],
    checks: &[FoundCheck],
) -> TableSchema {
    let sets = checks.iter().map(|check| check.columns.iter().copied().collect());
    let sets: Vec<BTreeSet<i64>> = sets.collect();
    let number = |position: usize| columns.get(position).map(|column| column.number);
    let is_dropped = |column: &ColumnSchema| {
        let check = column.check.as_deref().map(|text| CheckExpression::parse(text, &table));
        let named = check.and_then(std::result::Result::ok).map(|check| check.columns());
        named.is_some_and(|named| !sets.contains(&named.into_iter().filter_map(number).collect()))
    };
    if !table.columns().iter().any(is_dropped) {
        return table;
    }
    let without = table.clone().map_columns(|column| match is_dropped(&column) {
        true => ColumnSchema { check: None, ..column },
        false => column,
    });
    without.unwrap_or(table)
}

/// An integer of a row; 0 if it is none.
#[must_use]
pub fn integer(row: &dyn Row, place: usize) -> i64 {
    match row.get(place) {
        ValueRef::Int(integer) => integer,
        _ => 0,
    }
}

/// A text of a row; empty if it is none.
#[must_use]
pub fn text(row: &dyn Row, place: usize) -> String {
    match row.get(place) {
        ValueRef::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}
