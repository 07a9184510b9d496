//! Samples of values in parts, and of plans.

use crate::samples::{Sample, sample};
use bobak_core::plan::{PlanAccess, PlanStep, QueryPlan};
use bobak_core::{Parameter, TableSchema, Value, ValueAddress, ValueRange};
use bobak_wire::{RequestSource, encode_request, encode_response, plan_rows};
use serde_json::json;
use std::sync::Arc;

/// The number of the table with a column of bytes: the person's photo.
const PERSON: u32 = 1;
const PHOTO: usize = 4;

fn value<'a>(table: &'a Arc<TableSchema>, key: &'a [Value<'a>]) -> ValueAddress<'a> {
    ValueAddress { table, key, column: PHOTO }
}

pub fn requests() -> Vec<Sample> {
    let (person, key) = (crate::samples::person(), [Value::Int(7)]);
    let value = value(&person, &key);
    let part = |name, more, hex: &str, bytes: &'static [u8]| {
        let message = json!({
            "table": PERSON, "column": PHOTO, "key": [7], "length": 5, "bytes": {"hex": hex},
        });
        sample(name, message, &|out| {
            encode_request::write_value(out, 62, more, PERSON, &value, (5, bytes)).unwrap();
        })
    };
    let sql = "select name from pérson where age = ?";
    let source = json!({"sql": sql, "parameters": [3], "types": ["any"]});
    vec![
        sample(
            "read a part of a value",
            json!({"table": PERSON, "column": PHOTO, "key": [7], "first": 5_000_000_000_u64, "most": 65_536}),
            &|out| {
                let range = ValueRange { offset: 5_000_000_000, limit: 65_536 };
                encode_request::read_part(out, 61, PERSON, &value, range).unwrap();
            },
        ),
        part("write the first part of a value", true, "000102", &[0, 1, 2]),
        part("write the last part of a value", false, "fffe", &[255, 254]),
        sample("explain SQL", json!({"source": source}), &|out| {
            let parameters = [Parameter::from(3)];
            encode_request::explain(out, 63, RequestSource::Text(sql, &parameters)).unwrap();
        }),
    ]
}

pub fn responses() -> Vec<Sample> {
    let mut step = PlanStep::of_table("SCAN p", "p", PlanAccess::Scan);
    step.rows = Some(7);
    let mut sort = PlanStep::new("SORT");
    sort.steps = vec![step];
    let steps = [sort];
    let mut plan = QueryPlan::of_steps(steps.to_vec());
    plan.steps[0].steps[0].table = Some("pérson".to_owned());
    let message = json!({"rows": [
        [0, "SORT", null, null, null, null, null],
        [1, "SCAN p", "pérson", "p", 0, null, 7],
    ]});
    let part = json!({"rows": [[5_000_000_003_u64, {"hex": "ff00"}, 3]]});
    vec![
        sample("plan", message, &|out| {
            let rows = plan_rows(&steps, &plan).unwrap();
            encode_response::rows(out, 63, false, rows.as_bytes()).unwrap();
        }),
        sample("part of a value", part, &|out| {
            let row = [Value::Int(5_000_000_003), Value::from(vec![255_u8, 0]), Value::Int(3)];
            encode_response::row(out, 61, Some(&row.as_slice())).unwrap();
        }),
    ]
}
