//! Replication to another engine, an archive of changes, and a point-in-time restore.
//!
//! `cargo run -p bobak --example replication`

use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use std::time::Duration;

#[derive(Record, Debug, PartialEq)]
struct City {
    id: i64,
    name: String,
}

fn insert(db: &Db, name: &str) -> bobak::Result<i64> {
    db.table()?.insert(&City { id: 0, name: name.into() })
}

fn main() -> bobak::Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let url = |name: &str| format!("sqlite:{}", path(name).display());
    let source = Db::builder().track::<City>(TrackOptions::new()).open(&url("source.db"))?;
    source.create_missing_tables()?;
    insert(&source, "Bern")?;

    // A replica on another engine, which gets every change.
    let target = Db::open("memory:")?;
    let mut replica = source.replicate_to(&target, &[])?;
    replica.begin(|_| {})?;
    insert(&source, "Thun")?;
    while replica.step(Duration::ZERO)?.changes > 0 {}
    assert_eq!(replica.check()?.tables[0].rows, 2);

    // A backup, and an archive of later changes.
    source.backup(path("backup.db"), &BackupOptions::new(), |_| Ok(()))?;
    let mut archive = source.archive_to(path("changes"))?;
    insert(&source, "Biel")?;
    archive.step(Duration::ZERO)?;
    let moment = Timestamp::now();
    std::thread::sleep(Duration::from_millis(10));
    source.table::<City>()?.delete_all()?;
    archive.step(Duration::ZERO)?;

    // The database as it was before everything was deleted.
    let options = RestoreOptions::new().changes(path("changes"), RecoveryTarget::Moment(moment));
    let report = Db::restore(path("backup.db"), &url("restored.db"), &options)?;
    println!("replayed changes: {:?}", report.replayed.map(|replayed| replayed.changes));
    assert_eq!(Db::open(&url("restored.db"))?.table::<City>()?.count(Query::all())?, 3);
    Ok(())
}
