//! Pages of lists: the next one begins behind the last row of the one before.

use crate::client::TestServer;
use bobak_core::Engine;
use bobak_http::Settings;
use bobak_sqlite::Sqlite;
use std::sync::Arc;

#[test]
fn pages_follow_each_other_in_any_order() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    session.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b REAL)", &[]).unwrap();
    let values = "(1,'x',0.1), (2,NULL,2), (3,'é,\"',2), (4,'x',NULL), (5,'',0.1), (6,NULL,NULL), (7,'x',1e300)";
    session.execute(&format!("INSERT INTO t VALUES {values}"), &[]).unwrap();
    drop(session);
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    let ids = |page: &serde_json::Value| -> Vec<i64> {
        page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    };
    for order in ["a", "-a", "b,-a", "-b,a,-id", "id", "-id"] {
        let list = format!("/tables/t/rows?order={order}&columns=id");
        let all = ids(&server.get(&list).ok(200).json());
        let (mut found, mut path) = (Vec::new(), format!("{list}&limit=2"));
        loop {
            let page = server.get(&path).ok(200).json();
            found.extend(ids(&page));
            let Some(next) = page["next"].as_str() else { break };
            let next =
                percent_encoding::utf8_percent_encode(next, percent_encoding::NON_ALPHANUMERIC);
            path = format!("{list}&limit=2&after={next}");
        }
        assert_eq!((found.len(), found), (7, all), "{order}");
    }
    for after in ["1", "%5B%5D", "%5B1,2,3%5D", "%5B%5B%5D,1%5D", "%5B%22x%22,%7B%7D%5D"] {
        server.get(&format!("/tables/t/rows?order=a&after={after}")).is(400, "Syntax");
    }
}
