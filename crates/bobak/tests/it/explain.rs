//! The plans of queries, and the advice about indexes, on each engine.

use crate::engines::on_each;
use bobak::Shape;
use bobak::prelude::*;
use bobak::query::{IndexAdvice, PlanAccess, PlanStep, QueryPlan, from};
use bobak::relation::{ToMany, ToOne};

#[derive(Record)]
struct Shop {
    id: i64,
    city: String,
    #[record(index)]
    name: String,
}

#[derive(Record)]
struct Receipt {
    id: i64,
    #[record(references = Shop, index)]
    shop_id: i64,
    day: i64,
    total: i64,
}

/// On another engine than shops.
#[derive(Record)]
struct Visit {
    id: i64,
    shop_id: i64,
    day: i64,
}

impl Visit {
    const SHOP: ToOne<Visit, Shop> = Visit::SHOP_ID.refers_to();
}

impl Shop {
    const RECEIPTS: ToMany<Shop, Receipt> = Receipt::SHOP.inverse();
}

#[derive(Shape)]
#[shape(of = Shop)]
struct ShopPage {
    #[shape(many = Shop::RECEIPTS)]
    receipts: Vec<Receipt>,
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Shop>().record::<Receipt>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    let mut batch = db.batch(BatchOptions::new());
    for n in 0..3_000 {
        let (city, name) = (format!("city {}", n % 50), format!("shop {n}"));
        batch.insert(&Shop { id: n + 1, city, name }).unwrap();
    }
    for n in 0..30_000 {
        let (shop_id, day, total) = (n % 3_000 + 1, n % 365, n % 97);
        batch.insert(&Receipt { id: 0, shop_id, day, total }).unwrap();
    }
    batch.finish().unwrap();
    db
}

/// The tables and columns of the indexes that would help.
fn advice(plan: &QueryPlan) -> Vec<String> {
    let each = |advice: &IndexAdvice| format!("{} {}", advice.table, advice.columns.join(","));
    plan.advice.iter().map(each).collect()
}

/// How a plan reads a table.
fn access(plan: &QueryPlan, table: &str) -> Vec<PlanAccess> {
    let mut found = Vec::new();
    let mut look = |step: &PlanStep| {
        found.extend(step.access.filter(|_| step.table.as_deref() == Some(table)));
    };
    plan.steps.iter().for_each(|step| step.for_each(&mut look));
    found
}

fn check_queries(db: &Db) {
    let (shops, receipts) = (db.table::<Shop>().unwrap(), db.table::<Receipt>().unwrap());
    let plan = shops.explain(Shop::CITY.eq("city 7")).unwrap();
    assert_eq!(
        (access(&plan, "shop"), advice(&plan)),
        (vec![PlanAccess::Scan], vec!["shop city".into()])
    );
    assert!(plan.to_string().contains("advice: shop reads every row: an index on city may help"));
    let plan = receipts.explain(Receipt::TOTAL.gt(90).and(Receipt::DAY.eq(3))).unwrap();
    assert_eq!(advice(&plan), ["receipt day,total"], "{plan}");
    for (plan, table) in [
        (shops.explain(Shop::ID.eq(7)).unwrap(), "shop"),
        (shops.explain(Shop::NAME.eq("shop 9")).unwrap(), "shop"),
        (receipts.explain(Receipt::SHOP_ID.eq(7).and(Receipt::DAY.eq(1))).unwrap(), "receipt"),
    ] {
        assert_eq!(access(&plan, table), [PlanAccess::Search], "{plan}");
        assert_eq!(advice(&plan), [""; 0], "{plan}");
    }
    let plan = shops.explain(Query::all()).unwrap();
    assert_eq!((access(&plan, "shop"), advice(&plan)), (vec![PlanAccess::Scan], vec![]), "{plan}");
    let plan = receipts.explain(Query::all().order_by(Receipt::TOTAL.desc()).limit(3)).unwrap();
    assert_eq!(advice(&plan), ["receipt total"], "{plan}");
    // What is advised helps.
    if db.execute("CREATE INDEX shop_city ON shop (city)", ()).is_ok() {
        let plan = shops.explain(Shop::CITY.eq("city 7")).unwrap();
        assert_eq!(access(&plan, "shop"), [PlanAccess::Search], "{plan}");
        db.execute("DROP INDEX shop_city ON shop", ())
            .or_else(|_| db.execute("DROP INDEX shop_city", ()))
            .unwrap();
    }
}

fn check_joins(db: &Db) {
    let sorted = |limit| from::<Receipt>().order_by(Receipt::TOTAL.desc()).limit(limit);
    // Where Bobak sorts, no index helps.
    let sorts_here = db.engine().unwrap().name() == "memory";
    let plan = db.explain_query(&sorted(1)).unwrap();
    let wanted = if sorts_here { vec![] } else { vec!["receipt total"] };
    assert_eq!(advice(&plan), wanted, "{plan}");
    let calculated = from::<Receipt>().order_by((Receipt::TOTAL + 1).asc()).limit(1);
    assert_eq!(advice(&db.explain_query(&calculated).unwrap()), [""; 0]);
    let joined = || Query::<Receipt>::filter(Receipt::DAY.eq(3)).join(Receipt::SHOP);
    let plan = db.explain_query(&joined().select((Receipt::ID, Shop::NAME))).unwrap();
    assert_eq!(advice(&plan), ["receipt day"], "{plan}");
    assert!(!access(&plan, "receipt").is_empty(), "{plan}");
    assert!(!access(&plan, "shop").is_empty(), "{plan}");
    let plan = db.table::<Shop>().unwrap().explain_load::<ShopPage>(Shop::CITY.eq("city 1"), &());
    let plan = plan.unwrap();
    assert_eq!(advice(&plan), ["shop city"], "{plan}");
    assert_eq!(plan.steps.len(), 2, "{plan}");
    let pages = db.table::<Shop>().unwrap().load::<ShopPage>(Shop::ID.eq(1), &()).unwrap();
    assert_eq!(pages[0].receipts.len(), 10);
}

fn check_text(db: &Db, is_memory: bool) {
    let sql = "SELECT r.id FROM receipt AS r JOIN shop s ON s.id = r.shop_id \
               WHERE s.city = ? AND r.total > 5";
    let plan = db.explain(sql, ("city 1",)).unwrap();
    if is_memory {
        // SQLite runs it over the memory engine's tables.
        assert!(plan.to_string().contains("main.shop: where city = ?"), "{plan}");
        return;
    }
    assert!(advice(&plan).contains(&"shop city".to_owned()), "{plan}");
    assert!(!access(&plan, "receipt").is_empty(), "{plan}");
}

fn check(url: &str) {
    let db = open(url);
    if url.starts_with("postgres") {
        db.execute("ANALYZE", ()).unwrap();
    }
    check_queries(&db);
    check_joins(&db);
    check_text(&db, url.starts_with("memory"));
}

#[test]
fn plans_name_tables_and_indexes_that_would_help() {
    on_each(|place| check(&place.url));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn plans_name_tables_and_indexes_that_would_help_on_servers() {
    crate::engines::on_servers(check);
}

#[test]
fn joins_over_engines_have_a_step_for_each_query() {
    let db = Db::builder().record::<Shop>().attach("log", "memory:").record_on::<Visit>("log");
    let db = db.open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let id = db.table().unwrap().insert(&Shop { id: 0, city: "a".into(), name: "b".into() });
    db.table().unwrap().insert(&Visit { id: 0, shop_id: id.unwrap(), day: 3 }).unwrap();
    let query = Query::<Visit>::filter(Visit::DAY.eq(3)).join(Visit::SHOP).select(Shop::NAME);
    let plan = db.explain_query(&query).unwrap();
    assert_eq!(
        plan.to_string(),
        "memory: a query of visit\n  scan visit by id (1 row)\nsqlite: a query of shop\n  \
         SEARCH shop USING INTEGER PRIMARY KEY (rowid=?)\n\
         advice: visit reads every row: an index on day may help\n"
    );
}

#[test]
fn engines_without_plans_say_so() {
    use bobak::engine::{EngineLayer, Session, SessionLayer};

    struct Plain(bobak::engine::memory::Memory);
    struct PlainSession<'e>(Box<dyn Session + 'e>);
    impl EngineLayer for Plain {
        fn inner(&self) -> &dyn bobak::engine::Engine {
            &self.0
        }
        fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
            Ok(Box::new(PlainSession(bobak::engine::Engine::session(&self.0)?)))
        }
    }
    impl SessionLayer for PlainSession<'_> {
        fn inner(&self) -> &(dyn Session + '_) {
            &*self.0
        }
        fn explain(
            &self,
            _: &bobak_core::plan::ExplainedQuery<'_>,
        ) -> bobak::Result<Option<Vec<PlanStep>>> {
            let message = "the engine does not show how it runs queries";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
    let memory = bobak::engine::memory::Memory::builder().open().unwrap();
    let db = Db::builder().record::<Shop>().open_engine(Plain(memory)).unwrap();
    db.create_missing_tables().unwrap();
    let error = db.table::<Shop>().unwrap().explain(Shop::ID.eq(7)).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Unsupported, Some("shop")));
}
