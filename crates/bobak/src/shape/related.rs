//! The parts of a shape.

use super::Shape;
use super::above::LevelAbove;
use super::links::{NO_ROW, RowLinks};
use super::rows::{JoinedRows, RelatedLimits, ShapeColumns, ShapeLevel, ShapeRows, read_field_at};
use bobak_core::{
    Column, Error, ErrorKind, Field, FieldSet, Query, Record, RecordRelation, Result, TableSchema,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The related records of all rows of a level.
pub struct RelatedRecords<S: Shape>(RelatedRows<S>);

enum RelatedRows<S: Shape> {
    /// No record belongs to several rows: they were built as they were read, for the group of each row.
    Built {
        groups: Vec<u32>,
        shapes: Vec<Vec<S>>,
    },
    Rows {
        rows: Box<ShapeRows>,
        parts: S::Parts,
        links: RowLinks,
        limits: RelatedLimits,
    },
    /// They were read with the rows.
    Joined {
        joined: Arc<JoinedRows>,
        parts: S::Parts,
    },
}

/// One column of the related records of all rows of a level.
pub struct RelatedValues<V> {
    rows: ShapeRows,
    table: &'static TableSchema,
    /// The index of the column in the table.
    column: usize,
    links: RowLinks,
    limits: RelatedLimits,
    values: PhantomData<fn() -> V>,
}

/// The numbers of related records of all rows of a level.
pub struct RelatedCounts {
    groups: Vec<u32>,
    counts: Vec<u64>,
}

impl<S: Shape> RelatedRecords<S> {
    /// The related records of a row.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn many(&mut self, row: usize) -> Result<Vec<S>> {
        match &mut self.0 {
            RelatedRows::Built { groups, shapes } => {
                let group = groups.get(row).copied().unwrap_or(NO_ROW);
                Ok(shapes.get_mut(group as usize).map(std::mem::take).unwrap_or_default())
            }
            RelatedRows::Rows { rows, parts, links, limits } => {
                let build = |&row: &u32| S::build(&rows.row(row as usize), row as usize, parts);
                limits.apply(links.of(row)).iter().map(build).collect()
            }
            RelatedRows::Joined { joined, parts } => {
                joined.build(row, parts).map(|found| found.into_iter().collect())
            }
        }
    }

    /// The related record of a row, if it has one.
    ///
    /// # Errors
    /// `Mismatch` if it has several; as [`Table::load`](crate::Table::load).
    pub fn one(&mut self, row: usize, field: &'static str) -> Result<Option<S>> {
        let several = |count| {
            let message = format!(
                "the field `{field}` holds one record, but {count} are related: use `many`, or \
                 `limit = 1` with an order"
            );
            Err(Error::new(ErrorKind::Mismatch, message).in_table(S::Record::TABLE))
        };
        match &mut self.0 {
            RelatedRows::Built { .. } => {
                let mut shapes = self.many(row)?;
                if shapes.len() > 1 { several(shapes.len()) } else { Ok(shapes.pop()) }
            }
            RelatedRows::Rows { rows, parts, links, limits } => match limits.apply(links.of(row)) {
                [] => Ok(None),
                &[row] => S::build(&rows.row(row as usize), row as usize, parts).map(Some),
                rows => several(rows.len()),
            },
            RelatedRows::Joined { joined, parts } => joined.build(row, parts),
        }
    }

    /// The related record of a row.
    ///
    /// # Errors
    /// `NotFound` if there is none; as [`one`](RelatedRecords::one).
    pub fn required(&mut self, row: usize, field: &'static str) -> Result<S> {
        self.one(row, field)?.ok_or_else(|| {
            let message = format!("no record is related by the field `{field}`: make it an Option");
            Error::new(ErrorKind::NotFound, message).in_table(S::Record::TABLE)
        })
    }
}

impl JoinedRows {
    /// The shape of the record of a row above, if there is one.
    fn build<S: Shape>(&self, above: usize, parts: &mut S::Parts) -> Result<Option<S>> {
        let number = self.numbers.get(above).copied().filter(|number| *number != NO_ROW);
        let mut build = |number| S::build(&self.rows.row(number), number, parts);
        number.map(|number| build(number as usize)).transpose()
    }
}

impl<V: Field> RelatedValues<V> {
    /// The values of a row's related records.
    ///
    /// # Errors
    /// As [`Field::from_value`].
    pub fn many(&self, row: usize) -> Result<Vec<V>> {
        let read =
            |row: &u32| read_field_at(&self.rows.row(*row as usize), 0, self.table, self.column);
        self.limits.apply(self.links.of(row)).iter().map(read).collect()
    }
}

impl RelatedCounts {
    /// The number of a row's related records.
    #[must_use]
    pub fn count(&self, row: usize) -> u64 {
        let group = self.groups.get(row).copied().unwrap_or(NO_ROW);
        self.counts.get(group as usize).copied().unwrap_or_default()
    }

    /// Whether a row has a related record.
    #[must_use]
    pub fn exists(&self, row: usize) -> bool {
        self.count(row) > 0
    }
}

impl ShapeLevel<'_> {
    /// The related records of a field that holds one, and their parts. `place` is the field's place among such fields: the
    /// records may have been read with the rows.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn one<T: Record, R: RecordRelation<From = T>, S: Shape<Record = R::To>>(
        &self,
        place: usize,
        relation: R,
        query: Query<R::To>,
        with: &S::With,
    ) -> Result<RelatedRecords<S>> {
        let Some(Some(joined)) = self.rows.joined.get(place) else {
            return self.related(relation, query, with);
        };
        let joined = Arc::clone(joined);
        let parts = S::load_parts(&ShapeLevel { source: self.source, rows: &joined.rows }, with)?;
        Ok(RelatedRecords(RelatedRows::Joined { joined, parts }))
    }

    /// Loads the related records of all rows with one query, or one for each step of the relation, and those of their parts.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn related<T: Record, R: RecordRelation<From = T>, S: Shape<Record = R::To>>(
        &self,
        relation: R,
        query: Query<R::To>,
        with: &S::With,
    ) -> Result<RelatedRecords<S>> {
        let mut columns = ShapeColumns::of::<S>(FieldSet::EMPTY);
        let above = LevelAbove::new(self, relation.to_many());
        let (select, limits) = above.select(&mut columns, &query)?;
        if above.is_split && limits.is_all() && !columns.has_relations() {
            let (groups, shapes) = above.build(columns, select, with)?;
            return Ok(RelatedRecords(RelatedRows::Built { groups, shapes }));
        }
        let (rows, links) = above.load(columns, select, &|joins| S::join_related(joins, with))?;
        let parts = S::load_parts(&ShapeLevel { source: self.source, rows: &rows }, with)?;
        Ok(RelatedRecords(RelatedRows::Rows { rows: Box::new(rows), parts, links, limits }))
    }

    /// As [`related`](ShapeLevel::related), of one column.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn values<T: Record, R: RecordRelation<From = T>, V: Field>(
        &self,
        relation: R,
        query: Query<R::To>,
        column: Column<R::To, V>,
    ) -> Result<RelatedValues<V>> {
        let (mut columns, column) = (ShapeColumns::default(), column.index());
        columns.field(column);
        let above = LevelAbove::new(self, relation.to_many());
        let (select, limits) = above.select(&mut columns, &query)?;
        let (rows, links) = above.load(columns, select, &|_| Ok(()))?;
        let table = R::To::schema();
        Ok(RelatedValues { rows, table, column, links, limits, values: PhantomData })
    }

    /// The numbers of a field that counts related records. `place` is the field's place among such fields: they may have been
    /// read with the rows.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn count<T: Record, R: RecordRelation<From = T>>(
        &self,
        place: usize,
        relation: R,
        query: Query<R::To>,
    ) -> Result<RelatedCounts> {
        let Some(Some(counts)) = self.rows.counts.get(place) else {
            return self.counts(relation, query);
        };
        let groups = (0..counts.len() as u32).collect();
        Ok(RelatedCounts { groups, counts: counts.clone() })
    }

    /// Counts the related records of all rows that match the query's filter.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn counts<T: Record, R: RecordRelation<From = T>>(
        &self,
        relation: R,
        query: Query<R::To>,
    ) -> Result<RelatedCounts> {
        let above = LevelAbove::new(self, relation.to_many());
        if above.has_one_step() {
            let (groups, counts) = above.count(&query)?;
            return Ok(RelatedCounts { groups, counts });
        }
        // A record that is reached by several ways counts once.
        let mut columns = ShapeColumns::default();
        let (select, _) = above.select(&mut columns, &query)?;
        let (_, links) = above.load(columns, select, &|_| Ok(()))?;
        let rows = self.rows.len();
        let counts = (0..rows).map(|row| links.of(row).len() as u64).collect();
        Ok(RelatedCounts { groups: (0..rows as u32).collect(), counts })
    }
}
