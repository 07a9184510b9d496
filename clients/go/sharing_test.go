package bobak

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGoroutinesTakeTurnsInATransaction(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		err := db.InTx(background, func(tx *Tx) error {
			inside := tableOf[Person](t, tx)
			var group sync.WaitGroup
			for number := 0; number < 20; number++ {
				group.Add(1)
				go func() {
					defer group.Done()
					if err := inside.Insert(background, &Person{Name: "Ada"}); err != nil {
						t.Error(err)
					}
				}()
			}
			group.Wait()
			return nil
		})
		ok(t, err)
		count, err := tableOf[Person](t, db).Where().Count(background)
		ok(t, err)
		equal(t, count, 20)
	})
}

func TestACallThatIsLateForItsTransaction(t *testing.T) {
	db := open(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place, Person{})
	table := tableOf[Person](t, db)
	for round := 0; round < 50; round++ {
		tx, err := db.Begin(background)
		ok(t, err)
		inside := table.In(tx)
		var group sync.WaitGroup
		for number := 0; number < 4; number++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for {
					if err := inside.Insert(background, &Person{Name: "Ada"}); err != nil {
						fails(t, err, Misuse)
						return
					}
				}
			}()
		}
		ok(t, tx.Rollback())
		group.Wait()
	}
	count, err := table.Where().Count(background)
	ok(t, err)
	equal(t, count, 0)
}

func TestACallThatWaitsForItself(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()), Person{})
	table := tableOf[Person](t, db)
	err := db.InTx(background, func(tx *Tx) error {
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		return table.Insert(ctx, &Person{Name: "Ada"})
	})
	if known := fails(t, err, Timeout); !strings.Contains(known.Message, "1 of them in transactions, within which tables need In(tx)") {
		t.Fatal(known)
	}
}
