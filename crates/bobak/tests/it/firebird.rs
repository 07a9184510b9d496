//! A Firebird server through the facade: records, and copies there and back.

use bobak::copy::CopyOptions;
use bobak::prelude::*;
use bobak::types::Json;

#[derive(Record, Clone, Debug, PartialEq)]
struct Kind {
    #[record(key = "given", max = 10)]
    name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Thing {
    id: i64,
    #[record(references = "kind(name)", on_delete = "cascade", index)]
    kind: Option<String>,
    #[record(unique, max = 40)]
    name: String,
    #[record(check = "price > 0")]
    price: Currency,
    weight: f64,
    photo: Option<Vec<u8>>,
    token: Uuid,
    note: Json<Vec<u8>>,
    born: Date,
    #[record(created_at)]
    created: Timestamp,
    #[record(version)]
    version: i64,
}

fn thing(number: i64) -> Thing {
    Thing {
        id: 0,
        kind: (number % 2 == 0).then(|| "metal".to_owned()),
        name: format!("Nam\u{e9} {number} "),
        price: Currency::from_scaled(i64::MAX - number),
        weight: number as f64 / 3.0,
        photo: (number % 3 == 0).then(|| vec![7; 20_000]),
        token: Uuid::nil(),
        note: Json(vec![1, 2]),
        born: "1969-12-31".parse().unwrap(),
        created: Timestamp::UNIX_EPOCH,
        version: 0,
    }
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Kind>().record::<Thing>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn all(db: &Db) -> Vec<Thing> {
    db.table::<Thing>().unwrap().list(Query::all()).unwrap()
}

#[test]
fn copies_there_and_back_are_the_same() {
    crate::engines::on_firebird(|url| {
        let from = open("sqlite::memory:");
        from.table().unwrap().insert(&Kind { name: "metal".into() }).unwrap();
        for number in 1..=300 {
            from.table::<Thing>().unwrap().insert(&thing(number)).unwrap();
        }
        let there = Db::open(url).unwrap();
        let options = CopyOptions::new().checksum(true);
        let reports = from.copy_to(&there, &[], &options, |_| {}).unwrap();
        assert_eq!(reports.iter().map(|report| report.copied).sum::<u64>(), 301);
        let there = open(url);
        assert_eq!(all(&there), all(&from));
        let back = Db::open("sqlite::memory:").unwrap();
        there.copy_to(&back, &[], &options, |_| {}).unwrap();
        let tables = from.tables().unwrap();
        assert!(
            back.tables().unwrap().iter().all(|one| tables.iter().any(|table| table.same_as(one)))
        );
        assert_eq!(back.dynamic("thing").unwrap().list(Query::all()).unwrap().len(), 300);
        // Keys go on after the copied ones.
        let next = there.table::<Thing>().unwrap().insert(&thing(1_000)).unwrap();
        assert!(next > 300, "{next}");
    });
}

#[test]
fn records_are_written_and_found() {
    crate::engines::on_firebird(|url| {
        let db = open(url);
        let things = db.table::<Thing>().unwrap();
        let orphan = Thing { kind: Some("wood".into()), ..thing(1) };
        assert_eq!(things.insert(&orphan).unwrap_err().kind(), ErrorKind::Constraint);
        db.table().unwrap().insert(&Kind { name: "metal".into() }).unwrap();
        let free = Thing { price: Currency::ZERO, ..thing(2) };
        let rejected = things.insert(&free).unwrap_err();
        assert_eq!((rejected.kind(), rejected.column()), (ErrorKind::Constraint, Some("price")));
        db.transaction(|transaction| {
            let things = transaction.table::<Thing>()?;
            (1..=40).try_for_each(|number| things.insert(&thing(number)).map(drop))
        })
        .unwrap();
        let metal = Query::filter(Thing::KIND.eq(Some("metal".to_owned())));
        assert_eq!(
            things.list(metal.clone().order_by(Thing::ID.desc()).limit(3)).unwrap().len(),
            3
        );
        assert_eq!(things.count(Thing::ID.between(11, 20)).unwrap(), 10);
        let mut first = all(&db).remove(0);
        let stale = first.clone();
        first.weight = 0.5;
        things.update(&first).unwrap();
        assert_eq!(things.update(&stale).unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(
            db.sql::<(i64,)>("select count(*) from thing where weight = 0.5", ()).unwrap(),
            [(1,)]
        );
        assert!(db.table::<Kind>().unwrap().delete("metal".to_owned()).unwrap());
        assert_eq!(things.count(Query::all()).unwrap(), 20);
    });
}
