//! Plans of queries, and the advice about indexes.

use crate::{Check, Entry, Harness, Probe, Table, fails, holds, row, same};
use bobak_core::plan::{ExplainedQuery, PlanStep, QueryPlan};
use bobak_core::{
    ColumnSchema, Comparison, Condition, ErrorKind, OnError, Select, Source, TableSchema, Value,
};
use std::sync::Arc;

/// `shop(id, city, name)`, with an index on the name.
fn shop() -> Check<Table> {
    let table = TableSchema::builder("shop")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("city"))
        .column(ColumnSchema::of::<String>("name"))
        .key(["id"])
        .index("shop_name", ["name"]);
    Ok(Arc::new(table.build()?))
}

fn plan(
    probe: &Probe<'_>,
    shop: &Table,
    column: usize,
    value: Value<'static>,
) -> bobak_core::Result<QueryPlan> {
    let comparison = Comparison::Equal;
    let condition = Some(Condition::Compare { column, comparison, value });
    let select = Select { condition, ..Select::all(shop) };
    let query = ExplainedQuery::Source(Source::Select(&select));
    Ok(QueryPlan::ask(&*probe.session, &query)?.unwrap_or_default())
}

/// A filter without an index gets the advice to add one, others get none; an engine without plans rejects the question.
pub fn a_filter_without_an_index_gets_advice(harness: &dyn Harness) -> Check {
    let (store, shop) = (harness.fresh()?, shop()?);
    let probe = Probe::with_tables(store.engine(), &[&shop])?;
    let row = |id: i64| row![id, format!("city {}", id % 5), format!("shop {id}")];
    let entries: Vec<Entry> = (1..=50).map(|id| Entry::insert(&shop, row(id))).collect();
    probe.batch(&entries, OnError::Stop).outcomes()?;
    let by_city = plan(&probe, &shop, 1, Value::from("city 3"));
    if !probe.capabilities.explain {
        return fails("explained", by_city, ErrorKind::Unsupported).map(drop);
    }
    let by_city = by_city?;
    let advice: Vec<_> = by_city.advice.iter().map(|one| (&*one.table, &*one.columns)).collect();
    same("advice", advice, vec![("shop", &["city".to_owned()][..])])?;
    let mut tables = Vec::new();
    let mut add = |step: &PlanStep| tables.extend(step.table.clone());
    by_city.steps.iter().for_each(|step| step.for_each(&mut add));
    same("its table", tables, vec!["shop".to_owned()])?;
    holds("no index", plan(&probe, &shop, 2, Value::from("shop 3"))?.advice.is_empty())?;
    holds("the key", plan(&probe, &shop, 0, Value::Int(3))?.advice.is_empty())?;
    same("nothing ran", probe.all(&shop)?.len(), 50)
}
