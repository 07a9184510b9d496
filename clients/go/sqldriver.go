package bobak

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

func init() { sql.Register("bobak", sqlDriver{}) }

// sqlDriver is the driver for database/sql. Each of its connections is a connection to the server. Over
// bobak+stdio each is a child process: call SetMaxOpenConns(1) there.
type sqlDriver struct{}

type sqlConnector struct{ target *target }

type sqlConn struct {
	conn *conn
	inTx bool
	// textTimes is set if times are sent as text, for databases of other programs.
	textTimes bool
	// keys has the generated key column of each table, by the table's name in lower case.
	keys map[string]string
}

type sqlStmt struct {
	conn *sqlConn
	text string
}

type sqlTx struct{ conn *sqlConn }

var (
	_ driver.DriverContext      = sqlDriver{}
	_ driver.Connector          = (*sqlConnector)(nil)
	_ driver.QueryerContext     = (*sqlConn)(nil)
	_ driver.ExecerContext      = (*sqlConn)(nil)
	_ driver.ConnPrepareContext = (*sqlConn)(nil)
	_ driver.ConnBeginTx        = (*sqlConn)(nil)
	_ driver.Pinger             = (*sqlConn)(nil)
	_ driver.SessionResetter    = (*sqlConn)(nil)
	_ driver.Validator          = (*sqlConn)(nil)
	_ driver.NamedValueChecker  = (*sqlConn)(nil)
	_ driver.StmtQueryContext   = (*sqlStmt)(nil)
	_ driver.StmtExecContext    = (*sqlStmt)(nil)

	_ driver.RowsColumnTypeDatabaseTypeName = (*sqlRows)(nil)
	_ driver.RowsColumnTypeScanType         = (*sqlRows)(nil)
)

func (sqlDriver) Open(url string) (driver.Conn, error) {
	connector, err := sqlDriver{}.OpenConnector(url)
	if err != nil {
		return nil, err
	}
	return connector.Connect(context.Background())
}

func (sqlDriver) OpenConnector(url string) (driver.Connector, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return &sqlConnector{t}, nil
}

func (c *sqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := connect(ctx, c.target)
	if err != nil {
		return nil, err
	}
	return &sqlConn{conn: opened, textTimes: c.target.textTimes}, nil
}

func (*sqlConnector) Driver() driver.Driver { return sqlDriver{} }

func (c *sqlConn) lost(writes bool) effect {
	switch {
	case c.inTx:
		return transaction
	case writes:
		return unknown
	}
	return nothing
}

func (c *sqlConn) Ping(ctx context.Context) error {
	return c.conn.call(ctx, nothing, func() error { return c.conn.done(wire.Ping, nil) })
}

func (c *sqlConn) ResetSession(context.Context) error {
	if !c.conn.usable(true) {
		return driver.ErrBadConn
	}
	return nil
}

func (c *sqlConn) IsValid() bool { return c.conn.idle() }

func (c *sqlConn) Close() error {
	c.conn.close()
	return nil
}

// CheckNamedValue converts an argument to its stored form: times, UUIDs and amounts too.
func (c *sqlConn) CheckNamedValue(value *driver.NamedValue) (err error) {
	given := value.Value
	if valuer, ok := given.(driver.Valuer); ok {
		if rv := reflect.ValueOf(given); rv.Kind() == reflect.Pointer && rv.IsNil() {
			given = nil
		} else if given, err = valuer.Value(); err != nil {
			return err
		}
	}
	if c.textTimes {
		given = timeAsText(given)
	}
	value.Value, err = argumentOf(given)
	return err
}

// driverArguments are the arguments that CheckNamedValue has converted.
func driverArguments(values []driver.NamedValue) []argument {
	arguments := make([]argument, len(values))
	for place, value := range values {
		arguments[place], _ = value.Value.(argument)
		arguments[place].name = value.Name
	}
	return arguments
}

func (c *sqlConn) ExecContext(
	ctx context.Context, text string, values []driver.NamedValue,
) (driver.Result, error) {
	text, arguments, err := bind(text, driverArguments(values))
	if err != nil {
		return nil, err
	}
	if result, err := c.insertReturningKey(ctx, text, arguments); result != nil || err != nil {
		return result, err
	}
	count := int64(0)
	err = c.conn.call(ctx, c.lost(true), func() error {
		source, err := c.conn.sql(text, arguments)
		if err == nil {
			count, err = c.conn.count(wire.Execute, source)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &sqlResult{rows: count}, nil
}

func (c *sqlConn) QueryContext(
	ctx context.Context, text string, values []driver.NamedValue,
) (driver.Rows, error) {
	text, arguments, err := bind(text, driverArguments(values))
	if err != nil {
		return nil, err
	}
	return c.query(ctx, text, arguments)
}

func (c *sqlConn) query(ctx context.Context, text string, arguments []wire.Parameter) (*sqlRows, error) {
	rows := &sqlRows{ctx: ctx, conn: c}
	err := c.conn.call(ctx, c.lost(true), func() error {
		source, err := c.conn.sql(text, arguments)
		if err == nil {
			rows.open, err = c.conn.open(source)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (c *sqlConn) Prepare(text string) (driver.Stmt, error) { return &sqlStmt{c, text}, nil }

func (c *sqlConn) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	return &sqlStmt{c, text}, nil
}

// Begin implements driver.Conn; database/sql calls BeginTx.
func (c *sqlConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c *sqlConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	level := sql.IsolationLevel(options.Isolation)
	if level != sql.LevelDefault && level != sql.LevelSerializable {
		return nil, wire.Errorf(Unsupported, "the engine chooses the isolation level: %s can't be requested", level)
	}
	if options.ReadOnly {
		return nil, wire.Errorf(Unsupported, "read-only transactions are not supported")
	}
	err := c.conn.call(ctx, nothing, func() error { return c.conn.control(wire.Begin, "") })
	if err != nil {
		return nil, err
	}
	c.inTx = true
	return &sqlTx{c}, nil
}

func (tx *sqlTx) Commit() error { return tx.end(wire.Commit, unknown) }

func (tx *sqlTx) Rollback() error { return tx.end(wire.Rollback, nothing) }

func (tx *sqlTx) end(step uint8, lost effect) error {
	tx.conn.inTx = false
	c := tx.conn.conn
	return c.call(context.Background(), lost, func() error { return c.control(step, "") })
}

// NumInput returns -1: only the server knows the number of parameters.
func (s *sqlStmt) NumInput() int { return -1 }

func (s *sqlStmt) Close() error { return nil }

// Exec implements driver.Stmt; database/sql calls ExecContext.
func (s *sqlStmt) Exec(values []driver.Value) (driver.Result, error) {
	return s.conn.ExecContext(context.Background(), s.text, named(values))
}

// Query implements driver.Stmt; database/sql calls QueryContext.
func (s *sqlStmt) Query(values []driver.Value) (driver.Rows, error) {
	return s.conn.QueryContext(context.Background(), s.text, named(values))
}

func (s *sqlStmt) ExecContext(
	ctx context.Context, values []driver.NamedValue,
) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.text, values)
}

func (s *sqlStmt) QueryContext(
	ctx context.Context, values []driver.NamedValue,
) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.text, values)
}

func named(values []driver.Value) []driver.NamedValue {
	found := make([]driver.NamedValue, len(values))
	for place, value := range values {
		found[place] = driver.NamedValue{Ordinal: place + 1, Value: value}
	}
	return found
}
