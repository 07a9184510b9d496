//! Queries: columns, aggregates, groups, orders and limits.

use super::{Texts, age};
use crate::tables::{person, visit};
use bobak_core::{Comparison, Expr, Order, Select, Value};
use bobak_sql::select;

fn by(column: usize, descending: bool) -> Order {
    Order { column, descending }
}

fn query_text(query: &Select, parameters: &[Value<'_>], texts: &Texts) {
    texts.check_statement(parameters, |dialect| select(dialect, query));
}

#[test]
fn queries_in_order() {
    let visit = visit();
    query_text(
        &Select::all(&visit),
        &[],
        &Texts {
            sqlite: &[concat!(
                "SELECT \"on\", \"person\", \"order\", \"note\" FROM \"the \"\"visit\"\"\" ",
                "ORDER BY \"person\", \"on\"",
            )],
        },
    );
    let page = |limit, offset| Select {
        columns: vec![Expr::Column(3)],
        order: vec![by(2, true), by(1, false), by(0, false)],
        limit,
        offset,
        ..Select::all(&visit)
    };
    query_text(
        &page(Some(10), 20),
        &[10, 20].map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT \"note\" FROM \"the \"\"visit\"\"\" ",
                "ORDER BY \"order\" DESC, \"person\", \"on\" LIMIT ? OFFSET ?",
            )],
        },
    );
    query_text(
        &page(None, u64::MAX),
        &[i64::MAX.into()],
        &Texts {
            sqlite: &[concat!(
                "SELECT \"note\" FROM \"the \"\"visit\"\"\" ",
                "ORDER BY \"order\" DESC, \"person\", \"on\" LIMIT -1 OFFSET ?",
            )],
        },
    );
}

#[test]
fn aggregates_and_groups() {
    let person = person();
    let exprs = [
        Expr::Count,
        Expr::CountOf(2),
        Expr::Sum(3),
        Expr::Min(3),
        Expr::Max(3),
        Expr::Avg(2),
        Expr::Avg(3),
    ];
    let whole = Select { columns: exprs.to_vec(), order: Vec::new(), ..Select::all(&person) };
    query_text(
        &whole,
        &[],
        &Texts {
            sqlite: &[concat!(
                "SELECT COUNT(*), COUNT(\"age\"), SUM(\"pay\"), MIN(\"pay\"), MAX(\"pay\"), ",
                "AVG(\"age\"), AVG(\"pay\") / 10000.0 FROM \"person\"",
            )],
        },
    );
    let whole = Select {
        columns: vec![Expr::Min(1), Expr::Max(1)],
        condition: Some(age(Comparison::Greater, 1)),
        ..whole
    };
    query_text(
        &whole,
        &[1, 1].map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT (SELECT \"email\" FROM \"person\" ",
                "WHERE \"email\" IS NOT NULL AND (\"age\" > ?) ",
                "ORDER BY \"email\", \"id\" LIMIT 1), (SELECT \"email\" FROM \"person\" ",
                "WHERE \"email\" IS NOT NULL AND (\"age\" > ?) ",
                "ORDER BY \"email\" DESC, \"id\" LIMIT 1)",
            )],
        },
    );
    let grouped = |column| Select {
        columns: vec![Expr::Column(column), Expr::Sum(3)],
        condition: Some(age(Comparison::Greater, 1)),
        group: vec![column],
        order: vec![by(column, true)],
        limit: Some(3),
        ..Select::all(&person)
    };
    query_text(
        &grouped(2),
        &[1, 3].map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT \"age\", SUM(\"pay\") FROM \"person\" WHERE \"age\" > ? ",
                "GROUP BY \"age\" ORDER BY \"age\" DESC LIMIT ?",
            )],
        },
    );
    query_text(
        &grouped(1),
        &[1, 3].map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT \"first1\", SUM(\"c3\") FROM (SELECT \"email\" AS \"c1\", \"pay\" AS \"c3\", ",
                "first_value(\"email\") OVER (PARTITION BY \"email\" ORDER BY \"id\") AS \"first1\" ",
                "FROM \"person\" WHERE \"age\" > ?) GROUP BY \"c1\" ORDER BY \"c1\" DESC LIMIT ?",
            )],
        },
    );
    let columns = vec![Expr::Max(1), Expr::Count, Expr::Max(1), Expr::Min(1)];
    query_text(
        &Select { columns, condition: None, order: Vec::new(), limit: None, ..grouped(2) },
        &[],
        &Texts {
            sqlite: &[concat!(
                "SELECT MIN(\"max1\"), COUNT(*), MIN(\"max1\"), MIN(\"min1\") FROM ",
                "(SELECT \"email\" AS \"c1\", \"age\" AS \"c2\", first_value(\"email\") OVER ",
                "(PARTITION BY \"age\" ORDER BY \"email\" DESC NULLS LAST, \"id\") AS \"max1\", ",
                "first_value(\"email\") OVER ",
                "(PARTITION BY \"age\" ORDER BY \"email\" NULLS LAST, \"id\") AS \"min1\" ",
                "FROM \"person\") GROUP BY \"c2\"",
            )],
        },
    );
}
