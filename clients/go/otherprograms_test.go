package bobak

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

type Crossing struct {
	A int64 `bobak:",key"`
	B int64 `bobak:",key"`
	C *int64
}

// CrossingInOrder is the same table, with the fields in the order of its key.
type CrossingInOrder struct {
	B int64 `bobak:",key"`
	A int64 `bobak:",key"`
	C *int64
}

func (CrossingInOrder) TableName() string { return "crossing" }

func TestAKeyIsInTheOrderOfThePrimaryKey(t *testing.T) {
	folder := t.TempDir()
	db := open(t, stdioURL(t, folder))
	for _, statement := range []string{
		"CREATE TABLE crossing (a INT NOT NULL, b INT NOT NULL, c INT, PRIMARY KEY (b, a))",
		"INSERT INTO crossing VALUES (1, 2, 12), (2, 1, 21)",
	} {
		_, err := Exec(background, db, statement)
		ok(t, err)
	}
	_, err := Of[Crossing](background, db)
	if known := fails(t, err, Schema); !strings.Contains(known.Message, "the key of the table is (b, a)") {
		t.Error(known)
	}
	crossings := tableOf[CrossingInOrder](t, db)
	found, err := crossings.Get(background, 2, 1)
	ok(t, err)
	equal(t, *found.C, 12)
	made := output(t, folder, program(t), "schema", "app.db", "--go")
	if !strings.Contains(made, "\tB int64  `bobak:\"b,key\"`\n\tA int64  `bobak:\"a,key\"`\n") {
		t.Error(made)
	}
}

type Done struct {
	ID   int64
	Done *bool
}

func TestATruthValueIs0Or1(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()))
	for _, statement := range []string{
		"CREATE TABLE done (id INTEGER PRIMARY KEY, done BOOLEAN)",
		"INSERT INTO done VALUES (1, 1), (2, 0), (3, NULL), (4, 5), (5, 'no')",
	} {
		_, err := Exec(background, db, statement)
		ok(t, err)
	}
	dones := tableOf[Done](t, db)
	found, err := dones.Where(Col("id").Lt(4)).All(background)
	ok(t, err)
	equal(t, *found[0].Done, true)
	equal(t, *found[1].Done, false)
	equal(t, found[2].Done == nil, true)
	for key := 4; key <= 5; key++ {
		_, err := dones.Where(Col("id").Ge(key)).All(background)
		known := fails(t, err, Mismatch)
		equal(t, known.Table+"."+known.Column, "done.done")
		row := " (in the row with id 4)"
		if key == 5 {
			row = " (in the row with id 5)"
		}
		if !strings.Contains(known.Message, row) {
			t.Error(known)
		}
	}
}

func TestInfinitiesAreNoTimes(t *testing.T) {
	for _, stored := range []int64{math.MaxInt64, math.MinInt64, lastMicros + 1, leastMicros - 1} {
		_, err := natural(stored, wire.TypeTimestamp)
		fails(t, err, OutOfRange)
	}
	for days, expected := range map[int64]string{-4_371_587: "-9999-01-01", 2_932_896: "9999-12-31"} {
		day, err := natural(days, wire.TypeDate)
		ok(t, err)
		equal(t, day.(time.Time).Format(dateForm), expected)
		_, err = natural(days+days/1_000_000, wire.TypeDate)
		fails(t, err, OutOfRange)
	}
}
