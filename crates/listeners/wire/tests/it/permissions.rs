//! Users and tokens with roles, over real sockets.

use crate::raw::Raw;
use crate::transports::{TOKEN, file, folder, memory, tcp_server};
use bobak_changes::Changes;
use bobak_core::{
    Assign, BulkChange, Condition, Engine, Error, ErrorKind, OnError, Result, SchemaChange, Select,
    Source, SubQuery, TableSchema,
};
use bobak_permissions::{Access, hash_password, new_token};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_testkit::{Entry, Probe, row, tables};
use bobak_wire::{RequestSource, ResultForm, encode_request};
use std::sync::Arc;

#[test]
fn clients_have_their_own_permissions() {
    let (till, hash) = new_token().unwrap();
    let password = hash_password("secret").unwrap();
    let access = Access::from_text(&format!(
        "role clerk\n read, write on main.person where name = :user\n sql, read on main.tag\n\
         user ada {password} roles clerk\ntoken till {hash} roles clerk\nuser bob {password}"
    ));
    let folder = folder().unwrap();
    let builder = Server::builder().shared_database("main", file(folder.path()).unwrap());
    let builder = builder.shared_database("other", memory().unwrap());
    let builder = builder.access(access.unwrap()).token(TOKEN);
    let (_server, address) = tcp_server(builder.unix(folder.path().join("socket"))).unwrap();

    let operator = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let (person, tag, device) =
        (tables::person().unwrap(), tables::tag().unwrap(), tables::device().unwrap());
    let all = Probe::with_tables(&operator, &[&person, &tag, &device]).unwrap();
    all.insert(&person, row![1, "bob", "b@x", 1]).unwrap();
    all.insert(&tag, row!["a", 1.0]).unwrap();

    let remote = |builder: bobak_remote::RemoteBuilder| builder.open_tcp(&address);
    let ada = remote(Remote::builder().user("ada").password("secret")).unwrap();
    let here = Probe::new(&ada).unwrap();
    assert_eq!(here.count(&person).unwrap(), 0);
    here.insert(&person, row![2, "ada", "a@x", 1]).unwrap();
    let kind =
        |result: Result<_>| result.map(drop).map_err(|error: bobak_core::Error| error.kind());
    assert_eq!(kind(here.insert(&person, row![3, "bob", "c@x", 1])), Err(ErrorKind::Denied));
    assert_eq!(kind(here.insert(&tag, row!["b", 1.0])), Err(ErrorKind::Denied));
    assert_eq!(here.count(&device).map_err(|e| e.kind()), Err(ErrorKind::Schema));
    assert_eq!(ada.tables().unwrap().len(), 2);
    let sql = |text| here.session.execute(text, &[]).map_err(|error| error.kind());
    assert_eq!(sql("DELETE FROM tag"), Err(ErrorKind::Denied));
    assert_eq!(sql("DELETE FROM device"), Err(ErrorKind::Schema));
    assert_eq!(sql("PRAGMA user_version = 7"), Err(ErrorKind::Denied));

    // Another token with the same role sees other rows.
    let till = remote(Remote::builder().token(&till)).unwrap();
    assert_eq!(Probe::new(&till).unwrap().count(&person).unwrap(), 0);
    // Databases without permissions look missing; without any permission, all of them.
    let builder = || Remote::builder().database("other");
    let other = remote(builder().user("ada").password("secret")).err().unwrap();
    let missing =
        remote(Remote::builder().database("nosuch").user("ada").password("secret")).err().unwrap();
    assert_eq!(
        (other.kind(), other.to_string().replace("other", "nosuch")),
        (missing.kind(), missing.to_string())
    );
    assert!(remote(builder().token(TOKEN)).is_ok());
    assert!(remote(Remote::builder().user("bob").password("secret")).is_err());
    // A client of the Unix socket is the operator, unless it authenticates.
    let socket = folder.path().join("socket");
    let unix = Remote::builder().open_unix(&socket).unwrap();
    assert_eq!(Probe::new(&unix).unwrap().count(&person).unwrap(), 2);
    let unix = Remote::builder().user("ada").password("secret").open_unix(&socket).unwrap();
    assert_eq!(Probe::new(&unix).unwrap().count(&person).unwrap(), 1);
}

/// A condition on rows of another table sees the rows that a query of this table would return to the client.
#[test]
fn conditions_on_other_tables_follow_permissions() {
    let (till, hash) = new_token().unwrap();
    let text = format!(
        "role clerk\nread, write on main.tag\nread on main.person where name = :user\n\
         token till {hash} roles clerk\n"
    );
    let access = Access::from_text(&text).unwrap();
    let folder = folder().unwrap();
    let (person, tag, device) =
        (tables::person().unwrap(), tables::tag().unwrap(), tables::device().unwrap());
    for engine in [file(folder.path()).unwrap(), memory().unwrap()] {
        let all = Probe::with_tables(&*engine, &[&person, &tag, &device]).unwrap();
        for (id, name) in [(1, "till"), (2, "bob")] {
            all.insert(&person, row![id, name, format!("{name}@x"), 1]).unwrap();
            all.insert(&tag, row![name, 1.0]).unwrap();
        }
        let builder = Server::builder().shared_database("main", Arc::clone(&engine));
        let builder = builder.access(access.clone()).token(TOKEN);
        let (_server, address) = tcp_server(builder).unwrap();
        let request = |token: &str, table: &Arc<TableSchema>, name: &str| {
            let mut raw = Raw::known_by(&address, token);
            let column = table.column(name).unwrap();
            let query =
                SubQuery { table: Arc::clone(table), column, condition: None, more: Vec::new() };
            let condition = Some(Condition::InQuery { column: 0, query: Box::new(query) });
            let select = Select { condition: condition.clone(), ..Select::all(&tag) };
            let others = [(table.id(), 2)];
            raw.put(|out| {
                encode_request::define(out, 2, 1, &tag).unwrap();
                encode_request::define(out, 3, 2, table).unwrap();
                let source = RequestSource::Select(1, &select, &others);
                encode_request::query(out, 4, 0, ResultForm::default(), source).unwrap();
                let condition = condition.as_ref();
                let assign = [Assign::Set { column: 1, value: 2.0.into() }];
                let change = BulkChange { table: &tag, condition, assign: Some(&assign) };
                encode_request::change(out, 5, 1, &change, &others).unwrap();
            });
            [raw.outcome(), raw.outcome()]
        };
        assert_eq!(request(TOKEN, &person, "name"), [Ok(2), Ok(2)]);
        assert_eq!(request(&till, &person, "name"), [Ok(1), Ok(1)]);
        assert_eq!(
            request(&till, &device, "label"),
            [Err(ErrorKind::Schema), Err(ErrorKind::Schema)]
        );
        assert_eq!(all.all(&tag).unwrap(), [row!["bob", 2.0], row!["till", 2.0]]);
    }
}

/// The engine of a client sends such conditions itself, also if the server keeps few handles.
#[test]
fn clients_send_conditions_on_other_tables() {
    let (till, hash) = new_token().unwrap();
    let text = format!(
        "role clerk\nread, write on main.tag\nread on main.person where name = :user\n\
         token till {hash} roles clerk\n"
    );
    let access = Access::from_text(&text).unwrap();
    let (person, tag, device) =
        (tables::person().unwrap(), tables::tag().unwrap(), tables::device().unwrap());
    let folder = folder().unwrap();
    for engine in [file(folder.path()).unwrap(), memory().unwrap()] {
        let all = Probe::with_tables(&*engine, &[&person, &tag, &device]).unwrap();
        for (id, name) in [(1, "till"), (2, "bob")] {
            all.insert(&person, row![id, name, format!("{name}@x"), 1]).unwrap();
            all.insert(&tag, row![name, 1.0]).unwrap();
        }
        let builder = Server::builder().shared_database("main", Arc::clone(&engine));
        let builder = builder.access(access.clone()).token(TOKEN);
        let builder = builder.settings(Settings::default().max_handles(2));
        let (_server, address) = tcp_server(builder).unwrap();
        let request = |token: &str, table: &Arc<TableSchema>, name: &str| {
            let remote = Remote::builder().token(token).open_tcp(&address).unwrap();
            assert!(remote.capabilities().subqueries);
            let probe = Probe::new(&remote).unwrap();
            let column = table.column(name).unwrap();
            let query =
                SubQuery { table: Arc::clone(table), column, condition: None, more: Vec::new() };
            let condition = Condition::InQuery { column: 0, query: Box::new(query) };
            let assign = [Assign::Set { column: 1, value: 2.0.into() }];
            let changed = probe.change(&tag, Some(condition.clone()), &assign);
            let found = probe.filter(&tag, condition.clone()).map(|rows| rows.len());
            let select = Select { condition: Some(condition), ..Select::all(&tag) };
            let opened = remote.session().unwrap().open(&Source::Select(&select)).map(drop);
            let kind = |error: Error| error.kind();
            (changed.map_err(kind), found.map_err(kind), opened.map_err(kind))
        };
        let hidden = Err(ErrorKind::Schema);
        assert_eq!(
            request(&till, &device, "label"),
            (hidden, Err(ErrorKind::Schema), Err(ErrorKind::Schema))
        );
        assert_eq!(request(&till, &person, "name"), (Ok(1), Ok(1), Ok(())));
        assert_eq!(all.all(&tag).unwrap(), [row!["bob", 1.0], row!["till", 2.0]]);
        assert_eq!(request(TOKEN, &person, "name"), (Ok(2), Ok(2), Ok(())));
    }
}

/// The name of an index does not tell whether a hidden table, or an index of one, has the name.
#[test]
fn names_of_indexes_reveal_no_table() {
    let (till, hash) = new_token().unwrap();
    let text = format!("role clerk\nread, schema on tag, note\ntoken till {hash} roles clerk\n");
    let access = Access::from_text(&text).unwrap();
    let folder = folder().unwrap();
    let (tag, person) = (tables::tag().unwrap(), tables::person().unwrap());
    let hidden = person.indexes().first().map(|index| index.name.to_string()).unwrap();
    for engine in [file(folder.path()).unwrap(), memory().unwrap()] {
        Probe::with_tables(&*engine, &[&tag, &person]).unwrap();
        let builder = Server::builder().shared_database("main", Arc::clone(&engine));
        let (_server, address) = tcp_server(builder.access(access.clone()).token(TOKEN)).unwrap();
        let till = Remote::builder().token(&till).open_tcp(&address).unwrap();
        for name in ["person", &hidden, "nosuch"] {
            let with_index = |table: &str| {
                let columns = tag.columns().iter().cloned();
                let builder = bobak_core::TableSchema::builder(table.to_owned());
                let builder = columns.fold(builder, bobak_core::TableSchemaBuilder::column);
                let key = tag.key().iter().map(|place| tag.columns()[*place].name.clone());
                let columns = [tag.columns()[1].name.clone()];
                Arc::new(builder.key(key).index(name.to_owned(), columns).build().unwrap())
            };
            let table = with_index("tag");
            till.alter(&[SchemaChange::AddIndex { table, index: 0 }]).unwrap();
            let found = till.tables().unwrap().into_iter().find(|table| table.name() == "tag");
            assert!(found.unwrap().indexes().iter().any(|index| index.name == name));
            if name == "person" {
                let note = with_index("note");
                till.alter(&[SchemaChange::CreateTable(Arc::clone(&note))]).unwrap();
                let found = till.tables().unwrap().into_iter().find(|table| table.name() == "note");
                assert!(found.unwrap().same_as(&note));
            }
        }
    }
}

#[test]
fn changes_record_the_client_as_actor() {
    let (till, hash) = new_token().unwrap();
    let text = format!("role clerk\nread, write on tag\ntoken till {hash} roles clerk\n");
    let access = Access::from_text(&text).unwrap();
    let folder = folder().unwrap();
    let tag = tables::tag().unwrap();
    for engine in [file(folder.path()).unwrap(), memory().unwrap()] {
        let inside = Probe::with_tables(&*engine, &[&tag]).unwrap();
        let (table, history) = (Arc::clone(&tag), false);
        inside.session.alter(&[SchemaChange::Track { table, history }]).unwrap();
        let builder = Server::builder().shared_database("main", Arc::clone(&engine));
        let builder = builder.access(access.clone()).token(TOKEN);
        let (_server, address) = tcp_server(builder).unwrap();
        let operator = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
        Probe::new(&operator).unwrap().insert(&tag, row!["0", 1.0]).unwrap();
        let till = Remote::builder().token(&till).open_tcp(&address).unwrap();
        let probe = Probe::new(&till).unwrap();
        probe.insert(&tag, row!["a", 1.0]).unwrap();
        probe.update(&tag, row!["a", 2.0]).unwrap();
        probe.delete(&tag, row!["a"]).unwrap();
        probe.change(&tag, None, &[Assign::Set { column: 1, value: 3.0.into() }]).unwrap();
        // Part by part, in one transaction of the server.
        let rows: Vec<_> = (0..3_000)
            .map(|number| Entry::insert(&tag, row![format!("{number:01000}"), 1.0]))
            .collect();
        probe.batch(&rows, OnError::Stop).outcomes().unwrap();
        let changes = Changes::of(Arc::clone(&engine)).limit(10_000).page().unwrap().changes;
        let actors: Vec<_> = changes.iter().map(|change| change.actor.as_deref()).collect();
        assert_eq!(actors[0], None, "the operator is not recorded");
        assert_eq!(actors.len(), 3_005);
        assert!(actors[1..].iter().all(|actor| *actor == Some("till")), "{:?}", &actors[..6]);
    }
}
