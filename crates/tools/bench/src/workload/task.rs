//! What is done with the rows: one variant for each column of the benchmark's table.

use std::fmt;
use std::str::FromStr;

/// One kind of work. Its name is its column in the report, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// One insert at a time, each as durable as the engine's mode says; the key is returned.
    Direct,
    /// One batch of all rows outside a transaction: it commits each 10,000 rows by itself.
    Batch,
    /// One insert at a time inside one transaction.
    Trans,
    /// One batch inside one transaction.
    BatchTrans,
    /// One get for each key, each key once.
    ByOne,
    /// All rows in the order of the key as typed records, through SQL over a virtual table.
    AllVirtual,
    /// All rows in the order of the key as typed records, straight from the engine.
    AllDirect,
    /// All rows in the order of the key, borrowed: every column touched, nothing allocated.
    AllBorrowed,
    /// A batch that writes every row again.
    Update,
    /// A batch that deletes every row.
    Delete,
    /// A batch of rows with keys, of which the first half already exists.
    Upsert,
    /// As `Direct`, by four threads.
    Direct4,
    /// As `Direct`, by sixteen threads.
    Direct16,
    /// As `Direct`, by sixty-four threads.
    Direct64,
    /// As `ByOne`, by two threads.
    ByOne2,
    /// Flights joined with their airlines and planes, grouped, each table on another engine.
    Join,
    /// Orders with their customers and lines, as nested structs.
    Related,
    /// The lines of all orders with their orders and customers, as rows.
    TypedJoin,
    /// A hundred full-text searches, each for the ten best documents.
    Search,
    /// One get by key at a time, of keys in no order.
    TypedGet,
    /// One assignment to a column of the row with a key at a time, inside one transaction.
    TypedSet,
    /// One update of a whole record at a time, inside one transaction.
    TypedUpdate,
    /// One delete by key at a time, inside one transaction.
    TypedDelete,
    /// One count of the rows with a value in an index at a time.
    TypedCount,
    /// One sum over the rows with a value in an index at a time.
    TypedSum,
    /// The rows with a value in an index, one list at a time.
    TypedFilter,
    /// The rows with a value in an index, joined with the row that they refer to, one list at a time.
    SmallJoin,
    /// As `ByOne`, over sixty-four connections that each wait for their answer.
    ByOneConnections,
    /// As `Direct`, over sixty-four connections that each wait for their answer.
    DirectConnections,
    /// All rows as one text, an object in each line.
    Import,
}

/// A name that is no task's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTaskError(String);

impl Task {
    /// All of them, in the order of the report's columns.
    pub const ALL: [Self; 30] = [
        Self::Direct,
        Self::Batch,
        Self::Trans,
        Self::BatchTrans,
        Self::ByOne,
        Self::AllVirtual,
        Self::AllDirect,
        Self::AllBorrowed,
        Self::Update,
        Self::Delete,
        Self::Upsert,
        Self::Direct4,
        Self::Direct16,
        Self::Direct64,
        Self::ByOne2,
        Self::Join,
        Self::Related,
        Self::TypedJoin,
        Self::Search,
        Self::TypedGet,
        Self::TypedSet,
        Self::TypedUpdate,
        Self::TypedDelete,
        Self::TypedCount,
        Self::TypedSum,
        Self::TypedFilter,
        Self::SmallJoin,
        Self::ByOneConnections,
        Self::DirectConnections,
        Self::Import,
    ];

    /// The name that reports and options use, such as `batch trans`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Batch => "batch",
            Self::Trans => "trans",
            Self::BatchTrans => "batch trans",
            Self::ByOne => "by one",
            Self::AllVirtual => "all virtual",
            Self::AllDirect => "all direct",
            Self::AllBorrowed => "all borrowed",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Upsert => "upsert",
            Self::Direct4 => "direct 4 threads",
            Self::Direct16 => "direct 16 threads",
            Self::Direct64 => "direct 64 threads",
            Self::ByOne2 => "by one 2 threads",
            Self::Join => "join",
            Self::Related => "related",
            Self::TypedJoin => "typed join",
            Self::Search => "search",
            Self::TypedGet => "typed get",
            Self::TypedSet => "typed set",
            Self::TypedUpdate => "typed update",
            Self::TypedDelete => "typed delete",
            Self::TypedCount => "typed count",
            Self::TypedSum => "typed sum",
            Self::TypedFilter => "typed filter",
            Self::SmallJoin => "small join",
            Self::ByOneConnections => "by one 64 connections",
            Self::DirectConnections => "direct 64 connections",
            Self::Import => "ndjson import",
        }
    }

    /// How many threads do it, or connections.
    #[must_use]
    pub const fn threads(self) -> usize {
        match self {
            Self::ByOne2 => 2,
            Self::Direct4 => 4,
            Self::Direct16 => 16,
            Self::Direct64 | Self::ByOneConnections | Self::DirectConnections => 64,
            _ => 1,
        }
    }

    /// The same by one thread; none where it is.
    #[must_use]
    pub const fn with_one_thread(self) -> Option<Self> {
        match self {
            Self::ByOne2 => Some(Self::ByOne),
            Self::Direct4 | Self::Direct16 | Self::Direct64 => Some(Self::Direct),
            _ => None,
        }
    }

    /// Whether rows are inserted one at a time, each committed by itself.
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(
            self,
            Self::Direct
                | Self::Direct4
                | Self::Direct16
                | Self::Direct64
                | Self::DirectConnections
        )
    }

    /// How many of `rows` must be in the table before the clock starts.
    #[must_use]
    pub const fn rows_before(self, rows: usize) -> usize {
        match self {
            Self::Batch | Self::Trans | Self::BatchTrans | Self::Import => 0,
            _ if self.is_direct() => 0,
            Self::Upsert => rows / 2,
            _ => rows,
        }
    }

    /// Whether it is a typed operation with random keys. Those that write count what they have changed.
    #[must_use]
    pub const fn is_typed(self) -> bool {
        matches!(
            self,
            Self::TypedGet
                | Self::TypedSet
                | Self::TypedUpdate
                | Self::TypedDelete
                | Self::TypedCount
                | Self::TypedSum
                | Self::TypedFilter
                | Self::SmallJoin
        )
    }

    /// Whether it leaves persons behind that differ from those that were there before.
    #[must_use]
    pub const fn writes(self) -> bool {
        !self.is_typed()
            && !matches!(
                self,
                Self::ByOne
                    | Self::ByOne2
                    | Self::ByOneConnections
                    | Self::AllVirtual
                    | Self::AllDirect
                    | Self::AllBorrowed
                    | Self::Join
                    | Self::Related
                    | Self::TypedJoin
                    | Self::Search
            )
    }

    /// Reads a comma-separated list of names.
    ///
    /// # Errors
    /// The first name that is no task's.
    pub fn parse_list(names: &str) -> Result<Vec<Self>, ParseTaskError> {
        names.split(',').map(str::parse).collect()
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Task {
    type Err = ParseTaskError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let name = name.trim();
        let found = Self::ALL.into_iter().find(|task| task.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| ParseTaskError(name.to_owned()))
    }
}

impl fmt::Display for ParseTaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Task::ALL.map(Task::name).join(", ");
        write!(f, "no cell is called `{}`; there are: {names}", self.0)
    }
}

impl std::error::Error for ParseTaskError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_task() {
        for task in Task::ALL {
            assert_eq!(task.name().parse(), Ok(task));
        }
        assert_eq!(
            Task::parse_list("Batch Trans, by one"),
            Ok(vec![Task::BatchTrans, Task::ByOne])
        );
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_the_valid_ones() {
        let error = Task::parse_list("direct,indirect").expect_err("there is no such task");
        assert!(error.to_string().starts_with("no cell is called `indirect`; there are: direct,"));
    }
}
