package bobak

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// plan is how the rows of one table are written and read as structs of one type.
type plan struct {
	schema    *wire.Table
	described []byte
	fields    []fieldPlan
	// byPlace has each column's field, or nil.
	byPlace  []*fieldPlan
	updated  wire.Set
	created  int
	modified int
	version  int
	// logOnce makes logPlan, that of the table's log, where it is asked for.
	logOnce sync.Once
	logPlan *plan
}

// fieldPlan is a field, and the column that it is kept in.
type fieldPlan struct {
	index  []int
	place  int
	codec  codec
	column *wire.Column
}

// newPlan fits a struct to a table that is there.
func newPlan(t reflect.Type, schema *wire.Table, described []byte) (*plan, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	p := &plan{schema: schema, described: described, created: -1, modified: -1, version: -1}
	p.byPlace = make([]*fieldPlan, len(schema.Columns))
	p.fields = make([]fieldPlan, 0, len(fields))
	for _, field := range fields {
		place, err := p.place(field.column.Name)
		if err != nil {
			return nil, err
		}
		column := &schema.Columns[place]
		kept := t.FieldByIndex(field.index).Type
		found, ok := codecOf(kept, column)
		if !ok {
			return nil, wire.Errorf(Schema, "its type is %s, that of %s's field %s", column.Type, t,
				kept).In(schema.Name, column.Name)
		}
		p.fields = append(p.fields, fieldPlan{field.index, place, found, column})
		p.byPlace[place] = &p.fields[len(p.fields)-1]
	}
	return p, p.roles(t)
}

func (p *plan) roles(t reflect.Type) error {
	var updated []int
	for place := range p.schema.Columns {
		column := &p.schema.Columns[place]
		known := p.byPlace[place] != nil
		switch column.Role {
		case wire.CreatedAt:
			p.created = place
			continue
		case wire.ModifiedAt:
			p.modified = place
			updated = append(updated, place)
			continue
		case wire.Version:
			p.version = place
			continue
		}
		if known && !p.isKey(place) {
			updated = append(updated, place)
		}
		if !known && !column.Nullable && !column.HasDefault {
			return wire.Errorf(Schema, "%s has no field for it, and it has no default", t).
				In(p.schema.Name, column.Name)
		}
	}
	p.updated = wire.SetOf(updated)
	return nil
}

func (p *plan) isKey(place int) bool {
	for _, key := range p.schema.Key {
		if key == place {
			return true
		}
	}
	return false
}

// place finds a column by its name.
func (p *plan) place(name string) (int, error) {
	for place := range p.schema.Columns {
		if strings.EqualFold(p.schema.Columns[place].Name, name) {
			return place, nil
		}
	}
	return 0, wire.Errorf(Schema, "there is no column '%s'", name).In(p.schema.Name, "")
}

// stored is a value in the stored form of a column.
func (p *plan) stored(place int, value any) (any, error) {
	column := &p.schema.Columns[place]
	found, err := storedIn(value, column)
	return found, p.in(err, column)
}

func (p *plan) in(err error, column *wire.Column) error {
	if known, ok := err.(*Error); ok {
		return known.In(p.schema.Name, column.Name)
	}
	return err
}

// appendNew appends a new row: its key made, or left to the engine; its stamps filled.
func (p *plan) appendNew(out []byte, record reflect.Value) ([]byte, error) {
	if p.schema.KeysBy == wire.KeysByClient {
		p.makeKey(record)
	}
	return p.appendRow(out, record, true)
}

func (p *plan) makeKey(record reflect.Value) {
	key := p.byPlace[p.schema.Key[0]]
	if key == nil {
		return
	}
	field := record.FieldByIndex(key.index)
	if !field.IsZero() {
		return
	}
	made := NewUUID()
	switch field.Type() {
	case uuidType, anyType:
		field.Set(reflect.ValueOf(made))
	case reflect.PointerTo(uuidType):
		field.Set(reflect.ValueOf(&made))
	}
}

// appendRow appends all columns of a record.
func (p *plan) appendRow(out []byte, record reflect.Value, isNew bool) ([]byte, error) {
	w := wire.BeginRow(out, len(p.byPlace))
	for place, field := range p.byPlace {
		column := &p.schema.Columns[place]
		if place == p.modified || place == p.created && isNew {
			stamp(&w, column)
			continue
		}
		if field == nil {
			p.appendMissing(&w, place)
			continue
		}
		from := record.FieldByIndex(field.index)
		// A pointer is zero where it is nil: the key 0 behind one is a key like others.
		if isNew && p.schema.KeysBy == wire.KeysByEngine && p.isKey(place) && from.IsZero() {
			w.Null()
			continue
		}
		if err := field.codec.put(from, &w); err != nil {
			return out, p.in(err, column)
		}
	}
	return w.End(), nil
}

func (p *plan) appendMissing(w *wire.RowWriter, place int) {
	column := &p.schema.Columns[place]
	switch {
	case place == p.created:
		stamp(w, column)
	case place == p.version:
		w.Int(0)
	case p.schema.KeysBy != wire.KeysByUser && p.isKey(place):
		// A key that is made is not that of a default.
		w.Null()
	default:
		w.Value(column.Default)
	}
}

// stamp writes the time, as the column stores it.
func stamp(w *wire.RowWriter, column *wire.Column) {
	now := time.Now().UTC()
	if column.AsText {
		w.Text(now.Format(dateTimeForm) + "Z")
	} else {
		w.Int(now.UnixMicro())
	}
}

// appendKey appends a key: one value for each of its columns.
func (p *plan) appendKey(out []byte, key []any) ([]byte, error) {
	stored, err := p.key(key)
	if err != nil {
		return nil, err
	}
	return wire.AppendRow(out, stored), nil
}

func (p *plan) key(key []any) ([]any, error) {
	if len(key) != len(p.schema.Key) {
		return nil, misuse("a key of %d columns where there are %d", len(key), len(p.schema.Key)).
			In(p.schema.Name, "")
	}
	stored := make([]any, len(key))
	for number, place := range p.schema.Key {
		var err error
		if stored[number], err = p.stored(place, key[number]); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// read fills a record from a row of all columns.
func (p *plan) read(row wire.Row, record reflect.Value) error {
	if row.Len() != len(p.byPlace) {
		return wire.Garbled("a row of another table")
	}
	for number := range p.fields {
		field := &p.fields[number]
		if err := field.codec.get(row, field.place, record.FieldByIndex(field.index)); err != nil {
			return p.in(err, field.column)
		}
	}
	return nil
}

// setKey tells a record the key that the engine has given.
func (p *plan) setKey(record reflect.Value, key int64) error {
	field := p.byPlace[p.schema.Key[0]]
	if field == nil || p.schema.KeysBy != wire.KeysByEngine {
		return nil
	}
	into := record.FieldByIndex(field.index)
	if into.Kind() == reflect.Int64 {
		into.SetInt(key)
		return nil
	}
	// A pointer, or a type that the key may not fit.
	row, _, err := wire.NextRow(wire.AppendRow(nil, []any{key}))
	if err != nil {
		return err
	}
	return p.in(field.codec.get(row, 0, into), field.column)
}
