package bobak

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Table is the typed handle on one table: its rows are structs of the type T.
//
// Exported fields are columns, named in snake case or by the tag bobak:"name,options". The README
// lists the options. The fields of an embedded struct are the struct's own.
//
// Methods that write one record set in it what the write has set in the row: a generated key, the
// time stamps, and the version. A record can so be updated again without reading it. If the
// transaction is rolled back, read the record again.
type Table[T any] struct {
	session Session
	// plan is that of one call; the newest one is in latest, which the handles of a table share.
	plan   *plan
	latest *atomic.Pointer[plan]
}

// Of returns the table of a struct, in a database or a transaction. The table's name is the struct's
// in snake case, or the result of its method TableName.
func Of[T any](ctx context.Context, in Session) (*Table[T], error) {
	p, err := in.database().planFor(ctx, in, reflect.TypeOf((*T)(nil)).Elem())
	if err != nil {
		return nil, err
	}
	latest := new(atomic.Pointer[plan])
	latest.Store(p)
	return &Table[T]{in, p, latest}, nil
}

// In returns the same table in a transaction, or in another session.
func (t *Table[T]) In(session Session) *Table[T] {
	return &Table[T]{session, t.latest.Load(), t.latest}
}

// Schema returns the table as the server describes it.
func (t *Table[T]) Schema() *TableSchema { return t.latest.Load().schema }

// now is the table as it was described last.
func (t *Table[T]) now() *Table[T] {
	if p := t.latest.Load(); p != t.plan {
		return &Table[T]{t.session, p, t.latest}
	}
	return t
}

// fitted runs a call, and repeats it once with the new description of the table if another program has changed the
// table.
func (t *Table[T]) fitted(ctx context.Context, call func(*Table[T]) error) error {
	now := t.now()
	err := call(now)
	if errors.Is(err, Schema) && now.lookAgain(ctx) {
		return call(t.now())
	}
	return err
}

// lookAgain requests the current description, and reports whether it is another one.
func (t *Table[T]) lookAgain(ctx context.Context) bool {
	// For example a transaction that the error has ended has no tables.
	if _, err := tables(ctx, t.session); err != nil {
		return false
	}
	p, err := t.session.database().planFor(ctx, t.session, reflect.TypeOf((*T)(nil)).Elem())
	if err != nil || bytes.Equal(p.described, t.plan.described) {
		return false
	}
	t.latest.Store(p)
	return true
}

// Insert inserts a record, and sets its key and its time stamps.
//
// A key of 0, or a nil UUID, is generated. If the field is a pointer, a nil pointer is generated, and
// a pointer to 0 is an ordinary key. This holds for all methods that insert, also for Upsert.
func (t *Table[T]) Insert(ctx context.Context, record *T) error {
	return t.fitted(ctx, func(t *Table[T]) error {
		_, err := t.insert(ctx, record, wire.Insert)
		return err
	})
}

// InsertOrIgnore inserts a record unless its key or a unique value exists, and reports whether it did.
func (t *Table[T]) InsertOrIgnore(ctx context.Context, record *T) (bool, error) {
	inserted := false
	err := t.fitted(ctx, func(t *Table[T]) error {
		group, err := t.insert(ctx, record, wire.InsertOrIgnore)
		inserted = err == nil && group.Tag != wire.Ignored
		return err
	})
	return inserted, err
}

// InsertOrReplace inserts a record after deleting the rows with its key or its unique values.
func (t *Table[T]) InsertOrReplace(ctx context.Context, record *T) error {
	return t.fitted(ctx, func(t *Table[T]) error {
		_, err := t.insert(ctx, record, wire.InsertOrReplace)
		return err
	})
}

// Upsert inserts a record, or updates the row with its key. It raises the version without checking
// it: if the row existed, the record has neither the new version nor the creation time.
func (t *Table[T]) Upsert(ctx context.Context, record *T) error {
	return t.fitted(ctx, func(t *Table[T]) error {
		_, err := t.insert(ctx, record, wire.Upsert)
		return err
	})
}

// UpsertOn inserts a record, or updates the row with the same values in the columns of a unique index
// and sets that row's key in the record. Keys of several columns, and those that are neither integers
// nor UUIDs, are not set: read the record by its unique columns. Otherwise it is as Upsert.
//
//	err := users.UpsertOn(ctx, &user, "email")
//
// The error is Schema if the columns are not those of a unique index, nor of the key.
func (t *Table[T]) UpsertOn(ctx context.Context, record *T, columns ...string) error {
	return t.fitted(ctx, func(t *Table[T]) error {
		sets, err := t.setsOn(columns)
		if err == nil {
			_, err = t.insertWith(ctx, record, wire.UpsertOn, sets)
		}
		return err
	})
}

// setsOn returns the columns of a unique index, and those that an upsert by them sets.
func (t *Table[T]) setsOn(columns []string) (wire.Set, error) {
	var places []int
	for _, name := range columns {
		place, err := t.plan.place(name)
		if err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	return append(wire.SetOf(places), t.plan.updated...), nil
}

func (t *Table[T]) insert(ctx context.Context, record *T, verb uint8) (wire.Group, error) {
	return t.insertWith(ctx, record, verb, t.setsOf(verb))
}

func (t *Table[T]) insertWith(
	ctx context.Context, record *T, verb uint8, sets wire.Set,
) (wire.Group, error) {
	rv, now := reflect.ValueOf(record).Elem(), currentTime()
	row, err := t.plan.appendNew(nil, rv, now)
	if err != nil {
		return wire.Group{}, err
	}
	group, err := t.write(ctx, verb, sets, row)
	if err != nil || group.Tag == wire.Ignored {
		return group, err
	}
	switch group.Tag {
	case wire.IntegerKeys:
		err = t.plan.setKey(rv, group.Value)
	case wire.UpdatedInteger:
		err = t.plan.setStored(rv, t.plan.schema.Key[0], group.Value)
	case wire.UpdatedKey:
		w := wire.BeginRow(nil, 1)
		w.Bytes(group.Key[:])
		err = t.plan.setFrom(rv, t.plan.schema.Key[0], w.End())
	}
	if err == nil {
		err = t.plan.setStamps(rv, now, verb != wire.Upsert && verb != wire.UpsertOn)
	}
	return group, err
}

// Update overwrites the row with this record's key: all columns except the key and the creation
// time, or only the named ones. It sets the record's modification time, and raises its version.
//
// The error is NotFound if there is no such row, and Conflict if its version differs.
func (t *Table[T]) Update(ctx context.Context, record *T, columns ...string) error {
	return t.fitted(ctx, func(t *Table[T]) error { return t.update(ctx, record, columns) })
}

func (t *Table[T]) update(ctx context.Context, record *T, columns []string) error {
	sets, err := t.setsNamed(columns)
	if err != nil {
		return err
	}
	rv, now := reflect.ValueOf(record).Elem(), currentTime()
	row, err := t.plan.appendRow(nil, rv, now, false)
	if err != nil {
		return err
	}
	if _, err = t.write(ctx, wire.Update, sets, row); err != nil {
		return err
	}
	if err := t.plan.setStamps(rv, now, false); err != nil {
		return err
	}
	return t.plan.raiseVersion(rv)
}

func (t *Table[T]) setsNamed(columns []string) (wire.Set, error) {
	if len(columns) == 0 {
		return t.plan.updated, nil
	}
	var places []int
	for _, name := range columns {
		place, err := t.plan.settable(name)
		if err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	if t.plan.modified >= 0 {
		places = append(places, t.plan.modified)
	}
	return wire.SetOf(places), nil
}

// Delete deletes the row with this key, given as one value for each of its columns, and reports
// whether it existed. It does not check the version: see DeleteRecord.
func (t *Table[T]) Delete(ctx context.Context, key ...any) (bool, error) {
	existed := false
	err := t.fitted(ctx, func(t *Table[T]) error {
		row, err := t.plan.appendKey(nil, key)
		if err != nil {
			return err
		}
		group, err := t.write(ctx, wire.Delete, wire.SetOf(nil), row)
		existed = group.Value == 1
		return err
	})
	return existed, err
}

// DeleteRecord deletes the row with this record's key, if its version is the record's.
//
// The error is NotFound if there is no such row, and Conflict if its version differs.
func (t *Table[T]) DeleteRecord(ctx context.Context, record *T) error {
	return t.fitted(ctx, func(t *Table[T]) error { return t.deleteRecord(ctx, record) })
}

func (t *Table[T]) deleteRecord(ctx context.Context, record *T) error {
	rv := reflect.ValueOf(record).Elem()
	key, err := t.plan.fieldValues(rv, t.plan.schema.Key)
	if err != nil {
		return err
	}
	condition := t.plan.keyCondition(key)
	version, versioned, err := t.plan.versionOf(rv)
	if err != nil {
		return err
	}
	if versioned {
		condition.Parts = append(condition.Parts, wire.Condition{
			Tag: wire.Compare, Place: t.plan.version, Values: []any{version},
		})
	}
	count, err := t.plan.change(ctx, t.session, condition, nil)
	if err != nil || count > 0 {
		return err
	}
	found, err := t.find(ctx, wire.AppendRow(nil, key))
	if err != nil {
		return err
	}
	if found == nil {
		return t.notFound(key)
	}
	return wire.Errorf(Conflict, "the row was changed since it was read: its version is not %d",
		version).In(t.plan.schema.Name, "")
}

func (t *Table[T]) notFound(key []any) *Error {
	return wire.Errorf(NotFound, "no row has the key %v", key).In(t.plan.schema.Name, "")
}

func (t *Table[T]) write(
	ctx context.Context, verb uint8, sets wire.Set, row []byte,
) (group wire.Group, err error) {
	err = t.session.run(ctx, true, func(c *conn) error {
		table, err := c.table(t.plan)
		if err != nil {
			return err
		}
		body, err := c.ask(wire.Write, wire.Outcomes, func(w *wire.Writer) {
			wire.PutRun(w, table, verb, sets)
			w.Out = append(w.Out, row...)
		})
		if err != nil {
			return err
		}
		groups, err := wire.ParseOutcomes(body)
		if err != nil {
			return err
		}
		if len(groups) != 1 || groups[0].Rows != 1 {
			return wire.Garbled("another number of outcomes than one")
		}
		if group = groups[0]; group.Err != nil {
			return group.Err
		}
		return nil
	})
	return group, err
}

// Get returns the record with this key, given as one value for each of its columns. The error is
// NotFound if there is none.
func (t *Table[T]) Get(ctx context.Context, key ...any) (*T, error) {
	var record *T
	err := t.fitted(ctx, func(t *Table[T]) error {
		row, err := t.plan.appendKey(nil, key)
		if err != nil {
			return err
		}
		if record, err = t.find(ctx, row); err == nil && record == nil {
			err = t.notFound(key)
		}
		return err
	})
	return record, err
}

// find returns the record with an encoded key, or nil.
func (t *Table[T]) find(ctx context.Context, key []byte) (record *T, err error) {
	err = t.session.run(ctx, false, func(c *conn) error {
		record = nil
		table, err := c.table(t.plan)
		if err != nil {
			return err
		}
		body, err := c.ask(wire.Get, wire.Rows, func(w *wire.Writer) {
			w.U32(table)
			w.Out = append(w.Out, key...)
		})
		if err != nil || len(body) == 0 {
			return err
		}
		row, _, err := wire.NextRow(body)
		if err != nil {
			return err
		}
		record = new(T)
		return t.plan.read(row, reflect.ValueOf(record).Elem())
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// Set assigns columns of the row with this key, in one step on the server, and reports whether the
// row exists. A key of several columns is a []any.
func (t *Table[T]) Set(ctx context.Context, key any, assignments ...Assignment) (exists bool, err error) {
	err = t.fitted(ctx, func(t *Table[T]) (err error) {
		exists, err = t.set(ctx, key, assignments)
		return err
	})
	return exists, err
}

func (t *Table[T]) set(ctx context.Context, key any, assignments []Assignment) (bool, error) {
	parts, ok := key.([]any)
	if !ok {
		parts = []any{key}
	}
	stored, err := t.plan.key(parts)
	if err != nil {
		return false, err
	}
	assigns, err := t.plan.assigns(assignments)
	if err != nil {
		return false, err
	}
	count, err := t.plan.change(ctx, t.session, t.plan.keyCondition(stored), assigns)
	return count > 0, err
}

// keyCondition matches the row with a key in its stored form.
func (p *plan) keyCondition(key []any) *wire.Condition {
	condition := &wire.Condition{Tag: wire.And}
	for number, place := range p.schema.Key {
		condition.Parts = append(condition.Parts, wire.Condition{
			Tag: wire.Compare, Place: place, Values: key[number : number+1],
		})
	}
	return condition
}

// Where selects the rows that match all conditions; all rows if there are no conditions.
func (t *Table[T]) Where(conditions ...Condition) *Query[T] {
	return &Query[T]{table: t.now(), conditions: conditions}
}

// All returns all records, ordered by key.
func (t *Table[T]) All(ctx context.Context) ([]T, error) { return t.Where().All(ctx) }

// Count returns the number of records.
func (t *Table[T]) Count(ctx context.Context) (int64, error) { return t.Where().Count(ctx) }

func (t *Table[T]) setsOf(verb uint8) wire.Set {
	if verb == wire.Upsert {
		return t.plan.updated
	}
	return wire.SetOf(nil)
}

// settable returns the position of a column that an update may set.
func (p *plan) settable(name string) (int, error) {
	place, err := p.place(name)
	if err == nil && (p.isKey(place) || place == p.version) {
		err = misuse("a key or version can't be updated: delete the row and insert another").
			In(p.schema.Name, name)
	}
	return place, err
}

func (p *plan) change(
	ctx context.Context, in Session, condition *wire.Condition, assigns []wire.Assign,
) (count int64, err error) {
	err = in.run(ctx, true, func(c *conn) error {
		table, err := c.tablesOf(p, condition)
		if err != nil {
			return err
		}
		count, err = c.count(wire.Change, func(w *wire.Writer) {
			wire.PutChange(w, table, condition, assigns)
		})
		return err
	})
	return count, err
}
