//! The actor is recorded with each change of a tracked table, for every kind of call.

use crate::shop::{As, Shop, on_each, order};
use bobak_core::change_log::{ACTOR, log_schema};
use bobak_core::{
    Assign, OnError, SchemaChange, Select, Source, TransactionControl, Value, ValueRef, Verb,
};
use std::sync::Arc;

/// A shop whose orders are tracked.
fn track(shop: &Shop) {
    let table = Arc::clone(&shop.orders);
    shop.database.engine().alter(&[SchemaChange::Track { table, history: false }]).unwrap();
}

/// The actors of the changes since the last call.
fn new_actors(shop: &Shop, seen: &mut usize) -> Vec<String> {
    let log = Arc::new(log_schema(&shop.orders, false).unwrap());
    let mut names = Vec::new();
    let session = shop.database.engine().session().unwrap();
    session
        .query(&Source::Select(&Select::all(&log)), &mut |row| {
            names.push(match row.get(ACTOR) {
                ValueRef::Text(name) => name.to_owned(),
                _ => "-".to_owned(),
            });
            Ok(true)
        })
        .unwrap();
    let new = names.split_off(*seen);
    *seen += new.len();
    new
}

fn each_way_in(shop: &Shop, ada: &As<'_>, own: &str) {
    let (mut seen, orders) = (0, &shop.orders);
    new_actors(shop, &mut seen);
    let mut now = |what: &str, count: usize| {
        assert_eq!(new_actors(shop, &mut seen), vec![own; count], "{what}");
    };
    ada.insert_order(10, "ada", 1).unwrap();
    now("insert", 1);
    ada.write(orders, Verb::Update, &order(10, "ada", 2)).unwrap();
    ada.write(orders, Verb::Upsert, &order(10, "ada", 3)).unwrap();
    ada.write(orders, Verb::Upsert, &order(11, "ada", 3)).unwrap();
    now("update and upsert", 3);
    ada.write(orders, Verb::Delete, &vec![11.into()]).unwrap();
    now("delete", 1);
    let set = [Assign::Set { column: 2, value: Value::Int(7) }];
    assert_eq!(ada.change(orders, Some("id = 10"), Some(&set)).unwrap(), 1);
    now("a change by a condition", 1);
    let rows =
        [(orders, Verb::Insert, order(12, "ada", 1)), (orders, Verb::Delete, vec![12.into()])];
    ada.batch(&rows, OnError::Stop).0.unwrap();
    ada.batch(&rows, OnError::Continue).0.unwrap();
    now("batches", 4);
    let session = ada.engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    let insert = |id| {
        let values = order(id, "ada", 1);
        let (verb, fields) = (Verb::Insert, bobak_core::FieldSet::EMPTY);
        session.write(&bobak_core::Write { table: orders, verb, fields, values: &values })
    };
    insert(13).unwrap();
    session.control(TransactionControl::Savepoint("a")).unwrap();
    insert(14).unwrap();
    session.control(TransactionControl::Release("a")).unwrap();
    session.control(TransactionControl::Commit).unwrap();
    now("a transaction", 2);
    ada.insert_order(10, "ada", 1).unwrap_err();
    insert(15).unwrap();
    now("after an error", 1);
}

#[test]
fn actor_is_recorded_with_row_rules() {
    on_each(|shop| {
        track(shop);
        each_way_in(shop, &shop.with("read, write on orders where owner = :user"), "ada");
    });
}

#[test]
fn actor_is_recorded_without_row_rules() {
    on_each(|shop| {
        track(shop);
        each_way_in(shop, &shop.with("read, write on orders"), "ada");
    });
}

#[test]
fn actor_is_recorded_with_all_permissions() {
    on_each(|shop| {
        track(shop);
        each_way_in(shop, &shop.with("all on *"), "ada");
    });
}

#[test]
fn operator_is_not_recorded() {
    on_each(|shop| {
        track(shop);
        each_way_in(shop, &shop.by(&bobak_permissions::Caller::operator()), "-");
    });
}

#[test]
fn actor_is_recorded_for_sql() {
    on_each(|shop| {
        if !shop.database.engine().capabilities().sql {
            return;
        }
        track(shop);
        let mut seen = 0;
        for grants in ["all on orders, secret", "all on *"] {
            let ada = shop.with(grants);
            let session = ada.engine.session().unwrap();
            let run = |sql: &str| session.execute(sql, &[]).unwrap();
            let returning = "INSERT INTO orders VALUES (51, ?, 1, NULL) RETURNING id";
            let sql = Source::Sql { text: returning, parameters: &["ada".into()] };
            session.query(&sql, &mut |_| Ok(true)).unwrap();
            run("UPDATE orders SET total = 2 WHERE id = 51");
            run("WITH x AS (SELECT 51 AS id) DELETE FROM orders WHERE id IN (SELECT id FROM x)");
            assert_eq!(new_actors(shop, &mut seen), ["ada"; 3]);
        }
    });
}

#[test]
fn actor_is_recorded_once_the_table_is_tracked() {
    on_each(|shop| {
        let ada = shop.with("all on *");
        ada.insert_order(50, "ada", 1).unwrap();
        let table = Arc::clone(&shop.orders);
        ada.engine.alter(&[SchemaChange::Track { table, history: false }]).unwrap();
        ada.insert_order(51, "ada", 1).unwrap();
        assert_eq!(new_actors(shop, &mut 0), ["ada"]);
    });
}
