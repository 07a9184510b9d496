package bobak

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// told is what a change says, in short.
func told(changes []Change[*Person]) (all string) {
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
	behindEachDoor(t, func(t *testing.T, url string) {
		db := open(t, url, Person{}, Seat{}, Note{})
		people, seats, notes := tableOf[Person](t, db), tableOf[Seat](t, db), tableOf[Note](t, db)
		_, err := people.Changes(background, 0, 10)
		equal(t, fails(t, err, Schema).Table, "person")
		ok(t, db.Track(background, "person", false))
		ok(t, db.Track(background, "seat", false))
		_, err = notes.Changes(background, 0, 10)
		fails(t, err, Schema)
		last, err := people.LastChange(background)
		ok(t, err)
		equal(t, last, 0)
		ok(t, people.Insert(background, &Person{Name: "Ada", Balance: 1}))
		ok(t, seats.Insert(background, &Seat{Row: 1, Letter: "A"}))
		_, err = Exec(background, db, "UPDATE person SET name = 'Bea'")
		ok(t, err)
		_, err = people.Delete(background, 1)
		ok(t, err)

		page, err := people.Changes(background, 0, 10)
		ok(t, err)
		equal(t, told(page.Changes), "1 insert - Ada0.0001; 3 update Ada0.0001 Bea0.0001; "+
			"4 delete Bea0.0001 -; ")
		equal(t, page.Next, 4)
		first, second := page.Changes[0], page.Changes[1]
		equal(t, first.Table+first.Who, "person")
		equal(t, first.At.After(second.At), false)
		page, err = people.Changes(background, 0, 2)
		ok(t, err)
		equal(t, page.Next, 3)
		page, err = people.Changes(background, page.Next, 2)
		ok(t, err)
		equal(t, told(page.Changes), "4 delete Bea0.0001 -; ")

		several, err := db.Changes(background, 0, 3, Person{}, &Seat{})
		ok(t, err)
		equal(t, len(several.Changes), 3)
		equal(t, several.Changes[1].After.(*Seat).Letter, "A")
		equal(t, several.Changes[2].Before.(*Person).Name, "Ada")
		equal(t, several.Next, 3)
		equal(t, several.Changes[1].Before == nil, true)
	})
}

func TestHistory(t *testing.T) {
	behindEachDoor(t, func(t *testing.T, url string) {
		db := open(t, url, Person{}, Seat{})
		ok(t, db.Track(background, "person", true))
		ok(t, db.Track(background, "seat", true))
		people, seats := tableOf[Person](t, db), tableOf[Seat](t, db)
		_, err := people.InsertMany(background, []Person{{Name: "Ada"}, {Name: "Bea"}})
		ok(t, err)
		_, err = people.Set(background, 1, Set("balance", Currency(15_000)))
		ok(t, err)
		history, err := people.History(background, 1)
		ok(t, err)
		equal(t, told(history), "1 insert - Ada0.00; 3 update Ada0.00 Ada1.50; ")
		for _, letter := range []string{"A", "B"} {
			ok(t, seats.Insert(background, &Seat{Row: 1, Letter: letter}))
		}
		seat, err := seats.History(background, 1, "B")
		ok(t, err)
		equal(t, len(seat), 1)
		equal(t, seat[0].After.Letter, "B")
		_, err = seats.History(background, 1)
		fails(t, err, Misuse)
	})
}

func TestChangesThatWereTakenOut(t *testing.T) {
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
	equal(t, told(page.Changes), "3 insert - c0.00; ")
}

func TestFollow(t *testing.T) {
	behindEachDoor(t, func(t *testing.T, url string) {
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
