//go:build unix

package bobak

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestACancelledCallDoesNotWaitForTheServer(t *testing.T) {
	s := serveUnix(t, t.TempDir())
	db := open(t, "bobak+unix:"+s.place+"?timeout=0", Person{})
	table := tableOf[Person](t, db)
	many := make([]Person, 200_000)
	calls := []struct {
		kind Kind
		run  func(context.Context) error
	}{
		{Unknown, func(ctx context.Context) error {
			_, err := table.InsertMany(ctx, many)
			return err
		}},
		{Unknown, func(ctx context.Context) error { return table.Insert(ctx, &Person{Name: "Ada"}) }},
		{Interrupted, func(ctx context.Context) error {
			_, err := table.Where().Count(ctx)
			return err
		}},
		{Interrupted, func(ctx context.Context) error {
			return db.InTx(ctx, func(tx *Tx) error {
				_, err := table.In(tx).Where().Count(ctx)
				return err
			})
		}},
	}
	openConnections(t, db, len(calls))
	ok(t, s.command.Process.Signal(syscall.SIGSTOP))
	_, err := syscall.Wait4(s.command.Process.Pid, nil, syscall.WUNTRACED, nil)
	ok(t, err)
	ctx, cancel := context.WithCancel(background)
	time.AfterFunc(100*time.Millisecond, cancel)
	var group sync.WaitGroup
	for number := range calls {
		call := calls[number]
		group.Add(1)
		go func() {
			defer group.Done()
			if err := call.run(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, call.kind) {
				t.Error(err)
			}
		}()
	}
	// Without a timeout nothing else ends them.
	group.Wait()
	ok(t, s.command.Process.Signal(syscall.SIGCONT))
	_, err = table.Where().Count(background)
	ok(t, err)
}

// openConnections makes the pool have so many connections that are not in use.
func openConnections(t *testing.T, db *DB, count int) {
	for number := 0; number < count; number++ {
		_, release, err := db.exclusive(background)
		ok(t, err)
		defer release()
	}
}
