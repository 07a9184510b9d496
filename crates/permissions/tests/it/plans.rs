//! Plans of queries, within and beyond permissions.

use crate::shop::{As, Shop, assert_fails};
use bobak_core::plan::{ExplainedQuery, QueryPlan};
use bobak_core::{ErrorKind, Result, Select, Source};
use bobak_permissions::Caller;
use bobak_sqlite::Sqlite;
use std::sync::Arc;

fn plan(by: &As<'_>, query: &ExplainedQuery<'_>) -> Result<String> {
    let plan = QueryPlan::ask(&*by.engine.session()?, query)?;
    Ok(plan.map(|plan| plan.to_string()).unwrap_or_default())
}

fn of_text(by: &As<'_>, text: &str) -> Result<String> {
    plan(by, &ExplainedQuery::Source(Source::Sql { text, parameters: &[] }))
}

#[test]
fn a_plan_needs_the_permissions_of_its_statement() {
    let shop = Shop::new(Arc::new(Sqlite::builder().open_memory().unwrap()));
    let reader = shop.with("read, sql on orders");
    let found = of_text(&reader, "SELECT id FROM orders WHERE total = 10").unwrap();
    assert_eq!(found, "SCAN orders\nadvice: orders reads every row: an index on total may help\n");
    assert_fails(of_text(&reader, "SELECT id FROM secret"), ErrorKind::Schema);
    assert_fails(of_text(&reader, "DELETE FROM orders WHERE id = 1"), ErrorKind::Denied);
    assert_fails(of_text(&reader, "QUERY PLAN SELECT 1"), ErrorKind::Misuse);
    assert_fails(of_text(&shop.with("read on orders"), "SELECT id FROM orders"), ErrorKind::Denied);
    // The plan of a typed query would show row rules, and other tables behind a view.
    let select = Select::all(&shop.orders);
    let query = ExplainedQuery::Source(Source::Select(&select));
    assert_eq!(plan(&reader, &query).unwrap(), "SCAN orders\n");
    let ruled = shop.with("read on orders where owner = :user");
    assert_fails(plan(&ruled, &query), ErrorKind::Denied);
    assert_fails(plan(&shop.with("insert on orders"), &query), ErrorKind::Denied);
    let hidden = Select::all(&shop.secret);
    let hidden = ExplainedQuery::Source(Source::Select(&hidden));
    assert_fails(plan(&reader, &hidden), ErrorKind::Schema);
    let view =
        "CREATE VIEW both AS SELECT o.id, s.owner FROM orders o JOIN secret s ON s.id = o.kept";
    let operator = shop.by(&Caller::operator());
    operator.engine.session().unwrap().execute(view, &[]).unwrap();
    let views = operator.engine.session().unwrap().views().unwrap();
    let select = Select::all(&Arc::new(views[0].clone()));
    let of_view = ExplainedQuery::Source(Source::Select(&select));
    assert_fails(plan(&shop.with("read on both"), &of_view), ErrorKind::Denied);
    assert_eq!(plan(&shop.by(&Caller::operator()), &query).unwrap(), "SCAN orders\n");
    assert_eq!(reader.ids(&shop.orders).unwrap(), [1, 2, 3]);
}
