package bobak

import (
	"database/sql"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

func TestValuesOfResultsOfTheVectors(t *testing.T) {
	var vectors []struct {
		Value, Read        any
		Type, Field, Error string
	}
	vectorsOf(t, "results.json", &vectors)
	for _, one := range vectors {
		column, _ := wire.TypeNamed(one.Type)
		field, _ := wire.TypeNamed(one.Field)
		read, err := convert(vectorValue(one.Value), column, field)
		if one.Error != "" {
			if known := (*Error)(nil); !errors.As(err, &known) || known.Kind.String() != one.Error {
				t.Errorf("%v: %v %v", one, read, err)
			}
		} else if err != nil || !reflect.DeepEqual(read, vectorValue(one.Read)) {
			t.Errorf("%v: %v %v", one, read, err)
		}
	}
}

type paid struct {
	ID     int64
	Amount Currency
	Day    time.Time `bobak:",type=date"`
	Local  time.Time `bobak:",type=datetime"`
	Open   bool
	Weight float64
	Note   string `bobak:",type=json"`
}

var paidDay = time.Date(2024, 7, 1, 0, 30, 0, 0, time.FixedZone("", 2*3600))

func openPaid(t *testing.T) (*DB, *Table[paid], string) {
	url := "bobak+unix:" + serveUnix(t, t.TempDir()).place
	db := open(t, url, paid{})
	table := tableOf[paid](t, db)
	for _, amount := range []Currency{2_5000, 2_0000} {
		row := paid{Amount: amount, Day: paidDay, Local: paidDay, Open: true, Note: `{"x":1}`}
		ok(t, table.Insert(background, &row))
	}
	return db, table, url
}

func readsAs[T any](t *testing.T, db *DB, expression string, expected T) {
	t.Helper()
	found, err := SQL[T](background, db, "SELECT "+expression+" FROM paid WHERE amount = 2")
	ok(t, err)
	if !reflect.DeepEqual(found[0], expected) {
		t.Fatalf("%s: expected %v, found %v", expression, expected, found[0])
	}
}

func rejects[T any](t *testing.T, db *DB, expression string, kind Kind) {
	t.Helper()
	_, err := SQL[T](background, db, "SELECT "+expression+" AS x FROM paid WHERE amount = 2.5")
	equal(t, fails(t, err, kind).Column, "x")
}

func TestResultsAreConvertedToTheTypeOfTheField(t *testing.T) {
	db, _, _ := openPaid(t)
	day := time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)
	readsAs(t, db, "amount", Currency(2_0000))
	readsAs(t, db, "amount * 2", Currency(4_0000))
	readsAs(t, db, "amount", int64(2))
	readsAs(t, db, "amount", 2.0)
	readsAs[any](t, db, "amount", Currency(2_0000))
	readsAs(t, db, "5", Currency(5_0000))
	readsAs(t, db, "5", 5.0)
	readsAs(t, db, "coalesce(sum(weight), 0)", 0.0)
	readsAs(t, db, "count(*)", uint8(1))
	readsAs(t, db, "id > 1", true)
	readsAs[any](t, db, "open", true)
	readsAs(t, db, "day", day)
	readsAs(t, db, "note", `{"x":1}`)

	rejects[int64](t, db, "amount", OutOfRange)
	rejects[float64](t, db, "9007199254740993", OutOfRange)
	rejects[string](t, db, "amount", Mismatch)
	rejects[Currency](t, db, "count(*)", Mismatch)
	rejects[Currency](t, db, "day", Mismatch)
	rejects[int64](t, db, "day", Mismatch)
	rejects[time.Time](t, db, "5", Mismatch)

	type total struct {
		Total *Currency
		Count float64
		Any   any
	}
	found, err := SQL[total](background, db, "SELECT sum(amount) AS total, count(*) AS count, max(amount) AS any FROM paid")
	ok(t, err)
	equal(t, *found[0].Total, 4_5000)
	equal(t, found[0].Count, 2)
	equal(t, found[0].Any.(Currency), 2_5000)
	maps, err := SQL[map[string]any](background, db, "SELECT amount, day, open FROM paid WHERE id = 1")
	ok(t, err)
	expected := map[string]any{"amount": Currency(2_5000), "day": day, "open": true}
	if !reflect.DeepEqual(maps[0], expected) {
		t.Fatal(maps)
	}
}

func TestDecimalNumbersAreTexts(t *testing.T) {
	for _, stored := range []any{int64(2), "2"} {
		found, err := natural(stored, wire.TypeDecimal)
		ok(t, err)
		equal(t, found.(string), "2")
		value, err := driverValue(stored, wire.TypeDecimal)
		ok(t, err)
		equal(t, value.(string), "2")
		amount := Currency(0)
		ok(t, amount.Scan(value))
		equal(t, amount, 2_0000)
	}
	amount := Currency(0)
	fails(t, amount.Scan(int64(2)), Mismatch)
}

func TestIntegersThatAreTooLargeForAColumn(t *testing.T) {
	_, table, _ := openPaid(t)
	for _, number := range []int64{math.MaxInt64/10_000 + 1, math.MinInt64/10_000 - 1, math.MaxInt64} {
		_, err := table.Set(background, 1, Set("amount", number))
		fails(t, err, OutOfRange)
		_, err = table.Set(background, 1, Add("amount", number))
		fails(t, err, OutOfRange)
		_, err = table.Where(Col("amount").Gt(number)).Count(background)
		fails(t, err, OutOfRange)
	}
	for _, number := range []int64{1<<53 + 1, -1<<53 - 1, math.MaxInt64} {
		_, err := table.Set(background, 1, Set("weight", number))
		fails(t, err, OutOfRange)
	}
	for _, number := range []int64{1 << 53, 1 << 60, math.MinInt64} {
		found, err := table.Set(background, 1, Set("weight", number))
		ok(t, err)
		equal(t, found, true)
	}
	row, err := table.Get(background, 1)
	ok(t, err)
	equal(t, row.Amount, 2_5000)
}

func TestDaysAndTimesWithoutAZoneAsArguments(t *testing.T) {
	db, table, url := openPaid(t)
	const text = "INSERT INTO paid(amount, day, local, open, weight, note) VALUES (1, ?, ?, 0, 0, '{}')"
	_, err := Exec(background, db, text, Date(paidDay), DateTime(paidDay))
	ok(t, err)
	driver, err := sql.Open("bobak", url)
	ok(t, err)
	defer driver.Close()
	_, err = driver.Exec(text, Date(paidDay), DateTime(paidDay))
	ok(t, err)
	count, err := table.Where(Col("day").Eq(paidDay), Col("local").Eq(paidDay)).Count(background)
	ok(t, err)
	equal(t, count, 4)
	counts, err := SQL[int64](background, db, "SELECT count(*) FROM paid WHERE day = ? AND local IN (?)",
		Date(paidDay), []DateTime{DateTime(paidDay)})
	ok(t, err)
	equal(t, counts[0], 4)
}
