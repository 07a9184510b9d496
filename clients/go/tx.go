package bobak

import (
	"context"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Tx is a transaction, for one goroutine at a time. It ends with Commit or Rollback.
type Tx struct {
	db   *DB
	conn *conn
	over bool
}

// Commit makes all of it durable.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.over {
		return misuse("the transaction is over")
	}
	err := tx.conn.call(ctx, unknown, func() error { return tx.conn.control(wire.Commit, "") })
	if ctx.Err() != nil && err != nil && !tx.conn.broken {
		// Given up before, or while, it was asked for: it may still be open.
		_ = tx.conn.call(context.Background(), transaction, func() error {
			return tx.conn.control(wire.Rollback, "")
		})
	}
	tx.end()
	return err
}

// Rollback undoes all of it; nothing where it is over.
func (tx *Tx) Rollback() error {
	if tx.over {
		return nil
	}
	defer tx.end()
	if tx.conn.broken {
		return nil
	}
	// Where that fails the connection is gone, and the server rolls back.
	return tx.conn.call(context.Background(), nothing, func() error {
		return tx.conn.control(wire.Rollback, "")
	})
}

// Savepoint runs work under a mark: where it gives an error, what was done in it is undone.
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

func (tx *Tx) end() {
	tx.over = true
	tx.db.pool.give(tx.conn)
}

func (tx *Tx) database() *DB { return tx.db }

func (tx *Tx) run(ctx context.Context, _ bool, operation func(*conn) error) error {
	if tx.over {
		return misuse("the transaction is over")
	}
	return tx.conn.call(ctx, transaction, func() error { return operation(tx.conn) })
}

func (tx *Tx) exclusive(context.Context) (Session, func(), error) { return tx, func() {}, nil }
func (tx *Tx) cursor(context.Context) (Session, func(), error)    { return tx, func() {}, nil }
