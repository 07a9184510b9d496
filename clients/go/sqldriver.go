package bobak

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

func init() { sql.Register("bobak", sqlDriver{}) }

// sqlDriver is the driver of database/sql. Each of its connections is one to the server; over
// bobak+stdio each is a child process, so say SetMaxOpenConns(1) there.
type sqlDriver struct{}

type sqlConnector struct{ target *target }

type sqlConn struct {
	conn *conn
	inTx bool
}

type sqlStmt struct {
	conn *sqlConn
	text string
}

type sqlTx struct{ conn *sqlConn }

type sqlRows struct {
	ctx    context.Context
	conn   *sqlConn
	open   cursor
	body   []byte
	rest   []byte
	ended  bool
	closed bool
}

type sqlResult int64

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
	made, err := connect(ctx, c.target)
	if err != nil {
		return nil, err
	}
	return &sqlConn{conn: made}, nil
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
	if !c.conn.usable() {
		return driver.ErrBadConn
	}
	return nil
}

func (c *sqlConn) IsValid() bool { return c.conn.idle() }

func (c *sqlConn) Close() error {
	c.conn.close()
	return nil
}

// CheckNamedValue brings arguments into their stored form: times, UUIDs and amounts too.
func (c *sqlConn) CheckNamedValue(value *driver.NamedValue) (err error) {
	if value.Name != "" {
		return wire.Errorf(Unsupported, "arguments have places, not names: '%s'", value.Name)
	}
	given := value.Value
	if valuer, ok := given.(driver.Valuer); ok {
		if rv := reflect.ValueOf(given); rv.Kind() == reflect.Pointer && rv.IsNil() {
			given = nil
		} else if given, err = valuer.Value(); err != nil {
			return err
		}
	}
	value.Value, err = parameter(given)
	return err
}

func plainValues(values []driver.NamedValue) []any {
	plain := make([]any, len(values))
	for place, value := range values {
		plain[place] = value.Value
	}
	return plain
}

func (c *sqlConn) ExecContext(
	ctx context.Context, text string, values []driver.NamedValue,
) (driver.Result, error) {
	count := int64(0)
	err := c.conn.call(ctx, c.lost(true), func() error {
		source, err := c.conn.sql(text, plainValues(values))
		if err == nil {
			count, err = c.conn.count(wire.Execute, source)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sqlResult(count), nil
}

func (c *sqlConn) QueryContext(
	ctx context.Context, text string, values []driver.NamedValue,
) (driver.Rows, error) {
	rows := &sqlRows{ctx: ctx, conn: c}
	err := c.conn.call(ctx, c.lost(true), func() error {
		source, err := c.conn.sql(text, plainValues(values))
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

// Begin is there for the interface; database/sql calls BeginTx.
func (c *sqlConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c *sqlConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	level := sql.IsolationLevel(options.Isolation)
	if level != sql.LevelDefault && level != sql.LevelSerializable {
		return nil, wire.Errorf(Unsupported, "transactions are as the engine makes them, not %s", level)
	}
	if options.ReadOnly {
		return nil, wire.Errorf(Unsupported, "there are no transactions that only read")
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

// NumInput is not known before the server has seen the text.
func (s *sqlStmt) NumInput() int { return -1 }

func (s *sqlStmt) Close() error { return nil }

// Exec is there for the interface; database/sql calls ExecContext.
func (s *sqlStmt) Exec(values []driver.Value) (driver.Result, error) {
	return s.conn.ExecContext(context.Background(), s.text, named(values))
}

// Query is there for the interface; database/sql calls QueryContext.
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

func (r *sqlRows) Columns() []string {
	names := make([]string, len(r.open.columns))
	for place, column := range r.open.columns {
		names[place] = column.Name
	}
	return names
}

func (r *sqlRows) Next(into []driver.Value) error {
	if len(r.rest) == 0 && !r.ended {
		err := r.conn.conn.call(r.ctx, r.conn.lost(false), func() error {
			found, err := r.conn.conn.fetch(r.open)
			// The connection's own memory is used again by other statements.
			r.body = append(r.body[:0], found...)
			return err
		})
		if err != nil {
			return err
		}
		r.rest, r.ended = r.body, len(r.body) == 0
	}
	if r.ended {
		return io.EOF
	}
	row, rest, err := wire.NextRow(r.rest)
	if err != nil || row.Len() != len(into) {
		return wire.Errorf(Corrupt, "the server sent a row that is none")
	}
	for place := range into {
		into[place] = row.Value(place)
	}
	r.rest = rest
	return nil
}

func (r *sqlRows) Close() error {
	if r.closed || r.conn.conn.broken {
		return nil
	}
	r.closed = true
	c := r.conn.conn
	err := c.call(context.Background(), nothing, func() error { return c.closeCursor(r.open) })
	if errors.Is(err, Unreachable) {
		// The cursor is gone with the connection.
		return nil
	}
	return err
}

// LastInsertId is not told by the server: say RETURNING in the statement, and query it.
func (r sqlResult) LastInsertId() (int64, error) {
	return 0, wire.Errorf(Unsupported, "the last key is not told: say INSERT … RETURNING, and Query")
}

func (r sqlResult) RowsAffected() (int64, error) { return int64(r), nil }
