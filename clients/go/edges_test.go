package bobak

import (
	"context"
	"math"
	"reflect"
	"testing"
)

type Edge struct {
	ID     int64
	Number *int64
	Money  *Currency
	Text   *string
	Blob   []byte `bobak:",null"`
	Any    any
}

func edges() []Edge {
	edge := func(id, number, money int64, text, blob string) Edge {
		amount := Currency(money)
		return Edge{id, &number, &amount, &text, []byte(blob), number}
	}
	return []Edge{
		edge(1, math.MinInt64, math.MinInt64, "", ""),
		edge(2, math.MaxInt64, math.MaxInt64, "\x00", "\x00"),
		edge(3, 1<<53+1, 1, "a\x00b", "a\x00b\x00"),
		edge(4, -1<<53-1, -1, "\x00\x00", "\x00\xff"),
		edge(5, 0, 0, "é\U0001f9ab", "\xff\xfe"),
		{ID: 6},
	}
}

func TestValuesAtTheEdges(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Edge{})
		table := tableOf[Edge](t, db)
		same := func(found []Edge, err error) {
			t.Helper()
			ok(t, err)
			if !reflect.DeepEqual(found, edges()) {
				t.Fatalf("%+v", found)
			}
		}
		for _, edge := range edges() {
			edge := edge
			ok(t, table.Insert(background, &edge))
		}
		same(table.All(background))
		_, err := table.Where().Delete(background)
		ok(t, err)
		_, err = table.InsertMany(background, edges())
		ok(t, err)
		same(table.All(background))
		same(SQL[Edge](background, db, "SELECT * FROM edge ORDER BY id"))
		for _, edge := range edges()[:5] {
			// In conditions, as arguments, in results.
			for column, value := range map[string]any{
				"number": *edge.Number, "money": *edge.Money, "text": *edge.Text, "blob": edge.Blob,
			} {
				found, err := table.Where(Col(column).Eq(value)).All(background)
				ok(t, err)
				equal(t, len(found), 1)
				equal(t, found[0].ID, edge.ID)
				again, err := SQL[int64](background, db, "SELECT id FROM edge WHERE "+column+" = ?", value)
				ok(t, err)
				equal(t, len(again), 1)
			}
			_, err := table.Set(background, edge.ID, Set("number", nil), Set("money", nil),
				Set("text", nil), Set("blob", nil), Set("any", nil))
			ok(t, err)
			found, err := table.Get(background, edge.ID)
			ok(t, err)
			if !reflect.DeepEqual(*found, Edge{ID: edge.ID}) {
				t.Fatalf("%+v", found)
			}
			edge := edge
			ok(t, table.Update(background, &edge))
		}
		same(table.All(background))
		null, err := SQL[int64](background, db, "SELECT id FROM edge WHERE text IS NULL OR blob IS NULL")
		ok(t, err)
		equal(t, len(null) == 1 && null[0] == 6, true)
	})
}

func TestBytesThatMayNotBeNull(t *testing.T) {
	type Page struct {
		ID   int64
		Body []byte
	}
	db := open(t, stdioURL(t, t.TempDir()), Page{})
	table := tableOf[Page](t, db)
	page := Page{}
	ok(t, table.Insert(background, &page))
	found, err := table.Get(background, page.ID)
	ok(t, err)
	equal(t, found.Body != nil && len(found.Body) == 0, true)
	type Wrong struct {
		ID   int64
		Name string `bobak:",null"`
	}
	equal(t, fails(t, db.Create(background, Wrong{}), Schema).Column, "name")
}

type Single struct {
	ID    int64
	Ratio float64 `bobak:",type=f32"`
}

func TestA32BitColumnTakesTheNearestFloat(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()), Single{})
	table := tableOf[Single](t, db)
	one := Single{Ratio: 0.1}
	ok(t, table.Insert(background, &one))
	found, err := table.Get(background, one.ID)
	ok(t, err)
	if found.Ratio != float64(float32(0.1)) {
		t.Fatalf("%v was read", found.Ratio)
	}
	for _, ratio := range []float64{1e300, 1e-60} {
		fails(t, table.Insert(background, &Single{Ratio: ratio}), OutOfRange)
	}
}

func TestALongBatch(t *testing.T) {
	table := tableOf[Person](t, open(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place, Person{}))
	many := people(100_000)
	for place := range many {
		many[place].ID = int64(place + 1)
	}
	many[50_000].ID = 7
	_, err := table.InsertMany(background, many)
	equal(t, fails(t, err, Duplicate).Row, 50_000)
	count, err := table.Count(background)
	ok(t, err)
	equal(t, count, 0)
	many[50_000].ID = 50_001
	report, err := table.InsertMany(background, many)
	ok(t, err)
	equal(t, report.Inserted, 100_000)
	found, err := table.All(background)
	ok(t, err)
	equal(t, reflect.DeepEqual(found, many), true)
}

func TestAServerKilledDuringARead(t *testing.T) {
	server := serveUnix(t, t.TempDir())
	table := tableOf[Person](t, open(t, "bobak+unix:"+server.place, Person{}))
	_, err := table.InsertMany(background, people(100_000))
	ok(t, err)
	seen := 0
	err = table.Where().Each(background, func(*Person) error {
		if seen++; seen == 1 {
			server.kill()
		}
		return nil
	})
	equal(t, fails(t, err, Unreachable).Retryable(), true)
	equal(t, seen < 100_000, true)
}

func TestAChildKilledDuringABatch(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()), Person{})
	table := tableOf[Person](t, db)
	child := db.pool.rested[0].stream.(*pipes)
	b, err := NewBatch(background, db, BatchOptions{})
	ok(t, err)
	many := people(40_000)
	for place := range many {
		if place == 20_000 {
			ok(t, child.command.Process.Kill())
		}
		if err = table.BatchInsert(b, &many[place]); err != nil {
			break
		}
	}
	if err == nil {
		_, err = b.Finish()
	}
	equal(t, fails(t, err, Unknown).Retryable(), false)
	b.Discard()
	// The next child process finds none of the rows.
	count, err := table.Count(background)
	ok(t, err)
	equal(t, count, 0)
}

func TestACancelledContextEndsEach(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()), Edge{})
	table := tableOf[Edge](t, db)
	_, err := table.InsertMany(background, edges())
	ok(t, err)
	ctx, cancel := context.WithCancel(background)
	seen := 0
	err = table.Where().Each(ctx, func(*Edge) error {
		seen++
		cancel()
		return nil
	})
	fails(t, err, Interrupted)
	equal(t, seen, 1)
	count, err := table.Count(background)
	ok(t, err)
	equal(t, count, 6)
}
