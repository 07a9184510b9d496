package bobak

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// plan describes how the rows of one table are written and read as structs of one type.
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
	// logPlan is the plan of the table's change log, made by logOnce at its first use.
	logOnce sync.Once
	logPlan *plan
}

// fieldPlan is a field, and the column that stores it.
type fieldPlan struct {
	index  []int
	place  int
	codec  codec
	column *wire.Column
}

// newPlan matches a struct with an existing table.
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
		goType := t.FieldByIndex(field.index).Type
		found, ok := codecOf(goType, column)
		if !ok {
			return nil, wire.Errorf(Schema, "the column has the type %s, and the field of %s the type %s",
				column.Type, t, goType).In(schema.Name, column.Name)
		}
		p.fields = append(p.fields, fieldPlan{field.index, place, found, column})
		p.byPlace[place] = &p.fields[len(p.fields)-1]
	}
	if err := p.checkKey(t, fields); err != nil {
		return nil, err
	}
	return p, p.roles(t)
}

// checkKey rejects a struct with the columns of the key in another order: its program would name
// other rows by its keys.
func (p *plan) checkKey(t reflect.Type, fields []taggedField) error {
	var declared []string
	for _, field := range fields {
		if field.key {
			declared = append(declared, field.column.Name)
		}
	}
	if len(declared) != len(p.schema.Key) {
		return nil
	}
	var key []string
	for _, place := range p.schema.Key {
		key = append(key, p.schema.Columns[place].Name)
	}
	for number, name := range declared {
		if !strings.EqualFold(name, key[number]) {
			return wire.Errorf(Schema, "the key of the table is (%s), and that of %s is (%s): a struct has "+
				"these fields in the same order", strings.Join(key, ", "), t, strings.Join(declared, ", ")).
				In(p.schema.Name, "")
		}
	}
	return nil
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
		if known && !p.isKey(place) && column.Generated == "" {
			updated = append(updated, place)
		}
		if !known && !column.Nullable && !column.HasDefault && column.Generated == "" {
			return wire.Errorf(Schema, "%s has no field for this column, and the column has no default", t).
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

// stored returns a value in the stored form of a column.
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

// appendNew appends a new row with the time stamps of now. A missing key is generated here, or left
// to the engine.
func (p *plan) appendNew(out []byte, record reflect.Value, now time.Time) ([]byte, error) {
	if p.schema.KeysBy == wire.KeysByClient {
		p.generateKey(record)
	}
	return p.appendRow(out, record, now, true)
}

func (p *plan) generateKey(record reflect.Value) {
	key := p.byPlace[p.schema.Key[0]]
	if key == nil {
		return
	}
	field := record.FieldByIndex(key.index)
	if !field.IsZero() {
		return
	}
	generated := NewUUID()
	switch field.Type() {
	case uuidType, anyType:
		field.Set(reflect.ValueOf(generated))
	case reflect.PointerTo(uuidType):
		field.Set(reflect.ValueOf(&generated))
	}
}

// appendRow appends all columns of a record, with the time stamps of now.
func (p *plan) appendRow(
	out []byte, record reflect.Value, now time.Time, isNew bool,
) ([]byte, error) {
	w := wire.BeginRow(out, len(p.byPlace))
	for place, field := range p.byPlace {
		column := &p.schema.Columns[place]
		if place == p.modified || place == p.created && isNew {
			stamp(&w, column, now)
			continue
		}
		if field == nil {
			p.appendMissing(&w, place, now)
			continue
		}
		from := record.FieldByIndex(field.index)
		// A pointer is zero if it is nil: a pointer to 0 is an ordinary key.
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

// appendMissing appends the value of a column that the struct does not have.
func (p *plan) appendMissing(w *wire.RowWriter, place int, now time.Time) {
	column := &p.schema.Columns[place]
	switch {
	case place == p.created:
		stamp(w, column, now)
	case place == p.version:
		w.Int(0)
	case p.schema.KeysBy != wire.KeysByUser && p.isKey(place):
		// A generated key has no default.
		w.Null()
	default:
		w.Value(column.Default)
	}
}

// currentTime is the time as a column stores it: in microseconds, UTC.
func currentTime() time.Time { return time.UnixMicro(time.Now().UnixMicro()).UTC() }

// stamp writes the time as the column stores it.
func stamp(w *wire.RowWriter, column *wire.Column, now time.Time) {
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
		return nil, misuse("the key has %d columns, not %d", len(p.schema.Key), len(key)).
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

// read sets a record's fields from a row of all columns.
func (p *plan) read(row wire.Row, record reflect.Value) error {
	if row.Len() != len(p.byPlace) {
		return wire.Garbled("a row of another table")
	}
	for number := range p.fields {
		field := &p.fields[number]
		if err := field.codec.get(row, field.place, record.FieldByIndex(field.index)); err != nil {
			return p.inRow(p.in(err, field.column), row)
		}
	}
	return nil
}

// inRow adds the key of a row to an error about one of its values.
func (p *plan) inRow(err error, row wire.Row) error {
	known, ok := err.(*Error)
	if !ok || len(p.schema.Key) == 0 {
		return err
	}
	parts := make([]string, len(p.schema.Key))
	for number, place := range p.schema.Key {
		column := &p.schema.Columns[place]
		value, failed := natural(row.Value(place), column.Type)
		if failed != nil {
			value = row.Value(place)
		}
		shown := fmt.Sprint(value)
		switch row.Tag(place) {
		case wire.Text:
			shown = strconv.Quote(shown)
		case wire.Bytes:
			if _, isUUID := value.(UUID); !isUUID {
				shown = fmt.Sprintf("x'%x'", value)
			}
		}
		parts[number] = column.Name + " " + shown
	}
	known.Message += " (in the row with " + strings.Join(parts, ", ") + ")"
	return known
}

// setKey sets a record's key to the one that the engine has generated.
func (p *plan) setKey(record reflect.Value, key int64) error {
	if p.schema.KeysBy != wire.KeysByEngine {
		return nil
	}
	return p.setStored(record, p.schema.Key[0], key)
}

// setStamps sets a record's time stamps to those that were written.
func (p *plan) setStamps(record reflect.Value, now time.Time, created bool) error {
	for _, place := range []int{p.created, p.modified} {
		if place < 0 || place == p.created && !created {
			continue
		}
		w := wire.BeginRow(nil, 1)
		stamp(&w, &p.schema.Columns[place], now)
		if err := p.setFrom(record, place, w.End()); err != nil {
			return err
		}
	}
	return nil
}

// raiseVersion sets a record's version to the one that an update has stored.
func (p *plan) raiseVersion(record reflect.Value) error {
	version, ok, err := p.versionOf(record)
	if err != nil || !ok {
		return err
	}
	return p.setStored(record, p.version, version+1)
}

// versionOf returns a record's version, and whether it has one.
func (p *plan) versionOf(record reflect.Value) (int64, bool, error) {
	if p.version < 0 || p.byPlace[p.version] == nil {
		return 0, false, nil
	}
	values, err := p.fieldValues(record, []int{p.version})
	if err != nil {
		return 0, false, err
	}
	version, ok := values[0].(int64)
	return version, ok, nil
}

// fieldValues returns fields of a record in their stored form.
func (p *plan) fieldValues(record reflect.Value, places []int) ([]any, error) {
	w := wire.BeginRow(nil, len(places))
	for _, place := range places {
		field := p.byPlace[place]
		if field == nil {
			name := p.schema.Columns[place].Name
			return nil, misuse("%s has no field for this column", record.Type()).
				In(p.schema.Name, name)
		}
		if err := field.codec.put(record.FieldByIndex(field.index), &w); err != nil {
			return nil, p.in(err, field.column)
		}
	}
	row, _, err := wire.NextRow(w.End())
	if err != nil {
		return nil, err
	}
	values := make([]any, len(places))
	for number := range places {
		values[number] = row.Value(number)
	}
	return values, nil
}

// setStored sets the field of a column to a stored value.
func (p *plan) setStored(record reflect.Value, place int, value int64) error {
	field := p.byPlace[place]
	if field == nil {
		return nil
	}
	if into := record.FieldByIndex(field.index); into.Kind() == reflect.Int64 {
		into.SetInt(value)
		return nil
	}
	// A pointer, or a type that the value may not fit.
	return p.setFrom(record, place, wire.AppendRow(nil, []any{value}))
}

// setFrom sets the field of a column to the only value of an encoded row.
func (p *plan) setFrom(record reflect.Value, place int, encoded []byte) error {
	field := p.byPlace[place]
	if field == nil {
		return nil
	}
	row, _, err := wire.NextRow(encoded)
	if err != nil {
		return err
	}
	return p.in(field.codec.get(row, 0, record.FieldByIndex(field.index)), field.column)
}
