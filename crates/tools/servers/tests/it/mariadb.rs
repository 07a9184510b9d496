//! MariaDB, through its client.

use std::net::TcpStream;

use bobak_servers::{MariaDb, Options};

const WANTED: &str = "BOBAK_TEST_MARIADB";

#[test]
fn acknowledged_rows_survive_a_kill_and_the_port_stays() {
    if !crate::wanted(WANTED) {
        return;
    }
    let server = MariaDb::start().unwrap();
    server.run("CREATE TABLE t (id int); INSERT INTO t SELECT seq FROM seq_1_to_1000").unwrap();
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
    let options = Options::new().durable().password("a'b\\c").setting("max-connections", "17");
    let server = MariaDb::start_with(&options).unwrap();
    let shown = server
        .run("SELECT @@innodb_flush_log_at_trx_commit, @@max_connections, @@character_set_server")
        .unwrap();
    assert_eq!(shown, "1\t17\tutf8mb4");
    let users = "SELECT user, host FROM mysql.user WHERE user IN ('', 'bobak', 'root') ORDER BY 1";
    assert_eq!(server.run(users).unwrap(), "bobak\t%\nroot\tlocalhost");
    assert!(server.url().starts_with("mysql://bobak:a%27b%5Cc@127.0.0.1:"));
}

#[test]
fn a_wrong_setting_ends_in_the_servers_own_words() {
    if !crate::wanted(WANTED) {
        return;
    }
    let error = MariaDb::start_with(&Options::new().setting("no-such", "1")).unwrap_err();
    assert!(error.to_string().contains("no-such"), "{error}");
    assert!(!error.is_missing());
}
