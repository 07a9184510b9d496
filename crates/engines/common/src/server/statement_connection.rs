//! Connections whose statements for rows are those of a [`StatementDialect`], and the queries that run on them.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::{
    EachRow, ServerCondition, StatementDialect, StatementValue, TransactionConnection,
    catalog_integer, catalog_text, check_texts, each_by_key, run_select,
};
use bobak_core::{Expr, Result, Row, Select, TableSchema, Type};

/// A connection whose statements for rows are those of a dialect.
pub trait StatementConnection: TransactionConnection + Sized {
    /// How it writes statements.
    type Dialect: StatementDialect;

    /// Whether the server counts rows that an update leaves as they are.
    const COUNTS_UNCHANGED: bool = true;

    /// How it writes statements.
    fn dialect(&self) -> Self::Dialect;

    /// Runs a statement; returns how many rows it wrote: none if it has rows as its result.
    ///
    /// # Errors
    /// Those of the server, with the table; of a value, with the column.
    fn run(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<u64>;

    /// Runs a query. It shows columns `of` a table, in their order, or one number if none are named; `None` if the server says
    /// what it shows.
    ///
    /// # Errors
    /// Those of the server, and of `row`.
    fn each(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()>;

    /// Runs a query; the integers that its rows begin with.
    ///
    /// # Errors
    /// As [`each`](Self::each).
    fn integers(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        self.each(of, sql, values, &mut |row| {
            found.extend(catalog_integer(row, 0));
            Ok(true)
        })?;
        Ok(found)
    }

    /// Runs a query; the texts that its rows begin with.
    ///
    /// # Errors
    /// As [`each`](Self::each).
    fn texts(&mut self, sql: &str, values: &[StatementValue<'_>]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        self.each(None, sql, values, &mut |row| {
            found.push(catalog_text(row, 0));
            Ok(true)
        })?;
        Ok(found)
    }

    /// The table and the columns of a constraint, by its name; `sql` is the query of the catalog for them, one a row.
    #[cold]
    fn constraint(&mut self, sql: &str, name: &str) -> Option<(String, String)> {
        let (dialect, mut table, mut columns) = (self.dialect(), None, Vec::new());
        let name = [StatementValue::of_type(Type::Text, name)];
        let done = self.each(None, sql, &name, &mut |row| {
            table = Some(dialect.shown(&catalog_text(row, 0)));
            columns.push(dialect.shown(&catalog_text(row, 1)));
            Ok(true)
        });
        // If the catalog cannot be read, the caller still has the error of the statement.
        done.ok().and(table).map(|table| (table, columns.join(", ")))
    }

    /// Passes the rows on that may match a condition, in the order of their keys; `most` of them are enough.
    ///
    /// # Errors
    /// Those of the server, and of `each`.
    fn scan(
        &mut self,
        table: &TableSchema,
        condition: &ServerCondition<'_>,
        most: Option<u64>,
        each: &mut EachRow<'_>,
    ) -> Result<()> {
        scan_with(self, table, condition, (None, most), each).map(drop)
    }
}

/// Runs a query of a table that locks no rows.
///
/// # Errors
/// As [`Session::query`](bobak_core::Session::query).
pub fn query_table<C: StatementConnection>(
    connection: &mut C,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let (table, dialect) = (&*select.table, connection.dialect());
    check_texts(select.condition.as_ref(), &|text| dialect.check_text(text))?;
    let condition = ServerCondition::of(&dialect, select);
    if condition.is_whole && select.columns == [Expr::Count] && select.group.is_empty() {
        let (name, texts) = (dialect.quoted(table.name()), condition.text(None));
        let sql = format!("SELECT {} FROM {name}{texts}", C::Dialect::COUNT);
        let (limit, offset) = (select.limit.unwrap_or(1), select.offset);
        return connection.each(Some((table, &[])), &sql, &condition.values, &mut |found| {
            if limit == 0 || offset > 0 { Ok(false) } else { row(found) }
        });
    }
    let most = most_rows(&dialect, select, &condition);
    let scan = |each: &mut EachRow<'_>| connection.scan(table, &condition, most, each);
    run_select(&select.table, select, scan, row)
}

/// How many rows the server must send at most, if the condition is all looked at there, and their order is that of the key.
fn most_rows<D: StatementDialect>(
    dialect: &D,
    select: &Select,
    condition: &ServerCondition<'_>,
) -> Option<u64> {
    let is_plain = select.columns.iter().all(|expr| expr.column().is_some());
    let by_key = select
        .order
        .iter()
        .zip(select.table.key())
        .all(|(order, &place)| order.column == place && !order.descending);
    let is_whole = condition.is_whole && is_plain && by_key && select.group.is_empty();
    let most = select.limit.filter(|_| is_whole && sorts_key(dialect, &select.table))?;
    most.checked_add(select.offset).filter(|most| *most <= u32::MAX.into())
}

/// Whether the server sorts the values of the key as Bobak does.
fn sorts_key<D: StatementDialect>(dialect: &D, table: &TableSchema) -> bool {
    table.key().iter().all(|place| dialect.is_sorted(table, *place))
}

/// Passes the rows on that may match a condition and another one, in the order of their keys. Returns whether more are wanted.
///
/// # Errors
/// Those of the server, and of `each`.
pub fn scan_with<C: StatementConnection>(
    connection: &mut C,
    table: &TableSchema,
    condition: &ServerCondition<'_>,
    (more, most): (Option<&str>, Option<u64>),
    each: &mut EachRow<'_>,
) -> Result<bool> {
    let dialect = connection.dialect();
    let shown = &condition.shown;
    let columns = dialect.columns(table, shown.iter().copied());
    let (name, texts) = (dialect.quoted(table.name()), condition.text(more));
    let mut sql = format!("SELECT {columns} FROM {name}{texts}");
    // A view may have no key, and its rows then no order.
    let is_sorted = sorts_key(&dialect, table);
    if is_sorted && !table.key().is_empty() {
        let key = dialect.columns(table, table.key().iter().copied());
        sql.push_str(&format!(" ORDER BY {key}"));
    }
    sql.push_str(&most.map_or_else(String::new, |most| dialect.first_rows(most)));
    each_by_key((table, shown), is_sorted, each, |row| {
        connection.each(Some((table, shown)), &sql, &condition.values, row)
    })
}
