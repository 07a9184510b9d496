//! Migrations: plans, files, and what a failure at any step leaves.

mod failures;
mod kills;
mod lost_connections;
mod mariadb;
mod sql_steps;
mod sqlite_conversions;
mod steps;
mod tracked_writes;

use bobak::Record;
use bobak::batch::OnError;
use bobak::engine::Engine;
use bobak::migration::{self, Drops, Migrations};
use bobak::schema::{ColumnSchema, TableSchema};
use bobak_testkit::{Entry, Probe, row};
use std::path::Path;
use std::sync::Arc;

mod first {
    use bobak::prelude::*;

    #[derive(Record, Debug, PartialEq)]
    pub struct Team {
        pub id: i64,
        #[record(max = 40, unique)]
        pub name: String,
    }

    #[derive(Record, Debug, PartialEq)]
    #[record(index(name, age))]
    pub struct Person {
        pub id: i64,
        #[record(max = 40)]
        pub name: String,
        #[record(max = 20)]
        pub age: Option<String>,
        #[record(references = Team)]
        pub team: Option<i64>,
        pub fax: Option<String>,
    }
}

mod second {
    use bobak::prelude::*;

    #[derive(Record, Debug, PartialEq)]
    #[record(renamed_from = "team")]
    pub struct Club {
        pub id: i64,
        #[record(max = 40, unique, renamed_from = "name")]
        pub title: String,
        pub rank: i64,
    }

    #[derive(Record, Debug, PartialEq)]
    #[record(renamed_from = "person")]
    pub struct Member {
        pub id: i64,
        #[record(max = 60, default = "nobody")]
        pub name: String,
        #[record(check = "age >= 0", index)]
        pub age: i32,
        #[record(references = Club, renamed_from = "team")]
        pub club: Option<i64>,
    }
}

fn tables_of(models: &[&Arc<TableSchema>]) -> Vec<Arc<TableSchema>> {
    models.iter().map(|table| Arc::clone(table)).collect()
}

/// Foreign keys and their engines apart: kv has none.
fn model(second: bool, links: bool) -> Vec<Arc<TableSchema>> {
    let tables = match second {
        false => tables_of(&[first::Team::schema(), first::Person::schema()]),
        true => tables_of(&[second::Club::schema(), second::Member::schema()]),
    };
    if links {
        return tables;
    }
    let unlinked = |table: &Arc<TableSchema>| {
        let mut builder = TableSchema::builder(table.name().to_owned()).key(["id"]);
        for (place, column) in table.columns().iter().enumerate() {
            if let Some(former) = table.former_column_name(place) {
                builder = builder.column_renamed_from(column.name.to_string(), former.to_owned());
            }
            builder = builder.column(ColumnSchema { reference: None, ..column.clone() });
        }
        if let Some(former) = table.former_name() {
            builder = builder.renamed_from(former.to_owned());
        }
        for index in table.indexes().iter().filter(|index| !index.unique) {
            let name = |place: &usize| table.columns()[*place].name.to_string();
            builder = builder.index(index.name.to_string(), index.columns.iter().map(name));
        }
        Arc::new(builder.build().unwrap())
    };
    tables.iter().map(unlinked).collect()
}

/// The two migrations, written to a folder.
fn write(folder: &Path, links: bool) -> Migrations {
    let scratch = bobak::engine::memory::Memory::new();
    for (name, second) in [("start", false), ("club", true)] {
        let plan =
            migration::plan(&model(second, links), &scratch.tables().unwrap(), Drops::Columns);
        let known = Migrations::read(folder).unwrap();
        known.write(folder, name, &plan.unwrap()).unwrap();
        migration::up(&scratch, &Migrations::read(folder).unwrap()).unwrap();
    }
    Migrations::read(folder).unwrap()
}

/// The number of people: more than are converted at a time.
const PEOPLE: i64 = 1_100;

/// All migrations, and the first one alone.
fn write_both(folder: &Path, links: bool) -> (Migrations, Migrations) {
    let files = folder.join("migrations");
    std::fs::create_dir(&files).unwrap();
    let all = write(&files, links);
    let text = std::fs::read_to_string(files.join("0001_start.migration")).unwrap();
    (all, Migrations::new([("0001_start", text.as_str())]).unwrap())
}

/// Rows of the first form.
fn fill(engine: &dyn Engine) {
    let found = |name| Arc::new(TableSchema::find_in(engine.tables().unwrap(), name).unwrap());
    let (team, person, probe) = (found("team"), found("person"), Probe::new(engine).unwrap());
    probe.insert_all(&team, [row![1, "red"], row![2, "blue"]]).unwrap();
    let values = |id: i64| row![id, format!("p{id}"), id.to_string(), 1 + id % 2, "x"];
    let rows: Vec<_> = (1..=PEOPLE).map(|id| Entry::insert(&person, values(id))).collect();
    probe.batch(&rows, OnError::Stop).outcomes().unwrap();
}

/// The rows as text, in the model's order of columns: engines may have another.
fn content(engine: &dyn Engine) -> Vec<String> {
    let mut all = Vec::new();
    let mut tables = engine.tables().unwrap();
    tables.retain(|table| table.name() != migration::LEDGER);
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    for table in tables {
        let mut names: Vec<_> =
            table.columns().iter().map(|c| format!("{} {:?}", c.name, c.ty)).collect();
        names.sort();
        let mut indexes: Vec<_> =
            table.indexes().iter().map(|index| index.name.to_string()).collect();
        indexes.sort();
        all.push(format!("{} {names:?} {indexes:?}", table.name()));
        let table = Arc::new(table);
        for row in Probe::new(engine).unwrap().all(&table).unwrap() {
            let mut row: Vec<_> = row.iter().map(|value| format!("{value:?}")).collect();
            row.sort();
            all.push(row.join(","));
        }
    }
    all
}

/// Engines with new databases: the folder, and how to open the one in it.
fn on_each(test: impl Fn(&Path, &dyn Fn() -> Arc<dyn Engine>, bool)) {
    on_each_url(|folder, url, links| {
        test(folder, &|| bobak::engine::open(url).unwrap(), links);
    });
}

/// New databases on each engine: a folder, the URL, and whether the engine has foreign keys.
fn on_each_url(test: impl Fn(&Path, &str, bool)) {
    for (place, links) in [("sqlite:{}/a.db", true), ("kv:{}/a.kv", false), ("memory:{}/a", true)] {
        let folder = tempfile::tempdir().unwrap();
        let url = place.replace("{}", folder.path().to_str().unwrap());
        eprintln!("on {url}");
        test(folder.path(), &url, links);
    }
    let on_server = |url: &str| {
        let folder = tempfile::tempdir().unwrap();
        eprintln!("on {url}");
        test(folder.path(), url, true);
    };
    #[cfg(all(feature = "postgres", feature = "mysql"))]
    crate::engines::on_servers(on_server);
    #[cfg(feature = "firebird")]
    crate::engines::on_firebird(on_server);
}
