package bobak

import "testing"

// OldPart and Part are structs of one table, whose columns change.
type OldPart struct {
	ID   int64
	Name string
	Size *int32
}

func (OldPart) TableName() string { return "part" }

type Part struct {
	ID   int64
	Name string
}

func TestATableThatHasOtherColumnsIsLookedAtAgain(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db := open(t, url, OldPart{})
		parts, old := tableOf[Part](t, db), tableOf[OldPart](t, db)
		ok(t, parts.Insert(background, &Part{Name: "a"}))
		selected := parts.Where(Col("name").Eq("a"))
		for _, text := range []string{"ALTER TABLE part DROP COLUMN size", "ALTER TABLE part ADD COLUMN weight INTEGER"} {
			_, err := Exec(background, db, text)
			ok(t, err)
		}
		found, err := selected.All(background)
		ok(t, err)
		equal(t, len(found), 1)
		_, err = parts.Get(background, 1)
		ok(t, err)
		second := Part{Name: "b"}
		ok(t, parts.Insert(background, &second))
		equal(t, second.ID, 2)
		changed, err := parts.Set(background, 2, Set("weight", 6))
		ok(t, err)
		equal(t, changed, true)
		count, err := parts.Where(Col("weight").Eq(6)).Count(background)
		ok(t, err)
		equal(t, count, 1)
		report, err := parts.InsertMany(background, []Part{{Name: "c"}})
		ok(t, err)
		equal(t, report.Inserted, 1)
		_, err = parts.Where(Col("size").Eq(1)).All(background)
		fails(t, err, Schema)
		// The struct does not fit any more.
		_, err = old.Get(background, 1)
		fails(t, err, Schema)
	})
}
