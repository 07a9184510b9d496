//! One commit: the changed tables, their relationships and the system tables.

use super::bytes::damaged;
use super::catalog::{ObjectCatalog, RELATIONSHIP, RELATIONSHIPS, SystemTable, TABLE, TABLES};
use super::definition::ColumnEntry;
use super::key::{LONG_TEXT, TEXT};
use super::layout::{self, Schemas};
use super::pages::Pages;
use super::properties::{Properties, schema_property};
use super::relations::{self, AccessRelation, TablePlaces, TableSides};
use super::row::YES_NO;
use super::saver::{ReadOnlyTables, TableChanges};
use super::table::FileTable;
use super::values::new_value;
use crate::description::describe;
use bobak_core::{Error, ErrorKind, KeyGeneration, Result, TableSchema, Type};
use bobak_memory::{MemoryTable, MemoryTables};
use std::collections::BTreeMap;

/// A commit that is being written.
pub(super) struct Commit<'c> {
    pages: Pages,
    catalog: ObjectCatalog,
    schemas: Schemas<'c>,
    read_only: &'c ReadOnlyTables,
    /// The relationships of the file.
    stored: Vec<AccessRelation>,
}

/// The relationships after the commit, and what changes.
struct RelationChanges {
    all: Vec<AccessRelation>,
    removed: Vec<AccessRelation>,
    added: Vec<AccessRelation>,
}

impl<'c> Commit<'c> {
    pub fn new(pages: Pages, schemas: Schemas<'c>, read_only: &'c ReadOnlyTables) -> Result<Self> {
        let catalog = ObjectCatalog::open(&pages)?;
        let stored = relations::stored(&relationships(&pages, &catalog)?)?;
        Ok(Self { pages, catalog, schemas, read_only, stored })
    }

    /// Writes the changes; returns the pages.
    pub fn write(mut self, changes: &TableChanges<'_>, after: &MemoryTables<'_>) -> Result<Pages> {
        for name in &changes.dropped {
            if let Some(page) = self.catalog.table(name)? {
                FileTable::open(&self.pages, page)?.remove(&mut self.pages)?;
                self.catalog.remove(TABLE, name)?;
            }
        }
        let mut rest: Vec<MemoryTable<'_>> = changes.changed.clone();
        if !changes.defined.is_empty() || !changes.dropped.is_empty() {
            let relations = self.plan_relations(changes)?;
            let affected = self.affected(changes, &relations)?;
            rest.retain(|table| !affected.iter().any(|name| name == table.schema().name()));
            self.define(&affected, changes, &relations.all, after)?;
            self.write_relations(&relations)?;
        }
        for table in rest {
            self.write_rows(table)
                .map_err(|error| error.in_table(table.schema().name().to_owned()))?;
        }
        self.catalog.write(&mut self.pages)?;
        Ok(self.pages)
    }

    fn plan_relations(&self, changes: &TableChanges<'_>) -> Result<RelationChanges> {
        let planned =
            relations::planned(self.schemas, &self.stored, &self.catalog.relationships()?)?;
        let concerns = |relation: &AccessRelation, mut names: std::slice::Iter<'_, &str>| {
            names.any(|name| relation.concerns(name))
        };
        let defined: Vec<&str> =
            changes.defined.iter().map(|table| table.schema().name()).collect();
        let is_removed = |relation: &&AccessRelation| {
            let is_changed = relation.has_integrity() && concerns(relation, defined.iter());
            !planned.contains(relation)
                && (is_changed || concerns(relation, changes.dropped.iter()))
        };
        let (removed, kept): (Vec<&AccessRelation>, Vec<&AccessRelation>) =
            self.stored.iter().partition(is_removed);
        let added: Vec<AccessRelation> =
            planned.iter().filter(|relation| !self.stored.contains(relation)).cloned().collect();
        let kept = kept.into_iter().filter(|relation| relation.has_integrity());
        let all = kept.chain(&added).cloned().collect();
        Ok(RelationChanges { all, removed: removed.into_iter().cloned().collect(), added })
    }

    /// The tables that get new definitions: those with other schemas, and all that are related to them.
    fn affected(
        &self,
        changes: &TableChanges<'_>,
        relations: &RelationChanges,
    ) -> Result<Vec<String>> {
        let defined = changes.defined.iter().map(|table| table.schema().name().to_owned());
        let mut affected: Vec<String> = defined.collect();
        let of = |relation: &AccessRelation| [relation.child.clone(), relation.parent.clone()];
        affected.extend(relations.removed.iter().flat_map(of));
        let mut at = 0;
        while let Some(name) = affected.get(at).cloned() {
            let related = relations.all.iter().filter(|relation| relation.concerns(&name));
            for other in related.flat_map(of) {
                if !affected.contains(&other) {
                    affected.push(other);
                }
            }
            at += 1;
        }
        // Tables that are gone, and names in another case, are left out.
        let tables = self.schemas.0.iter().map(|table| table.name());
        let is_affected =
            |name: &&str| affected.iter().any(|other| other.eq_ignore_ascii_case(name));
        let affected: Vec<String> = tables.filter(is_affected).map(str::to_owned).collect();
        for name in &affected {
            if let Some(reason) = self.read_only.get(&name.to_lowercase()) {
                let message = format!(
                    "the change concerns relationships of the table {name}, which can only be read: {reason}"
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(affected)
    }

    /// Writes the definitions and rows of tables.
    fn define(
        &mut self,
        affected: &[String],
        changes: &TableChanges<'_>,
        all: &[AccessRelation],
        after: &MemoryTables<'_>,
    ) -> Result<()> {
        let mut pages = BTreeMap::new();
        for name in affected {
            let page = match self.catalog.table(name)? {
                Some(page) if !self.is_dropped(name, changes) => page,
                _ => self.pages.allocate()?,
            };
            pages.insert(name.as_str(), page);
        }
        let tables = affected.iter().filter_map(|name| {
            Some((&**self.schemas.find(name)?, pages.get(name.as_str()).copied()?))
        });
        let places = relations::places(tables);
        for name in affected {
            let table = after.find(name).ok_or_else(damaged)?;
            let page = pages.get(name.as_str()).copied().ok_or_else(damaged)?;
            self.define_table(table, page, all, &places, changes)
                .map_err(|error| error.in_table(name.clone()))?;
        }
        Ok(())
    }

    /// Whether a table with that name, in another case, is dropped in this commit.
    fn is_dropped(&self, name: &str, changes: &TableChanges<'_>) -> bool {
        changes.dropped.iter().any(|dropped| dropped.eq_ignore_ascii_case(name))
    }

    fn define_table(
        &mut self,
        table: MemoryTable<'_>,
        page: u32,
        all: &[AccessRelation],
        places: &TablePlaces,
        changes: &TableChanges<'_>,
    ) -> Result<()> {
        let schema = table.schema();
        let name = schema.name();
        let relations = TableSides { table: name, all, places };
        let is_new = self.is_dropped(name, changes) || self.catalog.table(name)?.is_none();
        let (mut file, properties) = if is_new {
            if self.catalog.has(name)? {
                let message = "the file has a query or another object with this name";
                return Err(Error::new(ErrorKind::Schema, message));
            }
            let definition =
                layout::define(&mut self.pages, schema, self.schemas, None, &relations)?;
            (FileTable::new(page, definition), Vec::new())
        } else {
            let mut file = FileTable::open(&self.pages, page)?;
            let old = Some(&file.definition);
            let definition =
                layout::define(&mut self.pages, schema, self.schemas, old, &relations)?;
            file.redefine(&mut self.pages, definition)?;
            (file, self.catalog.properties(&self.pages, name)?)
        };
        let is_defined = changes.defined.iter().any(|other| other.schema().name() == name);
        let is_described = is_defined || schema_property(&properties).is_some();
        if is_defined {
            let properties = self.describe(schema, &file, &properties, is_new)?;
            match is_new {
                true => self.catalog.add(TABLE, TABLES, name, Some(page), Some(properties)),
                false => self.catalog.set_properties(name, properties)?,
            }
        }
        fill(&mut self.pages, &mut file, table, is_described)
    }

    /// The properties of a table: those that it has, and Bobak's description.
    fn describe(
        &self,
        schema: &TableSchema,
        file: &FileTable,
        old: &[u8],
        is_new: bool,
    ) -> Result<Vec<u8>> {
        let mut properties = Properties::parse(old)?;
        properties.set_schema(&describe(schema)?)?;
        for column in file.definition.columns.iter().filter(|_| is_new) {
            let own = schema.column_at(schema.column(&column.name)?)?;
            let mut named = Vec::new();
            if !own.nullable && column.kind() != YES_NO {
                named.push("Required");
            }
            if matches!(column.kind(), TEXT | LONG_TEXT) {
                named.push("AllowZeroLength");
            }
            if !named.is_empty() {
                properties.add_field(&column.name, &named)?;
            }
        }
        properties.bytes()
    }

    fn write_rows(&mut self, table: MemoryTable<'_>) -> Result<()> {
        let page = self.catalog.table(table.schema().name())?.ok_or_else(damaged)?;
        let mut file = FileTable::open(&self.pages, page)?;
        let properties = self.catalog.properties(&self.pages, table.schema().name())?;
        let is_described = schema_property(&properties).is_some();
        fill(&mut self.pages, &mut file, table, is_described)
    }

    fn write_relations(&mut self, relations: &RelationChanges) -> Result<()> {
        for relation in &relations.removed {
            self.catalog.remove(RELATIONSHIP, &relation.name)?;
        }
        for relation in &relations.added {
            self.catalog.add(RELATIONSHIP, RELATIONSHIPS, &relation.name, None, None);
        }
        if relations.removed.is_empty() && relations.added.is_empty() {
            return Ok(());
        }
        let system = relationships(&self.pages, &self.catalog)?;
        relations::write(&mut self.pages, system, &relations.removed, &relations.added)
    }
}

fn relationships(pages: &Pages, catalog: &ObjectCatalog) -> Result<SystemTable> {
    SystemTable::open(pages, catalog.table("MSysRelationships")?.ok_or_else(damaged)?)
}

/// Writes the rows of a table. Without Bobak's description, times are read to the millisecond.
fn fill(
    pages: &mut Pages,
    file: &mut FileTable,
    table: MemoryTable<'_>,
    is_described: bool,
) -> Result<()> {
    let schema = table.schema();
    let place = |column: &ColumnEntry| -> Result<(usize, Type)> {
        let place = schema.column(&column.name)?;
        Ok((place, schema.column_at(place)?.ty))
    };
    let columns = file.definition.columns.clone();
    let places: Vec<(usize, Type)> = columns.iter().map(place).collect::<Result<_>>()?;
    if schema.key_generation() == KeyGeneration::Engine && !schema.has_hidden_key() {
        let last = u32::try_from(table.next_key()? - 1).unwrap_or_default();
        file.definition.raise_last_number(last)?;
    }
    let mut rows = table.rows();
    file.rewrite(pages, &mut || {
        let Some(row) = rows.next() else { return Ok(None) };
        let value = |(column, (place, ty)): (&ColumnEntry, &(usize, Type))| {
            let value = new_value(column, *ty, row.value(*place), is_described);
            value.map_err(|error| error.in_column(column.name.clone()))
        };
        columns.iter().zip(&places).map(value).collect::<Result<Vec<_>>>().map(Some)
    })
}
