//! TLS, through the servers' own clients.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bobak_servers::{Authority, MariaDb, Options, Postgres};

fn psql(server: &Postgres, rest: &str) -> Output {
    let url = format!("{}?{rest}", server.url().replace("127.0.0.1", "localhost"));
    Command::new("psql")
        .args(["-XAt", "-c", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &url])
        .output()
        .unwrap()
}

#[test]
fn postgres_is_trusted_by_its_own_authority_only() {
    if !crate::wanted("BOBAK_TEST_POSTGRES") {
        return;
    }
    let (own, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &Authority| {
        let path = folder.path().join(name);
        fs::write(&path, authority.pem()).unwrap();
        path.display().to_string()
    };
    let (own_file, other_file) = (file("own.pem", &own), file("other.pem", &other));
    let server = Postgres::start_with(&Options::new().tls_only(&own)).unwrap();
    let right = psql(&server, &format!("sslmode=verify-full&sslrootcert={own_file}"));
    assert_eq!(String::from_utf8_lossy(&right.stdout), "t\n", "{right:?}");
    let wrong = psql(&server, &format!("sslmode=verify-full&sslrootcert={other_file}"));
    assert!(!wrong.status.success(), "{wrong:?}");
    let plain = psql(&server, "sslmode=disable");
    assert!(!plain.status.success(), "{plain:?}");
    assert_eq!(server.run("SELECT 1").unwrap(), "1", "the socket needs none");
}

fn mariadb(server: &MariaDb, authority: &Path, rest: &[&str]) -> Output {
    Command::new("mariadb")
        .args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--user=bobak",
            "--host=127.0.0.1",
        ])
        .args([format!("--port={}", server.port()), format!("--ssl-ca={}", authority.display())])
        .args(rest)
        .args(["--execute", "SHOW STATUS LIKE 'Ssl_cipher'"])
        .output()
        .unwrap()
}

#[test]
fn mariadb_is_trusted_by_its_own_authority_only() {
    if !crate::wanted("BOBAK_TEST_MARIADB") {
        return;
    }
    let (own, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (own_file, other_file) = (folder.path().join("own.pem"), folder.path().join("other.pem"));
    fs::write(&own_file, own.pem()).unwrap();
    fs::write(&other_file, other.pem()).unwrap();
    let server = MariaDb::start_with(&Options::new().tls_only(&own)).unwrap();
    let verify = ["--ssl-verify-server-cert"];
    let right = mariadb(&server, &own_file, &verify);
    assert!(String::from_utf8_lossy(&right.stdout).contains("TLS"), "{right:?}");
    let wrong = mariadb(&server, &other_file, &verify);
    assert!(!wrong.status.success(), "{wrong:?}");
    let plain = mariadb(&server, Path::new(""), &["--skip-ssl"]);
    assert!(!plain.status.success(), "{plain:?}");
    assert_eq!(server.run("SELECT 1").unwrap(), "1", "the socket needs none");
}
