//! CHECK constraints: they mean the same on every engine, and never become other SQL.

use super::with;
use crate::{Check, Harness, Table, Values, fails, row, same};
use bobak_core::{
    Collation, ColumnSchema, Currency, Date, Error, ErrorKind, Result, SchemaChange, TableSchema,
    Timestamp,
};
use std::sync::Arc;

/// A table whose column `price` has this constraint.
fn product(number: usize, check: &str) -> Result<Table> {
    let table = TableSchema::builder(format!("product{number}"))
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Currency>("price").check(check.to_owned()))
        .column(ColumnSchema::of::<Date>("day"))
        .column(ColumnSchema::of::<Timestamp>("at"))
        .column(ColumnSchema::of::<String>("name").max_chars(40).collation(Collation::NoCase))
        .column(ColumnSchema::of::<f64>("rate"))
        .column(ColumnSchema::of::<Option<i32>>("stock"))
        .column(ColumnSchema::of::<bool>("active"))
        .key(["id"]);
    table.build().map(Arc::new)
}

/// 1.50 on 2026-01-31, at one second past the epoch.
fn sample() -> Values {
    row![1, 15_000, 20_484, 1_000_000, "Spade", 2.5, 7, 1]
}

/// Constraints that the sample satisfies.
const TRUE: &[&str] = &[
    "price >= 1.5",
    "price = 1.5 and price <> 1",
    "price in (1, 1.5)",
    "price between 1 and 2",
    "price + 1 = 2.5",
    "price * stock = 10.5",
    "-price < 0",
    "abs(price - 2) = 0.5",
    "coalesce(price, 0) > 1",
    "day = '2026-01-31'",
    "day between '2026-01-01' and '2026-12-31'",
    "at = '1970-01-01T00:00:01Z'",
    "name = 'sPADE'",
    "name in ('rake', 'SPADE')",
    "name like 's_AD%'",
    "length(name) = 5",
    "lower(name) = 'spade' and upper(name) = 'SPADE'",
    "trim('  ' || name || ' ') = 'Spade'",
    "rate * 2 = 5",
    "stock / 2 = 3",
    "-stock / 2 = -3",
    "stock % 4 = 3",
    "stock / 0 is null",
    "stock * 1000000000 * 1000000000 > 1",
    "stock",
    "active",
    "active = 1",
    "(stock > 1) = 1",
    "not (stock < 1 or stock is null)",
    "nullif(stock, 7) is null",
    "ifnull(stock, 0) is 7",
    "stock is not null and stock isnull = 0",
    "stock > null",
];

/// Constraints that it violates.
const FALSE: &[&str] = &[
    "price >= 2",
    "price < 1.5",
    "price in (1, 2)",
    "price = 0.00015",
    "day < '2026-01-31'",
    "at <> '1970-01-01T00:00:01Z'",
    "name = 'rake'",
    "name not like 's%'",
    "length(name) > 5",
    "rate > 2.5",
    "stock between 8 and 9",
    "stock is null",
    "not active",
    "stock not in (7, 8)",
];

/// Money, dates, text and numbers are compared as the record's own values.
pub fn a_constraint_means_the_same_on_every_engine(harness: &dyn Harness) -> Check {
    let all =
        TRUE.iter().map(|check| (check, true)).chain(FALSE.iter().map(|check| (check, false)));
    for (number, (check, is_satisfied)) in all.enumerate() {
        let Ok(table) = product(number, check) else { continue };
        if *check == "price = 0.00015" {
            // No amount of money: the table itself is rejected.
            continue;
        }
        with(harness, &[&table], |probe| {
            let inserted = probe.insert(&table, sample());
            if is_satisfied {
                inserted.map_err(|error| Error::new(error.kind(), format!("{check}: {error}")))?;
                return same(check, probe.count(&table)?, 1);
            }
            fails(check, inserted, ErrorKind::Constraint)?;
            same(check, probe.count(&table)?, 0)
        })?;
    }
    Ok(())
}

/// A constraint that is not one expression over the table's columns creates nothing.
pub fn a_constraint_runs_no_other_sql(harness: &dyn Harness) -> Check {
    const INJECTIONS: &[&str] = &[
        "1=1); create table pwned(a int); --",
        "1=1)) as select * from victim -- ",
        "1) REFERENCES victim(id) CHECK (1",
        "price > (select count(*) from victim)",
        "price > 0, pwned int",
        "price > ?",
        "price > $1",
        "price > 0; drop table victim",
        "'open",
        "price = 0.00015",
        "nothing > 1",
    ];
    let victim = product(0, "price >= 0")?;
    with(harness, &[&victim], |probe| {
        for (number, check) in INJECTIONS.iter().enumerate() {
            let table = product(number + 1, check)?;
            let created = probe.session.alter(&[SchemaChange::CreateTable(table)]);
            let rejected = matches!(
                created.as_ref().map_err(Error::kind),
                Err(ErrorKind::Unsupported | ErrorKind::Schema | ErrorKind::Syntax)
            );
            same(check, rejected, true)?;
        }
        // A string that looks like the end of a comment, and of the statement.
        let nested = "/* /* */ name <> 'x */ 1=1) ); create table pwned(a int); --'";
        let table = product(99, nested)?;
        probe.session.alter(&[SchemaChange::CreateTable(table.clone())])?;
        probe.insert(&table, sample())?;
        let names = probe.session.tables()?;
        let mut names: Vec<_> = names.iter().map(|table| table.name().to_owned()).collect();
        names.sort();
        same("tables", names, vec!["product0".to_owned(), "product99".to_owned()])
    })
}
