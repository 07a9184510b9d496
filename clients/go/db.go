package bobak

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// DB is a database on a server. Goroutines may share it.
type DB struct {
	pool *pool
	// Engine is the name of the database's engine: sqlite, memory, ….
	Engine string
	// Server is the server's program and version.
	Server string

	mutex sync.Mutex
	known map[string]knownTable
	plans map[reflect.Type]*plan
}

// knownTable is an existing table, and its description as received.
type knownTable struct {
	schema    *wire.Table
	described []byte
}

// Session is a [DB], or a [Tx].
type Session interface {
	// run runs an operation. One that only reads may be repeated on a new connection.
	run(ctx context.Context, writes bool, operation func(*conn) error) error
	// exclusive reserves a connection for several operations; release returns it.
	exclusive(ctx context.Context) (held Session, release func(), err error)
	// cursor is as exclusive, except over pipes, where all share one connection.
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
	c, _, err := db.pool.take(context.Background(), false)
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

// Ping checks that the server responds.
func (db *DB) Ping(ctx context.Context) error {
	return db.run(ctx, false, func(c *conn) error { return c.done(wire.Ping, nil) })
}

// Flush makes everything committed durable, if the engine defers that.
func (db *DB) Flush(ctx context.Context) error {
	return db.run(ctx, false, func(c *conn) error { return c.done(wire.Flush, nil) })
}

// Tables returns the existing tables.
func (db *DB) Tables(ctx context.Context) ([]*TableSchema, error) { return tables(ctx, db) }

// Create creates the missing tables of these structs: db.Create(ctx, Person{}, Flight{}).
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
			return wire.Errorf(Schema, "nil is not a struct")
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

// Track records every change of the table with this name in the table bobak_log_NAME. With history the
// log has an index over the table's key.
func (db *DB) Track(ctx context.Context, name string, history bool) error {
	place := 0
	if history {
		place = 1
	}
	return db.alterKnown(ctx, wire.Track, place, name)
}

// Untrack ends the recording, and drops the log.
func (db *DB) Untrack(ctx context.Context, name string) error {
	return db.alterKnown(ctx, wire.Untrack, 0, name)
}

func (db *DB) alterKnown(ctx context.Context, what uint8, place int, name string) error {
	if _, err := tables(ctx, db); err != nil {
		return err
	}
	known, ok := db.find(name)
	if !ok {
		return &Error{Kind: Schema, Message: "the table does not exist", Table: name}
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
	c, isRested, err := db.pool.take(ctx, true)
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
	db.pool.transactions.Add(1)
	return &Tx{db: db, conn: c}, nil
}

// InTx runs work in a transaction, and commits it if work returns nil; otherwise it rolls back.
func (db *DB) InTx(ctx context.Context, work func(*Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() == nil {
			_ = tx.Rollback()
			return
		}
		// The caller does not want to wait any more.
		limit, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		_ = tx.rollback(limit)
	}()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func (db *DB) database() *DB { return db }

func (db *DB) run(ctx context.Context, writes bool, operation func(*conn) error) error {
	c, isRested, err := db.pool.take(ctx, writes)
	if err != nil {
		return err
	}
	c, err = db.attempt(ctx, c, isRested, writes, operation)
	db.pool.give(c)
	return err
}

// attempt runs an operation. If a pooled connection turns out to be broken, a read is repeated once on a
// new connection. The caller returns the resulting connection to the pool.
func (db *DB) attempt(
	ctx context.Context, c *conn, isRested, writes bool, operation func(*conn) error,
) (*conn, error) {
	lost := nothing
	if writes {
		lost = unknown
	}
	err := c.call(ctx, lost, func() error { return operation(c) })
	if err == nil || !c.broken.Load() || writes || !isRested || !errors.Is(err, Unreachable) {
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
	c, _, err := db.pool.take(ctx, true)
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

// planFor returns the plan of a struct. At the first use it requests the table's schema from the server.
func (db *DB) planFor(ctx context.Context, in Session, t reflect.Type) (*plan, error) {
	db.mutex.Lock()
	p, ok := db.plans[t]
	db.mutex.Unlock()
	if ok {
		return p, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, wire.Errorf(Schema, "%s is not a struct", t)
	}
	name := tableName(t)
	found, ok := db.find(name)
	if !ok {
		if _, err := tables(ctx, in); err != nil {
			return nil, err
		}
		if found, ok = db.find(name); !ok {
			return nil, wire.Errorf(Schema, "the table does not exist: create it with Create").In(name, "")
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

// held is a session with its own connection.
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

// ask sends a request whose response is one frame.
func (c *conn) ask(kind, answer wire.FrameKind, put func(*wire.Writer)) ([]byte, error) {
	id, err := c.put(kind, false, put)
	if err != nil {
		return nil, err
	}
	_, body, err := c.receive(id, answer)
	return body, err
}

// done sends a request whose response is Ok.
func (c *conn) done(kind wire.FrameKind, put func(*wire.Writer)) error {
	_, err := c.ask(kind, wire.Ok, put)
	return err
}

func (c *conn) control(step uint8, name string) error {
	return c.done(wire.Control, func(w *wire.Writer) { wire.PutControl(w, step, name) })
}

// count sends a request whose response is a number of rows.
func (c *conn) count(kind wire.FrameKind, put func(*wire.Writer)) (int64, error) {
	body, err := c.ask(kind, wire.Count, put)
	if err != nil {
		return 0, err
	}
	count, err := wire.ParseCount(body)
	return int64(count), err
}
