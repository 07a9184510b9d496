//! Full-text search with ranks and snippets.

pub use bobak_core::search::{SearchLanguage, SearchQuery, Snippet};

use crate::access::TableAccess;
use crate::on_request::{left_out, with_places};
use crate::{DynTable, Table};
use bobak_core::{
    DynRow, Error, ErrorKind, Expr, FieldSet, FromRow, Query, Record, Result, Row, Value, ValueRef,
};

/// A record that a search found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoundRecord<T> {
    /// The record.
    pub record: T,
    /// How well it fits: the larger the better. The numbers of different engines cannot be compared.
    pub rank: f64,
    /// The part of its texts that has what was found.
    pub snippet: Snippet,
}

impl<T: Record> Table<'_, T> {
    /// The records that a search finds, with their ranks and snippets: the best first, unless the query has an order.
    /// [`list`](Table::list) and the other methods that take a query search too.
    ///
    /// ```
    /// use bobak::prelude::*;
    ///
    /// #[derive(Record)]
    /// #[record(search(title, body, language = "english"))]
    /// struct Article {
    ///     id: i64,
    ///     title: String,
    ///     body: String,
    ///     stars: i64,
    /// }
    ///
    /// let db = Db::builder().record::<Article>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// let articles = db.table::<Article>()?;
    /// let (title, body) = ("Foxes".into(), "The quick brown fox jumps.".into());
    /// articles.insert(&Article { id: 0, title, body, stars: 5 })?;
    ///
    /// let query = Article::search("jump* OR \"lazy dog\"").and(Article::STARS.gt(3)).limit(10);
    /// let found = articles.search(query)?;
    /// assert_eq!(found[0].record.title, "Foxes");
    /// assert_eq!(found[0].snippet.marked("<b>", "</b>"), "The quick brown fox <b>jumps</b>.");
    /// assert_eq!(articles.count(Article::search("foxes NOT quick"))?, 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Syntax` for a search that cannot be read; `Misuse` for a query that does not search; `Unsupported` if the engine
    /// does not search; as [`list`](Table::list).
    #[track_caller]
    pub fn search(&self, query: impl Into<Query<T>>) -> Result<Vec<FoundRecord<T>>> {
        let query = query.into();
        let searched = T::schema().search().into_iter().flat_map(|search| &search.columns);
        // A snippet is a part of what is searched.
        let left_out = left_out(&query).without(searched.copied().collect());
        self.access.search(&query, left_out, |row| T::read(row))
    }
}

impl DynTable<'_> {
    /// The rows that a search finds, with their ranks and snippets: see [`Table::search`].
    ///
    /// # Errors
    /// As there; `Schema` if the table is not searched.
    #[track_caller]
    pub fn search(&self, query: impl Into<Query<DynRow>>) -> Result<Vec<FoundRecord<DynRow>>> {
        let columns = self.result_columns();
        self.access.search(&query.into(), FieldSet::EMPTY, |row| {
            let values: Vec<Value<'_>> =
                (0..columns.len()).map(|column| row.get(column).into()).collect();
            DynRow::from_result_row(&values.as_slice(), columns)
        })
    }
}

impl TableAccess<'_> {
    #[track_caller]
    fn search<T, R>(
        &self,
        query: &Query<T>,
        left_out: FieldSet,
        read: impl Fn(&dyn Row) -> Result<R>,
    ) -> Result<Vec<FoundRecord<R>>> {
        let mut columns = self.columns_without(left_out);
        let rank_at = columns.len();
        columns.push(Expr::Rank);
        let select = query.to_select(&self.schema, columns)?;
        let Some(search) = &select.search else {
            let message = "the query does not search: begin it with `Query::search`";
            return Err(self.in_table(Error::new(ErrorKind::Misuse, message)));
        };
        let mut found = Vec::new();
        self.scan(&select, |row| {
            let rank = if let ValueRef::Float(rank) = row.get(rank_at) { rank } else { 0.0 };
            found.push(with_places(row, left_out, |row| {
                let snippet = self.snippet(&search.query, row)?;
                Ok::<_, Error>(FoundRecord { record: read(row)?, rank, snippet })
            })?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// The part of a row's texts that has what was found.
    fn snippet(&self, query: &SearchQuery, row: &dyn Row) -> Result<Snippet> {
        let Some(schema) = self.schema.search() else { return Ok(Snippet::default()) };
        let text = |column: &usize| match row.get(*column) {
            ValueRef::Text(text) => Some(text),
            _ => None,
        };
        Ok(Snippet::new(query, schema.language, schema.columns.iter().filter_map(text)))
    }
}
