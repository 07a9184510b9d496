//! Power cuts on SQLite, and processes that end at each operation of a migration, on every engine with a file or a server.

use super::{content, fill, on_each_url, write_both};
use bobak::engine::Engine;
use bobak::engine::sqlite::Sqlite;
use bobak::migration::{self, Migrations};
use bobak_fault_vfs::{Disk, Loss};
use bobak_testkit::FaultyEngine;
use bobak_testkit::crash::kill_interval;
use std::collections::HashSet;
use std::path::Path;

/// The kinds of steps that the second migration has not.
const THIRD: &str = "bobak migration 1\nafter 0002_club\nup\n\
    create table {\"name\":\"note\",\"key\":[\"id\"],\"columns\":[\
    {\"name\":\"id\",\"type\":\"i64\"},{\"name\":\"text\",\"type\":\"text\",\"nullable\":true}],\"indexes\":[]}\n\
    add index note {\"name\":\"note_text\",\"columns\":[\"text\"],\"unique\":false}\n\
    sql sqlite\nINSERT INTO note VALUES (1, 'a');\nUPDATE member SET name = 'x' WHERE id = 1;\nend\n\
    drop index note.note_text\n\
    add column note {\"name\":\"rank\",\"type\":\"i64\",\"nullable\":false} fill 3\n\
    change column note {\"name\":\"rank\",\"type\":\"text\",\"nullable\":false}\n\
    drop table note\n\
    create table {\"name\":\"team\",\"key\":[\"id\"],\"columns\":[{\"name\":\"id\",\"type\":\"i64\"}],\"indexes\":[]}\n";

/// The three migrations, and the first one alone.
fn three(folder: &Path) -> (Migrations, Migrations) {
    let (_, one) = write_both(folder, true);
    std::fs::write(folder.join("migrations/0003_note.migration"), THIRD).unwrap();
    (Migrations::read(folder.join("migrations")).unwrap(), one)
}

/// A database with rows of the first form.
fn first_form(disk: &Disk, one: &Migrations) -> Sqlite {
    let engine = Sqlite::builder().vfs(disk.vfs()).open("a.db").unwrap();
    migration::up(&engine, one).unwrap();
    fill(&engine);
    engine
}

#[test]
fn a_power_cut_leaves_whole_migrations() {
    let folder = tempfile::tempdir().unwrap();
    let (all, one) = three(folder.path());
    let two = all.iter().nth(1).unwrap().name.clone();
    // What each migration leaves, and how much is written.
    let disk = Disk::new(1).unwrap();
    let engine = first_form(&disk, &one);
    let mut forms = vec![content(&engine)];
    let before = disk.changes();
    let text = |name: &str| {
        std::fs::read_to_string(folder.path().join(format!("migrations/{name}.migration"))).unwrap()
    };
    let (first, second) = (text("0001_start"), text(&two));
    let both = Migrations::new([("0001_start", first.as_str()), (&two, second.as_str())]).unwrap();
    migration::up(&engine, &both).unwrap();
    forms.push(content(&engine));
    migration::up(&engine, &all).unwrap();
    forms.push(content(&engine));
    let changes = disk.changes() - before;
    let mut seen = HashSet::new();
    for (number, loss) in (0_u64..72).zip(Loss::POWER.iter().cycle()) {
        let disk = Disk::new(number + 2).unwrap();
        let engine = first_form(&disk, &one);
        disk.cut_power_at(1 + number * changes / 72, *loss);
        let done = migration::up(&engine, &all);
        if disk.is_on() {
            disk.cut_power(*loss);
        }
        drop(engine);
        disk.power_on();
        let engine = Sqlite::builder().vfs(disk.vfs()).open("a.db").unwrap();
        let found = content(&engine);
        let form = forms.iter().position(|form| *form == found);
        let form = form.unwrap_or_else(|| panic!("half done after cut {number}"));
        assert!(done.is_err() || form == 2, "cut {number}: acknowledged and lost");
        seen.insert(form);
        migration::up(&engine, &all).unwrap_or_else(|error| panic!("cut {number}: {error}"));
        assert_eq!(content(&engine), forms[2], "cut {number}");
    }
    assert!(seen.contains(&0) && seen.contains(&1), "{seen:?}");
}

const URL: &str = "BOBAK_TEST_MIGRATE_URL";

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn migrates_until_an_operation_ends_the_process() {
    let (url, folder) = (std::env::var(URL).unwrap(), std::env::var("BOBAK_TEST_FOLDER").unwrap());
    let operation = std::env::var("BOBAK_TEST_OPERATION").unwrap().parse().unwrap();
    let engine =
        FaultyEngine::new(Box::new(super::failures::Shared(bobak::engine::open(&url).unwrap())));
    engine.faults().end_process_at(operation);
    migration::up(&engine, &Migrations::read(folder).unwrap()).unwrap();
}

/// Whether a process that migrates came to its end before this operation.
fn migrates(url: &str, folder: &Path, operation: u64) -> bool {
    let name = "migrations::kills::migrates_until_an_operation_ends_the_process";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored"])
        .env(URL, url)
        .env("BOBAK_TEST_FOLDER", folder.join("migrations"))
        .env("BOBAK_TEST_OPERATION", operation.to_string())
        .output()
        .unwrap();
    let is_killed = child.status.code().is_none();
    assert!(is_killed || child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    !is_killed
}

#[test]
#[cfg(unix)]
fn a_process_killed_at_any_operation_leaves_a_form_or_is_resumed() {
    on_each_url(|folder, url, links| {
        // A database in memory ends with its process.
        if url.starts_with("memory") {
            return;
        }
        let (all, one) = write_both(folder, links);
        let open = || bobak::engine::open(url).unwrap();
        let first = |engine: &dyn Engine| {
            migration::down(engine, &all, 2, true).unwrap();
            migration::up(engine, &one).unwrap();
            fill(engine);
            content(engine)
        };
        let before = first(&*open());
        migration::up(&*open(), &all).unwrap();
        let after = content(&*open());
        let resumes = open().capabilities().implicit_ddl_commit;
        // Each step has three operations at least.
        let interval = kill_interval(if resumes { 3 } else { 10 });
        let mut operation = 1;
        loop {
            first(&*open());
            operation += interval;
            if migrates(url, folder, operation) {
                break;
            }
            let engine = open();
            if !resumes {
                let found = content(&*engine);
                assert!(found == before || found == after, "half done at operation {operation}");
            }
            migration::up(&*engine, &all).unwrap_or_else(|error| panic!("{operation}: {error}"));
            assert_eq!(content(&*engine), after, "operation {operation}");
        }
        assert!(operation > 30, "{operation} operations");
    });
}
