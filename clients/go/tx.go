package bobak

import (
	"context"
	"sync/atomic"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Tx is a transaction. It ends with Commit or Rollback. Calls of several goroutines run one after the other.
type Tx struct {
	db   *DB
	conn *conn
	// over is set when the transaction is about to end, and ended when the server has ended it.
	over, ended atomic.Bool
}

// Commit commits the transaction.
func (tx *Tx) Commit(ctx context.Context) error {
	if !tx.over.CompareAndSwap(false, true) {
		return misuse("the transaction has ended")
	}
	defer tx.end()
	err := tx.conn.call(ctx, unknown, func() error { return tx.last(wire.Commit) })
	if ctx.Err() != nil && err != nil && !tx.conn.broken.Load() {
		// The context ended before or during the commit: the transaction may still be open.
		_ = tx.conn.call(context.Background(), transaction, func() error { return tx.last(wire.Rollback) })
	}
	return err
}

// Rollback undoes the transaction. It does nothing if the transaction has ended.
func (tx *Tx) Rollback() error { return tx.rollback(context.Background()) }

func (tx *Tx) rollback(ctx context.Context) error {
	if !tx.over.CompareAndSwap(false, true) {
		return nil
	}
	defer tx.end()
	if tx.conn.broken.Load() {
		return nil
	}
	err := tx.conn.call(ctx, nothing, func() error { return tx.last(wire.Rollback) })
	if ctx.Err() != nil && err != nil {
		// The server did not answer in time: it rolls back when the connection is closed.
		tx.conn.broken.Store(true)
	}
	return err
}

// Savepoint runs work within a savepoint, and undoes it if work returns an error.
func (tx *Tx) Savepoint(ctx context.Context, name string, work func() error) error {
	step := func(ctx context.Context, step uint8) error {
		return tx.run(ctx, true, func(c *conn) error { return c.control(step, name) })
	}
	if err := step(ctx, wire.Savepoint); err != nil {
		return err
	}
	if err := work(); err != nil {
		if undone := step(context.Background(), wire.RollbackTo); undone == nil {
			_ = step(context.Background(), wire.Release)
		}
		return err
	}
	return step(ctx, wire.Release)
}

// last ends the transaction: a call that waits for its turn is too late.
func (tx *Tx) last(step uint8) error {
	tx.ended.Store(true)
	return tx.conn.control(step, "")
}

func (tx *Tx) end() {
	tx.db.pool.transactions.Add(-1)
	tx.db.pool.give(tx.conn)
}

func (tx *Tx) database() *DB { return tx.db }

func (tx *Tx) run(ctx context.Context, _ bool, operation func(*conn) error) error {
	if tx.over.Load() {
		return misuse("the transaction has ended")
	}
	return tx.conn.call(ctx, transaction, func() error {
		if tx.ended.Load() {
			return misuse("the transaction has ended")
		}
		return operation(tx.conn)
	})
}

func (tx *Tx) exclusive(context.Context) (Session, func(), error) { return tx, func() {}, nil }
func (tx *Tx) cursor(context.Context) (Session, func(), error)    { return tx, func() {}, nil }
