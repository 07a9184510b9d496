//! Related rows in responses, and filters through relations.

use crate::client::TestServer;
use bobak_core::{
    ColumnSchema, Engine, EngineLayer, OnDelete, Result, Row, SchemaChange, Session, SessionLayer,
    Source, TableSchema,
};
use bobak_http::{HttpServer, Settings};
use bobak_memory::Memory;
use bobak_permissions::{Access, new_token};
use bobak_sqlite::Sqlite;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shop: customers with a boss, orders with two customers, lines with products, and tags through a link table.
fn tables() -> Vec<TableSchema> {
    let to = |name: &'static str, table: &'static str| {
        ColumnSchema::of::<Option<i64>>(name).references(table, "id", OnDelete::Restrict)
    };
    let id = || ColumnSchema::of::<i64>("id");
    let customer = TableSchema::builder("customer")
        .column(id())
        .column(ColumnSchema::of::<String>("name").unique())
        .column(ColumnSchema::of::<Option<String>>("city"))
        .column(to("boss_id", "customer"))
        .key(["id"]);
    let orders = TableSchema::builder("orders")
        .column(id())
        .column(to("customer_id", "customer"))
        .column(to("payer_id", "customer"))
        .column(ColumnSchema::of::<i64>("total"))
        .key(["id"]);
    let product = TableSchema::builder("product")
        .column(id())
        .column(ColumnSchema::of::<String>("name"))
        .key(["id"]);
    let line = TableSchema::builder("line")
        .column(id())
        .column(to("order_id", "orders"))
        .column(to("product_id", "product"))
        .column(ColumnSchema::of::<i64>("amount"))
        .key(["id"]);
    let tag = TableSchema::builder("tag").column(ColumnSchema::of::<String>("name")).key(["name"]);
    let tag_name = ColumnSchema::of::<String>("tag");
    let order_tag = TableSchema::builder("order_tag")
        .column(ColumnSchema::of::<i64>("order_id").references("orders", "id", OnDelete::Cascade))
        .column(tag_name.references("tag", "name", OnDelete::Restrict))
        .key(["order_id", "tag"]);
    let invoice = TableSchema::builder("invoice")
        .column(id())
        .column(to("order_id", "orders").unique())
        .key(["id"]);
    let all = [customer, orders, product, line, tag, order_tag, invoice];
    all.map(|table| table.build().unwrap()).into()
}

fn make(engine: impl Engine + 'static) -> Arc<dyn Engine> {
    let create = |table| SchemaChange::CreateTable(Arc::new(table));
    engine.alter(&tables().into_iter().map(create).collect::<Vec<_>>()).unwrap();
    Arc::new(engine)
}

fn fill(server: &TestServer) {
    let rows = [
        ("customer", json!({"id": 1, "name": "Ada", "city": "Bern"})),
        ("customer", json!({"id": 2, "name": "Bob", "city": "Basel", "boss_id": 1})),
        ("customer", json!({"id": 3, "name": "Cy", "boss_id": 1})),
        ("product", json!({"id": 5, "name": "tea"})),
        ("product", json!({"id": 6, "name": "cup"})),
        ("tag", json!({"name": "gift"})),
        ("tag", json!({"name": "urgent"})),
        ("orders", json!({"id": 10, "customer_id": 1, "payer_id": 2, "total": 30})),
        ("orders", json!({"id": 11, "customer_id": 2, "payer_id": 2, "total": 20})),
        ("orders", json!({"id": 12, "total": 10})),
        ("line", json!({"id": 100, "order_id": 10, "product_id": 5, "amount": 1})),
        ("line", json!({"id": 101, "order_id": 10, "product_id": 6, "amount": 3})),
        ("line", json!({"id": 102, "order_id": 10, "product_id": 5, "amount": 2})),
        ("line", json!({"id": 103, "order_id": 11, "product_id": 6, "amount": 4})),
        ("order_tag", json!({"order_id": 10, "tag": "urgent"})),
        ("order_tag", json!({"order_id": 10, "tag": "gift"})),
        ("order_tag", json!({"order_id": 11, "tag": "gift"})),
        ("invoice", json!({"id": 7, "order_id": 11})),
    ];
    for (table, row) in rows {
        server.send("POST", &format!("/tables/{table}/rows"), &row.to_string()).ok(201);
    }
}

fn servers() -> [TestServer; 2] {
    let engines = [make(Sqlite::open_memory().unwrap()), make(Memory::new())];
    engines.map(|engine| {
        let server = TestServer::with(Settings::default(), engine);
        fill(&server);
        server
    })
}

/// A path with its parameters.
fn path(table: &str, parameters: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| {
        format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    };
    let pairs: Vec<String> = parameters.iter().map(pair).collect();
    format!("/tables/{table}/rows?{}", pairs.join("&"))
}

fn rows(server: &TestServer, table: &str, parameters: &[(&str, &str)]) -> Value {
    server.get(&path(table, parameters)).ok(200).json()["rows"].take()
}

#[test]
fn rows_contain_related_rows() {
    for server in servers() {
        let list = rows(
            &server,
            "orders",
            &[
                ("columns", "id"),
                ("expand", "customer.boss,line.product,tag,invoice,payer"),
                ("customer.columns", "name"),
                ("customer.boss.columns", "id,name"),
                ("payer.columns", "name"),
                ("line.columns", "id"),
                ("line.filter", "amount > 1"),
                ("line.order", "-amount"),
                ("line.product.columns", "name"),
                ("tag.order", "-name"),
                ("invoice.columns", "id"),
            ],
        );
        let line = |id: i64, product: &str| json!({"id": id, "product": {"name": product}});
        let expected = json!([
            {
                "id": 10, "customer": {"name": "Ada", "boss": null}, "payer": {"name": "Bob"},
                "line": [line(101, "cup"), line(102, "tea")],
                "tag": [{"name": "urgent"}, {"name": "gift"}], "invoice": null,
            },
            {
                "id": 11, "customer": {"name": "Bob", "boss": {"id": 1, "name": "Ada"}},
                "payer": {"name": "Bob"}, "line": [line(103, "cup")],
                "tag": [{"name": "gift"}], "invoice": {"id": 7},
            },
            {"id": 12, "customer": null, "payer": null, "line": [], "tag": [], "invoice": null},
        ]);
        assert_eq!(list, expected);
    }
}

#[test]
fn limits_and_names_of_relations() {
    for server in servers() {
        // Limits apply to each row; parameters of a relation expand it.
        let limited =
            [("columns", "id"), ("line.limit", "1"), ("line.offset", "1"), ("line.columns", "id")];
        let expected = json!([
            {"id": 10, "line": [{"id": 101}]}, {"id": 11, "line": []}, {"id": 12, "line": []},
        ]);
        assert_eq!(rows(&server, "orders", &limited), expected);
        // A table with two foreign keys to another one has no short name there.
        let both = [
            ("columns", "id"),
            ("limit", "2"),
            ("expand", "orders_by_customer,orders_by_payer,customer"),
            ("orders_by_customer.columns", "id"),
            ("orders_by_payer.columns", "id"),
            ("customer.columns", "id"),
        ];
        let expected = json!([
            {"id": 1, "orders_by_customer": [{"id": 10}], "orders_by_payer": [], "customer": [{"id": 2}, {"id": 3}]},
            {"id": 2, "orders_by_customer": [{"id": 11}], "orders_by_payer": [{"id": 10}, {"id": 11}], "customer": []},
        ]);
        assert_eq!(rows(&server, "customer", &both), expected);
        // Through the link table itself, and back through it from a text key.
        let tags =
            [("expand", "order_tag.order,order_via_order_tag"), ("filter", "name = 'urgent'")];
        let found = rows(&server, "tag", &tags);
        assert_eq!(found[0]["order_via_order_tag"][0]["total"], 30);
        assert_eq!(found[0]["order_tag"][0]["order"]["id"], 10);
        assert_eq!(found[0]["order_tag"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn pages_and_single_rows_contain_related_rows() {
    for server in servers() {
        let page = server
            .get("/tables/orders/rows?expand=line&limit=2&total&columns=total")
            .ok(200)
            .json();
        assert_eq!(
            (&page["more"], &page["next"], &page["total"]),
            (&json!(true), &json!("11"), &json!(3))
        );
        assert_eq!(page["rows"][0]["line"].as_array().unwrap().len(), 3);
        let page = server.get("/tables/orders/rows?expand=line&after=11").ok(200).json();
        assert_eq!((&page["more"], &page["rows"][0]["id"]), (&json!(false), &json!(12)));
        let place =
            "/tables/orders/rows/10?columns=total&line.limit=1&line.columns=amount&expand=customer";
        let row = server.get(place);
        let customer = json!({"id": 1, "name": "Ada", "city": "Bern", "boss_id": null});
        let expected = json!({"total": 30, "customer": customer, "line": [{"amount": 1}]});
        assert_eq!(row.ok(200).json(), expected);
        // Its tag changes with the related rows, and is not that of the row.
        let tag = row.header("etag").to_owned();
        server.ask("GET", place, &[("if-none-match", &tag)], "").ok(304);
        server.send("PATCH", "/tables/line/rows/100", r#"{"amount":9}"#).ok(200);
        server.ask("GET", place, &[("if-none-match", &tag)], "").ok(200);
        assert_ne!(server.get("/tables/orders/rows/10").header("etag"), tag);
        server.get("/tables/orders/rows/99?expand=line").is(404, "NotFound");
    }
}

#[test]
fn filters_go_through_relations() {
    for server in servers() {
        let cases = [
            ("orders", "customer.city = 'Bern'", vec![10]),
            ("orders", "customer.boss.name = 'Ada'", vec![11]),
            ("orders", "line.product.name = 'tea'", vec![10]),
            ("orders", "line.amount > 3", vec![11]),
            ("orders", "line.amount between 2 and 4 and total > 20", vec![10]),
            ("orders", "tag.name in ('gift', 'none')", vec![10, 11]),
            ("orders", "not tag.name = 'urgent'", vec![11, 12]),
            ("orders", "line.id is not null", vec![10, 11]),
            ("orders", "not line.id is not null or customer.city like 'ber%'", vec![10, 12]),
            ("orders", "line.product_id = line.amount", vec![]),
            ("customer", "orders_by_payer.total > 25", vec![2]),
            ("customer", "customer.city is null", vec![1]),
        ];
        for (table, filter, expected) in cases {
            let found = rows(&server, table, &[("filter", filter), ("columns", "id")]);
            let ids: Vec<i64> =
                found.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
            assert_eq!(ids, expected, "{filter}");
            let page = path(table, &[("filter", filter), ("total", "true"), ("limit", "0")]);
            assert_eq!(server.get(&page).ok(200).json()["total"], expected.len(), "{filter}");
            let aggregate = path(table, &[("filter", filter)]).replace("/rows?", "/aggregate?");
            let counted = server.get(&aggregate).ok(200).json();
            assert_eq!(counted["rows"][0]["count"], expected.len(), "{filter}");
            let export = [("filter", filter), ("format", "json"), ("columns", "id")];
            let export = path(table, &export).replace("/rows?", "/export?");
            assert_eq!(server.get(&export).ok(200).json(), found, "{filter}");
        }
    }
}

#[test]
fn filters_of_relations_and_wrong_filters() {
    for server in servers() {
        // In the filter of a relation, too.
        let found = rows(
            &server,
            "customer",
            &[("filter", "id = 2"), ("orders_by_payer.filter", "line.product.name = 'tea'")],
        );
        let payed: Vec<_> =
            found[0]["orders_by_payer"].as_array().unwrap().iter().map(|o| &o["id"]).collect();
        assert_eq!(payed, [10]);
        for filter in ["nothing.name = 1", "customer.nothing = 1", "customer.boss.boss.x.name = 1"]
        {
            server.get(&path("orders", &[("filter", filter)])).is(400, "Schema");
        }
        for filter in [
            "customer.name = name",
            "customer.name = line.id",
            "a.b.c.d = 1 = 2",
            "customer.city = 1",
        ] {
            let reply = server.get(&path("orders", &[("filter", filter)]));
            assert!([400, 422].contains(&reply.status), "{filter}: {reply:?}");
        }
        for resource in ["export", "aggregate", "changes"] {
            let filter = "customer.nothing%20%3d%20'Bern'";
            server.get(&format!("/tables/orders/{resource}?filter={filter}")).is(400, "Schema");
        }
        // A change has no related rows.
        let changes = server.get("/tables/orders/changes?filter=customer.city%20%3d%20'Bern'");
        changes.is(400, "Schema");
    }
}

/// Counts the queries of an engine.
struct Counted {
    inner: Arc<dyn Engine>,
    queries: Arc<AtomicU64>,
}

struct CountedSession<'a> {
    inner: Box<dyn Session + 'a>,
    queries: &'a AtomicU64,
}

impl EngineLayer for Counted {
    fn inner(&self) -> &dyn Engine {
        &*self.inner
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(CountedSession { inner: self.inner.session()?, queries: &self.queries }))
    }
}

impl SessionLayer for CountedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.query(source, row)
    }
}

#[test]
fn the_number_of_queries_does_not_depend_on_the_rows() {
    let engines = [(make(Sqlite::open_memory().unwrap()), 1), (make(Memory::new()), 2)];
    for (inner, filtered) in engines {
        let queries = Arc::new(AtomicU64::new(0));
        let engine = Counted { inner, queries: Arc::clone(&queries) };
        let server = TestServer::with(Settings::default(), Arc::new(engine));
        fill(&server);
        for round in 0..2 {
            let count = |parameters: &[(&str, &str)]| {
                queries.store(0, Ordering::Relaxed);
                rows(&server, "orders", parameters);
                queries.load(Ordering::Relaxed)
            };
            // Orders; customers; lines; products; links and tags.
            assert_eq!(count(&[("expand", "customer,line.product,tag")]), 6, "round {round}");
            assert_eq!(count(&[("filter", "customer.city = 'Bern'")]), filtered, "round {round}");
            let lines: Vec<String> = (200..800)
                .map(|id| json!({"id": id, "order_id": 10 + id % 3, "product_id": 5 + id % 2, "amount": 1}))
                .map(|row| row.to_string())
                .collect();
            if round == 0 {
                let media = [("content-type", "application/x-ndjson")];
                server.ask("POST", "/tables/line/import", &media, &lines.join("\n")).ok(200);
            }
        }
    }
}

#[test]
fn hidden_tables_and_rows_are_absent() {
    for engine in [make(Sqlite::open_memory().unwrap()), make(Memory::new())] {
        let (token, hash) = new_token().unwrap();
        let grants = "read on orders, tag, order_tag\nread on customer where city = 'Bern'\n\
                      read on line where amount < 3\ninsert on invoice";
        let access = format!("role clerk\n{grants}\ntoken ada {hash} roles clerk\n");
        let access = Access::from_text(&access).unwrap();
        let builder = HttpServer::builder().access(access).shared_database("main", engine);
        let mut server = TestServer::of(builder);
        fill(&server);
        server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let list = rows(
            &server,
            "orders",
            &[
                ("columns", "id"),
                ("limit", "2"),
                ("expand", "customer,payer,line,tag"),
                ("customer.columns", "name"),
                ("payer.columns", "name"),
                ("line.columns", "id"),
            ],
        );
        let tags =
            |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        let expected = json!([
            {
                "id": 10, "customer": {"name": "Ada"}, "payer": null,
                "line": [{"id": 100}, {"id": 102}], "tag": tags(&["gift", "urgent"]),
            },
            {"id": 11, "customer": null, "payer": null, "line": [], "tag": tags(&["gift"])},
        ]);
        assert_eq!(list, expected);
        // Hidden rows cannot be found by what they hold.
        for filter in ["customer.name = 'Bob'", "line.amount >= 3", "payer.id is not null"] {
            assert_eq!(rows(&server, "orders", &[("filter", filter)]), json!([]), "{filter}");
        }
        let found = rows(&server, "orders", &[("filter", "line.amount < 3"), ("columns", "id")]);
        assert_eq!(found, json!([{"id": 10}]));
        a_hidden_table_is_as_one_that_does_not_exist(&server);
        // A table that the client may write and not read is known, and not shown.
        server.get("/tables/orders/rows?expand=invoice").is(403, "Denied");
        server.get(&path("orders", &[("filter", "invoice.id = 7")])).is(403, "Denied");
    }
}

/// Its foreign keys are no relations.
fn a_hidden_table_is_as_one_that_does_not_exist(server: &TestServer) {
    let text = |reply: crate::client::Reply, name: &str| {
        reply.is(400, "Schema");
        reply.text.replace(name, "NAME")
    };
    let request = |name: &str, parameter: &str, value: &str| {
        text(server.get(&path("line", &[(parameter, &value.replace("NAME", name))])), name)
    };
    for (parameter, value) in [
        ("expand", "NAME"),
        ("expand", "order.NAME"),
        ("NAME.limit", "1"),
        ("filter", "NAME.name = 'tea'"),
        ("filter", "NAME.nothing = 1"),
        ("order.filter", "NAME.id = 5"),
    ] {
        let [hidden, missing] = ["product", "nothing"].map(|name| {
            let parameter = parameter.replace("NAME", name);
            request(name, &parameter, value)
        });
        assert_eq!(hidden, missing, "{parameter}={value}");
    }
    let document = server.get("/openapi.json").ok(200).text.clone();
    assert!(!document.contains("/tables/product") && !document.contains("\"product\""));
}

#[test]
fn relations_are_limited() {
    let mut settings = Settings::default();
    (settings.expand_depth, settings.expand_relations, settings.expand_rows) = (2, 3, 5);
    for engine in [make(Sqlite::open_memory().unwrap()), make(Memory::new())] {
        let server = TestServer::with(settings.clone(), engine);
        fill(&server);
        let get = |parameters: &[(&str, &str)]| server.get(&path("orders", parameters));
        get(&[("expand", "customer.boss")]).ok(200);
        get(&[("expand", "customer.boss.boss")]).is(400, "Syntax");
        get(&[("expand", "customer,payer,tag,line")]).is(400, "Syntax");
        get(&[("expand", "line")]).ok(200);
        get(&[("expand", "line.product")]).is(413, "OutOfRange");
        get(&[("expand", "line.product"), ("line.filter", "amount > 2")]).ok(200);
        let rejected = get(&[("expand", "nothing")]);
        let detail = rejected.is(400, "Schema").json()["detail"].to_string();
        assert!(detail.contains("its relations: ") && detail.contains("customer"), "{detail}");
        get(&[("expand", "customer.nothing")]).is(400, "Schema");
        get(&[("expand", "customer..boss")]).is(400, "Schema");
        get(&[("customer.nothing", "1")]).is(400, "Syntax");
        get(&[("expand", "customer"), ("customer.filter", "nothing = 1")]).is(400, "Schema");
        get(&[("expand", "customer"), ("customer.limit", "-1")]).is(400, "Syntax");
    }
}

#[test]
fn long_rows_end_a_page_or_are_rejected() {
    // A row contains all customers: short in the database, and long in a response.
    let mut settings = Settings::default();
    settings.max_response = 1_500;
    let server = TestServer::with(settings, make(Memory::new()));
    fill(&server);
    for id in 20..60 {
        let row = json!({"id": id, "name": format!("c{id}"), "boss_id": 2}).to_string();
        server.send("POST", "/tables/customer/rows", &row).ok(201);
    }
    let list = server.get("/tables/customer/rows?expand=customer&order=-id&limit=2").ok(200).json();
    assert_eq!(list["rows"].as_array().unwrap().len(), 2);
    let cut = server.get("/tables/customer/rows?expand=boss.customer&filter=id%3c20").json();
    assert_eq!((&cut["more"], cut["rows"].as_array().unwrap().len()), (&json!(false), 3));
    server.get("/tables/customer/rows/20?expand=boss.customer").is(413, "OutOfRange");
}

#[test]
fn the_document_describes_relations() {
    let server = TestServer::with(Settings::default(), make(Memory::new()));
    fill(&server);
    let document = server.get("/openapi.json").ok(200).json();
    let list = &document["paths"]["/tables/orders/rows"]["get"];
    let parameters = list["parameters"].as_array().unwrap();
    let expand = parameters.iter().find(|parameter| parameter["name"] == "expand").unwrap();
    let names: Vec<&str> = expand["x-relations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|relation| relation["name"].as_str().unwrap())
        .collect();
    for name in
        ["customer", "payer", "line", "line_by_order", "tag", "tag_ref_via_order_tag", "invoice"]
    {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let rows = &document["components"]["schemas"]["orders.expanded"]["properties"];
    assert_eq!(rows["line"]["items"]["$ref"], "#/components/schemas/line.expanded");
    assert_eq!(rows["customer"]["anyOf"][1]["type"], "null");
    let media =
        &document["paths"]["/tables/orders/rows/{key}"]["get"]["responses"]["200"]["content"];
    let row = &media["application/json"]["schema"]["$ref"];
    assert_eq!(row, "#/components/schemas/orders.expanded");
    // Every operation, with every parameter, matches the document.
    crate::openapi_client::call_all(&server);
}
