//! The temporary folder of a run, and the prepared files in it.

use std::env;
use std::fs;
use std::process::Command;

use bobak_servers::{Firebird, MariaDb, Postgres, TestFolder};

/// Run in a process with the folder's variables: the second server of each kind begins with what the first one has left.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn servers_with_templates() {
    for name in ["one", "two"] {
        let server = Postgres::start().unwrap();
        server.run(&format!("CREATE TABLE {name} (id int)")).unwrap();
        assert_eq!(
            server.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").unwrap(),
            "1"
        );
        let server = MariaDb::start().unwrap();
        server.run(&format!("CREATE TABLE {name} (id int)")).unwrap();
        assert_eq!(server.run("SHOW TABLES").unwrap(), name);
        drop(Firebird::start().unwrap());
    }
}

#[test]
fn later_servers_begin_with_a_copy_and_nothing_is_left() {
    if ["POSTGRES", "MARIADB", "FIREBIRD"]
        .iter()
        .any(|name| !crate::wanted(&format!("BOBAK_TEST_{name}")))
    {
        return;
    }
    let folder = TestFolder::make().unwrap();
    let [(_, path), (_, templates)] = folder.variables();
    let status = Command::new(env::current_exe().unwrap())
        .args(["test_folder::servers_with_templates", "--exact", "--ignored"])
        .envs(folder.variables())
        .status()
        .unwrap();
    assert!(status.success());
    let names = fs::read_dir(&templates).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        names[0].starts_with("firebird-Engine")
            && names[1] == "mariadb"
            && names[2].starts_with("postgres_")
    );
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "only the templates are left");
    drop(folder);
    assert!(!path.exists());
}
