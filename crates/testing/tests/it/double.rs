//! The memory engine as a double: what a test sees there is what it sees on every engine.

use crate::on_each;
use bobak::prelude::*;

#[derive(Record, Debug, PartialEq)]
#[record(index(city, age))]
struct Customer {
    id: i64,
    #[record(max = 20, unique)]
    name: String,
    #[record(max = 20, collation = "nocase")]
    city: String,
    #[record(check = "age >= 0")]
    age: Option<i32>,
    #[record(version)]
    version: i64,
}

#[derive(Record, Debug, PartialEq)]
struct Order {
    id: i64,
    #[record(references = Customer)]
    customer_id: i64,
    total: Currency,
}

fn customer(name: &str, city: &str, age: Option<i32>) -> Customer {
    Customer { id: 0, name: name.into(), city: city.into(), age, version: 0 }
}

/// What a program sees: the rows it reads, and the kinds of its errors.
fn program(db: &Db, references: bool) -> Vec<String> {
    let customers = db.table::<Customer>().unwrap();
    let mut seen = Vec::new();
    let mut see = |what: &str, result: bobak::Result<String>| {
        seen.push(match result {
            Ok(value) => format!("{what}: {value}"),
            Err(error) => format!("{what}: {:?}", error.kind()),
        });
    };
    let shown = |key: i64| key.to_string();
    see("insert", customers.insert(&customer("Ada", "Bern", Some(36))).map(shown));
    see("insert", customers.insert(&customer("Bob", "BERN", None)).map(shown));
    see("duplicate", customers.insert(&customer("Ada", "Basel", None)).map(shown));
    see("too long", customers.insert(&customer(&"x".repeat(21), "", None)).map(shown));
    see("check", customers.insert(&customer("Eve", "Thun", Some(-1))).map(shown));
    let mut row = DynRow::new();
    row.set("name", "Dan").unwrap();
    let dynamic = db.dynamic("customer").unwrap();
    see("required", dynamic.insert(&row).map(|_| String::new()));
    let gone = Customer { id: 99, ..customer("Joe", "Chur", None) };
    see("missing", customers.update(&gone).map(|()| String::new()));
    let stale = Customer { id: 1, version: 9, ..customer("Ada", "Bern", None) };
    see("stale", customers.update(&stale).map(|()| String::new()));
    see("overflow", customers.set(1, [Customer::AGE.add(i32::MAX)]).map(|_| String::new()));
    if references {
        let orders = db.table::<Order>().unwrap();
        let order = |customer_id| Order { id: 0, customer_id, total: Currency::ZERO };
        see("order", orders.insert(&order(1)).map(shown));
        see("no parent", orders.insert(&order(77)).map(shown));
        see("has children", customers.delete(1).map(|done| done.to_string()));
    }
    let rows =
        customers.list(Query::filter(Customer::CITY.eq("bern")).order_by(Customer::NAME.desc()));
    see("list", rows.map(|rows| format!("{rows:?}")));
    let failed = db.transaction(|transaction| {
        let customers = transaction.table::<Customer>()?;
        customers.insert(&customer("Fay", "Bern", None))?;
        customers.insert(&customer("Ada", "Bern", None))
    });
    see("transaction", failed.map(shown));
    see("count", customers.count(Query::all()).map(|count| count.to_string()));
    seen
}

#[test]
fn memory_is_a_double_of_every_engine() {
    on_each(|url| {
        let references = !url.starts_with("kv:");
        let run = |url: &str| {
            let builder = Db::builder().record::<Customer>();
            let builder = if references { builder.record::<Order>() } else { builder };
            let db = builder.open(url).unwrap();
            db.create_missing_tables().unwrap();
            program(&db, references)
        };
        let expected = run("memory:");
        assert!(expected.iter().any(|line| line == "stale: Conflict"), "{expected:#?}");
        assert_eq!(run(url), expected, "on {url}");
    });
}
