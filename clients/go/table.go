package bobak

import (
	"context"
	"reflect"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Table keeps records of a struct type.
//
// Exported fields are columns, named in snake case or by the tag bobak:"name,options". The options
// are key (by default the field ID is), given (a key that nobody makes), unique, max=40, type=i32
// (and date, datetime, json, …), text (dates and UUIDs kept as ISO texts), nocase, unicode_nocase,
// created and modified (stamps that Bobak fills), version (compared and raised at each update),
// check=SQL, index=NAME, unique_index=NAME, ref=table.column (ref_cascade, ref_set_null), and null: a
// []byte may be NULL then, which is nil. A pointer may be NULL; "-" leaves a field out. The fields of
// an embedded struct are the struct's own.
type Table[T any] struct {
	session Session
	plan    *plan
}

// Of gives the table of a struct, in a database or a transaction. Its name is the struct's in snake
// case, or what its method TableName says.
func Of[T any](ctx context.Context, in Session) (*Table[T], error) {
	p, err := in.database().planFor(ctx, in, reflect.TypeOf((*T)(nil)).Elem())
	if err != nil {
		return nil, err
	}
	return &Table[T]{in, p}, nil
}

// In gives the same table in a transaction, or in another session.
func (t *Table[T]) In(session Session) *Table[T] { return &Table[T]{session, t.plan} }

// Schema is the table as the server describes it.
func (t *Table[T]) Schema() *TableSchema { return t.plan.schema }

// Insert inserts a record. A key of 0, or a nil UUID, is made, and set in the record; where the field
// is a pointer one that is nil is made, and 0 is a key like others. So it is by each call that may
// insert, Upsert too. Creation and modification times are filled in the row.
func (t *Table[T]) Insert(ctx context.Context, record *T) error {
	_, err := t.insert(ctx, record, wire.Insert)
	return err
}

// InsertOrIgnore inserts a record, unless its key or a unique value is there; whether it did.
func (t *Table[T]) InsertOrIgnore(ctx context.Context, record *T) (bool, error) {
	group, err := t.insert(ctx, record, wire.InsertOrIgnore)
	return err == nil && group.Tag != wire.Ignored, err
}

// InsertOrReplace inserts a record; rows with its key or its unique values are deleted first.
func (t *Table[T]) InsertOrReplace(ctx context.Context, record *T) error {
	_, err := t.insert(ctx, record, wire.InsertOrReplace)
	return err
}

// Upsert inserts a record, or updates the one with its key.
func (t *Table[T]) Upsert(ctx context.Context, record *T) error {
	_, err := t.insert(ctx, record, wire.Upsert)
	return err
}

func (t *Table[T]) insert(ctx context.Context, record *T, verb uint8) (wire.Group, error) {
	rv := reflect.ValueOf(record).Elem()
	row, err := t.plan.appendNew(nil, rv)
	if err != nil {
		return wire.Group{}, err
	}
	group, err := t.write(ctx, verb, t.setsOf(verb), row)
	if err == nil && group.Tag == wire.IntegerKeys {
		err = t.plan.setKey(rv, group.Value)
	}
	return group, err
}

// Update overwrites the record with this one's key: all fields but the key and the creation time,
// or only the named columns. A version is compared, and raised in the record too.
//
// NotFound where there is none, Conflict where its version differs.
func (t *Table[T]) Update(ctx context.Context, record *T, columns ...string) error {
	sets, err := t.setsNamed(columns)
	if err != nil {
		return err
	}
	rv := reflect.ValueOf(record).Elem()
	row, err := t.plan.appendRow(nil, rv, false)
	if err != nil {
		return err
	}
	if _, err = t.write(ctx, wire.Update, sets, row); err != nil {
		return err
	}
	if t.plan.version >= 0 {
		if field := t.plan.byPlace[t.plan.version]; field != nil {
			version := rv.FieldByIndex(field.index)
			if version.CanInt() {
				version.SetInt(version.Int() + 1)
			}
		}
	}
	return nil
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

// Delete deletes the row with this key, one value for each of its columns; whether it was there.
func (t *Table[T]) Delete(ctx context.Context, key ...any) (bool, error) {
	row, err := t.plan.appendKey(nil, key)
	if err != nil {
		return false, err
	}
	group, err := t.write(ctx, wire.Delete, wire.SetOf(nil), row)
	return group.Value == 1, err
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

// Get gives the record with this key, one value for each of its columns; NotFound where there is
// none.
func (t *Table[T]) Get(ctx context.Context, key ...any) (*T, error) {
	record := new(T)
	row, err := t.plan.appendKey(nil, key)
	if err != nil {
		return nil, err
	}
	err = t.session.run(ctx, false, func(c *conn) error {
		table, err := c.table(t.plan)
		if err != nil {
			return err
		}
		body, err := c.ask(wire.Get, wire.Rows, func(w *wire.Writer) {
			w.U32(table)
			w.Out = append(w.Out, row...)
		})
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return wire.Errorf(NotFound, "no row has the key %v", key).In(t.plan.schema.Name, "")
		}
		found, _, err := wire.NextRow(body)
		if err != nil {
			return err
		}
		return t.plan.read(found, reflect.ValueOf(record).Elem())
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// Set assigns columns of the row with this key, in one step at the server; whether it is there. A
// key of several columns is a []any.
func (t *Table[T]) Set(ctx context.Context, key any, assignments ...Assignment) (bool, error) {
	parts, ok := key.([]any)
	if !ok {
		parts = []any{key}
	}
	stored, err := t.plan.key(parts)
	if err != nil {
		return false, err
	}
	condition := &wire.Condition{Tag: wire.And}
	for number, place := range t.plan.schema.Key {
		condition.Parts = append(condition.Parts, wire.Condition{
			Tag: wire.Compare, Place: place, Values: stored[number : number+1],
		})
	}
	assigns, err := t.plan.assigns(assignments)
	if err != nil {
		return false, err
	}
	count, err := t.plan.change(ctx, t.session, condition, assigns)
	return count > 0, err
}

// Where selects rows that keep all the conditions; all rows where there is none.
func (t *Table[T]) Where(conditions ...Condition) *Query[T] {
	return &Query[T]{table: t, conditions: conditions}
}

// All gives all records, by key.
func (t *Table[T]) All(ctx context.Context) ([]T, error) { return t.Where().All(ctx) }

// Count says how many records there are.
func (t *Table[T]) Count(ctx context.Context) (int64, error) { return t.Where().Count(ctx) }

func (t *Table[T]) setsOf(verb uint8) wire.Set {
	if verb == wire.Upsert {
		return t.plan.updated
	}
	return wire.SetOf(nil)
}

// settable finds a column that an update may set.
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
		table, err := c.table(p)
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
