package bobak

import "testing"

type Log struct {
	ID   *int64
	Line string
}

// UintLog is the same table with another key type.
type UintLog struct {
	ID   uint64
	Line string
}

func (UintLog) TableName() string { return "log" }

type ByteLog struct {
	ID   int8
	Line string
}

func (ByteLog) TableName() string { return "log" }

type NoteByPointer struct {
	ID   *UUID
	Text string
}

func (NoteByPointer) TableName() string { return "note" }

func TestKeysOf0(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		// If a key can be missing, 0 is an ordinary key.
		db := open(t, url, Log{}, Person{}, Note{})
		logs := tableOf[Log](t, db)
		equal(t, logs.Schema().Columns[0].Nullable, false)
		zero := int64(0)
		ok(t, logs.Insert(background, &Log{&zero, "a"}))
		found, err := logs.Get(background, 0)
		ok(t, err)
		found.Line = "b"
		ok(t, logs.Upsert(background, found))
		equal(t, *found.ID, 0)
		made := Log{Line: "c"}
		ok(t, logs.Upsert(background, &made))
		equal(t, *made.ID, 1)
		many := []Log{{Line: "d"}, {Line: "e"}}
		_, err = logs.InsertMany(background, many)
		ok(t, err)
		equal(t, *many[0].ID+*many[1].ID, 5)
		batch, err := NewBatch(background, db, BatchOptions{})
		ok(t, err)
		ok(t, logs.BatchUpsert(batch, &Log{&zero, "f"}))
		ok(t, logs.BatchUpsert(batch, &Log{nil, "g"}))
		_, err = batch.Finish()
		ok(t, err)
		lines := ""
		all, err := logs.All(background)
		ok(t, err)
		for _, one := range all {
			lines += one.Line
		}
		equal(t, lines, "fcdeg")
		// A number cannot be missing: 0 requests a new key in each call that may insert.
		uints := tableOf[UintLog](t, db)
		one := UintLog{Line: "h"}
		ok(t, uints.Upsert(background, &one))
		equal(t, one.ID, 5)
		first, err := uints.Get(background, 0)
		ok(t, err)
		first.Line = "i"
		ok(t, uints.Update(background, first))
		hundred := int64(127)
		ok(t, logs.Insert(background, &Log{ID: &hundred}))
		fails(t, tableOf[ByteLog](t, db).Insert(background, &ByteLog{}), OutOfRange)
		notes := tableOf[NoteByPointer](t, db)
		note := NoteByPointer{Text: "a"}
		ok(t, notes.Insert(background, &note))
		equal(t, note.ID != nil && *note.ID != UUID{}, true)
		ok(t, notes.Insert(background, &NoteByPointer{&UUID{}, "b"}))
		_, err = notes.Get(background, UUID{})
		ok(t, err)
	})
}
