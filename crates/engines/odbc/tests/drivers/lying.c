/* An ODBC driver that says more of itself than is true. It passes each call to libsqliteodbc, which it is linked with, except
   those below. What it lies about is chosen at compile time:
   LIE_NAME          the name of the database
   LIE_ARRAYS        it says that it has processed all rows of an array, and executes the first
   LIE_TRANSACTIONS  it says that a transaction has begun, and each statement commits by itself */
#include <dlfcn.h>
#include <string.h>
#include <sql.h>
#include <sqlext.h>

static void *real(const char *name) {
    static void *driver;
    if (!driver) driver = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    return dlsym(driver, name);
}

#ifdef LIE_NAME
SQLRETURN SQLGetInfo(SQLHDBC dbc, SQLUSMALLINT what, SQLPOINTER to, SQLSMALLINT room, SQLSMALLINT *length) {
    if (what != SQL_DBMS_NAME) {
        SQLRETURN (*next)(SQLHDBC, SQLUSMALLINT, SQLPOINTER, SQLSMALLINT, SQLSMALLINT *) = real("SQLGetInfo");
        return next(dbc, what, to, room, length);
    }
    if (length) *length = strlen(LIE_NAME);
    if (to && room > 0) strncpy(to, LIE_NAME, room);
    return SQL_SUCCESS;
}
#endif

#ifdef LIE_ARRAYS
/* One statement at a time is enough for the tests. */
static SQLHSTMT statement;
static SQLULEN rows = 1, *processed;
static SQLUSMALLINT *statuses;

SQLRETURN SQLSetStmtAttr(SQLHSTMT on, SQLINTEGER attribute, SQLPOINTER value, SQLINTEGER length) {
    switch (attribute) {
    case SQL_ATTR_PARAMSET_SIZE: statement = on, rows = (SQLULEN)value; return SQL_SUCCESS;
    case SQL_ATTR_PARAMS_PROCESSED_PTR: processed = value; return SQL_SUCCESS;
    case SQL_ATTR_PARAM_STATUS_PTR: statuses = value; return SQL_SUCCESS;
    }
    SQLRETURN (*next)(SQLHSTMT, SQLINTEGER, SQLPOINTER, SQLINTEGER) = real("SQLSetStmtAttr");
    return next(on, attribute, value, length);
}

SQLRETURN SQLExecute(SQLHSTMT on) {
    SQLRETURN (*next)(SQLHSTMT) = real("SQLExecute");
    SQLRETURN done = next(on);
    if (on == statement && SQL_SUCCEEDED(done)) {
        if (processed) *processed = rows;
        for (SQLULEN at = 0; statuses && at < rows; at++) statuses[at] = SQL_PARAM_SUCCESS;
    }
    return done;
}

SQLRETURN SQLRowCount(SQLHSTMT on, SQLLEN *count) {
    SQLRETURN (*next)(SQLHSTMT, SQLLEN *) = real("SQLRowCount");
    SQLRETURN done = next(on, count);
    if (on == statement && rows > 1) *count = rows;
    return done;
}
#endif

#ifdef LIE_TRANSACTIONS
SQLRETURN SQLSetConnectAttr(SQLHDBC dbc, SQLINTEGER attribute, SQLPOINTER value, SQLINTEGER length) {
    if (attribute == SQL_ATTR_AUTOCOMMIT) return SQL_SUCCESS;
    SQLRETURN (*next)(SQLHDBC, SQLINTEGER, SQLPOINTER, SQLINTEGER) = real("SQLSetConnectAttr");
    return next(dbc, attribute, value, length);
}

SQLRETURN SQLEndTran(SQLSMALLINT type, SQLHANDLE on, SQLSMALLINT how) {
    (void)type, (void)on, (void)how;
    return SQL_SUCCESS;
}
#endif
