//! Which rows, in which order, how many: the parameters that lists, exports and sums share.

use crate::key::read_key;
use crate::model::Table;
use crate::names;
use crate::parameters::Parameters;
use crate::problem::Problem;
use bobak_core::{Condition, DynRow, Expr, Filter, Order, Query, Select, Value};

/// What the parameters say of the rows.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub condition: Option<Condition>,
    pub order: Vec<Order>,
    pub limit: Option<u64>,
    pub offset: u64,
    /// The key behind which the rows begin.
    pub after: Option<Vec<Value<'static>>>,
}

impl Selection {
    /// Takes `filter`, `order`, `limit`, `offset` and `after`.
    ///
    /// # Errors
    /// 400 for what is wrong in them.
    pub fn take(parameters: &mut Parameters, table: &Table) -> Result<Self, Problem> {
        let after = parameters.take("after").map(|key| read_key(table, &key)).transpose()?;
        Ok(Self {
            condition: filter(parameters, table)?,
            order: order(parameters, table)?,
            limit: parameters.number("limit")?,
            offset: parameters.number("offset")?.unwrap_or(0),
            after,
        })
    }

    /// Whether the rows come by key, so that the last one's key says where to go on.
    pub const fn is_by_key(&self) -> bool {
        self.order.is_empty()
    }

    /// The query that gives these columns of the rows.
    ///
    /// # Errors
    /// As [`Query::to_select`].
    pub fn select(&self, table: &Table, columns: Vec<Expr>) -> Result<Select, Problem> {
        let select = self.query().to_select(&table.schema, columns)?;
        match &self.after {
            None => Ok(select),
            Some(key) if self.is_by_key() => Ok(select.after(key)?),
            Some(_) => {
                let message = "paging by key goes with the order by key only: use offset";
                Err(Problem::bad_request(message))
            }
        }
    }

    /// All rows that the filter keeps.
    pub fn all(&self) -> Query<DynRow> {
        match &self.condition {
            Some(condition) => Query::filter(Filter::new(condition.clone())),
            None => Query::all(),
        }
    }

    /// The query as a plain value, but for `after`.
    pub fn query(&self) -> Query<DynRow> {
        let mut query = self.all();
        for step in &self.order {
            query = query.order_by(*step);
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        query.offset(self.offset)
    }
}

/// Takes the condition.
pub(crate) fn filter(
    parameters: &mut Parameters,
    table: &Table,
) -> Result<Option<Condition>, Problem> {
    let Some(text) = parameters.take("filter") else { return Ok(None) };
    let condition = Condition::parse(&text, &table.schema);
    condition.map(Some).map_err(|error| Problem::with(hyper::StatusCode::BAD_REQUEST, error))
}

/// Takes the order: names, a minus before those of which the largest come first.
fn order(parameters: &mut Parameters, table: &Table) -> Result<Vec<Order>, Problem> {
    let Some(text) = parameters.take("order") else { return Ok(Vec::new()) };
    let step = |name: &str| {
        let (name, descending) = name.strip_prefix('-').map_or((name, false), |rest| (rest, true));
        let column = table.schema.column(&names::unquoted(name)?)?;
        Ok(Order { column, descending })
    };
    names::parts(&text).map(step).collect()
}
