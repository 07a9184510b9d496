//! Relationships: foreign keys as Access has them, in a system table and in the indexes of both tables.

use super::bytes::{as_long, damaged};
use super::catalog::{NewRow, SystemTable, short_text};
use super::layout::{Schemas, own_indexes};
use super::pages::Pages;
use super::table::NewValue;
use bobak_core::{ForeignKey, OnDelete, Result, TableSchema};
use std::collections::BTreeMap;

/// The flags of a relationship.
const ONE_TO_ONE: u32 = 0x1;
const NO_INTEGRITY: u32 = 0x2;
const CASCADE_UPDATE: u32 = 0x100;
const CASCADE_DELETE: u32 = 0x1000;
const SET_NULL: u32 = 0x2000;
const MAX_NAME: usize = 60;

/// A relationship.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccessRelation {
    pub name: String,
    pub child: String,
    pub child_columns: Vec<String>,
    pub parent: String,
    /// In the order of the parent's index.
    pub parent_columns: Vec<String>,
    pub flags: u32,
}

/// The relationships of one table, and where the tables are.
pub(super) struct TableSides<'r> {
    pub table: &'r str,
    pub all: &'r [AccessRelation],
    pub places: &'r TablePlaces,
}

/// Of tables, by their names in lower case: the page of the definition, and the number of indexes before those of
/// relationships.
pub(super) type TablePlaces = BTreeMap<String, (u32, usize)>;

/// One side of a relationship.
pub(super) struct RelationSide<'r> {
    pub relation: &'r AccessRelation,
    pub is_parent: bool,
    /// The number of the other side's index, and its table's page.
    other: (usize, u32),
}

impl AccessRelation {
    /// Whether the rows of its tables must fit.
    pub const fn has_integrity(&self) -> bool {
        self.flags & NO_INTEGRITY == 0
    }

    /// Whether a table is on one of its sides.
    pub fn concerns(&self, table: &str) -> bool {
        self.child.eq_ignore_ascii_case(table) || self.parent.eq_ignore_ascii_case(table)
    }

    /// Whether it says the same of the same columns: the name may differ.
    fn is_like(&self, other: &Self) -> bool {
        const SAME: u32 = CASCADE_UPDATE | CASCADE_DELETE | SET_NULL;
        let pairs = |relation: &Self| {
            let (own, parents) = (relation.child_columns.clone(), relation.parent_columns.clone());
            let mut pairs: Vec<(String, String)> = own.into_iter().zip(parents).collect();
            pairs.sort();
            pairs
        };
        self.child.eq_ignore_ascii_case(&other.child)
            && self.parent.eq_ignore_ascii_case(&other.parent)
            && self.flags & SAME == other.flags & SAME
            && pairs(self) == pairs(other)
    }
}

impl<'r> TableSides<'r> {
    /// The sides that the table has, in the order of their indexes.
    pub fn sides(&self) -> Vec<RelationSide<'r>> {
        let mut sides = Vec::new();
        for (relation, is_parent) in sides_of(self.all, self.table) {
            let other = if is_parent { &relation.child } else { &relation.parent };
            let (page, own) = self.places.get(&other.to_lowercase()).copied().unwrap_or_default();
            let place = sides_of(self.all, other)
                .position(|(found, side)| std::ptr::eq(found, relation) && side != is_parent);
            sides.push(RelationSide {
                relation,
                is_parent,
                other: (own + place.unwrap_or_default(), page),
            });
        }
        sides
    }
}

fn sides_of<'r>(
    all: &'r [AccessRelation],
    table: &str,
) -> impl Iterator<Item = (&'r AccessRelation, bool)> {
    all.iter().flat_map(move |relation| {
        let is_child = relation.child.eq_ignore_ascii_case(table);
        let is_parent = relation.parent.eq_ignore_ascii_case(table);
        let sides = [is_child.then_some((relation, false)), is_parent.then_some((relation, true))];
        sides.into_iter().flatten()
    })
}

impl RelationSide<'_> {
    /// The name of its index; `place` is its number among the relationships of the table.
    pub fn index_name(&self, place: usize) -> String {
        if !self.is_parent {
            return self.relation.name.clone();
        }
        let letters = ('B'..='Z').chain('a'..='z').collect::<Vec<_>>();
        match letters.get(place) {
            Some(letter) => format!(".r{letter}"),
            None => format!(".r{place}"),
        }
    }

    /// What the index says of the relationship: the side, the other index, the other table, and what follows changes.
    pub fn description(&self) -> Result<[u8; 11]> {
        let flag = |flag| self.relation.flags & flag != 0;
        let mut bytes = vec![if self.is_parent { 1 } else { 2 }];
        bytes.extend(as_long(self.other.0)?.to_le_bytes());
        bytes.extend(self.other.1.to_le_bytes());
        bytes.push(u8::from(flag(CASCADE_UPDATE)));
        bytes.push(if flag(CASCADE_DELETE) {
            1
        } else if flag(SET_NULL) {
            2
        } else {
            0
        });
        bytes.try_into().map_err(|_| damaged())
    }
}

/// Where the tables are.
pub(super) fn places<'t>(tables: impl Iterator<Item = (&'t TableSchema, u32)>) -> TablePlaces {
    tables.map(|(table, page)| (table.name().to_lowercase(), (page, own_indexes(table)))).collect()
}

/// The relationships of all foreign keys. Those that the file has stay as they are; `taken` are names of others.
pub(super) fn planned(
    tables: Schemas<'_>,
    stored: &[AccessRelation],
    taken: &[String],
) -> Result<Vec<AccessRelation>> {
    let mut planned: Vec<AccessRelation> = Vec::new();
    for table in tables.0 {
        for key in table.all_foreign_keys() {
            let mut relation = relation(table, &key, tables)?;
            let is_used = |name: &str| {
                let mut names = planned.iter().map(|other| &other.name).chain(taken);
                names.any(|other| other.eq_ignore_ascii_case(name))
            };
            let known = stored.iter().find(|other| {
                other.has_integrity()
                    && other.is_like(&relation)
                    && !planned.iter().any(|used| used.name == other.name)
            });
            if let Some(known) = known {
                relation = known.clone();
            } else {
                let start = format!("{}{}", relation.parent, relation.child);
                relation.name = free_name(&start, is_used);
            }
            planned.push(relation);
        }
    }
    Ok(planned)
}

fn free_name(start: &str, is_used: impl Fn(&str) -> bool) -> String {
    let start: String = start.chars().take(MAX_NAME / 2).collect();
    let mut name = start.clone();
    let mut number = 1;
    while is_used(&name) {
        name = format!("{start}{number}");
        number += 1;
    }
    name
}

fn relation(table: &TableSchema, key: &ForeignKey, tables: Schemas<'_>) -> Result<AccessRelation> {
    let parent = tables.find(&key.table).ok_or_else(damaged)?;
    let referenced: Vec<usize> =
        key.referenced.iter().map(|name| parent.column(name)).collect::<Result<_>>()?;
    let is_same = |columns: &&[usize]| {
        columns.len() == referenced.len() && columns.iter().all(|at| referenced.contains(at))
    };
    let unique = parent.indexes().iter().filter(|index| index.unique);
    let mut indexes = std::iter::once(parent.key()).chain(unique.map(|index| &index.columns[..]));
    let index = indexes.find(is_same).ok_or_else(damaged)?;
    let (mut child_columns, mut parent_columns) = (Vec::new(), Vec::new());
    for column in index {
        let at = referenced.iter().position(|other| other == column).ok_or_else(damaged)?;
        let own = key.columns.get(at).copied().ok_or_else(damaged)?;
        child_columns.push(table.column_at(own)?.name.to_string());
        parent_columns.push(parent.column_at(*column)?.name.to_string());
    }
    let same = |columns: &[usize]| {
        columns.len() == key.columns.len() && columns.iter().all(|at| key.columns.contains(at))
    };
    let is_unique =
        same(table.key()) || table.indexes().iter().any(|own| own.unique && same(&own.columns));
    let on_delete = match key.on_delete {
        OnDelete::Cascade => CASCADE_DELETE,
        OnDelete::SetNull => SET_NULL,
        OnDelete::Restrict | OnDelete::NoAction => 0,
    };
    Ok(AccessRelation {
        name: String::new(),
        child: table.name().to_owned(),
        child_columns,
        parent: parent.name().to_owned(),
        parent_columns,
        flags: on_delete | if is_unique { ONE_TO_ONE } else { 0 },
    })
}

/// The relationships that the file has.
pub(super) fn stored(system: &SystemTable) -> Result<Vec<AccessRelation>> {
    let mut parts: BTreeMap<String, Vec<(u32, AccessRelation)>> = BTreeMap::new();
    for (_, cells) in &system.rows {
        let text = |name| system.text(cells, name);
        let flags = system.number(cells, "grbit")?;
        let relation = AccessRelation {
            name: text("szRelationship")?,
            child: text("szObject")?,
            child_columns: vec![text("szColumn")?],
            parent: text("szReferencedObject")?,
            parent_columns: vec![text("szReferencedColumn")?],
            flags,
        };
        let place = system.number(cells, "icolumn")?;
        parts.entry(relation.name.clone()).or_default().push((place, relation));
    }
    let whole = |mut parts: Vec<(u32, AccessRelation)>| {
        parts.sort_by_key(|(place, _)| *place);
        parts.into_iter().map(|(_, relation)| relation).reduce(|mut whole, part| {
            whole.child_columns.extend(part.child_columns);
            whole.parent_columns.extend(part.parent_columns);
            whole
        })
    };
    Ok(parts.into_values().filter_map(whole).collect())
}

/// Removes relationships from the system table, and adds others.
pub(super) fn write(
    pages: &mut Pages,
    mut system: SystemTable,
    removed: &[AccessRelation],
    added: &[AccessRelation],
) -> Result<()> {
    for (place, cells) in &system.rows {
        let name = system.text(cells, "szRelationship")?;
        if removed.iter().any(|relation| relation.name == name) {
            system.removed.push(*place);
        }
    }
    for relation in added {
        let count = as_long(relation.child_columns.len())?;
        let pairs = relation.child_columns.iter().zip(&relation.parent_columns);
        for (place, (child, parent)) in (0_u32..).zip(pairs) {
            let number = |number: u32| NewValue::Short(number.to_le_bytes().to_vec());
            let row: NewRow = vec![
                ("ccolumn", number(count)),
                ("grbit", number(relation.flags)),
                ("icolumn", number(place)),
                ("szColumn", short_text(child)),
                ("szObject", short_text(&relation.child)),
                ("szReferencedColumn", short_text(parent)),
                ("szReferencedObject", short_text(&relation.parent)),
                ("szRelationship", short_text(&relation.name)),
            ];
            system.add(row);
        }
    }
    system.write(pages)
}
