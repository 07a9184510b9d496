package bobak

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// summary describes changes in short.
func summary(changes []Change[*Person]) (all string) {
	name := func(p *Person) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(p.Name, p.Balance)
	}
	for _, change := range changes {
		all += fmt.Sprint(change.ID, " ", change.Kind, " ", name(change.Before), " ",
			name(change.After), "; ")
	}
	return all
}

func TestChanges(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{}, Square{}, Note{})
		people, squares, notes := tableOf[Person](t, db), tableOf[Square](t, db), tableOf[Note](t, db)
		_, err := people.Changes(background, 0, 10)
		equal(t, fails(t, err, Schema).Table, "person")
		ok(t, db.Track(background, "person", false))
		ok(t, db.Track(background, "square", false))
		_, err = notes.Changes(background, 0, 10)
		fails(t, err, Schema)
		last, err := people.LastChange(background)
		ok(t, err)
		equal(t, last, 0)
		ok(t, people.Insert(background, &Person{Name: "Ada", Balance: 1}))
		ok(t, squares.Insert(background, &Square{Row: 1, Letter: "A"}))
		_, err = Exec(background, db, "UPDATE person SET name = 'Bea'")
		ok(t, err)
		_, err = people.Delete(background, 1)
		ok(t, err)

		page, err := people.Changes(background, 0, 10)
		ok(t, err)
		equal(t, summary(page.Changes), "1 insert - Ada0.0001; 3 update Ada0.0001 Bea0.0001; "+
			"4 delete Bea0.0001 -; ")
		equal(t, page.Next, 4)
		first, second := page.Changes[0], page.Changes[1]
		equal(t, first.Table+first.Actor, "person")
		equal(t, first.At.After(second.At), false)
		page, err = people.Changes(background, 0, 2)
		ok(t, err)
		equal(t, page.Next, 3)
		page, err = people.Changes(background, page.Next, 2)
		ok(t, err)
		equal(t, summary(page.Changes), "4 delete Bea0.0001 -; ")

		several, err := db.Changes(background, 0, 3, Person{}, &Square{})
		ok(t, err)
		equal(t, len(several.Changes), 3)
		equal(t, several.Changes[1].After.(*Square).Letter, "A")
		equal(t, several.Changes[2].Before.(*Person).Name, "Ada")
		equal(t, several.Next, 3)
		equal(t, several.Changes[1].Before == nil, true)
	})
}

func TestHistory(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{}, Square{})
		ok(t, db.Track(background, "person", true))
		ok(t, db.Track(background, "square", true))
		people, squares := tableOf[Person](t, db), tableOf[Square](t, db)
		_, err := people.InsertMany(background, []Person{{Name: "Ada"}, {Name: "Bea"}})
		ok(t, err)
		_, err = people.Set(background, 1, Set("balance", Currency(15_000)))
		ok(t, err)
		history, err := people.History(background, 1)
		ok(t, err)
		equal(t, summary(history), "1 insert - Ada0.00; 3 update Ada0.00 Ada1.50; ")
		for _, letter := range []string{"A", "B"} {
			ok(t, squares.Insert(background, &Square{Row: 1, Letter: letter}))
		}
		square, err := squares.History(background, 1, "B")
		ok(t, err)
		equal(t, len(square), 1)
		equal(t, square[0].After.Letter, "B")
		_, err = squares.History(background, 1)
		fails(t, err, Misuse)
	})
}

func TestPrunedChanges(t *testing.T) {
	db := open(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place, Person{})
	ok(t, db.Track(background, "person", false))
	people := tableOf[Person](t, db)
	_, err := people.InsertMany(background, []Person{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	ok(t, err)
	for _, text := range []string{
		"DELETE FROM bobak_log_person WHERE seq <= 2", "UPDATE bobak_tracked SET pruned = 2",
	} {
		_, err := Exec(background, db, text)
		ok(t, err)
	}
	_, err = people.Changes(background, 1, 10)
	fails(t, err, NotFound)
	page, err := people.Changes(background, 2, 10)
	ok(t, err)
	equal(t, summary(page.Changes), "3 insert - c0.00; ")
}

func TestFollow(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, Person{})
		ok(t, db.Track(background, "person", false))
		people := tableOf[Person](t, db)
		wrote := make(chan error)
		go func() {
			for n := 0; n < 50; n++ {
				if err := people.Insert(background, &Person{Name: fmt.Sprint(n)}); err != nil {
					wrote <- err
					return
				}
			}
			wrote <- nil
		}()
		enough, seen := errors.New("enough"), 0
		err := people.Follow(background, 0, func(change *Change[*Person]) error {
			equal(t, change.After.Name, fmt.Sprint(seen))
			if seen++; seen == 50 {
				return enough
			}
			return nil
		})
		equal(t, errors.Is(err, enough), true)
		ok(t, <-wrote)
		ctx, cancel := context.WithCancel(background)
		err = people.Follow(ctx, 49, func(*Change[*Person]) error {
			cancel()
			return nil
		})
		equal(t, errors.Is(err, context.Canceled), true)
		count, err := people.Count(background)
		ok(t, err)
		equal(t, count, 50)
	})
}
