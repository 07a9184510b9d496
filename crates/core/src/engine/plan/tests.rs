use super::*;
use crate::{ColumnSchema, TableSchema, Type};

fn tables() -> Vec<TableSchema> {
    let columns = |names: &[&'static str]| {
        names.iter().map(|name| ColumnSchema::new(*name, Type::I64)).collect::<Vec<_>>()
    };
    let orders = TableSchema::builder("orders")
        .columns(columns(&["id", "customer", "city", "total"]))
        .key(["id"]);
    let customers = TableSchema::builder("customer").columns(columns(&["id", "name"])).key(["id"]);
    vec![orders.build().unwrap(), customers.index("by_name", ["name"]).build().unwrap()]
}

/// The columns of the advice for a statement whose plan reads these tables completely.
fn advice(sql: &str, scanned: &[&str]) -> Vec<String> {
    let step = |name: &&str| PlanStep::of_table(format!("SCAN {name}"), name, PlanAccess::Scan);
    let steps = scanned.iter().map(step).collect();
    let source = Source::Sql { text: sql, parameters: &[] };
    let plan = QueryPlan::new(steps, &ExplainedQuery::Source(source), &tables());
    plan.advice.iter().map(|a| format!("{} {}", a.table, a.columns.join(","))).collect()
}

#[test]
fn advice_is_about_filters_without_an_index() {
    let none: [&str; 0] = [];
    assert_eq!(advice("SELECT * FROM orders WHERE city = ?", &["orders"]), ["orders city"]);
    assert_eq!(
        advice("select * from ORDERS o where o.total > 5 and o.\"city\" in (?, ?)", &["o"]),
        ["orders city,total"]
    );
    let two = "SELECT * FROM orders WHERE city = ? AND total = 5";
    assert_eq!(advice(two, &["orders"]), ["orders city,total"]);
    let joined = "SELECT 1 FROM orders o JOIN customer c ON c.id = o.customer WHERE o.city = 1 AND c.name > 2";
    assert_eq!(advice(joined, &["o"]), ["orders customer,city"]);
    assert_eq!(advice("SELECT * FROM orders", &["orders"]), none);
    assert_eq!(advice("SELECT * FROM orders WHERE id = 7", &["orders"]), none);
    assert_eq!(advice("SELECT city = 'a' FROM orders", &["orders"]), none);
    assert_eq!(advice("SELECT * FROM customer WHERE name = ?", &["customer"]), none);
}

#[test]
fn advice_about_links_needs_rows_to_begin_with() {
    let join = "SELECT * FROM customer c JOIN orders AS o ON o.customer = c.id";
    let none: [&str; 0] = [];
    assert_eq!(advice(join, &["c", "o"]), none);
    let filtered = format!("{join} WHERE c.name = ?");
    assert_eq!(advice(&filtered, &["o"]), ["orders customer"]);
}

#[test]
fn steps_become_a_tree() {
    let list = [(0, "a"), (1, "b"), (2, "c"), (1, "d"), (0, "e")];
    let list = list.into_iter().map(|(depth, text)| (depth, PlanStep::new(text))).collect();
    let plan = QueryPlan { steps: PlanStep::tree(list), advice: Vec::new() };
    assert_eq!(plan.to_string(), "a\n  b\n    c\n  d\ne\n");
}
