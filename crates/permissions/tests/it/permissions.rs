//! Every kind of call, with and without its permission.

use crate::shop::{As, ada, assert_fails, on_each, order, shown, text};
use bobak_core::{
    Assign, BackupJob, ColumnSchema, Error, ErrorKind, OnError, Result, SchemaChange, TableSchema,
    Verb,
};
use std::sync::Arc;

/// Every call that names a table, with the permissions that it needs.
fn calls(
    caller: &As<'_>,
    table: &Arc<TableSchema>,
) -> Vec<(&'static str, &'static str, Result<()>)> {
    let row = match table.columns().len() {
        2 => vec![9.into(), text("ada")],
        _ => order(9, "ada", 1),
    };
    let key = vec![9.into()];
    let set = [Assign::Set { column: 1, value: text("ada") }];
    let write = |verb| caller.write(table, verb, &row).map(drop);
    let batch = |verb, row: &Vec<_>| caller.batch(&[(table, verb, row.clone())], OnError::Stop).0;
    let goes_on = caller.batch(&[(table, Verb::Insert, row.clone())], OnError::Continue);
    let goes_on = goes_on.0.and_then(|()| goes_on.1.into_iter().collect::<Result<Vec<_>>>());
    let add = SchemaChange::AddIndex { table: Arc::clone(table), index: 0 };
    vec![
        ("read", "get", caller.has(table, 1).map(drop)),
        ("read", "query", caller.ids(table).map(drop)),
        ("insert", "insert", write(Verb::Insert)),
        ("insert", "a batch that goes on", goes_on.map(drop)),
        ("delete", "delete", caller.write(table, Verb::Delete, &key).map(drop)),
        ("insert", "ignore", write(Verb::InsertOrIgnore)),
        ("delete", "delete in a batch", batch(Verb::Delete, &key)),
        ("insert", "a batch", batch(Verb::Insert, &row)),
        ("update", "update", write(Verb::Update)),
        ("update", "a batch of updates", batch(Verb::Update, &row)),
        ("insert update", "upsert", write(Verb::Upsert)),
        ("insert delete", "replace", write(Verb::InsertOrReplace)),
        ("update", "set all", caller.change(table, None, Some(&set)).map(drop)),
        (
            "update read",
            "set some",
            caller.change(table, Some("owner = 'x'"), Some(&set)).map(drop),
        ),
        ("delete read", "delete some", caller.change(table, Some("owner = 'x'"), None).map(drop)),
        ("delete", "delete by key", caller.change(table, Some("id = 77"), None).map(drop)),
        ("schema", "alter", caller.engine.alter(&[add])),
    ]
}

#[test]
fn each_permission_allows_its_calls_only() {
    on_each(|shop| {
        for granted in [
            "read",
            "insert",
            "update",
            "delete",
            "schema",
            "insert, update",
            "insert, delete",
            "update, read",
            "delete, read",
        ] {
            // In order: rows that one call writes exist for the next.
            let caller = shop.with(&format!("{granted} on orders"));
            for (wanted, what, done) in calls(&caller, &shop.orders) {
                let allowed = wanted.split(' ').all(|permission| granted.contains(permission));
                let kind = done.err().map(|error| error.kind());
                // There is no index to add, and the row may or may not exist.
                let denied = kind == Some(ErrorKind::Denied);
                assert_eq!(denied, !allowed, "{what} with {granted}: {kind:?}");
            }
            let operator = shop.by(&bobak_permissions::Caller::operator());
            operator.write(&shop.orders, Verb::Delete, &vec![9.into()]).unwrap();
        }
    });
}

#[test]
fn table_without_permissions_looks_missing() {
    on_each(|shop| {
        let missing = TableSchema::builder("nosuch")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("owner"))
            .key(["id"]);
        let missing = Arc::new(missing.build().unwrap());
        let caller = shop.with("read, write, schema on orders");
        let at_secret = calls(&caller, &shop.secret);
        let at_missing = calls(&caller, &missing);
        for ((_, what, secret), (_, _, missing)) in at_secret.into_iter().zip(at_missing) {
            let (kind, secret, code) = shown(&secret.unwrap_err());
            let expected = shown(&missing.unwrap_err());
            assert_eq!((kind, secret.replace("secret", "nosuch"), code), expected, "{what}");
            assert_eq!(kind, ErrorKind::Schema, "{what}");
        }
        let tables = caller.engine.tables().unwrap();
        assert_eq!(tables.iter().map(TableSchema::name).collect::<Vec<_>>(), ["orders"]);
        assert!(tables[0].columns().iter().all(|column| column.reference.is_none()));
        let session = caller.engine.session().unwrap();
        assert_eq!(session.tables().unwrap().len(), 1);
        // Creating the table or referring to it does not reveal whether it exists.
        for table in [&shop.secret, &missing] {
            let create = SchemaChange::CreateTable(Arc::clone(table));
            assert_fails(caller.engine.alter(&[create]), ErrorKind::Denied);
            let key = ColumnSchema::of::<Option<i64>>("other");
            let name = table.name().to_owned();
            let key = key.references(name, "id", bobak_core::OnDelete::Restrict);
            let wider = TableSchema::builder("orders").column(ColumnSchema::of::<i64>("id"));
            let wider = Arc::new(wider.column(key).key(["id"]).build().unwrap());
            let add = SchemaChange::AddColumn { table: wider, column: 1 };
            assert_fails(caller.engine.alter(&[add]), ErrorKind::Schema);
        }
        assert_eq!(caller.engine.estimate(&shop.secret), bobak_core::Estimate::default());
    });
}

/// SQLite itself would accept any function in a CHECK.
#[test]
fn constraints_with_other_than_own_columns_are_rejected() {
    on_each(|shop| {
        let caller = shop.with("schema on orders, drafts");
        for check in
            ["note <> hex(randomblob(9))", "note > (SELECT owner FROM secret)", "secret.id = 1"]
        {
            let note = ColumnSchema::of::<Option<String>>("note").check(check);
            let table = |name: &'static str| {
                let table = TableSchema::builder(name).column(ColumnSchema::of::<i64>("id"));
                Arc::new(table.column(note.clone()).key(["id"]).build().unwrap())
            };
            let create = SchemaChange::CreateTable(table("drafts"));
            assert_fails(caller.engine.alter(&[create]), ErrorKind::Unsupported);
            let add = SchemaChange::AddColumn { table: table("orders"), column: 1 };
            assert_fails(caller.engine.alter(&[add]), ErrorKind::Unsupported);
        }
        assert_eq!(
            shop.by(&bobak_permissions::Caller::operator()).engine.tables().unwrap().len(),
            2
        );
    });
}

#[test]
fn grants_apply_to_their_database() {
    on_each(|shop| {
        let caller = ada("read on shop.orders, other.*");
        assert!(caller.can_see("shop") && caller.can_see("other") && !caller.can_see("third"));
        let here = shop.by(&caller);
        assert_eq!(here.ids(&shop.orders).unwrap(), [1, 2, 3]);
        assert_fails(here.ids(&shop.secret), ErrorKind::Schema);
        let other = ada("read on other.orders");
        assert!(!other.can_see("shop"));
        assert_fails(shop.by(&other).ids(&shop.orders), ErrorKind::Schema);
    });
}

#[test]
fn internal_tables_need_an_explicit_grant() {
    on_each(|shop| {
        let log = |name: &'static str| {
            let table = TableSchema::builder(name).column(ColumnSchema::of::<i64>("id"));
            Arc::new(table.key(["id"]).build().unwrap())
        };
        let caller = shop.with("read, write on *");
        for name in ["sqlite_schema", "bobak_feed", "bobak_log_orders", "pg_authid"] {
            assert_fails(caller.ids(&log(name)), ErrorKind::Schema);
        }
        let backup = |caller: &As<'_>| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("copy");
            let watch = &mut |_| Ok(());
            let job = BackupJob { file: &file, target: &file, pauses: false, watch };
            let done = caller.engine.backup(job);
            done.map(drop).map_err(|error| error.kind())
        };
        assert_eq!(backup(&caller), Err(ErrorKind::Denied));
        assert_ne!(backup(&shop.with("all on *")), Err(ErrorKind::Denied));
    });
}

#[test]
fn denied_row_of_a_batch_has_its_number() {
    on_each(|shop| {
        let caller = shop.with("insert on orders");
        let row = |id| (&shop.orders, Verb::Insert, order(id, "ada", 1));
        let secret = (&shop.secret, Verb::Insert, vec![9.into(), text("ada")]);
        let delete = (&shop.orders, Verb::Delete, vec![1.into()]);
        let writes = [row(10), row(11), secret, delete, row(12)];
        let (sent, _) = caller.batch(&writes, OnError::Stop);
        let error: Error = sent.unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Schema, Some(2)));
        let (sent, outcomes) = caller.batch(&writes, OnError::Continue);
        sent.unwrap();
        let kinds: Vec<_> = outcomes.iter().map(|o| o.as_ref().err().map(Error::kind)).collect();
        let expected = [None, None, Some(ErrorKind::Schema), Some(ErrorKind::Denied), None];
        assert_eq!(kinds, expected);
        let all = shop.by(&bobak_permissions::Caller::operator()).ids(&shop.orders).unwrap();
        assert_eq!(all, [1, 2, 3, 10, 11, 12]);
    });
}
