//! Foreign keys do not reveal rows that the caller may not read, for every kind of call.

use crate::shop::{As, Shop, Values, assert_fails, on_each, order, shown, text};
use bobak_core::{
    Assign, ColumnSchema, Error, ErrorKind, FieldSet, OnDelete, OnError, SchemaChange, TableSchema,
    Value, Verb, Write,
};
use bobak_permissions::Caller;
use std::sync::Arc;

/// An order that refers to a row of `secret`, which has row 1 only.
fn referring(id: i64, kept: i64) -> Values {
    let mut values = order(id, "ada", 1);
    values[3] = kept.into();
    values
}

/// The results of writing an order that refers to `kept`, for every kind of call.
fn each_way_in(ada: &As<'_>, kept: i64) -> Vec<Result<(), Error>> {
    let orders = &ada.shop.orders;
    let write = |verb, id| ada.write(orders, verb, &referring(id, kept)).map(drop);
    let batch = |verb, id, on_error| {
        let (sent, outcomes) = ada.batch(&[(orders, verb, referring(id, kept))], on_error);
        outcomes.into_iter().try_for_each(|outcome| outcome.map(drop)).and(sent)
    };
    let session = ada.engine.session().unwrap();
    let values = referring(7, kept);
    let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
    let set = [Assign::Set { column: 3, value: Value::Int(kept) }];
    vec![
        write(Verb::Insert, 4),
        write(Verb::InsertOrIgnore, 5),
        write(Verb::Upsert, 6),
        write(Verb::Upsert, 1),
        write(Verb::Update, 1),
        write(Verb::InsertOrReplace, 2),
        session.write(&Write { table: orders, verb, fields, values: &values }).map(drop),
        batch(Verb::Insert, 8, OnError::Stop),
        batch(Verb::Insert, 9, OnError::Continue),
        batch(Verb::Upsert, 10, OnError::Stop),
        ada.change(orders, Some("id = 3"), Some(&set)).map(drop),
        ada.change(orders, Some("id = 77"), Some(&set)).map(drop),
    ]
}

fn all_rejected(results: Vec<Result<(), Error>>, kind: ErrorKind) -> Vec<String> {
    let rejection = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.column()), (kind, Some("kept")), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        shown(&error).1
    };
    results.into_iter().map(rejection).collect()
}

fn orders_of(shop: &Shop) -> Vec<i64> {
    shop.by(&Caller::operator()).ids(&shop.orders).unwrap()
}

#[test]
fn foreign_keys_do_not_reveal_hidden_tables() {
    on_each(|shop| {
        for grants in ["read, write on orders", "read, write on orders\ninsert, sql on secret"] {
            let ada = shop.with(grants);
            let there = all_rejected(each_way_in(&ada, 1), ErrorKind::Denied);
            assert_eq!(there, all_rejected(each_way_in(&ada, 777), ErrorKind::Denied));
            let add = [Assign::Add { column: 3, value: Value::Int(1) }];
            assert_fails(ada.change(&shop.orders, None, Some(&add)), ErrorKind::Denied);
            assert_eq!(orders_of(shop), [1, 2, 3]);
        }
        // NULL refers to nothing, and other columns are not checked.
        let ada = shop.with("read, write on orders");
        ada.insert_order(4, "ada", 1).unwrap();
        ada.write(&shop.orders, Verb::Upsert, &order(4, "ada", 2)).unwrap();
        let null = [Assign::Set { column: 3, value: Value::Null }];
        assert_eq!(ada.change(&shop.orders, None, Some(&null)).unwrap(), 4);
        let rows = [
            (&shop.orders, Verb::Insert, order(5, "ada", 1)),
            (&shop.orders, Verb::Insert, referring(6, 1)),
            (&shop.orders, Verb::Delete, vec![4.into()]),
        ];
        let (sent, outcomes) = ada.batch(&rows, OnError::Continue);
        sent.unwrap();
        assert!(outcomes[0].is_ok() && outcomes[1].is_err() && outcomes[2].is_ok());
        assert_eq!(ada.batch(&rows, OnError::Stop).0.unwrap_err().kind(), ErrorKind::Duplicate);
        assert_eq!(orders_of(shop), [1, 2, 3, 5]);
    });
}

#[test]
fn readable_rows_can_be_referenced() {
    on_each(|shop| {
        let ada = shop.with("read, write on orders\nread on secret");
        each_way_in(&ada, 1).into_iter().for_each(|result| result.unwrap());
        assert_fails(ada.insert(&shop.orders, referring(20, 777)), ErrorKind::Constraint);
    });
}

#[test]
fn foreign_keys_do_not_reveal_hidden_rows() {
    on_each(|shop| {
        let operator = shop.by(&Caller::operator());
        operator.insert(&shop.secret, vec![2.into(), text("bob")]).unwrap();
        let ada = shop.with("read, write on orders\nread on secret where owner = :user");
        let hidden = all_rejected(each_way_in(&ada, 2), ErrorKind::Constraint);
        assert_eq!(hidden, all_rejected(each_way_in(&ada, 777), ErrorKind::Constraint));
        assert_eq!(orders_of(shop), [1, 2, 3]);
        each_way_in(&ada, 1).into_iter().for_each(|result| result.unwrap());
        // With rules on the orders, too. With an inapplicable rule nothing can be read.
        let both = "read, write on orders where owner = :user\nread on secret where owner = :user";
        let both = shop.with(both);
        assert_fails(both.insert(&shop.orders, referring(20, 2)), ErrorKind::Constraint);
        both.insert(&shop.orders, referring(20, 1)).unwrap();
        let broken = shop.with("read, write on orders\nread on secret where nosuch = 1");
        assert_fails(broken.insert(&shop.orders, referring(21, 1)), ErrorKind::Denied);
    });
}

#[test]
fn foreign_key_checks_ignore_the_client_schema() {
    on_each(|shop| {
        let described = |key: &'static str, kept: &'static str| {
            let table = TableSchema::builder("orders")
                .column(ColumnSchema::of::<i64>(key))
                .column(ColumnSchema::of::<String>("owner"))
                .column(ColumnSchema::of::<i64>("total"))
                .column(ColumnSchema::of::<Option<i64>>(kept));
            Arc::new(table.key([key]).build().unwrap())
        };
        let ada = shop.with("read, write on orders");
        assert_fails(ada.insert(&described("id", "KEPT"), referring(4, 1)), ErrorKind::Denied);
        assert_fails(ada.insert(&described("rowid", "kept"), referring(4, 1)), ErrorKind::Schema);
        // A column that was added later, through the engine itself.
        let more = ColumnSchema::of::<Option<i64>>("more");
        let more = more.references("secret", "id", OnDelete::SetNull);
        let columns = shop.orders.columns().iter().cloned().chain([more]);
        let table = columns.fold(TableSchema::builder("orders"), |table, c| table.column(c));
        let table = Arc::new(table.key(["id"]).build().unwrap());
        let add = SchemaChange::AddColumn { table, column: 4 };
        shop.database.engine().alter(&[add]).unwrap();
        assert_fails(ada.insert(&described("id", "more"), referring(4, 1)), ErrorKind::Denied);
    });
}
