//! Samples of searched tables, and of queries that search.

use crate::samples::{Sample, column, sample};
use bobak_core::search::{SearchLanguage, SearchQuery};
use bobak_core::{ColumnSchema, Expr, RowLock, Select, TableSchema};
use bobak_wire::{RequestSource, ResultForm, encode_request, encode_response};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The number of the searched table.
const ARTICLE: u32 = 6;

fn article() -> Arc<TableSchema> {
    Arc::new(
        TableSchema::builder("article")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<String>>("body"))
            .column(ColumnSchema::of::<String>("title"))
            .key(["id"])
            .search(["title", "body"], SearchLanguage::German)
            .build()
            .unwrap(),
    )
}

fn article_json() -> Json {
    json!({
        "name": "article",
        "columns": [
            column("id", "i64", json!({})),
            column("body", "text", json!({"nullable": true})),
            column("title", "text", json!({})),
        ],
        "key": [0],
        "keys_made_by": 0,
        "indexes": [],
        "search": {"columns": [2, 1], "language": "german"},
    })
}

fn query(name: &'static str, columns: Vec<Expr>, ranked: bool, lock: Option<RowLock>) -> Sample {
    let text = "(fuchs OR \"fauler hund\" OR spring*) NOT wolf";
    let searched = Arc::new(SearchQuery::parse(text).unwrap());
    let all = Select { columns: columns.clone(), limit: Some(10), lock, ..Select::all(&article()) };
    let select = all.searching(searched, ranked).unwrap();
    let columns = columns.iter().map(|expr| match expr {
        Expr::Rank => json!({"rank": 0}),
        _ => json!({"column": 0}),
    });
    let mut source = json!({
        "table": ARTICLE, "columns": columns.collect::<Vec<_>>(), "condition": null, "group": [],
        "order": [{"column": 0, "descending": false}], "limit": 10, "offset": 0,
        "search": {"text": text, "ranked": ranked},
    });
    if lock.is_some() {
        source["lock"] = json!("skip_locked");
    }
    sample(name, json!({"credit": 0, "columns": false, "source": source}), &|out| {
        let source = RequestSource::Select(ARTICLE, &select, &[]);
        encode_request::query(out, 44, 0, ResultForm::default(), source).unwrap();
    })
}

pub fn requests() -> Vec<Sample> {
    let locked = Some(RowLock::SkipLocked);
    vec![
        sample(
            "define a searched table",
            json!({"number": ARTICLE, "table": article_json()}),
            &|out| encode_request::define(out, 43, ARTICLE, &article()).unwrap(),
        ),
        query("query that searches", vec![Expr::Column(0), Expr::Rank], true, None),
        query("query that searches and locks rows", vec![Expr::Column(0)], false, locked),
    ]
}

pub fn responses() -> Vec<Sample> {
    let table = TableSchema::clone(&article());
    let message = json!({"tables": [article_json()]});
    vec![sample("schema of a searched table", message, &|out| {
        encode_response::schemas(out, 45, std::slice::from_ref(&table)).unwrap();
    })]
}
