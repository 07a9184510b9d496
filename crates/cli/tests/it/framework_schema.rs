//! `bobak schema` of databases that Django and Rails made: columns have the types of their values, and the structs
//! read, find and write them.

use crate::program::Program;
use bobak::prelude::*;

/// The structs that the program generates for [`STATEMENTS`].
mod generated {
    include!("framework_structs.rs");
}

/// Tables as Django's and Rails' migrations declare them, with rows as both write them.
const STATEMENTS: &[&str] = &[
    "CREATE TABLE \"auth_user\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \"password\" varchar(128) NOT NULL, \
     \"last_login\" datetime NULL, \"is_superuser\" bool NOT NULL, \"username\" varchar(150) NOT NULL UNIQUE, \
     \"date_joined\" datetime NOT NULL)",
    "CREATE TABLE \"shop_order\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \"placed\" date NOT NULL, \
     \"total\" decimal NOT NULL, \"paid\" bool NOT NULL, \"token\" char(32) NOT NULL, \
     \"extra\" text NOT NULL CHECK ((JSON_VALID(\"extra\") OR \"extra\" IS NULL)), \"quantity\" integer unsigned NOT NULL \
     CHECK (\"quantity\" >= 0), \"took\" bigint NULL, \"opens\" time NULL, \
     \"user_id\" integer NOT NULL REFERENCES \"auth_user\" (\"id\") DEFERRABLE INITIALLY DEFERRED)",
    "CREATE INDEX \"shop_order_user_id_1\" ON \"shop_order\" (\"user_id\")",
    "INSERT INTO auth_user VALUES (1, 'x', '2024-02-29 23:59:59.123456', 1, 'ada', '2024-02-29 23:59:59'), \
     (2, 'y', NULL, 0, 'bob', '2024-03-01 00:00:00')",
    "INSERT INTO shop_order VALUES (1, '2024-02-29', 19.99, 1, '0190d1a0000070008000000000000001', '{\"a\": [1]}', 2, 5, \
     '10:00:00', 1), (2, '2024-03-01', 5, 0, '0190d1a0000070008000000000000002', 'null', 0, NULL, NULL, 2)",
    "CREATE TABLE \"schema_migrations\" (\"version\" varchar NOT NULL PRIMARY KEY)",
    "CREATE TABLE \"posts\" (\"id\" integer PRIMARY KEY AUTOINCREMENT NOT NULL, \"title\" varchar DEFAULT 'new' NOT NULL, \
     \"published\" boolean DEFAULT 0 NOT NULL, \"rating\" decimal(3,1) DEFAULT 0 NOT NULL, \"meta\" json, \
     \"day\" date, \"views\" numeric(10,0), \"seen\" timestamp, \"blank\" datetime(6), \
     \"created_at\" datetime(6) NOT NULL)",
    "INSERT INTO schema_migrations VALUES ('20240229120000')",
    "INSERT INTO posts VALUES (1, 'a', 1, 4.5, '{\"a\":1}', '2024-02-29', 7, '2024-02-29T10:00:00.000000Z', NULL, \
     '2024-02-29 10:00:00.123456')",
    "INSERT INTO posts VALUES (2, 'b', 0, 3, '[1]', NULL, NULL, NULL, NULL, '2024-03-01 10:00:00')",
];

fn database(program: &Program) -> Db {
    let url = format!("sqlite:{}?typed_sql=off", program.path("t.db").display());
    let db = Db::open(&url).expect("opens");
    for sql in STATEMENTS {
        db.execute(sql, ()).expect(sql);
    }
    db
}

#[test]
fn structs_have_the_types_of_the_values() {
    use generated::*;
    let program = Program::new();
    let db = database(&program);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/framework_structs.rs");
    let rust = program.ok(&["schema", "sqlite:t.db", "--rust"]);
    if std::env::var_os("BOBAK_WRITE_STRUCTS").is_some() {
        std::fs::write(path, &rust).expect("writes");
    }
    assert_eq!(rust, std::fs::read_to_string(path).expect("reads"));
    let orders = db.table::<ShopOrder>().expect("opens");
    let mut order = orders.get(2).expect("reads").expect("a row");
    assert_eq!(
        (order.total, order.paid, order.placed.to_string()),
        (5.0, false, "2024-03-01".into())
    );
    assert_eq!(orders.count(ShopOrder::TOTAL.eq(5.0)).expect("counts"), 1);
    assert_eq!(orders.count(ShopOrder::PLACED.lt(order.placed)).expect("counts"), 1);
    order.total = 7.0;
    order.paid = true;
    orders.update(&order).expect("updates");
    assert_eq!(orders.get(2).expect("reads"), Some(order));
    let posts = db.table::<Post>().expect("opens");
    let mut post = posts.get(1).expect("reads").expect("a row");
    assert_eq!((post.rating, post.published, post.views), (4.5, true, Some(7)));
    assert_eq!(post.created_at, "2024-02-29 10:00:00.123456");
    post.id = 0;
    posts.insert(&post).expect("inserts");
    let seen = "2024-02-29T10:00:00Z".parse().expect("a timestamp");
    assert_eq!(posts.count(Post::SEEN.eq(Some(seen))).expect("counts"), 2);
    let users = db.table::<AuthUser>().expect("opens");
    assert_eq!(users.count(AuthUser::IS_SUPERUSER.eq(true)).expect("counts"), 1);
    // A value of another type is an error, and no other value.
    db.execute("UPDATE posts SET rating = 'good' WHERE id = 1", ()).expect("updates");
    let error = posts.get(1).expect_err("a text");
    assert_eq!(
        (error.kind(), error.column()),
        (bobak::ErrorKind::Mismatch, Some("rating")),
        "{error}"
    );
}

#[test]
fn given_types_must_have_all_values() {
    let program = Program::new();
    drop(database(&program));
    let text = program.ok(&["schema", "t.db", "--table", "posts"]);
    for line in [
        "published   bool        default 0",
        "rating      f64         default 0.0",
        "seen        timestamp?  stored as text",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let text = program.ok(&[
        "schema",
        "t.db",
        "--table",
        "posts",
        "--type",
        "views=f64",
        "--type",
        "posts.meta=text",
    ]);
    assert!(text.contains("views       f64?") && text.contains("meta        text?"), "{text}");
    for (wanted, sentence) in [
        (
            "created_at=datetime",
            "'2024-02-29 10:00:00.123456' is not stored as datetime (table posts, column created_at)",
        ),
        ("rating=i64", "4.5 is not stored as i64"),
        ("rating=currency", "no other program stores amounts as Bobak does"),
        ("nothing=i64", "--type nothing: there is no such column"),
    ] {
        let run = program.run(&["schema", "t.db", "--table", "posts", "--type", wanted]);
        assert!(run.code != 0 && run.err.contains(sentence), "{wanted}: {}", run.err);
    }
}
