package bobak

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

type stamped struct {
	ID   int64
	Made time.Time `bobak:",created_at"`
}

// Article has the fields of the embedded struct, also its key.
type Article struct {
	stamped
	Title string
	Place `bobak:"-"`
}

type Place struct{ City string }

func TestEmbeddedStructs(t *testing.T) {
	db := open(t, stdioURL(t, t.TempDir()), Article{})
	table := tableOf[Article](t, db)
	one := Article{Title: "a", Place: Place{"skipped"}}
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

func TestOptionsOfColumns(t *testing.T) {
	type Flight struct {
		Code    string  `bobak:"flight_code,key=given,collation=nocase,max=8"`
		Plane   *string `bobak:",references=plane(id),on_delete=set_null,index"`
		Status  string  `bobak:",check=status in ('on time', 'late, ('),unique_index=a"`
		Day     string  `bobak:",references=day(id),unique_index=a,on_delete=no_action"`
		Visited UUID    `bobak:",store=text,references=visit(id),on_delete=cascade"`
	}
	table, err := describe(reflect.TypeOf(Flight{}))
	ok(t, err)
	code, plane, status := table.Columns[0], table.Columns[1], table.Columns[2]
	equal(t, code.Name, "flight_code")
	equal(t, code.Collation, 1)
	equal(t, code.MaxChars, 8)
	equal(t, table.KeysBy, wire.KeysByUser)
	equal(t, *plane.References, wire.Reference{Table: "plane", Column: "id", OnDelete: wire.SetNull})
	equal(t, status.Check, "status in ('on time', 'late, (')")
	equal(t, *table.Columns[3].References, wire.Reference{Table: "day", Column: "id", OnDelete: wire.NoAction})
	equal(t, table.Columns[4].References.OnDelete, wire.Cascade)
	equal(t, table.Columns[4].AsText, true)
	equal(t, fmt.Sprint(table.Indexes), "[{flight_plane false [1]} {a true [2 3]}]")
}

func TestWrongOptionsOfColumns(t *testing.T) {
	for tag, pattern := range map[string]string{
		"references=plane":                        `references=plane: write references=table\(column\)`,
		"references=plane.id":                     `references=plane\.id: write references=table\(column\)`,
		"references":                              `write references=table\(column\)`,
		"references=(id)":                         `write references=table\(column\)`,
		"references=plane(id)x":                   `write references=table\(column\)`,
		"on_delete=cascade":                       `on_delete needs references=table\(column\)`,
		"references=plane(id),on_delete=nothing":  "on_delete is one of restrict, cascade, set_null, no_action, not 'nothing'",
		"references=plane(id),on_delete=set_null": "a field that may be NULL",
		"key=x":        "key is written key or key=given",
		"collation=x":  "collation is one of binary, nocase, unicode_nocase",
		"store=x":      "store is one of text",
		"unique_index": "unique_index needs a name",
		"created":      "'created' is not an option of a column; the options are: key",
		"ref=plane.id": "'ref' is not an option",
	} {
		field := reflect.StructField{
			Name: "Plane", Type: reflect.TypeOf(int64(0)),
			Tag: reflect.StructTag(fmt.Sprintf(`bobak:",%s"`, tag)),
		}
		_, err := fieldsOf(reflect.StructOf([]reflect.StructField{field}))
		says(t, err, Schema, pattern)
		says(t, err, Schema, `\(column plane\)$`)
	}
}
