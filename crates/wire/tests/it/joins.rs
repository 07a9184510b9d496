//! Samples of queries over several tables.

use crate::codec::value_json;
use crate::samples::{person, person_json, sample};
use crate::vectors::{hold, vector};
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinFunction,
    JoinLink, JoinOrder, JoinSubquery, JoinTable, JoinWindow, SetOperator, TextTest,
    WindowFunction,
};
use bobak_core::{
    Comparison, Condition, DatePart, DateUnit, Join, Result, SubQuery, TableSchema, Type, Value,
};
use bobak_wire::{
    FrameHeader, HEADER_LENGTH, Handles, Limits, OwnedSource, Request, RequestSource, ResultForm,
    encode_request, encode_response,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

pub fn column(table: usize, column: usize) -> JoinExpr {
    JoinExpr::Column(JoinColumn { table, column })
}

pub fn number(number: i64) -> JoinExpr {
    JoinExpr::Value(Value::Int(number), Type::I64)
}

pub fn first(table: &Arc<TableSchema>) -> JoinTable {
    JoinTable { table: Arc::clone(table), link: None, rows: None }
}

pub fn ascending(expr: JoinExpr) -> JoinOrder {
    JoinOrder { expr, descending: false, nulls_first: true }
}

/// A query of one column of one table.
pub fn plain(table: &Arc<TableSchema>) -> Join {
    let (columns, order) = (vec![column(0, 1)], vec![ascending(column(0, 0))]);
    Join { tables: vec![first(table)], columns, order, ..Join::default() }
}

pub fn encode(out: &mut Vec<u8>, join: &Join, table: &TableSchema) -> Result<()> {
    let tables = [(table.id(), 1)];
    let source = RequestSource::Join(join, &tables);
    encode_request::query(out, 60, 0, ResultForm::default(), source)
}

pub fn decode(bytes: &[u8], table: &Arc<TableSchema>) -> Result<Join> {
    let mut handles = Handles::new(&Limits::default());
    handles.define(1, Ok(Arc::clone(table)));
    let head = FrameHeader::decode(*bytes.first_chunk::<HEADER_LENGTH>().unwrap()).unwrap();
    match Request::decode(head, &bytes[HEADER_LENGTH..], &handles)? {
        Request::Query { source: OwnedSource::Join(join), .. } => Ok(*join),
        other => panic!("{other:?}"),
    }
}

/// Persons and their bosses, in groups.
fn grouped(table: &Arc<TableSchema>) -> Join {
    let link = JoinLink {
        from: JoinColumn { table: 0, column: 6 },
        to: 0,
        more: Vec::new(),
        is_left: true,
        condition: Some(Condition::IsNull { column: 4 }),
    };
    let boss = JoinTable { link: Some(link), ..first(table) };
    let older = Condition::Compare { column: 2, comparison: Comparison::Less, value: 9.into() };
    let product = (column(0, 3), column(1, 2));
    let amount = JoinExpr::Calculation(CalculationOperator::Times, Box::new(product));
    let sum = JoinExpr::Aggregate(JoinAggregate::Sum, Box::new(amount));
    let order = JoinOrder { expr: sum.clone(), descending: true, nulls_first: false };
    Join {
        tables: vec![first(table), boss],
        outer: 0,
        filters: vec![JoinCondition::Row(0, older)],
        columns: vec![column(1, 1), sum.clone()],
        group: vec![column(1, 1)],
        having: vec![JoinCondition::Compare(sum, Comparison::Greater, number(100))],
        qualify: Vec::new(),
        order: vec![order, ascending(column(1, 1))],
        limit: Some(10),
        offset: 3,
    }
}

/// Functions, a CASE and a window function.
fn calculated(table: &Arc<TableSchema>) -> Join {
    let name = || column(0, 1);
    let test = TextTest::Like("50!%%".into(), Some('!'));
    let branches = vec![
        (JoinCondition::Text(name(), test), JoinExpr::Function(JoinFunction::Lower, vec![name()])),
        (JoinCondition::Not(Box::new(JoinCondition::IsNull(column(0, 2), true))), name()),
    ];
    let none = JoinExpr::Value(Value::from("none"), Type::Text);
    let window = JoinWindow {
        function: WindowFunction::Aggregate(JoinAggregate::Avg, Some(7)),
        argument: Some(column(0, 2)),
        partition: vec![column(0, 6)],
        order: vec![ascending(column(0, 0))],
    };
    let window = JoinExpr::Window(Box::new(window));
    let qualify = vec![JoinCondition::Compare(window.clone(), Comparison::LessOrEqual, number(40))];
    let columns = vec![
        JoinExpr::Case(branches, Box::new(none)),
        JoinExpr::Function(JoinFunction::Substring(2, 5), vec![name()]),
        JoinExpr::Function(JoinFunction::Part(DatePart::Year), vec![column(0, 5)]),
        JoinExpr::Function(JoinFunction::StartOf(DateUnit::Month), vec![column(0, 5)]),
        JoinExpr::Function(JoinFunction::Coalesce, vec![column(0, 2), number(0)]),
        window,
    ];
    Join { columns, qualify, ..plain(table) }
}

/// A query inside of one with one table, about the row of that.
fn inside(table: &Arc<TableSchema>, around: &JoinTable) -> Box<JoinSubquery> {
    let mut tables = JoinTable::around(std::slice::from_ref(around));
    tables.push(first(table));
    let same = JoinCondition::Compare(column(1, 6), Comparison::Equal, column(0, 0));
    let columns = vec![column(1, 2)];
    let order = vec![ascending(column(1, 0))];
    let join = Join { tables, outer: 1, filters: vec![same], columns, order, ..Join::default() };
    Box::new(JoinSubquery::of_join(join))
}

/// The rows of two queries, and a query inside of a third.
fn nested(table: &Arc<TableSchema>) -> Join {
    let all = |text: &str| {
        let has = JoinCondition::InQuery(column(0, 2), inside(table, &first(table)));
        let exists = JoinCondition::Exists(inside(table, &first(table)));
        let filters = vec![JoinCondition::AllOf(vec![exists, JoinCondition::AnyOf(vec![has])])];
        let constant = JoinExpr::Value(Value::from(text.to_owned()), Type::Text);
        Join { filters, columns: vec![column(0, 0), constant], ..plain(table) }
    };
    let rows = JoinTable::of_queries(SetOperator::Union, vec![all("a"), all("b")]).unwrap();
    let query = SubQuery { table: Arc::clone(table), column: 0, condition: None, more: Vec::new() };
    let among = Condition::InQuery { column: 0, query: Box::new(query) };
    let columns = vec![column(0, 0), JoinExpr::Query(inside(table, &rows))];
    let order = vec![ascending(column(0, 0)), ascending(column(0, 1))];
    let (tables, filters) = (vec![rows], vec![JoinCondition::Row(0, among)]);
    Join { tables, filters, columns, order, ..Join::default() }
}

/// What a join says, in the words of the protocol's page.
fn join_json(join: &Join) -> Json {
    let own = join.tables.iter().skip(join.outer).map(table_json).collect::<Vec<_>>();
    let list = |exprs: &[JoinExpr]| exprs.iter().map(expr_json).collect::<Vec<_>>();
    let all =
        |conditions: &[JoinCondition]| conditions.iter().map(condition_json).collect::<Vec<_>>();
    json!({
        "tables": own, "filters": all(&join.filters), "columns": list(&join.columns),
        "group": list(&join.group), "having": all(&join.having), "qualify": all(&join.qualify),
        "order": order_json(&join.order), "limit": join.limit, "offset": join.offset,
    })
}

fn table_json(table: &JoinTable) -> Json {
    match (&table.rows, &table.link) {
        (Some(rows), _) => {
            let queries: Vec<_> = rows.queries.iter().map(|query| join_json(&query.join)).collect();
            json!({"rows": format!("{:?}", rows.operator), "queries": queries})
        }
        (None, None) => json!({"table": 1}),
        (None, Some(link)) => json!({
            "table": 1, "from": [link.from.table, link.from.column], "to": link.to,
            "left": link.is_left, "condition": link.condition.as_ref().map(row_json),
        }),
    }
}

fn order_json(order: &[JoinOrder]) -> Vec<Json> {
    let step = |step: &JoinOrder| json!({"expression": expr_json(&step.expr), "descending": step.descending, "nulls_first": step.nulls_first});
    order.iter().map(step).collect()
}

fn row_json(condition: &Condition) -> Json {
    match condition {
        Condition::IsNull { column } => json!({"is_null": column}),
        Condition::Compare { column, comparison, value } => {
            let comparison = comparison_json(*comparison);
            json!({"column": column, "comparison": comparison, "value": value_json(value.as_ref())})
        }
        Condition::InQuery { column, query } => {
            json!({"column": column, "in": {"table": 1, "column": query.column, "condition": null}})
        }
        other => panic!("{other:?}"),
    }
}

const fn comparison_json(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn expr_json(expr: &JoinExpr) -> Json {
    match expr {
        JoinExpr::Column(column) => json!({"column": [column.table, column.column]}),
        JoinExpr::Value(value, ty) => {
            json!({"value": value_json(value.as_ref()), "type": ty.name()})
        }
        JoinExpr::Calculation(operator, parts) => {
            json!({"calculation": format!("{operator:?}"), "parts": [expr_json(&parts.0), expr_json(&parts.1)]})
        }
        JoinExpr::Aggregate(function, argument) => {
            json!({"aggregate": format!("{function:?}"), "of": expr_json(argument)})
        }
        JoinExpr::Function(function, arguments) => {
            let arguments = arguments.iter().map(expr_json).collect::<Vec<_>>();
            json!({"function": format!("{function:?}"), "arguments": arguments})
        }
        JoinExpr::Case(branches, otherwise) => {
            let branch = |(condition, value): &(JoinCondition, JoinExpr)| {
                json!([condition_json(condition), expr_json(value)])
            };
            let branches = branches.iter().map(branch).collect::<Vec<_>>();
            json!({"case": branches, "else": expr_json(otherwise)})
        }
        JoinExpr::Query(query) => json!({"query": join_json(&query.join)}),
        JoinExpr::Window(window) => json!({
            "window": format!("{:?}", window.function),
            "argument": window.argument.as_ref().map(expr_json),
            "partition": window.partition.iter().map(expr_json).collect::<Vec<_>>(),
            "order": order_json(&window.order),
        }),
    }
}

fn condition_json(condition: &JoinCondition) -> Json {
    let all = |parts: &[JoinCondition]| parts.iter().map(condition_json).collect::<Vec<_>>();
    match condition {
        JoinCondition::Row(table, row) => json!({"row": table, "condition": row_json(row)}),
        JoinCondition::Compare(left, comparison, right) => json!({
            "left": expr_json(left), "comparison": comparison_json(*comparison),
            "right": expr_json(right),
        }),
        JoinCondition::IsNull(expr, wanted) => {
            json!({"is_null": wanted, "expression": expr_json(expr)})
        }
        JoinCondition::Text(expr, test) => {
            json!({"text": format!("{test:?}"), "expression": expr_json(expr)})
        }
        JoinCondition::Exists(query) => json!({"exists": join_json(&query.join)}),
        JoinCondition::InQuery(expr, query) => {
            json!({"expression": expr_json(expr), "in": join_json(&query.join)})
        }
        JoinCondition::AnyOf(parts) => json!({"any": all(parts)}),
        JoinCondition::AllOf(parts) => json!({"all": all(parts)}),
        JoinCondition::Not(part) => json!({"not": condition_json(part)}),
    }
}

pub fn samples() -> Vec<(&'static str, Join)> {
    let table = person();
    vec![
        ("query of groups of joined rows", grouped(&table)),
        ("query of calculated values", calculated(&table)),
        ("query of the rows of queries", nested(&table)),
    ]
}

#[test]
fn the_file_of_joins_holds_them() {
    let table = person();
    let define = json!({"number": 1, "table": person_json()});
    let define =
        sample("define", define, &|out| encode_request::define(out, 59, 1, &table).unwrap());
    let mut all = vec![vector("client", &define)];
    for (name, join) in samples() {
        let message = json!({"credit": 0, "columns": false, "source": {"join": join_json(&join)}});
        let mut bytes = Vec::new();
        encode(&mut bytes, &join, join_table(&join)).unwrap();
        let sample = sample(name, message, &|out| out.extend_from_slice(&bytes));
        assert_eq!(decode(&sample.bytes, join_table(&join)).unwrap(), join, "{name}");
        all.push(vector("client", &sample));
    }
    let declined = sample("declined", json!({}), &|out| encode_response::declined(out, 60));
    all.push(vector("server", &declined));
    hold("joins.json", &all);
}

/// The one table of a sample.
pub fn join_table(join: &Join) -> &Arc<TableSchema> {
    let mut found = None;
    join.for_each_table(&mut |table| found = Some(table));
    found.unwrap()
}
