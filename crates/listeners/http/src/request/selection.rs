//! Row selection: the parameters that lists, exports and aggregates share.

use crate::database::relations::TableStep;
use crate::database::schema_cache::VisibleTables;
use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::key::parse_key;
use crate::request::parameters::QueryParameters;
use crate::request::place::{PlaceStep, parse_place};
use bobak_core::nearest::{Distance, Metric};
use bobak_core::{Condition, DynRow, Error, Expr, Filter, Order, OrderBy, Query, Select};
use std::cell::Cell;

/// Which rows, in which order, and how many.
#[derive(Debug, Default)]
pub(crate) struct RowSelection {
    /// What the rows' texts must have.
    pub search: Option<String>,
    /// From which vector the distances of the rows are measured.
    pub nearest: Option<Distance<DynRow>>,
    pub condition: Option<Condition>,
    pub order: Vec<Order>,
    pub limit: Option<u64>,
    pub offset: u64,
    /// Only rows behind this one: its key, or in another order the values that [`RowSelection::place`] has written.
    pub after: Option<String>,
}

impl RowSelection {
    /// Takes `search`, `nearest` with `to` and `metric`, `filter`, `order`, `limit`, `offset` and `after`. The filter may name columns of related tables, if
    /// these are given.
    ///
    /// # Errors
    /// 400 for invalid values.
    pub fn take(
        parameters: &mut QueryParameters,
        table: &CachedTable,
        tables: Option<&VisibleTables>,
    ) -> Result<Self, Problem> {
        let after = parameters.take("after");
        let search = parameters.take("search");
        let nearest = take_nearest(parameters, table)?;
        let own = Self::take_related(parameters, "", table, tables)?;
        Ok(Self { after, search, nearest, ..own })
    }

    /// Takes `filter`, `order`, `limit` and `offset` of a relation, with this prefix. The filter may name columns of related
    /// tables, if these are given.
    ///
    /// # Errors
    /// 400 for invalid values.
    pub fn take_related(
        parameters: &mut QueryParameters,
        prefix: &str,
        table: &CachedTable,
        tables: Option<&VisibleTables>,
    ) -> Result<Self, Problem> {
        Ok(Self {
            condition: take_filter(parameters, prefix, table, tables)?,
            order: take_order(parameters, prefix, table)?,
            limit: parameters.number(&format!("{prefix}limit"))?,
            offset: parameters.number(&format!("{prefix}offset"))?.unwrap_or(0),
            ..Self::default()
        })
    }

    /// Whether rows are ordered by key, so that the key of a page's last row locates the next page.
    pub const fn is_by_key(&self) -> bool {
        self.order.is_empty() && self.search.is_none() && self.nearest.is_none()
    }

    /// The query for these columns of the selected rows. `weak_types` is the engine's capability.
    ///
    /// # Errors
    /// As [`Query::to_select`]; 400 for an invalid `after`, and one with a search or nearest rows.
    pub fn select(
        &self,
        table: &CachedTable,
        columns: Vec<Expr>,
        weak_types: bool,
    ) -> Result<Select, Problem> {
        let select = self.query().to_select(&table.schema, columns)?;
        match &self.after {
            None => Ok(select),
            Some(key) if self.is_by_key() => Ok(select.after(&parse_key(table, key)?)?),
            Some(_) if !self.has_places() => {
                let message = "use 'offset' with a search or 'nearest': their rows have no 'after'";
                Err(Problem::bad_request(message))
            }
            Some(place) => {
                table.schema.check_has_key()?;
                let columns: Vec<usize> = select.order.iter().map(|step| step.column).collect();
                let steps = PlaceStep::of_columns(&table.schema, &columns);
                Ok(select.after_row(&parse_place(place, &steps)?, weak_types)?)
            }
        }
    }

    /// Whether a row's place in the order locates the next page.
    pub const fn has_places(&self) -> bool {
        self.search.is_none() && self.nearest.is_none()
    }

    /// The columns whose values locate the next page; none if the key does, or nothing, as in a view without a key.
    ///
    /// # Errors
    /// As [`Query::to_select`].
    pub fn place(&self, table: &CachedTable) -> Result<Vec<usize>, Problem> {
        if self.is_by_key() || !self.has_places() || table.schema.check_has_key().is_err() {
            return Ok(Vec::new());
        }
        let ordered = Self { order: self.order.clone(), ..Self::default() };
        let select = ordered.query().to_select(&table.schema, Vec::new())?;
        Ok(select.order.iter().map(|step| step.column).collect())
    }

    /// All rows that match the search and the filter.
    pub fn filtered(&self) -> Query<DynRow> {
        let found = self.search.as_ref().map_or_else(Query::all, Query::search);
        match &self.condition {
            Some(condition) => found.and(Filter::new(condition.clone())),
            None => found,
        }
    }

    /// The selected rows, without regard to `after`.
    pub fn query(&self) -> Query<DynRow> {
        let mut query = self.filtered();
        for order in &self.order {
            query = query.order_by(OrderBy::new(*order));
        }
        if let Some(distance) = &self.nearest {
            query = query.nearest(distance.clone(), u64::MAX);
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        query.offset(self.offset)
    }
}

/// Takes `nearest`, the column of vectors, `to`, the vector, and `metric`.
///
/// # Errors
/// 400 for invalid values, and if one of the first two is missing.
fn take_nearest(
    parameters: &mut QueryParameters,
    table: &CachedTable,
) -> Result<Option<Distance<DynRow>>, Problem> {
    let metrics = Metric::ALL.iter().map(|metric| (metric.name(), *metric));
    let metric = parameters.choice("metric", &metrics.collect::<Vec<_>>())?;
    let (column, to) = match (parameters.take("nearest"), parameters.take("to")) {
        (Some(column), Some(to)) => (column, to),
        (None, None) if metric.is_none() => return Ok(None),
        _ => {
            let message = "'nearest', the column of vectors, and 'to', the vector, need each other";
            return Err(Problem::bad_request(message));
        }
    };
    let column = table.schema.column(&column_list::unquote(&column)?)?;
    let to = bobak_text::vector::numbers(&to).ok_or_else(|| {
        Problem::bad_request("'to' is a JSON array of numbers that are an f32, such as [0.5,-1]")
    })?;
    let distance = Distance::new(column, metric.unwrap_or(Metric::Cosine), to);
    distance
        .check(&table.schema)
        .map_err(|error| Problem::with_status(hyper::StatusCode::BAD_REQUEST, error))?;
    Ok(Some(distance))
}

/// Takes `filter`, with a prefix. It may name columns of related tables, if these are given.
///
/// # Errors
/// 400 for an invalid condition.
pub(crate) fn take_filter(
    parameters: &mut QueryParameters,
    prefix: &str,
    table: &CachedTable,
    tables: Option<&VisibleTables>,
) -> Result<Option<Condition>, Problem> {
    let Some(text) = parameters.take(&format!("{prefix}filter")) else { return Ok(None) };
    let several = Cell::new(false);
    let steps = |path: &str| {
        let steps = tables?.steps(table, path)?;
        let steps: Option<Vec<_>> = steps.iter().map(TableStep::of_filter).collect();
        several.set(several.get() || steps.is_none());
        steps
    };
    let condition = Condition::parse_related(&text, &table.schema, &steps);
    if several.get() {
        let message = "a filter goes through foreign keys of one column: filter by the columns of \
                       the table, or expand the relation with a filter of its own";
        return Err(Problem::bad_request(message));
    }
    condition.map(Some).map_err(|error| {
        Problem::with_status(hyper::StatusCode::BAD_REQUEST, with_expressions(error, table))
    })
}

/// Points to the resource that takes expressions if the text has one.
fn with_expressions(error: Error, table: &CachedTable) -> Error {
    if !error.message().contains("expected a column on the left side") {
        return error;
    }
    let name = table.schema.name();
    let message = format!("{}; GET /tables/{name}/query filters by expressions", error.message());
    Error::new(error.kind(), message).in_table(name.to_owned())
}

/// Takes `order`: column names, with a minus sign for descending order.
fn take_order(
    parameters: &mut QueryParameters,
    prefix: &str,
    table: &CachedTable,
) -> Result<Vec<Order>, Problem> {
    let Some(text) = parameters.take(&format!("{prefix}order")) else { return Ok(Vec::new()) };
    let order = |name: &str| {
        let (name, descending) = name.strip_prefix('-').map_or((name, false), |rest| (rest, true));
        let column = table.schema.column(&column_list::unquote(name)?)?;
        Ok(Order { column, descending })
    };
    column_list::split(&text).map(order).collect()
}
