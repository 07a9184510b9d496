//! A statement: its parameters, its result, and the lists of tables that drivers give.

use super::{Buffer, BufferForm, Channel, OdbcError, Result, WHOLE, succeeded, wide};
use odbc_sys::{
    FreeStmtOption, HStmt, Handle, HandleType, Lock, NO_TOTAL, NULL_DATA, Nullability, Operation,
    ParamType, Pointer, SqlDataType, SqlReturn, StatementAttribute,
};
use std::ptr::null;
use std::sync::Arc;

/// A statement. It is used by one thread at a time, as its connection is.
pub(crate) struct OdbcStatement {
    handle: HStmt,
    _link: Arc<Channel>,
    parameters: Vec<Buffer>,
    /// The types of the prepared text's parameters, once somebody has asked the driver, which may ask the database.
    parameter_types: Option<Arc<[Option<SqlDataType>]>>,
    /// The status of each row of an array.
    statuses: Vec<u16>,
    /// How many rows of an array the driver has processed.
    processed: Box<usize>,
    columns: Vec<Buffer>,
    /// How many rows the last fetch has read.
    fetched: Box<usize>,
}

// SAFETY: as of its connection.
unsafe impl Send for OdbcStatement {}

/// Cancels a statement, from any thread, while the statement exists.
#[derive(Clone, Copy)]
pub(crate) struct OdbcCanceller(HStmt);

// SAFETY: `SQLCancel` is there to be called by another thread.
unsafe impl Send for OdbcCanceller {}

impl OdbcCanceller {
    pub(crate) fn cancel(self) {
        // SAFETY: the caller has it only as long as the statement runs.
        let _ = unsafe { odbc_sys::SQLCancel(self.0) };
    }
}

/// A column of a result.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDescription {
    pub name: String,
    pub ty: SqlDataType,
    /// Characters, bytes or digits; 0 if the driver does not know.
    pub size: usize,
}

/// A list that drivers give.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CatalogList<'a> {
    Tables,
    Views,
    Columns,
    /// The key of a table.
    Key(&'a str),
    /// The foreign keys of a table.
    ForeignKeys(&'a str),
    /// The indexes of a table.
    Indexes(&'a str),
}

impl CatalogList<'_> {
    /// The function that gives it.
    const fn function(self) -> &'static str {
        match self {
            Self::Tables | Self::Views => "SQLTables",
            Self::Columns => "SQLColumns",
            Self::Key(_) => "SQLPrimaryKeys",
            Self::ForeignKeys(_) => "SQLForeignKeys",
            Self::Indexes(_) => "SQLStatistics",
        }
    }
}

/// `SQL_PARAM_ERROR` and `SQL_PARAM_UNUSED`: a row that failed, one that was not tried.
const FAILED: [u16; 2] = [5, 7];

/// The number of a parameter or of a column: they are counted from 1.
fn number(at: usize) -> u16 {
    u16::try_from(at + 1).unwrap_or(u16::MAX)
}

unsafe extern "system" {
    fn SQLStatisticsW(
        statement: HStmt,
        catalog: *const u16,
        catalog_length: i16,
        schema: *const u16,
        schema_length: i16,
        table: *const u16,
        table_length: i16,
        unique: u16,
        reserved: u16,
    ) -> SqlReturn;
}

impl OdbcStatement {
    pub(crate) fn new(link: &Arc<Channel>) -> Result<Self> {
        let mut handle = Handle::null();
        // SAFETY: the connection lives as long as the statement, which shares it.
        let done =
            unsafe { odbc_sys::SQLAllocHandle(HandleType::Stmt, link.handle(), &mut handle) };
        link.check(done)?;
        Ok(Self {
            handle: handle.as_hstmt(),
            _link: Arc::clone(link),
            parameters: Vec::new(),
            parameter_types: None,
            statuses: Vec::new(),
            processed: Box::new(0),
            columns: Vec::new(),
            fetched: Box::new(0),
        })
    }

    fn check(&self, done: SqlReturn) -> Result<()> {
        OdbcError::check(done, HandleType::Stmt, Handle(self.handle.0))
    }

    /// Sets an attribute: an integer, or the address of something that this statement owns.
    fn set(&self, attribute: StatementAttribute, value: Pointer) -> Result<()> {
        // SAFETY: what the address points to lives as long as the statement; see the callers.
        let done = unsafe { odbc_sys::SQLSetStmtAttrW(self.handle, attribute, value, 0) };
        self.check(done)
    }

    fn set_number(&self, attribute: StatementAttribute, value: usize) -> Result<()> {
        self.set(attribute, std::ptr::without_provenance_mut(value))
    }

    /// Ends statements that run longer than so many seconds. Drivers may ignore it.
    pub(crate) fn set_timeout(&self, seconds: usize) {
        let _ = self.set_number(StatementAttribute::QueryTimeout, seconds);
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> Result<()> {
        let text = wide(sql);
        self.parameter_types = None;
        // SAFETY: the text ends with a NUL.
        let done = unsafe { odbc_sys::SQLPrepareW(self.handle, text.as_ptr(), WHOLE.into()) };
        self.check(done)
    }

    /// Runs a text without parameters.
    pub(crate) fn run(&mut self, sql: &str) -> Result<()> {
        let text = wide(sql);
        // SAFETY: the text ends with a NUL, and no parameter is bound.
        let done = unsafe { odbc_sys::SQLExecDirectW(self.handle, text.as_ptr(), WHOLE.into()) };
        self.check(done)
    }

    /// Runs the prepared text once for each row of the parameters.
    ///
    /// After an error, some rows may have been written.
    pub(crate) fn execute(&mut self, parameters: Vec<Buffer>, rows: usize) -> Result<()> {
        // SAFETY: frees nothing but the driver's addresses of buffers.
        let _ = unsafe { odbc_sys::SQLFreeStmt(self.handle, FreeStmtOption::ResetParams) };
        self.parameters = parameters;
        for (at, buffer) in self.parameters.iter_mut().enumerate() {
            let number = number(at);
            let (ty, size) = buffer.sql_type();
            // SAFETY: the buffer is this statement's, and its cells stay where they are: their vectors do not grow.
            let done = unsafe {
                odbc_sys::SQLBindParameter(
                    self.handle,
                    number,
                    ParamType::Input,
                    buffer.c_type(),
                    ty,
                    size,
                    0,
                    buffer.start(),
                    isize::try_from(buffer.width()).unwrap_or(isize::MAX),
                    buffer.lengths.as_mut_ptr(),
                )
            };
            OdbcError::check(done, HandleType::Stmt, Handle(self.handle.0))?;
        }
        let is_array = rows > 1;
        if is_array || !self.statuses.is_empty() {
            self.statuses = vec![0; rows];
            *self.processed = 0;
            self.set_number(StatementAttribute::ParamsetSize, rows)?;
            let statuses = self.statuses.as_mut_ptr().cast();
            self.set(StatementAttribute::ParamStatusPtr, statuses)?;
            let processed = (&raw mut *self.processed).cast();
            self.set(StatementAttribute::ParamsProcessedPtr, processed)?;
        }
        // SAFETY: what is bound is this statement's.
        let done = unsafe { odbc_sys::SQLExecute(self.handle) };
        if done == SqlReturn::NEED_DATA {
            return Err(OdbcError::new("the ODBC driver asks for data that it has"));
        }
        self.check(done)?;
        if is_array && self.statuses.iter().any(|status| FAILED.contains(status)) {
            return Err(OdbcError::of(HandleType::Stmt, Handle(self.handle.0)));
        }
        Ok(())
    }

    /// How many rows of the last array the driver has processed.
    pub(crate) fn processed(&self) -> usize {
        *self.processed
    }

    /// The types of the parameters as the database expects them; `None` for one that the driver does not know.
    pub(crate) fn parameter_types(&mut self) -> Result<Arc<[Option<SqlDataType>]>> {
        if let Some(types) = &self.parameter_types {
            return Ok(Arc::clone(types));
        }
        let types = (1..=self.parameter_count()?).map(|number| self.parameter_type(number));
        let types: Arc<[_]> = types.collect();
        self.parameter_types = Some(Arc::clone(&types));
        Ok(types)
    }

    fn parameter_type(&self, number: u16) -> Option<SqlDataType> {
        let (mut ty, mut size, mut digits) = (SqlDataType::UNKNOWN_TYPE, 0, 0);
        let mut nullable = Nullability::UNKNOWN;
        // SAFETY: the results outlive the call.
        let done = unsafe {
            odbc_sys::SQLDescribeParam(
                self.handle,
                number,
                &mut ty,
                &mut size,
                &mut digits,
                &mut nullable,
            )
        };
        succeeded(done).then_some(ty)
    }

    /// How many parameters the prepared text has.
    fn parameter_count(&self) -> Result<u16> {
        let mut count = 0_i16;
        // SAFETY: the result outlives the call.
        let done = unsafe { odbc_sys::SQLNumParams(self.handle, &mut count) };
        self.check(done)?;
        Ok(u16::try_from(count).unwrap_or(0))
    }

    /// How many rows the last call has written; 0 if the driver does not know.
    pub(crate) fn row_count(&self) -> u64 {
        let mut count = 0_isize;
        // SAFETY: the result outlives the call.
        let done = unsafe { odbc_sys::SQLRowCount(self.handle, &mut count) };
        if succeeded(done) { u64::try_from(count).unwrap_or(0) } else { 0 }
    }

    /// The columns of the result; none if there is no result.
    pub(crate) fn describe(&self) -> Result<Vec<ColumnDescription>> {
        let mut count = 0_i16;
        // SAFETY: the result outlives the call.
        let done = unsafe { odbc_sys::SQLNumResultCols(self.handle, &mut count) };
        self.check(done)?;
        (1..=u16::try_from(count).unwrap_or(0)).map(|number| self.describe_column(number)).collect()
    }

    fn describe_column(&self, number: u16) -> Result<ColumnDescription> {
        let (mut name, mut length) = ([0_u16; 512], 0_i16);
        let (mut ty, mut size, mut decimals) = (SqlDataType::UNKNOWN_TYPE, 0, 0_i16);
        let mut nullable = Nullability::UNKNOWN;
        // SAFETY: the buffer is as long as is said, and the results outlive the call.
        let done = unsafe {
            odbc_sys::SQLDescribeColW(
                self.handle,
                number,
                name.as_mut_ptr(),
                511,
                &mut length,
                &mut ty,
                &mut size,
                &mut decimals,
                &mut nullable,
            )
        };
        self.check(done)?;
        let end = name.iter().position(|unit| *unit == 0).unwrap_or(name.len());
        let name = String::from_utf16_lossy(name.get(..end).unwrap_or_default());
        Ok(ColumnDescription { name, ty, size })
    }

    /// Binds the buffers, which have so many rows each, to the columns of the result.
    pub(crate) fn bind(&mut self, columns: Vec<Buffer>, rows: usize) -> Result<()> {
        self.columns = columns;
        self.set_number(StatementAttribute::RowBindType, 0)?;
        self.set_number(StatementAttribute::RowArraySize, rows)?;
        let fetched = (&raw mut *self.fetched).cast();
        self.set(StatementAttribute::RowsFetchedPtr, fetched)?;
        for (at, buffer) in self.columns.iter_mut().enumerate() {
            let number = number(at);
            // SAFETY: the buffer is this statement's, and its cells stay where they are.
            let done = unsafe {
                odbc_sys::SQLBindCol(
                    self.handle,
                    number,
                    buffer.c_type(),
                    buffer.start(),
                    isize::try_from(buffer.width()).unwrap_or(isize::MAX),
                    buffer.lengths.as_mut_ptr(),
                )
            };
            OdbcError::check(done, HandleType::Stmt, Handle(self.handle.0))?;
        }
        Ok(())
    }

    /// Reads the next rows into the bound buffers; returns how many, 0 after the last.
    pub(crate) fn fetch(&mut self) -> Result<usize> {
        *self.fetched = 0;
        // SAFETY: what is bound is this statement's.
        let done = unsafe { odbc_sys::SQLFetch(self.handle) };
        if done == SqlReturn::NO_DATA {
            return Ok(0);
        }
        self.check(done)?;
        // A driver that does not set it has read one.
        Ok((*self.fetched).max(1))
    }

    /// The values of a column that the last fetch has read.
    pub(crate) fn column(&self, column: usize) -> Option<&Buffer> {
        self.columns.get(column)
    }

    /// A value in full, read in parts; `None` for NULL. `block_row` is its row in a block of several.
    pub(crate) fn whole_value(
        &self,
        column: usize,
        form: BufferForm,
        block_row: Option<usize>,
    ) -> Result<Option<Vec<u8>>> {
        if let Some(row) = block_row {
            // SAFETY: the row is one of those that the last fetch has read.
            let done = unsafe {
                odbc_sys::SQLSetPos(
                    self.handle,
                    (row + 1) as _,
                    Operation::POSITION,
                    Lock::NO_CHANGE,
                )
            };
            self.check(done)?;
        }
        let mut value = Vec::new();
        let mut part = vec![form.blank(); 8 << 10];
        loop {
            let (mut length, size) = (0_isize, part.len() * 8);
            // SAFETY: the buffer is as long as is said.
            let done = unsafe {
                odbc_sys::SQLGetData(
                    self.handle,
                    number(column),
                    form.c_type(),
                    part.as_mut_ptr().cast(),
                    isize::try_from(size).unwrap_or(isize::MAX),
                    &mut length,
                )
            };
            if done == SqlReturn::NO_DATA {
                return Ok(Some(value));
            }
            self.check(done)?;
            if length == NULL_DATA && !form.is_zero_date(&part) {
                return Ok(None);
            }
            // A part of a text ends with a NUL.
            let room = size - form.terminator();
            let total = usize::try_from(length).ok().filter(|_| length != NO_TOTAL);
            let whole = form.fixed().or(total);
            let bytes = whole.map_or(room, |whole| whole.min(room));
            let words = part.iter().flat_map(|word| word.to_ne_bytes());
            value.extend(words.take(bytes));
            if whole.is_some_and(|whole| whole <= room) {
                return Ok(Some(value));
            }
        }
    }

    /// Closes the result, so that the statement can be run again.
    pub(crate) fn close(&mut self) {
        // SAFETY: frees nothing but the driver's addresses of buffers.
        unsafe {
            let _ = odbc_sys::SQLFreeStmt(self.handle, FreeStmtOption::Close);
            let _ = odbc_sys::SQLFreeStmt(self.handle, FreeStmtOption::Unbind);
        }
        self.columns.clear();
    }

    pub(crate) const fn canceller(&self) -> OdbcCanceller {
        OdbcCanceller(self.handle)
    }

    /// Requests a list from the driver.
    pub(crate) fn list(&mut self, list: CatalogList<'_>) -> Result<()> {
        let table = match list {
            CatalogList::Tables | CatalogList::Views | CatalogList::Columns => Vec::new(),
            CatalogList::Key(table)
            | CatalogList::ForeignKeys(table)
            | CatalogList::Indexes(table) => wide(table),
        };
        let kind = wide(if matches!(list, CatalogList::Views) { "VIEW" } else { "TABLE" });
        let (handle, name, any) = (self.handle, table.as_ptr(), null());
        use odbc_sys::{SQLColumnsW, SQLForeignKeysW, SQLPrimaryKeysW, SQLTablesW};
        // SAFETY: the texts end with a NUL; what is null is not given. The last: all indexes, with the numbers at hand.
        let done = unsafe {
            match list {
                CatalogList::Tables | CatalogList::Views => {
                    SQLTablesW(handle, any, 0, any, 0, any, 0, kind.as_ptr(), WHOLE)
                }
                CatalogList::Columns => SQLColumnsW(handle, any, 0, any, 0, any, 0, any, 0),
                CatalogList::Key(_) => SQLPrimaryKeysW(handle, any, 0, any, 0, name, WHOLE),
                CatalogList::ForeignKeys(_) => {
                    SQLForeignKeysW(handle, any, 0, any, 0, any, 0, any, 0, any, 0, name, WHOLE)
                }
                CatalogList::Indexes(_) => {
                    SQLStatisticsW(handle, any, 0, any, 0, name, WHOLE, 1, 0)
                }
            }
        };
        self.check(done).map_err(|mut error| {
            // The driver manager does not say which.
            if error.diagnostic.state == "IM001" {
                error.diagnostic.message = format!("the ODBC driver has no {}", list.function());
            }
            error
        })
    }
}

impl Drop for OdbcStatement {
    fn drop(&mut self) {
        // SAFETY: the connection is still there, since the statement shares it.
        let _ = unsafe { odbc_sys::SQLFreeHandle(HandleType::Stmt, Handle(self.handle.0)) };
    }
}

impl std::fmt::Debug for OdbcStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OdbcStatement")
            .field("columns", &self.columns.len())
            .finish_non_exhaustive()
    }
}
