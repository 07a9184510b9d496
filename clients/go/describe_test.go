package bobak

import (
	"reflect"
	"testing"
	"time"
)

type stamped struct {
	ID   int64
	Made time.Time `bobak:",created"`
}

// Article has the fields of what is embedded in it, a key among them.
type Article struct {
	stamped
	Title string
	Place `bobak:"-"`
}

type Place struct{ City string }

func TestEmbeddedStructs(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()), Article{})
	table := tableOf[Article](t, db)
	one := Article{Title: "a", Place: Place{"left out"}}
	ok(t, table.Insert(background, &one))
	equal(t, one.ID, 1)
	found, err := table.Get(background, 1)
	ok(t, err)
	equal(t, found.Title, "a")
	equal(t, found.City == "" && time.Since(found.Made) < time.Hour, true)
	found.Title = "b"
	ok(t, table.Update(background, found))
	read, err := SQL[Article](background, db, "SELECT * FROM article")
	ok(t, err)
	equal(t, read[0].ID == 1 && read[0].Title == "b" && read[0].Made.Equal(found.Made), true)
	type Twice struct {
		stamped
		Made time.Time
	}
	equal(t, fails(t, db.Create(background, Twice{}), Schema).Column, "made")
}

func TestRowsAsMaps(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()))
	found, err := SQL[map[string]any](background, db,
		"SELECT 1 AS a, 1.5 AS b, 'x' AS c, x'00ff' AS d, NULL AS e UNION ALL SELECT 2, 2, 'y', 0, 1")
	ok(t, err)
	expected := []map[string]any{
		{"a": int64(1), "b": 1.5, "c": "x", "d": []byte{0, 255}, "e": nil},
		{"a": int64(2), "b": int64(2), "c": "y", "d": int64(0), "e": int64(1)},
	}
	if !reflect.DeepEqual(found, expected) {
		t.Fatal(found)
	}
	_, err = SQL[map[string]any](background, db, "SELECT 1 AS a, 2 AS a")
	equal(t, fails(t, err, Schema).Column, "a")
}
