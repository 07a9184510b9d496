//! PostgreSQL, through psql.

use std::net::TcpStream;

use bobak_servers::{Options, Postgres};

const WANTED: &str = "BOBAK_TEST_POSTGRES";

#[test]
fn acknowledged_rows_survive_a_kill_and_the_port_stays() {
    if !crate::wanted(WANTED) {
        return;
    }
    let server = Postgres::start().unwrap();
    server.run("CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 1000)").unwrap();
    let (port, pid) = (server.port(), server.pid());
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it still listens");
    server.restart().unwrap();
    assert_eq!(server.run("SELECT count(*) FROM t").unwrap(), "1000");
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), pid);
    server.stop().unwrap();
    server.restart().unwrap();
    assert_eq!(server.run("SELECT sum(id) FROM t").unwrap(), "500500");
    let socket = server.socket();
    drop(server);
    assert!(!socket.parent().unwrap().exists(), "the folder is left behind");
}

#[test]
fn options_reach_the_server() {
    if !crate::wanted(WANTED) {
        return;
    }
    let options = Options::new().durable().password("a b'c\\").setting("max_connections", "7");
    let server = Postgres::start_with(&options).unwrap();
    let shown = server.run("SHOW fsync; SHOW max_connections; SELECT current_user").unwrap();
    assert_eq!(shown, "on\n7\nbobak");
    assert!(server.url().starts_with("postgres://bobak:a%20b%27c%5C@127.0.0.1:"));
    // The order of bytes is not the default.
    assert_eq!(server.run("SELECT 'a' < 'B'").unwrap(), "t");
}

#[test]
fn a_wrong_setting_ends_in_the_servers_own_words() {
    if !crate::wanted(WANTED) {
        return;
    }
    let error = Postgres::start_with(&Options::new().setting("no_such", "1")).unwrap_err();
    assert!(error.to_string().contains("no_such"), "{error}");
    assert!(!error.is_missing());
}
