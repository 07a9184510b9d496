//! A table without a key that looks tracked.

use bobak::changes::TrackOptions;
use bobak::prelude::*;

/// A table without a key, tracked as earlier versions did it.
pub fn track_hidden(db: &Db) {
    for text in [
        "CREATE TABLE keyed (id INTEGER PRIMARY KEY)",
        "CREATE TABLE loose (n INTEGER)",
        "CREATE TABLE bobak_log_loose (seq INTEGER PRIMARY KEY, at INTEGER, who TEXT, verb INTEGER, \
         old_rowid INTEGER, new_rowid INTEGER, old_n INTEGER, new_n INTEGER)",
    ] {
        db.execute(text, ()).unwrap();
    }
    db.track_table("keyed", TrackOptions::new()).unwrap();
    db.execute("INSERT INTO bobak_tracked (name, pruned) VALUES ('loose', 0)", ()).unwrap();
    for verb in ["insert", "update", "delete"] {
        let text = format!(
            "CREATE TRIGGER bobak_log_{verb}_loose AFTER {verb} ON loose BEGIN SELECT 1; END"
        );
        db.execute(&text, ()).unwrap();
    }
}
