//! Databases of tests on shared servers.

use bobak_servers::TestDatabase;

#[test]
fn databases_of_a_server_differ() {
    for new in [TestDatabase::on_postgres, TestDatabase::on_mariadb, TestDatabase::on_firebird] {
        let (Some(one), Some(two)) = (new().unwrap(), new().unwrap()) else { continue };
        assert_ne!(one.url(), two.url());
        let server = |url: &str| url.rsplit_once('/').unwrap().0.to_owned();
        assert_eq!(server(one.url()), server(two.url()));
    }
}
