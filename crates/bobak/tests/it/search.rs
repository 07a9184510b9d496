//! Full-text search over records, on the engines of this process.

use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::copy::CopyOptions;
use bobak::migration::{Drops, Migrations};
use bobak::prelude::*;
use bobak::restore::RestoreOptions;

#[derive(Record, Debug, Clone, PartialEq)]
#[record(search(title, body, language = "english"))]
struct Article {
    id: i64,
    title: String,
    body: Option<String>,
    stars: i64,
}

const TEXTS: [(&str, &str); 5] = [
    ("Running", "Runners run every morning, and ran yesterday."),
    ("Foxes", "The quick brown fox jumped over lazy dogs."),
    ("Relations", "Relational databases relate rows to rows, rows, rows."),
    ("Nothing", ""),
    ("Adjustable", "Adjustments of the adjuster; hopping, hoped, happily."),
];

fn filled(url: &str) -> Db {
    let db = Db::builder().record::<Article>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    let articles = db.table::<Article>().unwrap();
    for (stars, (title, body)) in TEXTS.into_iter().enumerate() {
        let (title, body) = (title.to_owned(), (!body.is_empty()).then(|| body.to_owned()));
        articles.insert(&Article { id: 0, title, body, stars: stars as i64 }).unwrap();
    }
    db
}

/// The keys of what is found, the best first.
fn found(db: &Db, text: &str) -> Vec<i64> {
    let found = db.table::<Article>().unwrap().search(Article::search(text)).unwrap();
    found.into_iter().map(|found| found.record.id).collect()
}

#[test]
fn memory_and_sqlite_find_and_rank_the_same() {
    let (memory, sqlite) = (filled("memory:"), filled("sqlite::memory:"));
    let all = "run OR running OR fox OR jump OR relation OR row OR adjust OR hop OR happy OR dog*";
    for text in [all, "run", "runs", "dogs fox", "\"lazy dog\"", "relate", "rows", "hope", "runn*"]
    {
        let search = |db: &Db| {
            let articles = db.table::<Article>().unwrap();
            let found = articles.search(Article::search(text)).unwrap();
            found
                .into_iter()
                .map(|f| (f.record, (f.rank * 1e6).round(), f.snippet))
                .collect::<Vec<_>>()
        };
        assert_eq!(search(&memory), search(&sqlite), "{text}");
    }
    assert_eq!(found(&memory, "runs"), [1]);
    assert_eq!(found(&sqlite, "jumping"), [2]);
}

#[test]
fn results_have_snippets_filters_and_pages() {
    let db = filled("memory:");
    let articles = db.table::<Article>().unwrap();
    let query = || Article::search("rows OR fox OR run");
    let first = articles.search(query().limit(1)).unwrap();
    assert_eq!(first[0].record.id, 3);
    assert_eq!(
        first[0].snippet.marked("[", "]"),
        "Relational databases relate [rows] to [rows], [rows], [rows]."
    );
    assert!(first[0].rank > 0.0);
    assert_eq!(articles.count(query()).unwrap(), 3);
    assert_eq!(articles.list(query().and(Article::STARS.gt(1))).unwrap().len(), 1);
    let by_title = articles.list(query().order_by(Article::TITLE.asc())).unwrap();
    assert_eq!(by_title.iter().map(|a| a.id).collect::<Vec<_>>(), [2, 3, 1]);
    let ids: Vec<i64> = articles
        .list(query().order_by(Article::ID.asc()).offset(1))
        .unwrap()
        .into_iter()
        .map(|a| a.id)
        .collect();
    assert_eq!(ids, [2, 3]);
    assert_eq!(articles.iter(query()).unwrap().count(), 3);
}

/// Pages of the best rows together are all rows, in the same order on both engines, whatever decides the order.
#[test]
fn pages_of_equal_ranks_follow_the_key() {
    let dbs = ["memory:", "sqlite::memory:"].map(filled);
    let ids = |db: &Db, query: Query<Article>| -> Vec<i64> {
        db.table::<Article>().unwrap().list(query).unwrap().into_iter().map(|one| one.id).collect()
    };
    for db in &dbs {
        let articles = db.table::<Article>().unwrap();
        for id in [90, 70, 80, 60, -5] {
            let body = Some("one fox".to_owned());
            articles.insert(&Article { id, title: "Same".to_owned(), body, stars: id }).unwrap();
        }
        let query = || Article::search("fox OR same");
        let whole = ids(db, query());
        assert_eq!(whole, [-5, 60, 70, 80, 90, 2]);
        let pages = (0..4).flat_map(|page| ids(db, query().offset(page * 2).limit(2)));
        assert_eq!(pages.collect::<Vec<_>>(), whole);
        assert_eq!(ids(db, query().and(Article::STARS.gt(65)).limit(2)), [70, 80]);
        assert_eq!(ids(db, query().limit(0)), Vec::<i64>::new());
        assert_eq!(ids(db, query().offset(5).limit(u64::MAX)), [2]);
        assert_eq!(articles.search(query().limit(1)).unwrap()[0].record.id, -5);
        assert_eq!(ids(db, query().order_by(Article::ID.desc()).limit(2)), [90, 80]);
    }
}

#[test]
fn rows_are_searched_and_wrong_queries_rejected() {
    let db = filled("memory:");
    let articles = db.table::<Article>().unwrap();
    let query = || Article::search("rows OR fox OR run");
    let rows = db.dynamic("article").unwrap();
    let rows = rows.search(Query::search("fox")).unwrap();
    assert_eq!(rows[0].record.get::<String>("title").unwrap(), "Foxes");
    let kind = |query: Query<Article>| articles.search(query).unwrap_err().kind();
    assert_eq!(kind(Article::search("(fox")), ErrorKind::Syntax);
    assert_eq!(kind(Query::all()), ErrorKind::Misuse);
    assert_eq!(kind(query().after(1)), ErrorKind::Unsupported);
    assert_eq!(kind(query().after(1).order_by(Article::ID.asc())), ErrorKind::Unsupported);
}

#[test]
fn migrations_add_and_drop_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    for url in ["memory:", &url] {
        let db = Db::builder().record::<Article>().open(url).unwrap();
        let table = Article::schema().as_ref().clone().into_builder().no_search().build().unwrap();
        let plain = db.create_table(table).unwrap();
        let mut row = DynRow::new();
        row.set("title", "an old fox").unwrap();
        row.set("stars", 1_i64).unwrap();
        plain.insert(&row).unwrap();
        let plan = db.migration_plan(Drops::Columns).unwrap();
        let step = r#"add search article {"columns":["title","body"],"language":"english"}"#;
        assert_eq!(plan.to_string().trim(), step);
        assert_eq!(plan.undo.as_ref().unwrap()[0].to_string(), "drop search article");
        let file = format!("bobak migration 1\nfirst\n\nup\n{step}\n\ndown\ndrop search article\n");
        let migrations = Migrations::new([("0001_search", file.as_str())]).unwrap();
        db.migrate(&migrations).unwrap();
        assert_eq!(found(&db, "foxes"), [1]);
        assert!(db.migration_plan(Drops::Columns).unwrap().steps.is_empty());
        db.undo_migrations(&migrations, 1, false).unwrap();
        assert!(db.dynamic("article").unwrap().search(Query::search("fox")).is_err());
        db.create_missing_tables().unwrap();
        assert_eq!(found(&db, "foxes"), [1]);
    }
}

#[test]
fn copies_backups_and_sql_keep_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let db = filled(&url("app.db"));
    db.track_table("article", TrackOptions::new()).unwrap();
    let sql =
        "INSERT OR REPLACE INTO article (id, title, body, stars) VALUES (2, 'Wolves', 'howl', 0)";
    db.execute(sql, ()).unwrap();
    db.execute("UPDATE article SET body = 'a fox again' WHERE id = 4", ()).unwrap();
    db.execute("VACUUM", ()).unwrap();
    assert_eq!((found(&db, "fox"), found(&db, "wolf OR wolves")), (vec![4], vec![2]));
    let check = "INSERT INTO bobak_search_article (bobak_search_article, rank) VALUES ('integrity-check', 1)";
    db.execute(check, ()).unwrap();
    db.backup(folder.path().join("backup.db"), &BackupOptions::new(), |_| Ok(())).unwrap();
    let backup = folder.path().join("backup.db");
    Db::restore(backup, &url("restored.db"), &RestoreOptions::new()).unwrap();
    let restored = Db::builder().record::<Article>().open(&url("restored.db")).unwrap();
    restored.table::<Article>().unwrap().delete(4).unwrap();
    assert_eq!(found(&restored, "fox OR wolves"), [2]);
    let copy = Db::builder().record::<Article>().open("memory:").unwrap();
    db.copy_to(&copy, &[], &CopyOptions::new(), |_| {}).unwrap();
    assert_eq!(found(&copy, "fox"), [4]);
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(search(text))]
struct Page {
    #[record(key = "given")]
    url: String,
    text: String,
}

/// SQLite may give the rows of a table without an integer key other numbers. The index of the search has these numbers.
#[test]
fn vacuum_keeps_the_search_of_rows_without_an_integer_key() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let db = Db::builder().record::<Page>().open(&url("app.db")).unwrap();
    db.create_missing_tables().unwrap();
    let pages = db.table::<Page>().unwrap();
    for number in 0..500 {
        let text = format!("word{number} common");
        pages.insert(&Page { url: format!("/{number:03}"), text }).unwrap();
    }
    assert_eq!(db.execute("DELETE FROM page WHERE url < '/400'", ()).unwrap(), 400);
    let check = |db: &Db| {
        let pages = db.table::<Page>().unwrap();
        for number in [400, 432, 499] {
            let found = pages.list(Page::search(format!("word{number}"))).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].url, format!("/{number}"));
        }
        assert_eq!(pages.count(Page::search("word399")).unwrap(), 0);
        assert_eq!(pages.count(Page::search("common")).unwrap(), 100);
        let check =
            "INSERT INTO bobak_search_page (bobak_search_page, rank) VALUES ('integrity-check', 1)";
        db.execute(check, ()).unwrap();
    };
    db.execute("VACUUM", ()).unwrap();
    check(&db);
    let into = folder.path().join("into.db");
    db.execute("VACUUM INTO ?", (into.display().to_string(),)).unwrap();
    check(&Db::builder().record::<Page>().open(&url("into.db")).unwrap());
    db.backup(folder.path().join("backup"), &BackupOptions::new(), |_| Ok(())).unwrap();
    Db::restore(folder.path().join("backup"), &url("restored.db"), &RestoreOptions::new()).unwrap();
    check(&Db::builder().record::<Page>().open(&url("restored.db")).unwrap());
}

/// An index of an earlier version has other words. It is no search until a new one replaces it.
#[test]
fn indexes_of_earlier_versions_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let db = Db::builder().record::<Article>().open(&url).unwrap();
    let plain = Article::schema().as_ref().clone().into_builder().no_search().build().unwrap();
    db.create_table(plain).unwrap();
    db.execute(
        "CREATE VIRTUAL TABLE bobak_search_article /* bobak: search english */ USING fts5(title, body, \
         content='article', content_rowid='id', tokenize='porter unicode61 remove_diacritics 0')",
        (),
    )
    .unwrap();
    db.execute(
        "CREATE TRIGGER bobak_search_insert_article AFTER INSERT ON article BEGIN /* bobak: search */ \
         INSERT INTO bobak_search_article (rowid, title, body) VALUES (new.id, new.title, new.body); END",
        (),
    )
    .unwrap();
    db.execute("INSERT INTO article VALUES (1, 'fox🦊', NULL, 1)", ()).unwrap();
    drop(db);
    let db = Db::builder().record::<Article>().open(&url).unwrap();
    let error = db.table::<Article>().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("earlier version"), "{error}");
    assert!(db.dynamic("article").unwrap().search(Query::search("fox")).is_err());
    db.create_missing_tables().unwrap();
    assert_eq!(found(&db, "fox"), [1]);
    let article = Article { id: 0, title: "wolf🐺".into(), body: None, stars: 0 };
    db.table::<Article>().unwrap().insert(&article).unwrap();
    assert_eq!(found(&db, "wolf"), [2]);
}
