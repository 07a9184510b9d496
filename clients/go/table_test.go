package bobak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

type Person struct {
	ID      int64
	Name    string `bobak:",max=40,index=person_name"`
	Age     *int32
	Balance Currency
}

type Note struct {
	ID      UUID
	Text    string
	Made    time.Time `bobak:",created_at"`
	Changed time.Time `bobak:",modified_at"`
	Version int64     `bobak:",version"`
}

type Square struct {
	Row     int16   `bobak:",key"`
	Letter  string  `bobak:",key"`
	TakenBy *string `bobak:"taken_by"`
}

type Kinds struct {
	ID          int64
	Yes         bool
	Small       uint8
	Large       uint64
	Real        float64
	Single      float32
	Raw         []byte
	Key         UUID
	Money       Currency
	Day         time.Time `bobak:",type=date"`
	Clock       time.Duration
	Local       time.Time `bobak:",type=datetime"`
	Instant     time.Time
	Document    map[string]any `bobak:",type=json"`
	RawDocument json.RawMessage
	Anything    any
	DayText     time.Time     `bobak:",type=date,store=text"`
	ClockText   time.Duration `bobak:",store=text"`
	InstantText time.Time     `bobak:",store=text"`
	KeyText     UUID          `bobak:",store=text"`
	Hidden      chan int      `bobak:"-"`
}

func people(count int) []Person {
	found := make([]Person, count)
	for n := range found {
		age := int32(n % 90)
		found[n] = Person{Name: fmt.Sprintf("P %d", n), Balance: Currency(n * 100)}
		if age > 0 {
			found[n].Age = &age
		}
	}
	return found
}

func TestRecords(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		table := tableOf[Person](t, open(t, url, Person{}))
		age := int32(36)
		ada := Person{Name: "Ada \x00", Age: &age, Balance: 19_9900}
		ok(t, table.Insert(background, &ada))
		equal(t, ada.ID, 1)
		found, err := table.Get(background, 1)
		ok(t, err)
		if !reflect.DeepEqual(*found, ada) {
			t.Fatal(found)
		}
		_, err = table.Get(background, 2)
		fails(t, err, NotFound)
		inserted, err := table.InsertOrIgnore(background, &ada)
		ok(t, err)
		equal(t, inserted, false)
		ada.Age = nil
		ok(t, table.Upsert(background, &ada))
		ada.Name = "Other"
		ok(t, table.Update(background, &ada, "age"))
		found, _ = table.Get(background, 1)
		equal(t, found.Name, "Ada \x00")
		there, err := table.Set(background, 1, Add("balance", Currency(100)), Set("age", 7))
		ok(t, err)
		equal(t, there, true)
		found, _ = table.Get(background, int32(1))
		equal(t, found.Balance.String(), "20.00")
		ok(t, table.InsertOrReplace(background, &ada))
		there, err = table.Delete(background, 1)
		ok(t, err)
		equal(t, there, true)
		there, _ = table.Delete(background, 1)
		equal(t, there, false)
		fails(t, table.Update(background, &ada), NotFound)
		long := Person{Name: strings.Repeat("x", 41)}
		e := fails(t, table.Insert(background, &long), TooLong)
		equal(t, e.Table+"."+e.Column, "person.name")
		fails(t, table.Insert(background, &Person{Name: "\xff"}), Mismatch)
		fails(t, table.Update(background, &ada, "id"), Misuse)
		_, err = table.Get(background, "x")
		fails(t, err, Mismatch)
		_, err = table.Get(background)
		fails(t, err, Misuse)
	})
}

func TestEveryType(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		table := tableOf[Kinds](t, open(t, url, Kinds{}))
		zone := time.FixedZone("here", 7200)
		full := Kinds{
			ID: 1 << 62, Yes: true, Small: 255, Large: 1<<63 - 1, Real: 5e-324, Single: 0.5,
			Raw: []byte{0, 255}, Key: NewUUID(), Money: -1 << 63,
			Day:   time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC),
			Clock: 23*time.Hour + time.Microsecond, Local: time.Date(1, 1, 1, 5, 0, 0, 0, time.UTC),
			Instant:  time.Date(2024, 2, 29, 12, 0, 0, 1000, zone),
			Document: map[string]any{"a": "é"}, RawDocument: json.RawMessage("[1]"),
			Anything: "x", DayText: time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC),
			ClockText: 5 * time.Minute, InstantText: time.Date(2024, 2, 29, 12, 0, 0, 1000, zone),
			KeyText: NewUUID(),
		}
		ok(t, table.Insert(background, &full))
		found, err := table.Get(background, full.ID)
		ok(t, err)
		if !found.Instant.Equal(full.Instant) || !found.InstantText.Equal(full.InstantText) {
			t.Fatal(found.Instant, found.InstantText)
		}
		found.Instant, found.InstantText = full.Instant, full.InstantText
		if !reflect.DeepEqual(*found, full) {
			t.Fatalf("\n%+v\n%+v", *found, full)
		}
		before, err := table.Where(Col("day_text").Lt(time.Now()), Col("money").Lt(0)).Count(background)
		ok(t, err)
		equal(t, before, 1)
		values, err := table.Where().Select(background, nil, Column("money"), Column("instant_text"))
		ok(t, err)
		equal(t, values[0][0].(Currency).String(), "-922337203685477.5808")
		full.ID, full.Large = 0, 1<<63
		fails(t, table.Insert(background, &full), OutOfRange)
	})
}

func TestTypesOfTheVectors(t *testing.T) {
	for _, one := range typeVectors(t) {
		kind, _ := wire.TypeNamed(one.Type)
		if kind == wire.TypeCurrency {
			amount, err := ParseCurrency(one.Text)
			if one.Stored == nil {
				if err == nil {
					t.Errorf("%s passed", one.Text)
				}
				continue
			}
			if err != nil || int64(amount) != one.Stored || amount.String() != one.Text {
				t.Errorf("%s: %v %v", one.Text, amount, err)
			}
			continue
		}
		if one.Stored == nil {
			_, err := natural(one.Text, kind)
			fails(t, err, Mismatch)
			continue
		}
		plain := &wire.Column{Type: kind}
		known, err := natural(one.Stored, kind)
		ok(t, err)
		stored, err := storedIn(known, plain)
		ok(t, err)
		asText, err := storedIn(known, &wire.Column{Type: kind, AsText: true})
		ok(t, err)
		again, err := natural(asText, kind)
		ok(t, err)
		if !reflect.DeepEqual(stored, one.Stored) || asText != one.Text ||
			!reflect.DeepEqual(again, known) {
			t.Errorf("%s %s: %v, %v, %v", one.Type, one.Text, stored, asText, again)
		}
	}
}

func TestStampsAndVersions(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Note{}, &Square{})
		notes, squares := tableOf[Note](t, db), tableOf[Square](t, db)
		note := Note{Text: "a"}
		ok(t, notes.Insert(background, &note))
		equal(t, note.ID[6]>>4, 7)
		found, err := notes.Get(background, note.ID)
		ok(t, err)
		if since := time.Since(found.Made); since < 0 || since > 5*time.Minute {
			t.Fatal(found.Made)
		}
		stale := *found
		found.Text = "b"
		ok(t, notes.Update(background, found))
		equal(t, found.Version, 1)
		ok(t, notes.Update(background, found))
		fails(t, notes.Update(background, &stale), Conflict)
		later, _ := notes.Get(background, note.ID)
		equal(t, later.Made, found.Made)
		ok(t, squares.Insert(background, &Square{Row: 3, Letter: "C"}))
		there, err := squares.Set(background, []any{3, "C"}, Set("taken_by", "Ada"))
		ok(t, err)
		equal(t, there, true)
		square, err := squares.Get(background, 3, "C")
		ok(t, err)
		equal(t, *square.TakenBy, "Ada")
	})
}

func TestQueries(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		table := tableOf[Person](t, open(t, url, Person{}))
		_, err := table.InsertMany(background, people(1_000))
		ok(t, err)
		old := table.Where(Col("age").Gt(80))
		count := func(q *Query[Person]) int64 {
			count, err := q.Count(background)
			ok(t, err)
			return count
		}
		equal(t, count(old), 99)
		first, err := old.OrderBy("-age", "name").Limit(2).All(background)
		ok(t, err)
		equal(t, first[0].ID*1000+first[1].ID, 180_270)
		second, err := old.Offset(1).First(background)
		ok(t, err)
		equal(t, second.ID, 83)
		either := Or(Col("name").Eq("P 7"), And(Col("name").Like("P 99_"), Not(Col("age").IsNull())))
		equal(t, count(table.Where(either)), 10)
		equal(t, count(table.Where(Col("age").In(1, 2))), 24)
		equal(t, count(table.Where(Col("name").StartsWith("P 1"), Not(Col("age").IsNull()))), 110)
		equal(t, count(table.Where(Col("name").Contains("%"))), 0)
		equal(t, count(table.Where(Col("name").Contains(" 1"))), count(table.Where(Col("name").StartsWith("P 1"))))
		equal(t, count(table.Where(Col("name").EndsWith("P 1"))), 1)
		equal(t, count(table.Where(Col("name").LikeEscape("P 1!%", '!'))), 0)
		equal(t, count(table.Where(Col("id").Eq(Col("age")))), 0)
		groups, err := table.Where(Col("age").Lt(3)).
			Select(background, []string{"age"}, Column("age"), Count(), Max("balance"), Avg("balance"))
		ok(t, err)
		equal(t, fmt.Sprint(groups), "[[1 12 9.91 4.96] [2 12 9.92 4.97]]")
		sum, err := table.Where(Col("age").Gt(500)).Select(background, nil, Sum("balance"))
		ok(t, err)
		equal(t, sum[0][0] == nil, true)
		changed, err := table.Where(Col("age").Eq(1)).Update(background, Add("age", 1))
		ok(t, err)
		equal(t, changed, 12)
		changed, err = table.Where(Col("age").Eq(2)).Delete(background)
		ok(t, err)
		equal(t, changed, 24)
		_, err = table.Where(Col("nothing").Eq(1)).All(background)
		fails(t, err, Schema)
		_, err = old.Limit(1).Delete(background)
		fails(t, err, Misuse)
		_, err = table.Where(Col("id").Lt(0)).First(background)
		fails(t, err, NotFound)
		deep := Col("id").Eq(1)
		for n := 0; n < 300; n++ {
			deep = Not(deep)
		}
		_, err = table.Where(deep).Count(background)
		fails(t, err, OutOfRange)
	})
}

func TestSQL(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		var rows [][]any
		for n := 0; n < 600; n++ {
			rows = append(rows, []any{fmt.Sprintf("P %d", n), n, Currency(n)})
		}
		count, err := ExecMany(background, db,
			"INSERT INTO person (name, age, balance) VALUES (?, ?, ?)", rows)
		ok(t, err)
		equal(t, count, 600)
		for n := 0; n < 3; n++ {
			found, err := SQL[int64](background, db, "SELECT count(*) FROM person WHERE age < ?", 10)
			ok(t, err)
			equal(t, found[0], 10)
		}
		two, err := SQL[Person](background, db, "SELECT * FROM person WHERE age < ? ORDER BY id", 2)
		ok(t, err)
		equal(t, fmt.Sprint(two[1].ID, two[1].Name, *two[1].Age, two[1].Balance), "2P 11 0.0001")
		_, err = SQL[Person](background, db, "SELECT *, 'b' AS NAME FROM person")
		fails(t, err, Schema)
		_, err = SQL[Person](background, db, "SELECT 1")
		fails(t, err, Schema)
		_, err = Exec(background, db, "SELEC 1")
		fails(t, err, Syntax)
		_, err = ExecMany(background, db, "INSERT INTO person VALUES (?, 'x', 0, 0)",
			[][]any{{700}, {700}, {701}})
		equal(t, fails(t, err, Duplicate).Row, 1)
		count, err = Exec(background, db, "DELETE FROM person")
		ok(t, err)
		equal(t, count, 600)
	})
}

func TestChangesAreRecorded(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		ok(t, db.Track(background, "Person", true))
		table := tableOf[Person](t, db)
		ada := Person{Name: "Ada"}
		ok(t, table.Insert(background, &ada))
		_, err := table.Delete(background, ada.ID)
		ok(t, err)
		type change struct {
			Verb int64
			Name *string `bobak:"new_name"`
		}
		log := "SELECT verb, new_name FROM bobak_log_person ORDER BY seq"
		changes, err := SQL[change](background, db, log)
		ok(t, err)
		equal(t, len(changes), 2)
		equal(t, fmt.Sprint(changes[0].Verb, " ", *changes[0].Name, " ", changes[1].Verb), "1 Ada 3")
		ok(t, db.Untrack(background, "person"))
		_, err = SQL[change](background, db, log)
		fails(t, err, Schema)
		fails(t, db.Track(background, "nobody", false), Schema)
	})
}

func TestTransactions(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		table := tableOf[Person](t, db)
		failed := errors.New("failed")
		ok(t, db.InTx(background, func(tx *Tx) error {
			inside := table.In(tx)
			ok(t, inside.Insert(background, &Person{Name: "a"}))
			err := tx.Savepoint(background, "s", func() error {
				ok(t, inside.Insert(background, &Person{Name: "b"}))
				return failed
			})
			equal(t, err == failed, true)
			fails(t, inside.Insert(background, &Person{ID: 1, Name: "c"}), Duplicate)
			_, err = inside.InsertMany(background, people(10))
			ok(t, err)
			_, err = inside.InsertMany(background, []Person{{ID: 1}})
			fails(t, err, Duplicate)
			// Reading continues during writes.
			return inside.Where().Each(background, func(one *Person) error {
				_, err := inside.Set(background, one.ID, Set("age", 5))
				return err
			})
		}))
		err := db.InTx(background, func(tx *Tx) error {
			_, err := table.In(tx).Where().Delete(background)
			ok(t, err)
			return failed
		})
		equal(t, err == failed, true)
		count, err := table.Where(Col("age").Eq(5)).Count(background)
		ok(t, err)
		equal(t, count, 11)
		tx, err := db.Begin(background)
		ok(t, err)
		ok(t, tx.Rollback())
		ok(t, tx.Rollback())
		fails(t, tx.Commit(background), Misuse)
		fails(t, table.In(tx).Insert(background, &Person{}), Misuse)
	})
}

func TestLargeBatches(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{}, Square{})
		table, squares := tableOf[Person](t, db), tableOf[Square](t, db)
		many := people(30_000)
		report, err := table.InsertMany(background, many)
		ok(t, err)
		equal(t, report.Inserted, 30_000)
		equal(t, many[29_999].ID, 30_000)
		seen := int64(0)
		ok(t, table.Where().Each(background, func(one *Person) error {
			seen++
			equal(t, one.ID, seen)
			return nil
		}))
		equal(t, seen, 30_000)
		found, err := table.GetMany(background, 1, 99_999, 3)
		ok(t, err)
		equal(t, found[0].ID == 1 && found[1] == nil && found[2].ID == 3, true)
		b, err := NewBatch(background, db, BatchOptions{SkipErrors: true})
		ok(t, err)
		for place := 0; place < 20_000; place++ {
			ok(t, table.BatchUpdate(b, &Person{ID: int64(place + 1), Name: "new"}))
			ok(t, squares.BatchInsert(b, &Square{Row: int16(place % 19_000), Letter: "A"}))
		}
		ok(t, table.BatchDelete(b, 30_000))
		report, err = b.Finish()
		ok(t, err)
		equal(t, fmt.Sprint(len(report.Errors), report.Errors[0].Row, report.Changed),
			"1000 38001 20001")
		many[29_999] = Person{ID: 1, Name: "there"}
		for place := range many[:29_999] {
			many[place].ID = 0
		}
		_, err = table.InsertMany(background, many)
		equal(t, fails(t, err, Duplicate).Row, 29_999)
		b, err = NewBatch(background, db, BatchOptions{})
		ok(t, err)
		for place := range many {
			ok(t, table.BatchInsert(b, &Person{Name: many[place].Name}))
		}
		b.Discard()
		fails(t, table.BatchInsert(b, &Person{}), Misuse)
		count, err := table.Count(background)
		ok(t, err)
		equal(t, count, 29_999)
	})
}

func TestGoroutinesShareADatabase(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		table := tableOf[Person](t, db)
		var group sync.WaitGroup
		failures := make(chan error, 400)
		for worker := 0; worker < 4; worker++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for n := 0; n < 20; n++ {
					failures <- table.Insert(background, &Person{Name: "x"})
					failures <- db.InTx(background, func(tx *Tx) error {
						return table.In(tx).Insert(background, &Person{Name: "y"})
					})
				}
			}()
		}
		group.Wait()
		close(failures)
		for err := range failures {
			ok(t, err)
		}
		count, _ := table.Count(background)
		equal(t, count, 160)
	})
}

func TestStructsThatDoNotMatch(t *testing.T) {
	type NoKey struct{ Name string }
	type Strange struct {
		ID int64
		Ch chan int
	}
	type Wrong struct {
		ID int64 `bobak:",nothing"`
	}
	db := open(t, stdioURL(t, t.TempDir()), Person{})
	for _, record := range []any{NoKey{}, Strange{}, Wrong{}, 7, nil} {
		fails(t, db.Create(background, record), Schema)
	}
	_, err := Of[Square](background, db)
	fails(t, err, Schema)
	_, err = Of[other](background, db)
	equal(t, fails(t, err, Schema).Column, "age")
	_, err = Of[short](background, db)
	equal(t, fails(t, err, Schema).Column, "name")
	for name, expected := range map[string]string{
		"ID": "id", "FirstName": "first_name", "HTTPCode": "http_code", "userID": "user_id",
	} {
		equal(t, snake(name), expected)
	}
}

type other struct {
	ID   int64
	Name string
	Age  float64
}

func (other) TableName() string { return "person" }

type short struct{ ID int64 }

func (short) TableName() string { return "person" }

func TestContexts(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		table := tableOf[Person](t, db)
		_, err := table.InsertMany(background, people(3_000))
		ok(t, err)
		endless := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
		for n := 0; n < 3; n++ {
			ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
			_, err := SQL[int64](ctx, db, endless)
			cancel()
			fails(t, err, Timeout)
			equal(t, errors.Is(err, context.DeadlineExceeded), true)
			count, err := table.Count(background)
			ok(t, err)
			equal(t, count, 3_000)
		}
		// A transaction also continues after a cancelled request.
		ok(t, db.InTx(background, func(tx *Tx) error {
			_, err := table.In(tx).Delete(background, 1)
			ok(t, err)
			ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
			defer cancel()
			_, err = SQL[int64](ctx, tx, endless)
			fails(t, err, Timeout)
			_, err = table.In(tx).Delete(background, 2)
			return err
		}))
		gone, cancel := context.WithCancel(background)
		cancel()
		fails(t, table.Insert(gone, &Person{}), Interrupted)
		count, _ := table.Count(background)
		equal(t, count, 2_998)
	})
}

// Stamped is a record with everything that a write sets.
type Stamped struct {
	ID       int64
	Text     string
	Created  time.Time  `bobak:",created_at,store=text"`
	Modified *time.Time `bobak:",modified_at"`
	Version  int32      `bobak:",version,type=i64"`
}

func TestWritesKeepTheRecordCurrent(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Stamped{})
		table := tableOf[Stamped](t, db)
		same := func(record *Stamped) {
			t.Helper()
			found, err := table.Get(background, record.ID)
			ok(t, err)
			if !reflect.DeepEqual(found, record) {
				t.Fatalf("\n%+v\n%+v", found, record)
			}
		}
		one := Stamped{Text: "a"}
		ok(t, table.Insert(background, &one))
		same(&one)
		for _, text := range []string{"b", "c"} {
			one.Text = text
			ok(t, table.Update(background, &one))
			same(&one)
		}
		ok(t, table.Update(background, &one, "text"))
		equal(t, one.Version, 3)
		same(&one)
		many := []Stamped{{Text: "d"}, {Text: "e"}}
		_, err := table.InsertMany(background, many)
		ok(t, err)
		same(&many[0])
		same(&many[1])
		before := one
		inserted, err := table.InsertOrIgnore(background, &one)
		ok(t, err)
		equal(t, inserted, false)
		equal(t, reflect.DeepEqual(before, one), true)
		ok(t, table.InsertOrReplace(background, &one))
		same(&one)
		modified := *one.Modified
		ok(t, table.Upsert(background, &one))
		equal(t, modified.After(*one.Modified), false)
		added := Stamped{Text: "f"}
		ok(t, table.Upsert(background, &added))
		equal(t, added.ID > many[1].ID, true)
	})
}

type Member struct {
	ID    int64
	Email string `bobak:",unique"`
	Name  string
}

type Badge struct {
	ID   UUID
	Code string `bobak:",unique"`
	Text string
}

func TestAnUpsertOnAUniqueColumn(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url)
		ok(t, db.Create(background, Member{}, Badge{}))
		members, err := Of[Member](background, db)
		ok(t, err)
		ada := Member{Email: "a", Name: "Ada"}
		ok(t, members.UpsertOn(background, &ada, "email"))
		equal(t, ada.ID, 1)
		eve := Member{ID: 70, Email: "a", Name: "Eve"}
		ok(t, members.UpsertOn(background, &eve, "email"))
		equal(t, eve.ID, 1)
		found, err := members.Get(background, 1)
		ok(t, err)
		equal(t, *found, eve)
		fails(t, members.UpsertOn(background, &eve, "name"), Schema)
		fails(t, members.UpsertOn(background, &eve, "nothing"), Schema)
		batch, err := NewBatch(background, db, BatchOptions{})
		ok(t, err)
		ok(t, members.BatchUpsertOn(batch, &Member{Email: "b", Name: "Bob"}, "email"))
		ok(t, members.BatchUpsertOn(batch, &Member{Email: "a", Name: "Una"}, "email"))
		report, err := batch.Finish()
		ok(t, err)
		equal(t, report.Inserted, 1)
		equal(t, report.Changed, 1)
		keys := map[int64]int64{}
		report.EachKey(func(row, key int64) { keys[row] = key })
		equal(t, keys[0], 2)
		equal(t, keys[1], 1)
		badges, err := Of[Badge](background, db)
		ok(t, err)
		first, second := Badge{Code: "x"}, Badge{Code: "x", Text: "y"}
		ok(t, badges.UpsertOn(background, &first, "code"))
		ok(t, badges.UpsertOn(background, &second, "code"))
		equal(t, second.ID, first.ID)
	})
}

func TestSQLOverAttachedDatabases(t *testing.T) {
	type joined struct{ Name, Other string }
	for _, main := range []string{"main=app.db", "main=memory:"} {
		folder := t.TempDir()
		stock := serve(t, folder, "stock.db", "--unix", filepath.Join(folder, "stock"))
		other := open(t, "bobak+unix:"+stock.place, Member{})
		ok(t, tableOf[Member](t, other).Insert(background, &Member{Email: "a", Name: "spade"}))
		ok(t, other.Close())
		stock.kill()
		socket := filepath.Join(folder, "socket")
		server := serve(t, folder, main, "--attach", "stock=stock.db", "--unix", socket)
		db := open(t, "bobak+unix:"+server.place, Person{})
		ok(t, tableOf[Person](t, db).Insert(background, &Person{Name: "Ada"}))
		rows, err := SQL[joined](background, db,
			"SELECT p.name, m.name AS other FROM person p JOIN stock.member m ON m.id = p.id")
		ok(t, err)
		equal(t, len(rows), 1)
		equal(t, rows[0], joined{"Ada", "spade"})
	}
}

func TestADeleteChecksTheVersion(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Stamped{}, Square{})
		table, squares := tableOf[Stamped](t, db), tableOf[Square](t, db)
		one := Stamped{Text: "a"}
		ok(t, table.Insert(background, &one))
		stale := one
		ok(t, table.Update(background, &one))
		fails(t, table.DeleteRecord(background, &stale), Conflict)
		ok(t, table.DeleteRecord(background, &one))
		fails(t, table.DeleteRecord(background, &one), NotFound)
		square := Square{Row: 1, Letter: "A"}
		ok(t, squares.Insert(background, &square))
		ok(t, squares.DeleteRecord(background, &square))
		fails(t, squares.DeleteRecord(background, &square), NotFound)
	})
}
