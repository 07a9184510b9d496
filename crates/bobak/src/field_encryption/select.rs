//! Queries over encrypted columns: translated to their bytes, or rejected before any I/O.

use super::engine_ciphers::EngineCiphers;
use super::table_cipher::TableCipher;
use bobak_core::{
    ColumnPair, Comparison, Condition, Error, ErrorKind, Expr, Result, Row, Select, SubQuery,
    TableSchema, Value, ValueRef,
};
use std::sync::Arc;

/// A query as the engine runs it, and how its rows are decrypted.
pub(super) struct SealedSelect {
    pub select: Select,
    pub rows: SealedRows,
}

/// How the rows of a query are decrypted.
pub(super) struct SealedRows {
    cipher: Option<Arc<TableCipher>>,
    /// For each column of the result, the column of the table, if it is a value of one.
    columns: Vec<Option<usize>>,
    /// Where the rows have the columns that bind values to them.
    places: Vec<(usize, usize)>,
}

impl SealedSelect {
    /// Translates a query; `None` if it concerns no encrypted table.
    ///
    /// # Errors
    /// `Unsupported` for an order, a group, an aggregate or a condition that needs plain values.
    pub fn new(ciphers: &EngineCiphers, plain: &Select) -> Result<Option<Self>> {
        let cipher = ciphers.of(&plain.table)?;
        let has_subquery = plain.condition.as_ref().is_some_and(Condition::has_subquery);
        if cipher.is_none() && !has_subquery {
            return Ok(None);
        }
        let mut select = plain.clone();
        let condition = select.condition.take();
        let map = |condition| seal_condition(ciphers, cipher.as_deref(), condition);
        select.condition = condition.map(map).transpose()?;
        let columns = plain.columns.iter().map(|expr| match *expr {
            Expr::Column(column) => Some(column),
            _ => None,
        });
        let mut rows = SealedRows { cipher: None, columns: columns.collect(), places: Vec::new() };
        if let Some(cipher) = cipher {
            check(plain, &cipher)?;
            select.table = Arc::clone(&cipher.stored);
            let is_encrypted =
                |column: &Option<usize>| column.is_some_and(|c| cipher.column(c).is_some());
            if rows.columns.iter().any(is_encrypted) {
                for column in cipher.bound_by() {
                    let wanted = Expr::Column(column);
                    let found = select.columns.iter().position(|expr| *expr == wanted);
                    let place = found.unwrap_or_else(|| {
                        select.columns.push(wanted);
                        select.columns.len() - 1
                    });
                    rows.places.push((column, place));
                }
                rows.cipher = Some(cipher);
            }
        }
        Ok(Some(Self { select, rows }))
    }
}

impl SealedRows {
    /// A row of the query with its values decrypted.
    ///
    /// # Errors
    /// As [`TableCipher::open`].
    pub fn open<'r>(&self, row: &'r dyn Row) -> Result<Vec<Value<'r>>> {
        let of_row = |column: usize| {
            let place = self.places.iter().find(|(other, _)| *other == column);
            place.map_or(ValueRef::Null, |(_, place)| row.get(*place))
        };
        let value = |(place, column): (usize, &Option<usize>)| {
            let found = self.cipher.as_ref().zip(*column);
            let found = found.and_then(|(cipher, c)| Some((cipher, c, cipher.column(c)?)));
            match found {
                Some((cipher, column, own)) => cipher.open(column, own, row.get(place), of_row),
                None => Ok(row.get(place).into()),
            }
        };
        self.columns.iter().enumerate().map(value).collect()
    }
}

/// Rejects what an engine would calculate of encrypted values.
fn check(select: &Select, cipher: &TableCipher) -> Result<()> {
    let reject = |column: usize, what: &str| match cipher.column(column) {
        Some(_) => Err(cipher.rejected(column, what)),
        None => Ok(()),
    };
    select.order.iter().try_for_each(|order| reject(order.column, "sort by it"))?;
    if let Some(nearest) = &select.nearest {
        reject(nearest.column, "measure distances from it")?;
    }
    select.group.iter().try_for_each(|&column| reject(column, "group by it"))?;
    select.columns.iter().try_for_each(|expr| match *expr {
        Expr::Sum(column) | Expr::Min(column) | Expr::Max(column) | Expr::Avg(column) => {
            reject(column, "calculate with it")
        }
        _ => Ok(()),
    })
}

/// A condition over the stored bytes.
///
/// # Errors
/// `Unsupported` for a condition that needs plain values.
pub(super) fn seal_condition(
    ciphers: &EngineCiphers,
    cipher: Option<&TableCipher>,
    condition: Condition,
) -> Result<Condition> {
    let each = |parts: Vec<Condition>| -> Result<Vec<Condition>> {
        parts.into_iter().map(|part| seal_condition(ciphers, cipher, part)).collect()
    };
    Ok(match condition {
        Condition::And(parts) => Condition::And(each(parts)?),
        Condition::Or(parts) => Condition::Or(each(parts)?),
        Condition::Not(part) => Condition::Not(Box::new(seal_condition(ciphers, cipher, *part)?)),
        Condition::InQuery { column, query } => {
            query.pairs(column).try_for_each(|pair| check_column(cipher, pair.from))?;
            let query = Box::new(seal_subquery(ciphers, *query)?);
            Condition::InQuery { column, query }
        }
        condition => match cipher {
            Some(cipher) => seal_comparison(cipher, condition)?,
            None => condition,
        },
    })
}

fn seal_subquery(ciphers: &EngineCiphers, query: SubQuery) -> Result<SubQuery> {
    let cipher = ciphers.of(&query.table)?;
    let check = |pair: ColumnPair| check_column(cipher.as_deref(), pair.to);
    query.pairs(query.column).try_for_each(check)?;
    let seal = |condition| seal_condition(ciphers, cipher.as_deref(), condition);
    let condition = query.condition.map(seal).transpose()?;
    let stored = |cipher: &Arc<TableCipher>| Arc::clone(&cipher.stored);
    let table: Arc<TableSchema> = cipher.as_ref().map_or(query.table, stored);
    Ok(SubQuery { table, condition, ..query })
}

fn check_column(cipher: Option<&TableCipher>, column: usize) -> Result<()> {
    match cipher.filter(|cipher| cipher.column(column).is_some()) {
        Some(cipher) => Err(cipher.rejected(column, "compare it with other columns")),
        None => Ok(()),
    }
}

/// A condition about one row.
fn seal_comparison(cipher: &TableCipher, condition: Condition) -> Result<Condition> {
    use Condition as C;
    let is_in = |column: usize, values: &[Value<'_>]| match cipher.column(column) {
        Some(own) if own.searchable => {
            let mut stored = Vec::new();
            for value in values {
                stored.extend(cipher.search(own, value.as_ref())?);
            }
            Ok(C::In { column, values: stored })
        }
        _ => Err(cipher.rejected(column, "find its values")),
    };
    let columns = match &condition {
        C::CompareColumns { left, right, .. } => [*left, *right],
        C::Compare { column, .. }
        | C::In { column, .. }
        | C::Like { column, .. }
        | C::LikeEscape { column, .. }
        | C::Contains { column, .. }
        | C::EndsWith { column, .. }
        | C::StartsWith { column, .. }
        | C::IsNull { column } => [*column; 2],
        _ => {
            let message = "this condition is not known for tables with encrypted columns";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    let Some(&encrypted) = columns.iter().find(|column| cipher.column(**column).is_some()) else {
        return Ok(condition);
    };
    match condition {
        C::Compare { comparison: Comparison::Equal, column, value } => is_in(column, &[value]),
        C::Compare { comparison: Comparison::NotEqual, column, value } => {
            Ok(C::Not(Box::new(is_in(column, &[value])?)))
        }
        C::In { column, values } => is_in(column, &values),
        C::IsNull { .. } => Ok(condition),
        C::Compare { .. } => Err(cipher.rejected(encrypted, "order its values")),
        C::CompareColumns { .. } => {
            Err(cipher.rejected(encrypted, "compare it with other columns"))
        }
        _ => Err(cipher.rejected(encrypted, "look into its values")),
    }
}
