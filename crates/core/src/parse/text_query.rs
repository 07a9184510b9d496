//! Queries of expressions over one table, and assignments of expressions, in texts.

use super::expressions::ExpressionConverter;
use super::syntax;
use crate::join::{JoinExpr, JoinOrder, JoinTable};
use crate::sql_expression::{SqlExpression, SqlOperator, SqlParser};
use crate::{AssignedValue, Comparison, Error, ErrorKind, Join, Result, TableSchema};
use std::sync::Arc;

/// A query of expressions over one table, in texts: what clients of servers send.
///
/// Expressions are columns by name, literals, and
///
/// * `+ - * / %` of numbers, `||` of texts, `cast(x as integer)`, `real` or `text`;
/// * `lower` `upper` `trim` `length` `substr(x, start, length)` `coalesce(x, …)` `iif(condition, x, y)`;
/// * `year(x)` `month(x)` `day(x)` `date_part('week', x)` `date_trunc('month', x)`;
/// * `distance(latitude, longitude, 46.9, 7.4)`: metres;
/// * aggregates: `count(*)` `count(x)` `count_distinct(x)` `sum(x)` `avg(x)` `min(x)` `max(x)`.
///
/// They have the same meaning as the [expressions](crate::join::ExpressionMethods) of typed queries. The texts are parsed into
/// values and never reach an engine.
///
/// ```
/// use bobak_core::{ColumnSchema, TableSchema, TextQuery};
/// let table = TableSchema::builder("person")
///     .column(ColumnSchema::of::<i64>("id"))
///     .column(ColumnSchema::of::<String>("city"))
///     .key(["id"])
///     .build()?;
/// let query = TextQuery {
///     select: "upper(city) as town, count(*)".into(),
///     group: Some("town".into()),
///     having: Some("count(*) > 1".into()),
///     order: Some("-count, town".into()),
///     ..TextQuery::default()
/// };
/// let (names, join) = query.to_join(&table.into())?;
/// assert_eq!(names, ["town", "count"]);
/// assert!(join.is_grouped());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextQuery {
    /// The expressions to select, separated by commas, each with an optional name: `price * quantity as amount`. All columns if
    /// it is empty.
    pub select: String,
    /// What rows must match.
    pub filter: Option<String>,
    /// The expressions to group by, separated by commas; a name of a selected one stands for it.
    pub group: Option<String>,
    /// What groups must match.
    pub having: Option<String>,
    /// The expressions to sort by, separated by commas: descending after a minus. A name of a selected one stands for it.
    pub order: Option<String>,
    /// Whether equal rows are left out.
    pub distinct: bool,
    /// The maximum number of rows.
    pub limit: Option<u64>,
    /// How many rows to skip.
    pub offset: u64,
}

impl TextQuery {
    /// The names of the columns of the result, and the query.
    ///
    /// # Errors
    /// `Syntax` for a text that does not parse, and for two columns of the same name; `Schema` for an unknown column, and one that
    /// is neither grouped by nor aggregated; `Mismatch` for values of types that do not go together.
    pub fn to_join(&self, table: &Arc<TableSchema>) -> Result<(Vec<String>, Join)> {
        self.convert(table).map_err(|error| error.in_table(table.name()))
    }

    fn convert(&self, table: &Arc<TableSchema>) -> Result<(Vec<String>, Join)> {
        let mut converter = ExpressionConverter::new(table);
        let selected = self.selected(table, &converter)?;
        let mut join = Join {
            tables: vec![JoinTable { table: Arc::clone(table), link: None, rows: None }],
            columns: selected.iter().map(|(_, expr)| expr.clone()).collect(),
            limit: self.limit,
            offset: self.offset,
            ..Join::default()
        };
        if let Some(filter) = &self.filter {
            let condition = converter.condition(&parse(filter)?)?;
            if condition.is_aggregate() {
                return Err(syntax(
                    "a filter is of rows: a condition with an aggregate is 'having'",
                ));
            }
            join.filters.push(condition);
        }
        let names: Vec<String> = selected.iter().map(|(name, _)| name.clone()).collect();
        let is_column = |name: &str| table.column(name).is_ok();
        converter.names = selected.into_iter().filter(|(name, _)| !is_column(name)).collect();
        for (expression, _) in list(self.group.as_deref())? {
            join.group.push(converter.expr(&expression, None)?.0);
        }
        for (expression, _) in list(self.order.as_deref())? {
            join.order.push(order(&converter, &expression)?);
        }
        if let Some(having) = &self.having {
            converter.of_groups = true;
            join.having.push(converter.condition(&parse(having)?)?);
        }
        Ok((names, join.resolve(&[0], self.distinct)?))
    }

    /// The selected expressions with their names.
    fn selected(
        &self,
        table: &Arc<TableSchema>,
        converter: &ExpressionConverter<'_>,
    ) -> Result<Vec<(String, JoinExpr)>> {
        let mut selected: Vec<(String, JoinExpr)> = Vec::new();
        let text = Some(&*self.select).filter(|text| !text.trim().is_empty());
        let all = table.columns().iter().map(|column| {
            let name = std::borrow::Cow::Borrowed(&*column.name);
            (SqlExpression::Name { qualifier: None, name }, None)
        });
        let expressions = if text.is_some() { list(text)? } else { all.collect() };
        for (expression, name) in expressions {
            let name = match name {
                Some(name) => name,
                None => name_of(&expression)?,
            };
            if selected.iter().any(|(other, _)| *other == name) {
                return Err(syntax(&format!("two columns of the result are named '{name}'")));
            }
            selected.push((name, converter.expr(&expression, None)?.0));
        }
        Ok(selected)
    }
}

impl AssignedValue {
    /// Parses assignments, separated by commas: `total = price * quantity, note = null`. Expressions are those of [`TextQuery`],
    /// without aggregates, and have the values from before the update.
    ///
    /// # Errors
    /// `Syntax` for a text that does not parse; `Schema` for an unknown column; `Mismatch` for a value of another type.
    pub fn parse_list(text: &str, table: &Arc<TableSchema>) -> Result<Vec<Self>> {
        let converter = ExpressionConverter::new(table);
        let parse = |(expression, name): (SqlExpression<'_>, Option<String>)| match expression {
            SqlExpression::Binary(SqlOperator::Compare(Comparison::Equal), left, value)
                if name.is_none() =>
            {
                let SqlExpression::Name { qualifier: None, name } = &*left else {
                    return Err(syntax("expected a column on the left side"));
                };
                converter.assigned(table.column(name)?, &value)
            }
            _ => Err(syntax("an assignment is 'column = value'")),
        };
        let assigned = list(Some(text)).and_then(|all| all.into_iter().map(parse).collect());
        assigned.map_err(|error| error.in_table(table.name()))
    }
}

fn parse(text: &str) -> Result<SqlExpression<'_>> {
    SqlParser::new(text).whole().map_err(|message| syntax(&message))
}

/// Expressions that are separated by commas, with the names after `as`.
fn list(text: Option<&str>) -> Result<Vec<(SqlExpression<'_>, Option<String>)>> {
    let (Some(text), mut found) = (text, Vec::new()) else { return Ok(Vec::new()) };
    let mut parser = SqlParser::new(text);
    loop {
        let expression = parser.expression().map_err(|message| syntax(&message))?;
        let name = match parser.word("as") {
            true => Some(parser.name().ok_or_else(|| syntax("expected a name after as"))?),
            false => None,
        };
        found.push((expression, name.map(|name| name.into_owned())));
        if parser.is_at_end() {
            return Ok(found);
        }
        if !parser.operator(",") {
            return Err(syntax("expected a comma or the end after an expression"));
        }
    }
}

/// The name of a column of the result that has been given none.
fn name_of(expression: &SqlExpression<'_>) -> Result<String> {
    match expression {
        SqlExpression::Name { qualifier: None, name } => return Ok(name.to_string()),
        SqlExpression::CallAll(function) => return Ok(function.to_ascii_lowercase()),
        SqlExpression::Call(function, arguments) => {
            if let [SqlExpression::Name { qualifier: None, name }] = &**arguments {
                return Ok(format!("{}_{name}", function.to_ascii_lowercase()));
            }
        }
        _ => {}
    }
    let message = "the expression needs a name in the result: write 'expression as name'";
    Err(Error::new(ErrorKind::Syntax, message))
}

fn order(converter: &ExpressionConverter<'_>, expression: &SqlExpression<'_>) -> Result<JoinOrder> {
    let (expression, descending) = match expression {
        SqlExpression::Signed(descending, inner) => (&**inner, *descending),
        expression => (expression, false),
    };
    let (expr, _) = converter.expr(expression, None)?;
    if matches!(expr, JoinExpr::Value(..)) {
        return Err(syntax("rows are sorted by columns and expressions, and not by a value"));
    }
    Ok(JoinOrder { expr, descending, nulls_first: !descending })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnSchema, Currency};

    fn table() -> Arc<TableSchema> {
        let table = TableSchema::builder("line")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::of::<Currency>("price"))
            .column(ColumnSchema::of::<i32>("quantity"))
            .column(ColumnSchema::of::<bool>("paid"))
            .column(ColumnSchema::of::<Option<crate::Date>>("sold"));
        Arc::new(table.key(["id"]).build().unwrap())
    }

    fn select(text: &str) -> Result<Vec<String>> {
        TextQuery { select: text.into(), ..TextQuery::default() }.to_join(&table()).map(|q| q.0)
    }

    fn filter(text: &str) -> Result<Join> {
        let filter = Some(text.to_owned());
        TextQuery { filter, ..TextQuery::default() }.to_join(&table()).map(|query| query.1)
    }

    #[test]
    fn names_of_results() {
        assert_eq!(select("").unwrap().len(), 6);
        let text = "name, count(*), sum(price), max(quantity) as most";
        let query =
            TextQuery { select: text.into(), group: Some("name".into()), ..TextQuery::default() };
        let names = query.to_join(&table()).unwrap().0;
        assert_eq!(names, ["name", "count", "sum_price", "most"]);
    }

    fn rejected(text: &str, result: Result<()>) {
        let kind = result.expect_err(text).kind();
        let kinds = [ErrorKind::Syntax, ErrorKind::Schema, ErrorKind::Mismatch];
        assert!(kinds.contains(&kind), "{text}: {kind:?}");
    }

    #[test]
    fn what_is_rejected() {
        for text in [
            "price * price as a",
            "price + 1.23456 as a",
            "name + 1 as a",
            "lower(id)",
            "year(name)",
            "price * 2",
            "name, name",
            "nothing(id)",
            "name, count(*)",
            "sum(sum(id)) as s",
            "other",
            "name from line",
            "name = ",
            "t.name",
        ] {
            rejected(text, select(text).map(drop));
        }
        for text in [
            "price * quantity > 'x'",
            "quantity",
            "name > lower(id)",
            "sum(id) > 1",
            "year(sold) = 'x'",
        ] {
            rejected(text, filter(text).map(drop));
        }
        let deep = format!("{}paid{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(filter(&deep).unwrap_err().kind(), ErrorKind::Syntax);
    }

    #[test]
    fn what_is_accepted() {
        for text in [
            "paid",
            "not paid and price * quantity > 12.50",
            "iif(paid, 'yes', 'no') = 'no'",
            "coalesce(year(sold), 0) = 2024 or sold > '2024-01-01'",
            "date_trunc('month', sold) = '2024-02-01'",
            "lower(name) like 'a%' and length(trim(name)) between 1 and 9",
            "-quantity < -2 and quantity % 2 = 1 and name || '!' = 'a!'",
            "cast(price as real) / 2.5 in (1, 2.5)",
        ] {
            filter(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        let assigned = "price = price * quantity, sold = null, quantity = 7, name = upper(name)";
        assert_eq!(AssignedValue::parse_list(assigned, &table()).unwrap().len(), 4);
        for text in ["quantity = name", "price = quantity * 1.5", "1 = 2", "name", "x = 1"] {
            AssignedValue::parse_list(text, &table()).unwrap_err();
        }
    }
}
