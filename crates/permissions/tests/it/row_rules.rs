//! Row rules, for every kind of call.

use crate::shop::{As, assert_fails, on_each, order, text};
use bobak_core::join::{JoinColumn, JoinCondition, JoinExpr, JoinSubquery, JoinTable};
use bobak_core::{
    Assign, Collation, ColumnSchema, Condition, ErrorKind, Join, OnError, Outcome, Result, RowLock,
    Select, Source, SubQuery, TableSchema, TransactionControl, Value, Verb,
};
use bobak_permissions::Caller;
use std::sync::Arc;

const OWN: &str = "read, write on orders where owner = :user";

fn all(caller: &As<'_>) -> Vec<i64> {
    caller.shop.by(&Caller::operator()).ids(&caller.shop.orders).unwrap()
}

#[test]
fn reads_skip_hidden_rows() {
    on_each(|shop| {
        let caller = shop.with(OWN);
        assert_eq!(caller.ids(&shop.orders).unwrap(), [1, 3]);
        assert!(caller.has(&shop.orders, 1).unwrap() && !caller.has(&shop.orders, 2).unwrap());
        let rule = shop.database.readable_rows(&crate::shop::ada(OWN)).of(&shop.orders).unwrap();
        let equal = |part: &Condition| matches!(part, Condition::Compare { column: 1, .. });
        assert!(matches!(rule, Some(Condition::And(parts)) if parts.iter().any(equal)));
        // Grants are alternatives.
        let more = shop.with(&format!("{OWN}\nread on orders where total between 20 and 25"));
        assert_eq!(more.ids(&shop.orders).unwrap(), [1, 2, 3]);
        assert_fails(
            more.write(&shop.orders, Verb::Update, &order(2, "ada", 5)),
            ErrorKind::NotFound,
        );
        let free = shop.with(&format!("{OWN}\nread on *"));
        assert_eq!(free.ids(&shop.orders).unwrap(), [1, 2, 3]);
    });
}

/// The database runs joins of tables that the caller may read completely. Of others it would join all rows: the facade reads
/// those that the caller may see, and joins them.
#[test]
fn the_database_joins_rows_that_callers_may_read() {
    on_each(|shop| {
        let table = |table: &Arc<TableSchema>| {
            let table = JoinTable { table: Arc::clone(table), link: None, rows: None };
            let id = JoinExpr::Column(JoinColumn { table: 0, column: 0 });
            Join { tables: vec![table], columns: vec![id], ..Join::default() }
        };
        let run = |grants: &str, join: &Join| {
            let (caller, mut rows) = (shop.with(grants), 0);
            let ran = caller.engine.session().unwrap().join(join, &mut |_| {
                rows += 1;
                Ok(true)
            });
            ran.map(|ran| ran.then_some(rows)).map_err(|error| error.kind())
        };
        let (orders, secret) = (table(&shop.orders), table(&shop.secret));
        let runs_joins = shop.database.engine().capabilities().subqueries;
        assert_eq!(run(OWN, &orders), Ok(None));
        assert_eq!(run("read on orders", &orders), Ok(runs_joins.then_some(3)));
        assert_eq!(run("insert on orders", &orders), Err(ErrorKind::Denied));
        assert_eq!(run("read on orders", &secret), Err(ErrorKind::Schema));
        // Also of queries inside of it, and of conditions.
        let mut nested = orders.clone();
        let query = Box::new(JoinSubquery::of_join(secret));
        nested.filters.push(JoinCondition::Exists(query));
        assert_eq!(run("read on orders", &nested), Err(ErrorKind::Schema));
        let query = SubQuery {
            table: Arc::clone(&shop.secret),
            column: 0,
            condition: None,
            more: Vec::new(),
        };
        let among = Condition::InQuery { column: 0, query: Box::new(query) };
        let filtered = Join { filters: vec![JoinCondition::Row(0, among)], ..orders };
        assert_eq!(run("read on orders", &filtered), Err(ErrorKind::Schema));
        assert_eq!(run(&format!("{OWN}\nread on secret"), &filtered), Ok(None));
    });
}

/// A caller describes its tables. By an index that it invents it would find rows by what they hold.
#[test]
fn upserts_by_an_invented_index_are_rejected() {
    on_each(|shop| {
        let invented = TableSchema::clone(&shop.orders).into_builder();
        let invented = Arc::new(invented.unique_index("orders_total", ["total"]).build().unwrap());
        let before = shop.by(&Caller::operator()).ids(&shop.orders).unwrap();
        for (id, owner) in [(20, "ada"), (21, "bob")] {
            shop.by(&Caller::operator()).insert_order(id, owner, 77).unwrap();
        }
        let on_total = Verb::UpsertOn(0);
        for grants in [OWN.to_owned(), "insert, update on orders".to_owned()] {
            let caller = shop.with(&grants);
            for row in [order(22, "ada", 77), order(23, "bob", 77), order(23, "ada", 78)] {
                assert_fails(caller.write(&invented, on_total, &row), ErrorKind::Schema);
                let (sent, _) = caller.batch(&[(&invented, on_total, row)], OnError::Stop);
                assert_fails(sent, ErrorKind::Schema);
            }
        }
        let after = shop.by(&Caller::operator()).ids(&shop.orders).unwrap();
        assert_eq!(after.len(), before.len() + 2);
    });
}

#[test]
fn single_writes_enforce_the_rule() {
    on_each(|shop| {
        let caller = shop.with(OWN);
        let write = |verb, values| caller.write(&shop.orders, verb, &values);
        caller.insert_order(10, "ada", 1).unwrap();
        assert_fails(caller.insert_order(11, "bob", 1), ErrorKind::Denied);
        assert_fails(write(Verb::InsertOrIgnore, order(11, "bob", 1)), ErrorKind::Denied);
        assert_fails(write(Verb::InsertOrReplace, order(10, "ada", 1)), ErrorKind::Denied);
        // The old row and the new one must satisfy the rule.
        write(Verb::Update, order(10, "ada", 2)).unwrap();
        assert_fails(write(Verb::Update, order(10, "bob", 2)), ErrorKind::Denied);
        assert_fails(write(Verb::Update, order(2, "ada", 2)), ErrorKind::NotFound);
        assert_fails(write(Verb::Update, order(99, "ada", 2)), ErrorKind::NotFound);
        write(Verb::Upsert, order(10, "ada", 3)).unwrap();
        write(Verb::Upsert, order(12, "ada", 3)).unwrap();
        for row in [order(13, "bob", 1), order(2, "ada", 1), order(10, "bob", 1)] {
            assert_fails(write(Verb::Upsert, row), ErrorKind::Denied);
        }
        assert_eq!(write(Verb::Delete, vec![2.into()]).unwrap(), Outcome::Changed(0));
        assert_eq!(write(Verb::Delete, vec![12.into()]).unwrap(), Outcome::Changed(1));
        assert_eq!(all(&caller), [1, 2, 3, 10]);
        // A value of another type might be stored otherwise than it compares.
        let row = vec![Value::Null, text("ada"), text("1"), Value::Null];
        assert_fails(caller.insert(&shop.orders, row), ErrorKind::Mismatch);
    });
}

/// What a caller gives for a generated column is not what is stored.
#[test]
fn rules_for_writes_name_no_generated_column() {
    on_each(|shop| {
        let table = |double: ColumnSchema| {
            let id = ColumnSchema::of::<i64>("id");
            let table = TableSchema::builder("parcel").column(id).key(["id"]);
            let table = table.column(ColumnSchema::of::<i64>("weight")).column(double);
            Arc::new(table.build().unwrap())
        };
        let double = ColumnSchema::of::<i64>("double");
        let (parcel, described) = (table(double.clone().generated("weight * 2")), table(double));
        let operator = shop.by(&Caller::operator());
        let create = bobak_core::SchemaChange::CreateTable(Arc::clone(&parcel));
        operator.engine.alter(&[create]).unwrap();
        let row = |id: i64, weight: i64| vec![Value::Int(id), Value::Int(weight), Value::Int(0)];
        for (id, weight) in [(1, 3), (2, 30)] {
            operator.insert(&parcel, row(id, weight)).unwrap();
        }
        let caller = shop.with("read, write on parcel where double < 10");
        assert_eq!(caller.ids(&parcel).unwrap(), [1]);
        for table in [&parcel, &described] {
            assert_fails(caller.insert(table, row(3, 50)), ErrorKind::Denied);
            assert_fails(caller.write(table, Verb::Update, &row(1, 50)), ErrorKind::Denied);
            let (sent, _) = caller.batch(&[(table, Verb::Insert, row(3, 50))], OnError::Stop);
            assert_fails(sent, ErrorKind::Denied);
        }
        let delete = |id: i64| caller.write(&parcel, Verb::Delete, &vec![Value::Int(id)]).unwrap();
        assert_eq!([delete(2), delete(1)], [Outcome::Changed(0), Outcome::Changed(1)]);
    });
}

#[test]
fn checked_writes_generate_keys_and_keep_the_transaction() {
    on_each(|shop| {
        let caller = shop.with(OWN);
        let session = caller.engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        let write = |verb, values: &Vec<Value<'static>>| {
            let table = &shop.orders;
            let fields = table.updated_fields();
            session.write(&bobak_core::Write { table, verb, fields, values })
        };
        let mut row = order(0, "ada", 1);
        row[0] = Value::Null;
        let made = write(Verb::Upsert, &row).unwrap();
        assert_eq!(made, Outcome::Inserted(Some(bobak_core::GeneratedKey::Int(4))));
        assert_fails(write(Verb::Update, &order(4, "bob", 1)), ErrorKind::Denied);
        write(Verb::Update, &order(4, "ada", 9)).unwrap();
        session.control(TransactionControl::Commit).unwrap();
        drop(session);
        assert_eq!(all(&caller), [1, 2, 3, 4]);
        drop(caller.engine.session().unwrap().control(TransactionControl::Begin));
        assert_eq!(all(&caller), [1, 2, 3, 4]);
    });
}

#[test]
fn bulk_changes_enforce_the_rule() {
    on_each(|shop| {
        let caller = shop.with(OWN);
        let set = |column, value| [Assign::Set { column, value }];
        let total = set(2, Value::Int(7));
        assert_eq!(caller.change(&shop.orders, None, Some(&total)).unwrap(), 2);
        assert_eq!(caller.change(&shop.orders, Some("id > 1"), Some(&total)).unwrap(), 1);
        let given = set(1, text("bob"));
        assert_fails(caller.change(&shop.orders, None, Some(&given)), ErrorKind::Denied);
        let same = set(1, text("ada"));
        assert_eq!(caller.change(&shop.orders, None, Some(&same)).unwrap(), 2);
        assert_eq!(caller.change(&shop.orders, Some("owner = 'bob'"), None).unwrap(), 0);
        assert_eq!(caller.change(&shop.orders, None, None).unwrap(), 2);
        assert_eq!(all(&caller), [2]);
        // The number of changed rows must not reveal hidden values.
        let blind = shop.with("update, delete on orders\nread on orders where total > 100");
        assert_eq!(blind.change(&shop.orders, Some("owner = 'bob'"), Some(&total)).unwrap(), 0);
        assert_eq!(blind.change(&shop.orders, Some("id = 2"), Some(&total)).unwrap(), 1);
        let sums = shop.with("read, update on orders where total < 100");
        let add = [Assign::Add { column: 2, value: Value::Int(1) }];
        assert_fails(sums.change(&shop.orders, None, Some(&add)), ErrorKind::Denied);
    });
}

#[test]
fn batches_enforce_the_rule_for_each_row() {
    on_each(|shop| {
        let caller = shop.with(OWN);
        let orders = &shop.orders;
        let writes = || {
            [
                (orders, Verb::Insert, order(10, "ada", 1)),
                (orders, Verb::Insert, order(11, "bob", 1)),
                (orders, Verb::Update, order(1, "ada", 2)),
                (orders, Verb::Update, order(2, "ada", 2)),
                (orders, Verb::Delete, vec![2.into()]),
                (orders, Verb::Delete, vec![3.into()]),
                (orders, Verb::Upsert, order(12, "ada", 2)),
                (orders, Verb::Upsert, order(1, "bob", 2)),
            ]
        };
        let (sent, outcomes) = caller.batch(&writes(), OnError::Continue);
        sent.unwrap();
        let outcomes: Vec<_> =
            outcomes.into_iter().map(|o| o.map_err(|e| (e.kind(), e.row()))).collect();
        let expected = [
            Ok(Outcome::Inserted(None)),
            Err((ErrorKind::Denied, Some(1))),
            Ok(Outcome::Changed(1)),
            Err((ErrorKind::NotFound, Some(3))),
            Ok(Outcome::Changed(0)),
            Ok(Outcome::Changed(1)),
            Ok(Outcome::Inserted(None)),
            Err((ErrorKind::Denied, Some(7))),
        ];
        assert_eq!(outcomes, expected);
        assert_eq!(all(&caller), [1, 2, 10, 12]);
        let stopped = [(orders, Verb::Delete, vec![1.into()]), writes()[1].clone()];
        let (sent, _) = caller.batch(&stopped, OnError::Stop);
        assert_eq!(sent.map_err(|e| (e.kind(), e.row())), Err((ErrorKind::Denied, Some(1))));
        assert_eq!(all(&caller), [1, 2, 10, 12], "all of it was undone");
        let good = (0..100).map(|n| (orders, Verb::Insert, order(100 + n, "ada", n)));
        let (sent, outcomes) = caller.batch(&good.collect::<Vec<_>>(), OnError::Stop);
        sent.unwrap();
        assert_eq!(outcomes.len(), 100);
    });
}

#[test]
fn client_schema_cannot_bypass_a_rule() {
    on_each(|shop| {
        if shop.database.engine().name() == "memory" {
            return; // It rejects schemas that differ.
        }
        let caller = shop.with(OWN);
        let described = |owner: Option<ColumnSchema>| {
            let mut table = TableSchema::builder("Orders").column(ColumnSchema::of::<i64>("id"));
            if let Some(owner) = owner {
                table = table.column(owner);
            }
            Arc::new(table.key(["id"]).build().unwrap())
        };
        let owner = ColumnSchema::of::<String>("OWNER");
        assert_eq!(caller.ids(&described(Some(owner.clone()))).unwrap(), [1, 3]);
        let folded = described(Some(owner.collation(Collation::NoCase)));
        let number = described(Some(ColumnSchema::of::<i64>("owner")));
        for table in [described(None), folded, number] {
            let calls: [Result<()>; 4] = [
                caller.ids(&table).map(drop),
                caller.has(&table, 2).map(drop),
                caller.write(&table, Verb::Delete, &vec![2.into()]).map(drop),
                caller.change(&table, None, None).map(drop),
            ];
            for call in calls {
                assert_fails(call, ErrorKind::Denied);
            }
        }
        assert_eq!(all(&caller), [1, 2, 3]);
    });
}

#[test]
fn inapplicable_rule_allows_nothing() {
    on_each(|shop| {
        for rule in ["nosuch = 1", "owner = :group", "total = :user"] {
            let caller = shop.with(&format!("read, write on orders where {rule}"));
            assert_fails(caller.ids(&shop.orders), ErrorKind::Denied);
            assert_fails(caller.insert_order(10, "ada", 1), ErrorKind::Denied);
            let (sent, _) =
                caller.batch(&[(&shop.orders, Verb::Delete, vec![1.into()])], OnError::Stop);
            assert_fails(sent, ErrorKind::Denied);
        }
        let tenant = shop.with("read on orders where total > :tenant and owner <> :user");
        assert_eq!(tenant.ids(&shop.orders).unwrap(), [2]);
        assert_eq!(all(&tenant), [1, 2, 3]);
    });
}

/// A lock keeps other writers away, so it takes the permission to update, and reaches only rows that may be updated.
#[test]
fn locks_need_the_permission_to_update() {
    on_each(|shop| {
        let locked = |caller: &As<'_>| {
            let session = caller.engine.session()?;
            let _ = session.control(TransactionControl::Begin);
            let select = Select { lock: Some(RowLock::NoWait), ..Select::all(&shop.orders) };
            let mut ids = Vec::new();
            session.query(&Source::Select(&select), &mut |row| {
                ids.push(row.get(0).to_owned());
                Ok(true)
            })?;
            Ok(ids)
        };
        assert_fails(locked(&shop.with("read on orders")), ErrorKind::Denied);
        assert_fails(locked(&shop.with("read, insert, delete on orders")), ErrorKind::Denied);
        assert_fails(locked(&shop.with("update on orders")), ErrorKind::Denied);
        let ids = |ids: &[i64]| ids.iter().map(|&id| Value::Int(id)).collect::<Vec<_>>();
        assert_eq!(locked(&shop.with(OWN)).unwrap(), ids(&[1, 3]));
        let more = "read on orders\nupdate on orders where owner = :user";
        assert_eq!(locked(&shop.with(more)).unwrap(), ids(&[1, 3]));
    });
}
