package bobak

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// DB is a database on a server; many goroutines may use it at once.
type DB struct {
	pool *pool
	// Engine is the one that keeps the database: sqlite, memory, ….
	Engine string
	// Server is its program and version.
	Server string

	mutex sync.Mutex
	known map[string]knownTable
	plans map[reflect.Type]*plan
}

// knownTable is a table that is there, and its description as it came.
type knownTable struct {
	schema    *wire.Table
	described []byte
}

// Session is a [DB], or a [Tx].
type Session interface {
	// run runs an operation, which may be called again on a new connection where it only reads.
	run(ctx context.Context, writes bool, operation func(*conn) error) error
	// exclusive lends a connection for several operations; release gives it back.
	exclusive(ctx context.Context) (held Session, release func(), err error)
	// cursor is as exclusive, where that takes no connection away from others.
	cursor(ctx context.Context) (held Session, release func(), err error)
	database() *DB
}

// Open opens a database on a server.
//
// The URL is bobak://HOST:PORT/DATABASE?token=… (or user=…&password=…, and tls=on),
// bobak+unix:/PATH/TO/SOCKET, or bobak+stdio:bobak serve app.db --stdio, which starts the server as
// a child process.
func Open(url string) (*DB, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	db := &DB{pool: newPool(t), known: map[string]knownTable{}, plans: map[reflect.Type]*plan{}}
	c, _, err := db.pool.take(context.Background())
	if err != nil {
		return nil, err
	}
	db.Engine, db.Server = c.welcome.Engine, c.welcome.Server
	db.pool.give(c)
	return db, nil
}

// Close closes the connections; a child process ends.
func (db *DB) Close() error {
	db.pool.close()
	return nil
}

// Ping asks the server for a sign of life.
func (db *DB) Ping(ctx context.Context) error {
	return db.run(ctx, false, func(c *conn) error { return c.done(wire.Ping, nil) })
}

// Flush makes all that was committed durable, where the engine has put that off.
func (db *DB) Flush(ctx context.Context) error {
	return db.run(ctx, false, func(c *conn) error { return c.done(wire.Flush, nil) })
}

// Tables asks for the tables that are there.
func (db *DB) Tables(ctx context.Context) ([]*TableSchema, error) { return tables(ctx, db) }

// Create makes the tables of these structs that are not there: db.Create(ctx, Person{}, Flight{}).
func (db *DB) Create(ctx context.Context, records ...any) error {
	if _, err := tables(ctx, db); err != nil {
		return err
	}
	var missing []*wire.Table
	for _, record := range records {
		t := reflect.TypeOf(record)
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil {
			return wire.Errorf(Schema, "nil is no struct")
		}
		table, err := describe(t)
		if err != nil {
			return err
		}
		if _, ok := db.find(table.Name); !ok {
			missing = append(missing, table)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := db.alter(ctx, wire.CreateTable, 0, missing...); err != nil {
		return err
	}
	_, err := tables(ctx, db)
	return err
}

// Track has the engine write down every change of the table with this name, in the table
// bobak_log_NAME; history says that the log is indexed by the table's key.
func (db *DB) Track(ctx context.Context, name string, history bool) error {
	place := 0
	if history {
		place = 1
	}
	return db.alterKnown(ctx, wire.Track, place, name)
}

// Untrack ends what Track began, and takes the log away.
func (db *DB) Untrack(ctx context.Context, name string) error {
	return db.alterKnown(ctx, wire.Untrack, 0, name)
}

func (db *DB) alterKnown(ctx context.Context, what uint8, place int, name string) error {
	if _, err := tables(ctx, db); err != nil {
		return err
	}
	known, ok := db.find(name)
	if !ok {
		return &Error{Kind: Schema, Message: "the table is not there", Table: name}
	}
	return db.alter(ctx, what, place, known.schema)
}

func (db *DB) alter(ctx context.Context, what uint8, place int, on ...*wire.Table) error {
	return db.run(ctx, true, func(c *conn) error {
		return c.done(wire.Alter, func(w *wire.Writer) {
			w.U16(uint16(len(on)))
			for _, table := range on {
				wire.PutSchemaChange(w, what, place, table)
			}
		})
	})
}

// Begin begins a transaction.
func (db *DB) Begin(ctx context.Context) (*Tx, error) {
	c, isRested, err := db.pool.take(ctx)
	if err != nil {
		return nil, err
	}
	c, err = db.attempt(ctx, c, isRested, false, func(c *conn) error {
		return c.control(wire.Begin, "")
	})
	if err != nil {
		db.pool.give(c)
		return nil, err
	}
	return &Tx{db: db, conn: c}, nil
}

// InTx runs work in a transaction: committed where it gives nil, else undone.
func (db *DB) InTx(ctx context.Context, work func(*Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func (db *DB) database() *DB { return db }

func (db *DB) run(ctx context.Context, writes bool, operation func(*conn) error) error {
	c, isRested, err := db.pool.take(ctx)
	if err != nil {
		return err
	}
	c, err = db.attempt(ctx, c, isRested, writes, operation)
	db.pool.give(c)
	return err
}

// attempt runs an operation; a read once more, on a new connection, where the one that rested in
// the pool had broken there. What it gives is to be given back.
func (db *DB) attempt(
	ctx context.Context, c *conn, isRested, writes bool, operation func(*conn) error,
) (*conn, error) {
	lost := nothing
	if writes {
		lost = unknown
	}
	err := c.call(ctx, lost, func() error { return operation(c) })
	if err == nil || !c.broken || writes || !isRested || !errors.Is(err, Unreachable) {
		return c, err
	}
	fresh, failed := connect(ctx, db.pool.target)
	if failed != nil {
		return c, failed
	}
	c.close()
	return fresh, fresh.call(ctx, lost, func() error { return operation(fresh) })
}

func (db *DB) exclusive(ctx context.Context) (Session, func(), error) {
	c, _, err := db.pool.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &held{db, c, unknown}, func() { db.pool.give(c) }, nil
}

func (db *DB) cursor(ctx context.Context) (Session, func(), error) {
	if db.pool.target.network == "stdio" {
		return db, func() {}, nil
	}
	return db.exclusive(ctx)
}

func (db *DB) find(name string) (knownTable, bool) {
	db.mutex.Lock()
	defer db.mutex.Unlock()
	found, ok := db.known[strings.ToLower(name)]
	return found, ok
}

// planFor gives the plan of a struct; the server is asked for the table at its first use.
func (db *DB) planFor(ctx context.Context, in Session, t reflect.Type) (*plan, error) {
	db.mutex.Lock()
	p, ok := db.plans[t]
	db.mutex.Unlock()
	if ok {
		return p, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, wire.Errorf(Schema, "%s is no struct", t)
	}
	name := tableName(t)
	found, ok := db.find(name)
	if !ok {
		if _, err := tables(ctx, in); err != nil {
			return nil, err
		}
		if found, ok = db.find(name); !ok {
			return nil, wire.Errorf(Schema, "the table is not there: Create makes it").In(name, "")
		}
	}
	p, err := newPlan(t, found.schema, found.described)
	if err != nil {
		return nil, err
	}
	db.mutex.Lock()
	defer db.mutex.Unlock()
	db.plans[t] = p
	return p, nil
}

// held is a session with a connection of its own.
type held struct {
	db   *DB
	conn *conn
	lost effect
}

func (h *held) database() *DB { return h.db }

func (h *held) run(ctx context.Context, writes bool, operation func(*conn) error) error {
	lost := h.lost
	if !writes && lost == unknown {
		lost = nothing
	}
	return h.conn.call(ctx, lost, func() error { return operation(h.conn) })
}

func (h *held) exclusive(context.Context) (Session, func(), error) { return h, func() {}, nil }
func (h *held) cursor(context.Context) (Session, func(), error)    { return h, func() {}, nil }

func tables(ctx context.Context, in Session) ([]*TableSchema, error) {
	var found []*wire.Table
	var described [][]byte
	err := in.run(ctx, false, func(c *conn) error {
		body, err := c.ask(wire.Tables, wire.Schemas, nil)
		if err != nil {
			return err
		}
		found, described, err = wire.ParseSchemas(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	db := in.database()
	db.mutex.Lock()
	defer db.mutex.Unlock()
	db.known, db.plans = map[string]knownTable{}, map[reflect.Type]*plan{}
	for place, table := range found {
		db.known[strings.ToLower(table.Name)] = knownTable{table, described[place]}
	}
	return found, nil
}

// ask makes a request that is answered by one frame.
func (c *conn) ask(kind, answer wire.FrameKind, put func(*wire.Writer)) ([]byte, error) {
	id, err := c.put(kind, false, put)
	if err != nil {
		return nil, err
	}
	_, body, err := c.receive(id, answer)
	return body, err
}

// done makes a request that is answered by Ok.
func (c *conn) done(kind wire.FrameKind, put func(*wire.Writer)) error {
	_, err := c.ask(kind, wire.Ok, put)
	return err
}

func (c *conn) control(step uint8, name string) error {
	return c.done(wire.Control, func(w *wire.Writer) { wire.PutControl(w, step, name) })
}

// count makes a request that is answered by a number of rows.
func (c *conn) count(kind wire.FrameKind, put func(*wire.Writer)) (int64, error) {
	body, err := c.ask(kind, wire.Count, put)
	if err != nil {
		return 0, err
	}
	count, err := wire.ParseCount(body)
	return int64(count), err
}
