//! Row selection: the parameters that lists, exports and aggregates share.

use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::key::parse_key;
use crate::request::parameters::QueryParameters;
use bobak_core::{Condition, DynRow, Expr, Filter, Order, OrderBy, Query, Select, Value};

/// Which rows, in which order, and how many.
#[derive(Debug, Default)]
pub(crate) struct RowSelection {
    pub condition: Option<Condition>,
    pub order: Vec<Order>,
    pub limit: Option<u64>,
    pub offset: u64,
    /// Only rows with a greater key.
    pub after: Option<Vec<Value<'static>>>,
}

impl RowSelection {
    /// Takes `filter`, `order`, `limit`, `offset` and `after`.
    ///
    /// # Errors
    /// 400 for invalid values.
    pub fn take(parameters: &mut QueryParameters, table: &CachedTable) -> Result<Self, Problem> {
        let after = parameters.take("after").map(|key| parse_key(table, &key)).transpose()?;
        Ok(Self {
            condition: take_filter(parameters, table)?,
            order: take_order(parameters, table)?,
            limit: parameters.number("limit")?,
            offset: parameters.number("offset")?.unwrap_or(0),
            after,
        })
    }

    /// Whether rows are ordered by key, so that the key of a page's last row locates the next page.
    pub const fn is_by_key(&self) -> bool {
        self.order.is_empty()
    }

    /// The query for these columns of the selected rows.
    ///
    /// # Errors
    /// As [`Query::to_select`]; 400 for `after` with another order than by key.
    pub fn select(&self, table: &CachedTable, columns: Vec<Expr>) -> Result<Select, Problem> {
        let select = self.query().to_select(&table.schema, columns)?;
        match &self.after {
            None => Ok(select),
            Some(key) if self.is_by_key() => Ok(select.after(key)?),
            Some(_) => {
                let message = "'after' requires the order by key: use 'offset' with another order";
                Err(Problem::bad_request(message))
            }
        }
    }

    /// All rows that match the filter.
    pub fn filtered(&self) -> Query<DynRow> {
        match &self.condition {
            Some(condition) => Query::filter(Filter::new(condition.clone())),
            None => Query::all(),
        }
    }

    /// The selected rows, without regard to `after`.
    pub fn query(&self) -> Query<DynRow> {
        let mut query = self.filtered();
        for order in &self.order {
            query = query.order_by(OrderBy::new(*order));
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        query.offset(self.offset)
    }
}

/// Takes `filter`.
///
/// # Errors
/// 400 for an invalid condition.
pub(crate) fn take_filter(
    parameters: &mut QueryParameters,
    table: &CachedTable,
) -> Result<Option<Condition>, Problem> {
    let Some(text) = parameters.take("filter") else { return Ok(None) };
    let condition = Condition::parse(&text, &table.schema);
    condition.map(Some).map_err(|error| Problem::with_status(hyper::StatusCode::BAD_REQUEST, error))
}

/// Takes `order`: column names, with a minus sign for descending order.
fn take_order(
    parameters: &mut QueryParameters,
    table: &CachedTable,
) -> Result<Vec<Order>, Problem> {
    let Some(text) = parameters.take("order") else { return Ok(Vec::new()) };
    let order = |name: &str| {
        let (name, descending) = name.strip_prefix('-').map_or((name, false), |rest| (rest, true));
        let column = table.schema.column(&column_list::unquote(name)?)?;
        Ok(Order { column, descending })
    };
    column_list::split(&text).map(order).collect()
}
