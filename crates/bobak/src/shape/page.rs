//! Pages of shapes: the next one begins behind the last row of the one before, in any order.

use super::Shape;
use super::join::select_shape;
use super::load::{build, in_snapshot};
use super::rows::{ShapeColumns, ShapeRows};
use crate::handle::SessionSource;
use crate::table::Table;
use bobak_core::codec::{self, EncodedRow};
use bobak_core::statements::CallSite;
use bobak_core::{
    Error, ErrorKind, Expr, Order, Query, Record, Result, Row, Select, Value, ValueRef,
};
use std::fmt;
use std::str::FromStr;

/// Which page of a query to load, and how large: see [`Table::page`].
#[derive(Clone, Debug)]
pub struct PageRequest {
    pub(crate) size: u64,
    pub(crate) after: Option<PageToken>,
    pub(crate) with_total: bool,
}

/// One page of a query.
#[derive(Clone, Debug)]
pub struct Page<S> {
    /// The shapes or records, at most as many as the page's size.
    pub items: Vec<S>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<PageToken>,
    /// The number of records on all pages, if [`with_total`](PageRequest::with_total) asked for it.
    pub total: Option<u64>,
}

/// A place in the results of a query: behind a row.
///
/// It is a short text (`to_string`, `parse`) that a program can hand to its own clients, in a URL for example. It contains
/// that row's values in the columns of the order and of the key; a client can read and change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageToken(Vec<u8>);

impl PageRequest {
    /// The first page, with at most this many records.
    #[must_use]
    pub const fn size(size: u64) -> Self {
        Self { size, after: None, with_total: false }
    }

    /// The page after another one: `Page::next` of that one.
    #[must_use]
    pub fn after(mut self, token: impl Into<Option<PageToken>>) -> Self {
        self.after = token.into();
        self
    }

    /// Also counts the records on all pages, which costs a query.
    #[must_use]
    pub const fn with_total(mut self) -> Self {
        self.with_total = true;
        self
    }
}

impl<T: Record> Table<'_, T> {
    /// Loads one page of a query, as shapes or records, in any order. The cost of a page does not depend on how many pages
    /// are before it, and rows that are inserted or deleted meanwhile neither repeat nor hide others.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// use bobak::query::PageRequest;
    ///
    /// # #[derive(Record, Debug, PartialEq)] struct City { id: i64, name: String, people: i64 }
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # let cities = db.table::<City>()?;
    /// # for n in 0..7 { cities.insert(&City { id: 0, name: format!("{n}"), people: n % 3 })?; }
    /// let query = Query::all().order_by(City::PEOPLE.desc());
    /// let first = cities.page::<City>(query.clone(), &(), PageRequest::size(5).with_total())?;
    /// assert_eq!((first.items.len(), first.total), (5, Some(7)));
    /// let second = cities.page::<City>(query, &(), PageRequest::size(5).after(first.next))?;
    /// assert_eq!((second.items.len(), second.next), (2, None));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Table::load); `Mismatch` for a token of a query with another order, and if the last row of the page has a
    /// NULL in its key or a value that is not of its column's type, as other programs can write to SQLite files; `Unsupported` for a query with a limit,
    /// an offset or groups.
    #[track_caller]
    pub fn page<S: Shape<Record = T>>(
        &self,
        query: impl Into<Query<T>>,
        with: &S::With,
        request: PageRequest,
    ) -> Result<Page<S>> {
        let _at = CallSite::enter();
        let query = query.into();
        let load = |source: &SessionSource<'_>| load_page(source, &query, with, &request);
        in_snapshot(&self.access.source, load).map_err(|error| self.access.in_table(error))
    }
}

fn load_page<S: Shape>(
    source: &SessionSource<'_>,
    query: &Query<S::Record>,
    with: &S::With,
    request: &PageRequest,
) -> Result<Page<S>> {
    let table = S::Record::schema();
    table.check_has_key()?;
    let mut columns = ShapeColumns::of::<S>(query.requested());
    let mut select = query.to_select(table, Vec::new())?;
    if select.is_grouped() || select.limit.is_some() || select.offset > 0 {
        let message = "a page needs a query without groups, limit and offset";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let total = request.with_total.then(|| count(source, &select)).transpose()?;
    let order = Select { columns: Vec::new(), ..select.clone() };
    order.order.iter().for_each(|step| columns.link(step.column));
    select.columns = columns.exprs();
    // One more row tells whether there is a next page.
    select.limit = Some(request.size.saturating_add(1));
    if let Some(token) = &request.after {
        let values = token.values(select.order.len(), |place, value| {
            let column = select.order.get(place).map_or(usize::MAX, |step| step.column);
            select.table.column_at(column)?.check_stored(value)
        })?;
        let engine = source.engines().engine(source.engine_index())?;
        select = select.after_row(&values, engine.capabilities().weak_types)?;
    }
    let mut rows = select_shape::<S>(source, columns, select, with)?;
    let size = usize::try_from(request.size).unwrap_or(usize::MAX);
    let has_next = rows.len() > size;
    rows.truncate(size);
    let last = size.checked_sub(1).filter(|_| has_next);
    let next = last.map(|last| PageToken::of(&rows, last, &order)).transpose()?;
    Ok(Page { items: build(source, &rows, with)?, next, total })
}

fn count(source: &SessionSource<'_>, select: &Select) -> Result<u64> {
    let (columns, order) = (vec![Expr::Count], Vec::new());
    let mut count = 0;
    source.query(Select { columns, order, ..select.clone() }, &mut |row| {
        if let ValueRef::Int(rows) = row.get(0) {
            count = rows.unsigned_abs();
        }
        Ok(true)
    })?;
    Ok(count)
}

impl PageToken {
    /// The place behind a row.
    fn of(rows: &ShapeRows, number: usize, query: &Select) -> Result<Self> {
        let row = rows.row(number);
        let value = |step: &Order| Value::from(row.value(rows.position(step.column)));
        let values: Vec<_> = query.order.iter().map(value).collect();
        query.check_place(&values)?;
        Self::of_values(&values)
    }

    /// The place behind the row that has these values in the order.
    pub(crate) fn of_values(values: &[Value<'_>]) -> Result<Self> {
        let mut framed = Vec::new();
        codec::encode_slice(&mut framed, values)?;
        Ok(Self(framed.split_off(codec::FRAME)))
    }

    /// The values for an order of this length, each checked: the token may come from a client.
    pub(crate) fn values(
        &self,
        count: usize,
        check: impl Fn(usize, ValueRef<'_>) -> Result<()>,
    ) -> Result<Vec<Value<'static>>> {
        let other = || Error::new(ErrorKind::Mismatch, "the page token belongs to another query");
        let row = EncodedRow::check(&self.0).map_err(|_| other())?;
        if row.len() != count {
            return Err(other());
        }
        let value = |place| {
            check(place, row.value(place)).map_err(|_| other())?;
            Ok(row.value(place).to_owned())
        };
        (0..count).map(value).collect()
    }
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for PageToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>();
        bytes.filter(|_| rest.is_empty()).map(Self).ok_or_else(|| {
            Error::new(ErrorKind::Mismatch, "a page token consists of pairs of hexadecimal digits")
        })
    }
}
