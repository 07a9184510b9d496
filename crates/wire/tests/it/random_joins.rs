//! Queries over several tables: random ones come back, and wrong ones are rejected.

use crate::joins::{ascending, column, decode, encode, first, join_table, number, plain, samples};
use crate::samples::person;
use crate::wrong::{Random, damage};
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinFunction,
    JoinLink, JoinOrder, JoinSubquery, JoinTable, JoinWindow, SetOperator, TextTest,
    WindowFunction,
};
use bobak_core::{
    ColumnPair, Comparison, Condition, DatePart, DateUnit, ErrorKind, Join, SubQuery, TableSchema,
    Type, Value,
};
use bobak_wire::{HEADER_LENGTH, Limits};
use std::sync::Arc;

const CALCULATIONS: [CalculationOperator; 5] = [
    CalculationOperator::Plus,
    CalculationOperator::Minus,
    CalculationOperator::Times,
    CalculationOperator::Divide,
    CalculationOperator::Remainder,
];
const AGGREGATES: [JoinAggregate; 6] = [
    JoinAggregate::Count,
    JoinAggregate::CountDistinct,
    JoinAggregate::Sum,
    JoinAggregate::Min,
    JoinAggregate::Max,
    JoinAggregate::Avg,
];
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];
const OF_ONE: [JoinFunction; 12] = [
    JoinFunction::Lower,
    JoinFunction::Upper,
    JoinFunction::Trim,
    JoinFunction::Length,
    JoinFunction::ToFloat,
    JoinFunction::ToInteger,
    JoinFunction::ToText,
    JoinFunction::Substring(2, 30),
    JoinFunction::Part(DatePart::IsoYear),
    JoinFunction::StartOf(DateUnit::Week),
    JoinFunction::Concat,
    JoinFunction::Coalesce,
];
const OF_DOCUMENT: [JoinFunction; 5] = [
    JoinFunction::JsonText,
    JoinFunction::JsonInteger,
    JoinFunction::JsonFloat,
    JoinFunction::JsonTruth,
    JoinFunction::JsonLength,
];
const SET_OPERATORS: [SetOperator; 4] =
    [SetOperator::UnionAll, SetOperator::Union, SetOperator::Intersect, SetOperator::Except];

/// Makes joins of one table, of which not all have a meaning.
struct JoinMaker {
    random: Random,
    table: Arc<TableSchema>,
}

impl JoinMaker {
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len())]
    }

    fn list<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.random.below(3)).map(|_| make(self)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.random.below(2) == 0).then(|| make(self))
    }

    /// Pairs of columns after the first one, mostly none.
    fn pairs(&mut self, columns: usize) -> Vec<ColumnPair> {
        let count = self.random.below(4).saturating_sub(1);
        let mut pair =
            |_| ColumnPair { from: self.random.below(columns), to: self.random.below(8) };
        (0..count).map(&mut pair).collect()
    }

    fn join(&mut self, around: &[JoinTable], depth: usize) -> Join {
        let mut tables = JoinTable::around(around);
        let rows = depth > 0 && self.random.below(4) == 0;
        tables.push(if rows { self.rows(depth - 1) } else { first(&self.table) });
        for _ in 0..self.random.below(3) {
            let (from, to) = (self.column(&tables[around.len()..]), self.random.below(8));
            let from = JoinColumn { table: from.table + around.len(), ..from };
            let condition = self.maybe(Self::row);
            let columns = tables[from.table].table.columns().len();
            let more = self.pairs(columns);
            let link =
                Some(JoinLink { from, to, more, is_left: self.random.below(2) == 0, condition });
            tables.push(JoinTable { link, ..first(&self.table) });
        }
        let mut columns = self.list(|maker| maker.expr(&tables, depth));
        columns.push(self.expr(&tables, depth));
        Join {
            outer: around.len(),
            filters: self.list(|maker| maker.condition(&tables, depth)),
            columns,
            group: self.list(|maker| maker.expr(&tables, depth)),
            having: self.list(|maker| maker.condition(&tables, depth)),
            qualify: self.list(|maker| maker.condition(&tables, depth)),
            order: self.order(&tables, depth),
            limit: self.maybe(|maker| maker.random.next()),
            offset: self.random.next(),
            tables,
        }
    }

    /// The rows of queries that select columns of the same types.
    fn rows(&mut self, depth: usize) -> JoinTable {
        let count = self.random.below(3) + 1;
        let query = |_| Join { columns: vec![number(7), column(0, 0)], ..self.join(&[], depth) };
        let mut queries: Vec<_> = (0..count).map(query).collect();
        for query in &mut queries {
            query.tables[0] = first(&self.table);
            (query.filters, query.having, query.qualify) = Default::default();
            (query.group, query.order) = (Vec::new(), vec![ascending(column(0, 0))]);
        }
        JoinTable::of_queries(self.pick(&SET_OPERATORS), queries).unwrap()
    }

    fn column(&mut self, tables: &[JoinTable]) -> JoinColumn {
        let table = self.random.below(tables.len());
        JoinColumn { table, column: self.random.below(tables[table].table.columns().len()) }
    }

    fn order(&mut self, tables: &[JoinTable], depth: usize) -> Vec<JoinOrder> {
        self.list(|maker| {
            let (descending, nulls_first) =
                (maker.random.below(2) == 0, maker.random.below(2) == 0);
            JoinOrder { expr: maker.expr(tables, depth), descending, nulls_first }
        })
    }

    fn subquery(&mut self, tables: &[JoinTable], depth: usize) -> Box<JoinSubquery> {
        Box::new(JoinSubquery::of_join(self.join(tables, depth)))
    }

    fn value(&mut self) -> JoinExpr {
        match self.random.below(5) {
            0 => JoinExpr::Value(Value::Null, Type::Text),
            1 => JoinExpr::Value(Value::Int(self.random.next().cast_signed()), Type::Currency),
            2 => JoinExpr::Value(Value::Float(-0.25), Type::F64),
            3 => JoinExpr::Value(Value::from("é\0"), Type::Text),
            _ => JoinExpr::Value(Value::Bytes(vec![0, 255].into()), Type::Vector(9)),
        }
    }

    fn expr(&mut self, tables: &[JoinTable], depth: usize) -> JoinExpr {
        let Some(below) = depth.checked_sub(1) else {
            return JoinExpr::Column(self.column(tables));
        };
        let one = |maker: &mut Self| maker.expr(tables, below);
        match self.random.below(9) {
            0 => self.value(),
            1 => {
                let parts = Box::new((one(self), one(self)));
                JoinExpr::Calculation(self.pick(&CALCULATIONS), parts)
            }
            2 => JoinExpr::Aggregate(self.pick(&AGGREGATES), Box::new(one(self))),
            3 => JoinExpr::Function(self.pick(&OF_ONE), vec![one(self)]),
            4 => {
                let path = JoinExpr::Value(Value::from("$.a[1]"), Type::Text);
                JoinExpr::Function(self.pick(&OF_DOCUMENT), vec![one(self), path])
            }
            5 => JoinExpr::Query(self.subquery(tables, below)),
            6 => {
                let branches = self.list(|maker| (maker.condition(tables, below), one(maker)));
                JoinExpr::Case(branches, Box::new(one(self)))
            }
            7 => JoinExpr::Window(Box::new(self.window(tables, below))),
            _ => JoinExpr::Column(self.column(tables)),
        }
    }

    fn window(&mut self, tables: &[JoinTable], depth: usize) -> JoinWindow {
        let (rows, last) = (self.random.below(9) as u32, self.maybe(|_| 7));
        let function = match self.random.below(8) {
            0 => WindowFunction::RowNumber,
            1 => WindowFunction::Rank,
            2 => WindowFunction::DenseRank,
            3 => WindowFunction::Lag(rows),
            4 => WindowFunction::Lead(rows),
            5 => WindowFunction::First,
            6 => WindowFunction::Last,
            _ => WindowFunction::Aggregate(self.pick(&AGGREGATES), last),
        };
        JoinWindow {
            function,
            argument: self.maybe(|maker| maker.expr(tables, depth)),
            partition: self.list(|maker| maker.expr(tables, depth)),
            order: self.order(tables, depth),
        }
    }

    /// A condition that also the rows of queries can have.
    fn row(&mut self) -> Condition {
        let column = self.random.below(2);
        if self.random.below(4) == 0 {
            let more = vec![ColumnPair { from: 0, to: 0 }; self.random.below(3)];
            let (table, condition) = (Arc::clone(&self.table), self.maybe(Self::row));
            let query = Box::new(SubQuery { table, column: 0, more, condition });
            return Condition::InQuery { column: 0, query };
        }
        Condition::Compare { column, comparison: self.pick(&COMPARISONS), value: Value::Int(5) }
    }

    fn condition(&mut self, tables: &[JoinTable], depth: usize) -> JoinCondition {
        let Some(below) = depth.checked_sub(1) else {
            return JoinCondition::Row(self.random.below(tables.len()), self.row());
        };
        let part = |maker: &mut Self| maker.condition(tables, below);
        match self.random.below(9) {
            0 => {
                let comparison = self.pick(&COMPARISONS);
                let (left, right) = (self.expr(tables, below), self.expr(tables, below));
                JoinCondition::Compare(left, comparison, right)
            }
            1 => JoinCondition::IsNull(self.expr(tables, below), self.random.below(2) == 0),
            2 => JoinCondition::Text(self.expr(tables, below), self.text_test()),
            3 => JoinCondition::Exists(self.subquery(tables, below)),
            4 => JoinCondition::InQuery(self.expr(tables, below), self.subquery(tables, below)),
            5 => JoinCondition::AnyOf(self.list(part)),
            6 => JoinCondition::AllOf(self.list(part)),
            7 => JoinCondition::Not(Box::new(part(self))),
            _ => JoinCondition::Row(self.random.below(tables.len()), self.row()),
        }
    }

    fn text_test(&mut self) -> TextTest {
        match self.random.below(4) {
            0 => TextTest::Like("a%_".into(), self.maybe(|_| 'é')),
            1 => TextTest::Contains("é".into()),
            2 => TextTest::StartsWith(String::new()),
            _ => TextTest::EndsWith("\0".into()),
        }
    }
}

#[test]
fn random_joins_come_back() {
    let (table, mut nested) = (person(), 0);
    let mut maker = JoinMaker { random: Random(77), table: Arc::clone(&table) };
    for _ in 0..600 {
        let depth = maker.random.below(4);
        let join = maker.join(&[], depth);
        let mut bytes = Vec::new();
        match encode(&mut bytes, &join, &table) {
            Ok(()) => assert_eq!(decode(&bytes, &table).unwrap(), join),
            Err(error) => assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}"),
        }
        join.for_each_query(&mut |_| nested += 1);
    }
    assert!(nested > 100, "{nested}");
}

#[test]
fn damaged_joins_do_no_harm() {
    let mut random = Random(3);
    for (_, join) in samples() {
        let (table, mut bytes) = (join_table(&join), Vec::new());
        encode(&mut bytes, &join, table).unwrap();
        let (head, body) = bytes.split_at(HEADER_LENGTH);
        for cut in 0..body.len() {
            assert!(decode(&[head, &body[..cut]].concat(), table).is_err());
        }
        for _ in 0..3_000 {
            let mut body = body.to_vec();
            damage(&mut body, &mut random);
            // The first bytes say what the request is of.
            body.splice(..6.min(body.len()), bytes[HEADER_LENGTH..][..6].iter().copied());
            drop(decode(&[head, &body].concat(), table));
        }
    }
}

/// What a join with something wrong in it is rejected with.
fn error_of(change: impl FnOnce(&mut Join)) -> String {
    let table = person();
    let (mut join, mut bytes) = (plain(&table), Vec::new());
    change(&mut join);
    encode(&mut bytes, &join, &table).unwrap();
    decode(&bytes, &table).unwrap_err().to_string()
}

#[test]
fn wrong_joins_are_rejected() {
    let error = error_of(|join| join.columns.push(column(1, 0)));
    assert_eq!(error, "the table 1 of a query with 1 tables");
    let error = error_of(|join| join.columns.push(column(0, 8)));
    assert!(error.contains("column"), "{error}");
    assert_eq!(error_of(|join| join.columns.clear()), "a query selects nothing");
    let error = error_of(|join| {
        let link = JoinLink {
            from: JoinColumn { table: 1, column: 0 },
            to: 0,
            more: Vec::new(),
            is_left: false,
            condition: None,
        };
        join.tables.push(JoinTable { link: Some(link), ..first(&person()) });
        join.tables[1].table = Arc::clone(&join.tables[0].table);
    });
    assert_eq!(error, "the table 1 of a query with 1 tables");
    let error = error_of(|join| {
        let function = JoinFunction::Distance;
        join.columns.push(JoinExpr::Function(function, vec![column(0, 0)]));
    });
    assert_eq!(error, "1 value was given for 4 arguments");
    let error = error_of(|join| {
        let path = JoinExpr::Value(Value::from("$.'x"), Type::Text);
        join.columns.push(JoinExpr::Function(JoinFunction::JsonText, vec![column(0, 1), path]));
    });
    assert!(error.contains("path"), "{error}");
}

/// As deep as it may be: each EXISTS is two levels, and the columns in the innermost one are one more.
#[test]
fn the_deepest_join_comes_back() {
    fn exists(table: &Arc<TableSchema>, around: &[JoinTable], levels: u32) -> Join {
        let mut tables = JoinTable::around(around);
        tables.push(first(table));
        let inner = levels.checked_sub(2).filter(|levels| *levels > 1);
        let inner =
            inner.map(|levels| Box::new(JoinSubquery::of_join(exists(table, &tables, levels))));
        let filters = inner.map(JoinCondition::Exists).into_iter().collect();
        let columns = vec![column(around.len(), 0)];
        Join { outer: around.len(), tables, filters, columns, ..Join::default() }
    }
    let (table, mut bytes) = (person(), Vec::new());
    let join = exists(&table, &[], Limits::JOIN_DEPTH);
    encode(&mut bytes, &join, &table).unwrap();
    assert_eq!(decode(&bytes, &table).unwrap(), join);
}

/// Both ends reject what is nested too deeply, or has too many queries or tables.
#[test]
fn joins_have_limits() {
    let table = person();
    let rejected = |join: &Join, words: &str| {
        let error = encode(&mut Vec::new(), join, &table).unwrap_err();
        assert!(
            error.kind() == ErrorKind::OutOfRange && error.to_string().contains(words),
            "{error}"
        );
    };
    let mut deep = plain(&table);
    let mut condition = JoinCondition::AllOf(Vec::new());
    for _ in 0..Limits::JOIN_DEPTH {
        condition = JoinCondition::Not(Box::new(condition));
    }
    deep.filters.push(condition);
    rejected(&deep, "deeper than 100 levels");

    let inner = || {
        let tables = vec![first(&table), first(&table)];
        let join = Join { tables, outer: 1, columns: vec![column(1, 0)], ..Join::default() };
        JoinExpr::Query(Box::new(JoinSubquery::of_join(join)))
    };
    let mut many = plain(&table);
    many.columns = (0..Limits::JOIN_QUERIES).map(|_| inner()).collect();
    rejected(&many, "more than 256 queries");

    let mut long = plain(&table);
    long.columns = vec![number(7); Limits::JOIN_PARTS as usize];
    rejected(&long, "more than 50000 parts");

    let mut wide = plain(&table);
    let link = JoinLink {
        from: JoinColumn { table: 0, column: 0 },
        to: 0,
        more: Vec::new(),
        is_left: false,
        condition: None,
    };
    let linked = || JoinTable { link: Some(link.clone()), ..first(&table) };
    wide.tables.extend((0..Limits::JOIN_TABLES).map(|_| linked()));
    rejected(&wide, "65 tables");

    // A decoder reads no further: 300 times "not", and no end.
    let mut bytes = Vec::new();
    encode(&mut bytes, &plain(&table), &table).unwrap();
    // After the head, the credit, the form, the kind of source, the kind of rows, the table, and the count of others.
    bytes.truncate(HEADER_LENGTH + 4 + 1 + 1 + 1 + 4 + 2);
    bytes.extend(300_u32.to_le_bytes());
    bytes.extend([8; 5_000]);
    let error = decode(&bytes, &table).unwrap_err();
    assert!(error.to_string().contains("deeper"), "{error}");
}
