//! What money, dates, times and UUIDs mean in SQL text.

use crate::{Check, Harness, NULL, Probe, Table, holds, row, same};
use bobak_core::{
    ColumnSchema, Currency, Date, DateTime, Engine, ErrorKind, FromRow, Parameter, Result, Source,
    TableSchema, Time, Timestamp, Type, Uuid,
};
use std::sync::Arc;

/// The parameters of a statement.
type Parameters = Vec<Parameter<'static>>;

/// `bill(id, due, at, noted, paid, token, balance)` with the amounts 3.00, 5.00 and 25.00, and NULLs.
fn bills(engine: &dyn Engine) -> Result<(Probe<'_>, Table)> {
    let bill = TableSchema::builder("bill")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<Date>>("due"))
        .column(ColumnSchema::of::<Option<Time>>("at"))
        .column(ColumnSchema::of::<Option<DateTime>>("noted"))
        .column(ColumnSchema::of::<Option<Timestamp>>("paid"))
        .column(ColumnSchema::of::<Option<Uuid>>("token"))
        .column(ColumnSchema::of::<Option<Currency>>("balance"))
        .key(["id"])
        .build()?;
    let bill = Arc::new(bill);
    let probe = Probe::with_tables(engine, &[&bill])?;
    let (day, noon) = (86_400_000_000_i64, 43_200_000_000_i64);
    for (id, balance) in [(1, 30_000), (2, 50_000), (3, 250_000)] {
        let (due, token) = (15_700 + id, vec![id as u8; 16]);
        let moment = due * day + noon;
        probe.insert(&bill, row![id, due, noon + id, moment, moment + 1, token, balance])?;
    }
    probe.insert(&bill, row![4, NULL, NULL, NULL, NULL, NULL, NULL])?;
    Ok((probe, bill))
}

fn read<R: FromRow>(probe: &Probe<'_>, text: &str, parameters: &Parameters) -> Result<Vec<R>> {
    let mut rows = Vec::new();
    probe.session.query(&Source::Sql { text, parameters }, &mut |row| {
        rows.push(R::from_row(row)?);
        Ok(true)
    })?;
    Ok(rows)
}

fn amount(scaled: i64) -> Currency {
    Currency::from_scaled(scaled)
}

/// A typed parameter finds the rows with its value, and is stored as the record's field would be.
pub fn typed_parameters_are_values_of_their_type(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().sql {
        return Ok(());
    }
    let (probe, _) = bills(store.engine())?;
    let moment = 15_702 * 86_400_000_000 + 43_200_000_000;
    let typed = |value: i64, ty| Parameter::new(value.into(), ty);
    for (column, parameter) in [
        ("balance", Parameter::of(amount(50_000))?),
        ("due", typed(15_702, Type::Date)),
        ("at", typed(43_200_000_002, Type::Time)),
        ("noted", typed(moment, Type::DateTime)),
        ("paid", typed(moment + 1, Type::Timestamp)),
        ("token", Parameter::of(Uuid::from_bytes([2; 16]))?),
    ] {
        let find = format!("select id from bill where {column} = ?");
        let found: Vec<i64> = read(&probe, &find, &vec![parameter.clone()])?;
        same(&find, found, vec![2])?;
        let between = format!("select id from bill where {column} > ? order by id");
        same(&between, read(&probe, &between, &vec![parameter.clone()])?, vec![3_i64])?;
        let set = format!("update bill set {column} = ? where id = 4");
        same(&set, probe.session.execute(&set, std::slice::from_ref(&parameter))?, 1)?;
        same(
            &find,
            read(&probe, &format!("{find} order by id"), &vec![parameter])?,
            vec![2_i64, 4],
        )?;
    }
    let read_back = "select balance, due, noted, paid, token from bill where id = 4";
    type Bill = (Currency, Date, DateTime, Timestamp, Uuid);
    let rows: Vec<Bill> = read(&probe, read_back, &Vec::new())?;
    let shown: Vec<String> = rows.iter().map(|bill| format!("{} {}", bill.0, bill.1)).collect();
    same("amount and date", shown, vec!["5.00 2012-12-28".to_owned()])
}

/// Sums, groups and results of money are amounts.
pub fn sums_of_money_are_amounts(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().sql {
        return Ok(());
    }
    let (probe, _) = bills(store.engine())?;
    let sum = "select sum(balance), min(balance), max(balance) from bill";
    let rows: Vec<(Currency, Currency, Currency)> = read(&probe, sum, &Vec::new())?;
    same("sums", rows, vec![(amount(330_000), amount(30_000), amount(250_000))])?;
    let groups =
        "select due, sum(balance) from bill group by due having sum(balance) > ? order by due";
    let above = vec![Parameter::of(amount(40_000))?];
    let rows: Vec<(Date, Currency)> = read(&probe, groups, &above)?;
    let sums: Vec<Currency> = rows.iter().map(|row| row.1).collect();
    same("groups", sums, vec![amount(50_000), amount(250_000)])
}

/// Numbers in SQL text mean amounts, and results say what they are: for servers, which have these types.
///
/// # Errors
/// What differs.
pub fn money_and_dates_in_server_sql(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let (probe, _) = bills(store.engine())?;
    let none = Vec::new();
    for (text, parameters) in [
        ("select id from bill where balance > 4 order by id", none.clone()),
        ("select id from bill where balance > ? order by id", vec![4.into()]),
        ("select id from bill where balance >= ? order by id", vec![4.5.into()]),
        (
            "select id from bill where balance + 1 > ? order by id",
            vec![Parameter::of(amount(40_001))?],
        ),
        ("select id from bill where due >= '2012-12-28' order by id", none.clone()),
        ("select id from bill where due >= ? order by id", vec!["2012-12-28".into()]),
    ] {
        same(text, read::<i64>(&probe, text, &parameters)?, vec![2, 3])?;
    }
    let next = "select balance + 1 from bill where id = 2";
    same(next, read(&probe, next, &none)?, vec![amount(60_000)])?;
    same(next, read(&probe, next, &none)?, vec![6_i64])?;
    same(next, read(&probe, next, &none)?, vec![6.0_f64])?;
    let third = "select balance / 8 from bill where id = 1";
    same(third, read(&probe, third, &none)?, vec![amount(3_750)])?;
    let inexact = "select 1.23456 from bill where id = 1";
    let error = read::<Currency>(&probe, inexact, &none).err().map(|error| error.kind());
    same("inexact", error, Some(ErrorKind::OutOfRange))?;
    same("inexact", read(&probe, inexact, &none)?, vec![1.23456_f64])?;
    let large = "select sum(balance * 100000000000) + 0.01 from bill where id < 4";
    let text =
        "select balance, due, at, noted, sum(balance) over () as total from bill where id = 2";
    let cursor = probe.session.open(&Source::Sql { text, parameters: &[] })?;
    let types: Vec<Type> = cursor.columns.iter().map(|column| column.ty).collect();
    let known = vec![Type::Currency, Type::Date, Type::Time, Type::DateTime, Type::Decimal];
    same("types", types, known)?;
    same(
        "exact",
        probe.query(&Source::Sql { text: large, parameters: &[] })?,
        vec![row!["3300000000000.01"]],
    )?;
    let wrong = read::<i64>(&probe, "select id from bill where due = ?", &vec!["soon".into()]);
    holds("text that is no date", wrong.is_err() || wrong.is_ok_and(|ids| ids.is_empty()))
}
