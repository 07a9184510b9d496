package bobak

import (
	"fmt"
	"testing"
	"time"
)

// sample is the record type of `bobak bench`.
type sample struct {
	ID         int64
	FirstName  string `bobak:",max=40"`
	LastName   string `bobak:",max=40"`
	Amount     Currency
	BirthDate  time.Time `bobak:",type=datetime"`
	LastChange time.Time `bobak:",modified_at"`
	CreatedAt  time.Time `bobak:",created_at"`
}

func samples(count int) []sample {
	found := make([]sample, count)
	for n := range found {
		found[n] = sample{
			FirstName: fmt.Sprintf("Namé %d", n+1), LastName: fmt.Sprint(n + 1),
			Amount:    Currency(100 * (n + 1)),
			BirthDate: time.Date(1900, 1, 1+n%40_000, 0, 0, 0, 0, time.UTC),
		}
	}
	return found
}

// BenchmarkRows runs the workloads of `bobak bench` on a memory database over a Unix socket.
func BenchmarkRows(b *testing.B) {
	folder := b.TempDir()
	server := serve(b, folder, "sqlite::memory:", "--unix", folder+"/socket")
	db := open(b, "bobak+unix:"+server.place, sample{})
	table := tableOf[sample](b, db)
	work := func(name string, run func(rows []sample) error) {
		b.Run(name, func(b *testing.B) {
			rows := samples(b.N)
			b.ResetTimer()
			begun := time.Now()
			ok(b, run(rows))
			b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "rows/s")
		})
	}
	work("direct", func(rows []sample) error {
		for place := range rows {
			ok(b, table.Insert(background, &rows[place]))
		}
		return nil
	})
	work("batch trans", func(rows []sample) error {
		_, err := table.InsertMany(background, rows)
		return err
	})
	work("by one", func(rows []sample) error {
		for place := range rows {
			_, err := table.Get(background, 1+place%100)
			ok(b, err)
		}
		return nil
	})
	work("all direct", func(rows []sample) error {
		for left := len(rows); left > 0; {
			found, err := table.Where().Limit(uint64(left)).All(background)
			ok(b, err)
			left -= len(found)
		}
		return nil
	})
}
