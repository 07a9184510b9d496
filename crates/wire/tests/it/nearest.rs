//! Samples of tables with vectors, and of queries for the nearest rows.

use crate::samples::{Sample, column, sample};
use bobak_core::nearest::{Metric, Nearest};
use bobak_core::{ColumnSchema, Expr, Select, TableSchema, Vector};
use bobak_wire::{RequestSource, ResultForm, encode_request, encode_response};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The number of the table with vectors.
const IMAGE: u32 = 7;

fn image() -> Arc<TableSchema> {
    Arc::new(
        TableSchema::builder("image")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<Vector<3>>>("looks"))
            .key(["id"])
            .build()
            .unwrap(),
    )
}

fn image_json() -> Json {
    json!({
        "name": "image",
        "columns": [
            column("id", "i64", json!({})),
            column("looks", "vector", json!({"nullable": true, "length": 3})),
        ],
        "key": [0],
        "keys_made_by": 0,
        "indexes": [],
    })
}

fn query(name: &'static str, metric: Metric) -> Sample {
    let nearest = Nearest { column: 1, metric, to: [0.5, -1.0, 0.1].as_slice().into() };
    let columns = vec![Expr::Column(0), Expr::Distance];
    let all = Select::all(&image());
    let select = Select { nearest: Some(Box::new(nearest)), columns, limit: Some(10), ..all };
    let source = json!({
        "table": IMAGE, "columns": [{"column": 0}, {"distance": 0}], "condition": null, "group": [],
        "order": [{"column": 0, "descending": false}], "limit": 10, "offset": 0,
        "nearest": {"column": 1, "metric": metric.name(), "to": [0.5, -1.0, 0.1]},
    });
    sample(name, json!({"credit": 0, "columns": false, "source": source}), &|out| {
        let source = RequestSource::Select(IMAGE, &select, &[]);
        encode_request::query(out, 47, 0, ResultForm::default(), source).unwrap();
    })
}

pub fn requests() -> Vec<Sample> {
    let table = json!({"number": IMAGE, "table": image_json()});
    vec![
        sample("define a table with vectors", table, &|out| {
            encode_request::define(out, 46, IMAGE, &image()).unwrap();
        }),
        query("query for the nearest rows by cosine", Metric::Cosine),
        query("query for the nearest rows by dot product", Metric::Dot),
    ]
}

pub fn responses() -> Vec<Sample> {
    let table = TableSchema::clone(&image());
    let message = json!({"tables": [image_json()]});
    vec![sample("schema of a table with vectors", message, &|out| {
        encode_response::schemas(out, 48, std::slice::from_ref(&table)).unwrap();
    })]
}
