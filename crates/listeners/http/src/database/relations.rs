//! The relations of tables, by the names that clients use: through foreign keys in both directions, and through link tables.

use crate::database::schema_cache::VisibleTables;
use crate::database::table::CachedTable;
use bobak_core::{ForeignKey, RelatedStep};
use std::collections::HashMap;
use std::sync::Arc;

/// A relation from a table to another one, or to itself.
#[derive(Clone)]
pub(crate) struct TableRelation {
    /// As in requests and responses.
    pub name: String,
    /// The steps of the relation: one, or two through a link table.
    pub steps: Vec<TableStep>,
    /// Whether a row has at most one related row.
    pub is_one: bool,
}

/// A step of a relation: to the rows of a table in which some columns equal those of the row before.
#[derive(Clone)]
pub(crate) struct TableStep {
    pub table: Arc<CachedTable>,
    /// The columns of the table before.
    pub from: Vec<usize>,
    /// Those of the table, in the same order.
    pub to: Vec<usize>,
}

/// The relations of all tables, by the tables' lower-case names.
pub(crate) type TableRelations = HashMap<String, Vec<TableRelation>>;

/// A foreign key between visible tables.
struct Link<'t> {
    from: &'t Arc<CachedTable>,
    columns: Vec<usize>,
    to: &'t Arc<CachedTable>,
    referenced: Vec<usize>,
    /// The name of the relation along the key: that of the column without `_id`.
    name: String,
}

impl TableRelation {
    /// The table that it leads to.
    pub fn table(&self) -> Option<&Arc<CachedTable>> {
        self.steps.last().map(|step| &step.table)
    }
}

impl TableStep {
    /// The same step for a filter, which goes through foreign keys of one column.
    pub fn of_filter(&self) -> Option<RelatedStep> {
        let ([from], [to]) = (&*self.from, &*self.to) else { return None };
        Some(RelatedStep { table: Arc::clone(&self.table.schema), from: *from, to: *to })
    }
}

impl Link<'_> {
    fn forward(&self) -> TableStep {
        let (from, to) = (self.columns.clone(), self.referenced.clone());
        TableStep { table: Arc::clone(self.to), from, to }
    }

    fn backward(&self) -> TableStep {
        let (from, to) = (self.referenced.clone(), self.columns.clone());
        TableStep { table: Arc::clone(self.from), from, to }
    }

    /// Whether at most one row has the same values in the columns.
    fn is_unique(&self) -> bool {
        has_unique(self.from, &self.columns)
    }
}

/// All relations of visible tables.
pub(super) fn all(tables: &VisibleTables) -> TableRelations {
    let tables_by_name = tables.sorted();
    let links: Vec<Link<'_>> =
        tables_by_name.iter().flat_map(|table| links_of(tables, table)).collect();
    let of = |table: &Arc<CachedTable>| {
        (table.schema.name().to_ascii_lowercase(), relations_of(table, &links))
    };
    tables_by_name.into_iter().map(of).collect()
}

/// The foreign keys of a table to visible tables.
fn links_of<'t>(tables: &'t VisibleTables, from: &'t Arc<CachedTable>) -> Vec<Link<'t>> {
    let link = |key: ForeignKey| {
        let to = tables.table(&key.table)?;
        let referenced = key.referenced.iter().map(|name| to.schema.column(name).ok());
        let referenced: Vec<usize> = referenced.collect::<Option<_>>()?;
        let columns = key.columns.to_vec();
        let name = name_along(from, &columns)?;
        Some(Link { from, columns, to, referenced, name })
    };
    from.schema.all_foreign_keys().into_iter().filter_map(link).collect()
}

/// The name of the relation along a foreign key: that of its column without `_id`, or else those of its columns with `_ref`.
fn name_along(from: &CachedTable, columns: &[usize]) -> Option<String> {
    let schema = &from.schema;
    let names = columns.iter().map(|at| schema.columns().get(*at).map(|column| &*column.name));
    let names: Vec<&str> = names.collect::<Option<_>>()?;
    let own = names.join("_");
    let cut = own.len().checked_sub(3).filter(|cut| *cut > 0 && own.is_char_boundary(*cut));
    let is_id = |(short, end): &(&str, &str)| {
        names.len() == 1 && end.eq_ignore_ascii_case("_id") && schema.column(short).is_err()
    };
    Some(match cut.map(|cut| own.split_at(cut)).filter(is_id) {
        Some((short, _)) => short.to_owned(),
        None => format!("{own}_ref"),
    })
}

fn relations_of(table: &Arc<CachedTable>, links: &[Link<'_>]) -> Vec<TableRelation> {
    let mut relations: Vec<TableRelation> = Vec::new();
    // Short names, which a table has unless they have several meanings.
    let mut short: Vec<TableRelation> = Vec::new();
    for link in links.iter().filter(|link| Arc::ptr_eq(link.from, table)) {
        let (name, steps) = (link.name.clone(), vec![link.forward()]);
        if link.columns.len() > 1 {
            let name = link.to.schema.name().to_owned();
            short.push(TableRelation { name, steps: steps.clone(), is_one: true });
        }
        relations.push(TableRelation { name, steps, is_one: true });
    }
    for link in links.iter().filter(|link| Arc::ptr_eq(link.to, table)) {
        let other = link.from.schema.name();
        let (steps, is_one) = (vec![link.backward()], link.is_unique());
        let name = format!("{other}_by_{}", link.name);
        short.push(TableRelation { name: other.to_owned(), steps: steps.clone(), is_one });
        relations.push(TableRelation { name, steps, is_one });
        for next in links.iter().filter(|next| {
            Arc::ptr_eq(next.from, link.from)
                && next.columns != link.columns
                && has_unique(link.from, &[&*link.columns, &next.columns].concat())
        }) {
            let name = format!("{}_via_{other}", next.name);
            let steps = vec![link.backward(), next.forward()];
            let short_name = next.to.schema.name().to_owned();
            short.push(TableRelation { name: short_name, steps: steps.clone(), is_one: false });
            relations.push(TableRelation { name, steps, is_one: false });
        }
    }
    add_short_names(table, &mut relations, short);
    relations
}

/// Adds the relations whose short name has one meaning in their table.
fn add_short_names(
    table: &CachedTable,
    relations: &mut Vec<TableRelation>,
    short: Vec<TableRelation>,
) {
    let is_column = |name: &str| table.schema.column(name).is_ok();
    let count = |all: &[TableRelation], name: &str| {
        all.iter().filter(|other| other.name.eq_ignore_ascii_case(name)).count()
    };
    let names: Vec<bool> = short
        .iter()
        .map(|one| count(&short, &one.name) == 1 && count(relations, &one.name) == 0)
        .collect();
    let added = short.into_iter().zip(names).filter(|(_, is_new)| *is_new);
    relations.extend(added.map(|(one, _)| one));
    relations.retain(|one| !is_column(&one.name));
}

/// Whether no two rows have the same values in these columns.
fn has_unique(table: &CachedTable, columns: &[usize]) -> bool {
    let schema = &table.schema;
    let is_same = |other: &[usize]| {
        other.len() == columns.len() && columns.iter().all(|column| other.contains(column))
    };
    let own = columns.len() == 1
        && columns.iter().any(|&at| schema.columns().get(at).is_some_and(|column| column.unique));
    own || is_same(schema.key())
        || schema.indexes().iter().any(|index| index.unique && is_same(&index.columns))
}
