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

// Commit commits the transaction.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.over {
		return misuse("the transaction has ended")
	}
	err := tx.conn.call(ctx, unknown, func() error { return tx.conn.control(wire.Commit, "") })
	if ctx.Err() != nil && err != nil && !tx.conn.broken {
		// The context ended before or during the commit: the transaction may still be open.
		_ = tx.conn.call(context.Background(), transaction, func() error {
			return tx.conn.control(wire.Rollback, "")
		})
	}
	tx.end()
	return err
}

// Rollback undoes the transaction. It does nothing if the transaction has ended.
func (tx *Tx) Rollback() error {
	if tx.over {
		return nil
	}
	defer tx.end()
	if tx.conn.broken {
		return nil
	}
	// If this fails, the connection is broken, and the server rolls back.
	return tx.conn.call(context.Background(), nothing, func() error {
		return tx.conn.control(wire.Rollback, "")
	})
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

func (tx *Tx) end() {
	tx.over = true
	tx.db.pool.give(tx.conn)
}

func (tx *Tx) database() *DB { return tx.db }

func (tx *Tx) run(ctx context.Context, _ bool, operation func(*conn) error) error {
	if tx.over {
		return misuse("the transaction has ended")
	}
	return tx.conn.call(ctx, transaction, func() error { return operation(tx.conn) })
}

func (tx *Tx) exclusive(context.Context) (Session, func(), error) { return tx, func() {}, nil }
func (tx *Tx) cursor(context.Context) (Session, func(), error)    { return tx, func() {}, nil }
