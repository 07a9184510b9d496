//! SQL functions written in Rust.

use crate::error::translate;
use crate::ffi::{
    Arguments, Connection, ConstraintOperator, Gather, IndexInfo, MakeAggregate, Module, Output,
    PlanCost, RunningStatement, Scalar, VirtualCursor, VirtualTable,
};
use bobak_core::{Error, ErrorKind, Result, Value, ValueRef};
use bobak_sql::{Dialect, quote};
use std::sync::Arc;

/// A function for SQL: of a row's values, over the rows of a group, or one that gives rows.
///
/// A panic in it ends the statement with an error, and nothing else.
///
/// ```
/// use bobak_core::{Engine, Source, Value, ValueRef};
/// use bobak_sqlite::{Function, Sqlite};
///
/// let double = Function::scalar("double", Some(1), |arguments| match arguments {
///     [ValueRef::Int(number)] => Ok(Value::Int(number * 2)),
///     _ => Ok(Value::Null),
/// });
/// let count_to = Function::table("count_to", ["n"], ["i"], |arguments| {
///     let end = match arguments { [ValueRef::Int(end)] => *end, _ => 0 };
///     Ok(Box::new((1..=end).map(|i| Ok(vec![Value::Int(i)]))))
/// });
/// let engine = Sqlite::builder().function(double).function(count_to).open_memory()?;
/// let text = "SELECT sum(double(i)) FROM count_to(4)";
/// engine.session()?.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
///     assert_eq!(row.get(0), ValueRef::Int(20));
///     Ok(true)
/// })?;
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Function {
    name: String,
    arguments: Option<usize>,
    kind: FunctionKind,
}

#[derive(Clone)]
enum FunctionKind {
    Scalar(Scalar),
    Aggregate(MakeAggregate),
    Table(Arc<TableDefinition>),
}

/// The state of an aggregate function; [`Function::aggregate`] creates one for each group.
pub trait Aggregate: Send + 'static {
    /// Adds the arguments of a row.
    /// | # Errors
    /// Any: the statement fails with it.
    fn step(&mut self, arguments: &[ValueRef<'_>]) -> Result<()>;

    /// Returns the result, also for a group without rows.
    /// | # Errors
    /// Any: the statement fails with it.
    fn finish(self) -> Result<Value<'static>>;
}

/// The rows of a table function.
pub type FunctionRows = Box<dyn Iterator<Item = Result<Vec<Value<'static>>>> + Send>;

type Give = dyn Fn(&[ValueRef<'_>]) -> Result<FunctionRows> + Send + Sync;

struct TableDefinition {
    parameters: Vec<String>,
    columns: Vec<String>,
    give: Box<Give>,
}

impl Function {
    /// A function of each row's values, with this number of arguments; `None` for any number.
    pub fn scalar(
        name: impl Into<String>,
        arguments: Option<usize>,
        function: impl Fn(&[ValueRef<'_>]) -> Result<Value<'static>> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), arguments, kind: FunctionKind::Scalar(Arc::new(function)) }
    }

    /// A function of the rows of a group. `make` creates the state for each group.
    pub fn aggregate<A: Aggregate>(
        name: impl Into<String>,
        arguments: Option<usize>,
        make: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self {
        let make: MakeAggregate = Arc::new(move || Box::new(GatheredAggregate(make())));
        Self { name: name.into(), arguments, kind: FunctionKind::Aggregate(make) }
    }

    /// A function that returns rows with these columns: `FROM name(…)`. Omitted arguments are
    /// NULL.
    pub fn table<P: Into<String>, C: Into<String>>(
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = P>,
        columns: impl IntoIterator<Item = C>,
        give: impl Fn(&[ValueRef<'_>]) -> Result<FunctionRows> + Send + Sync + 'static,
    ) -> Self {
        let rows = TableDefinition {
            parameters: parameters.into_iter().map(Into::into).collect(),
            columns: columns.into_iter().map(Into::into).collect(),
            give: Box::new(give),
        };
        Self { name: name.into(), arguments: None, kind: FunctionKind::Table(Arc::new(rows)) }
    }

    /// The name in SQL.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Registers the function on a connection.
    pub(crate) fn register(&self, db: &mut Connection) -> Result<()> {
        let count = self.arguments.map_or(-1, |count| i32::try_from(count).unwrap_or(i32::MAX));
        let registered = match &self.kind {
            FunctionKind::Scalar(function) => {
                db.register_scalar(&self.name, count, Arc::clone(function))
            }
            FunctionKind::Aggregate(make) => {
                db.register_aggregate(&self.name, count, Arc::clone(make))
            }
            FunctionKind::Table(rows) => {
                db.register_module(&self.name, TableFunction(Arc::clone(rows)))
            }
        };
        registered.map_err(|failure| translate(failure, None))
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

struct GatheredAggregate<A>(A);

impl<A: Aggregate> Gather for GatheredAggregate<A> {
    fn step(&mut self, arguments: &[ValueRef<'_>]) -> Result<()> {
        self.0.step(arguments)
    }

    fn finish(self: Box<Self>) -> Result<Value<'static>> {
        self.0.finish()
    }
}

/// A table function as a virtual table; its parameters are hidden columns.
struct TableFunction(Arc<TableDefinition>);

struct FunctionTable(Arc<TableDefinition>);

struct FunctionCursor {
    rows: Arc<TableDefinition>,
    left: Option<FunctionRows>,
    row: Option<Vec<Value<'static>>>,
    arguments: Vec<Value<'static>>,
    number: i64,
}

impl Module for TableFunction {
    type Table = FunctionTable;

    const WRITABLE: bool = false;
    const EPONYMOUS: bool = true;

    fn connect(&self, _: &str, _: &[String]) -> Result<(FunctionTable, String)> {
        let name = |name: &String| quote(Dialect::Sqlite, name);
        let parameters = self.0.parameters.iter().map(|p| format!("{} HIDDEN", name(p)));
        let columns: Vec<_> = self.0.columns.iter().map(name).chain(parameters).collect();
        let declaration = format!("CREATE TABLE x ({})", columns.join(", "));
        Ok((FunctionTable(Arc::clone(&self.0)), declaration))
    }
}

impl VirtualTable for FunctionTable {
    type Cursor = FunctionCursor;

    fn best_index(&self, info: &mut IndexInfo<'_>) -> Result<bool> {
        let mut plan: Vec<String> = Vec::new();
        for (number, constraint) in info.constraints().into_iter().enumerate() {
            let parameter = constraint.column.and_then(|c| c.checked_sub(self.0.columns.len()));
            let Some(parameter) = parameter else { continue };
            if constraint.operator != ConstraintOperator::Equal {
                continue;
            }
            if !constraint.usable {
                return Ok(false);
            }
            info.use_constraint(number, plan.len(), true);
            plan.push(parameter.to_string());
        }
        let cost = PlanCost { cost: 100.0, rows: 100, unique: false };
        Ok(info.set_plan(0, &plan.join(","), cost))
    }

    fn open(&self) -> Result<FunctionCursor> {
        let (rows, arguments) = (Arc::clone(&self.0), Vec::new());
        Ok(FunctionCursor { rows, left: None, row: None, arguments, number: 0 })
    }
}

impl VirtualCursor for FunctionCursor {
    fn filter(
        &mut self,
        plan: &str,
        arguments: Arguments<'_>,
        _: RunningStatement<'_>,
    ) -> Result<()> {
        self.arguments = vec![Value::Null; self.rows.parameters.len()];
        for (place, parameter) in plan.split(',').filter(|p| !p.is_empty()).enumerate() {
            let parameter = parameter.parse().unwrap_or(usize::MAX);
            if let Some(argument) = self.arguments.get_mut(parameter) {
                *argument = arguments.get(place).to_owned();
            }
        }
        let lent: Vec<ValueRef<'_>> = self.arguments.iter().map(Value::as_ref).collect();
        self.left = Some((self.rows.give)(&lent)?);
        self.number = 0;
        self.next()
    }

    fn next(&mut self) -> Result<()> {
        self.number += 1;
        self.row = self.left.as_mut().and_then(Iterator::next).transpose()?;
        match &self.row {
            Some(row) if row.len() != self.rows.columns.len() => {
                let (given, wanted) = (row.len(), self.rows.columns.len());
                Err(Error::wrong_number(ErrorKind::Mismatch, given, wanted, "column"))
            }
            _ => Ok(()),
        }
    }

    fn is_at_end(&self) -> bool {
        self.row.is_none()
    }

    fn column(&self, place: usize, output: &mut Output<'_>) {
        let count = self.rows.columns.len();
        let value = match place.checked_sub(count) {
            Some(parameter) => self.arguments.get(parameter),
            None => self.row.as_ref().and_then(|row| row.get(place)),
        };
        output.set(value.map_or(ValueRef::Null, Value::as_ref).into());
    }

    fn rowid(&self) -> i64 {
        self.number
    }
}
