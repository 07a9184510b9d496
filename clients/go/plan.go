package bobak

import (
	"crypto/rand"
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

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

// tagged is what a field's tag says.
type tagged struct {
	index   []int
	goType  reflect.Type
	column  wire.Column
	typed   bool
	key     bool
	given   bool
	inIndex string
	unique  string
}

// fieldsOf reads the exported fields of a struct, and their tags.
func fieldsOf(t reflect.Type) ([]tagged, error) {
	if t.Kind() != reflect.Struct {
		return nil, wire.Errorf(Schema, "%s is no struct", t)
	}
	var fields []tagged
	for number := 0; number < t.NumField(); number++ {
		field := t.Field(number)
		tag := field.Tag.Get("bobak")
		if tag == "" && isEmbedded(field) {
			inner, err := fieldsOf(field.Type)
			if err != nil {
				return nil, err
			}
			for _, one := range inner {
				one.index = append(append([]int{}, field.Index...), one.index...)
				fields = append(fields, one)
			}
			continue
		}
		if !field.IsExported() || tag == "-" {
			continue
		}
		found := tagged{index: field.Index, goType: field.Type}
		found.column.Name = snake(field.Name)
		if err := found.read(tag); err != nil {
			return nil, err.In("", found.column.Name)
		}
		if found.column.Nullable && field.Type.Kind() != reflect.Slice {
			return nil, wire.Errorf(Schema, "null is for slices: a pointer may be NULL without it").
				In("", found.column.Name)
		}
		if field.Type.Kind() == reflect.Pointer {
			found.column.Nullable = true
			found.goType = field.Type.Elem()
		}
		if field.Type == jsonType || field.Type == anyType {
			found.column.Nullable = true
		}
		if !found.typed {
			kind, ok := defaultType(found.goType)
			if !ok {
				return nil, wire.Errorf(Schema, "a field of the type %s: no column has that; a pointer "+
					"is for what may be NULL, type=json for documents", field.Type).
					In("", found.column.Name)
			}
			found.column.Type = kind
		}
		fields = append(fields, found)
	}
	return fields, refuseTwins(t, fields)
}

// isEmbedded says whether a field's own fields are the struct's.
func isEmbedded(field reflect.StructField) bool {
	return field.Anonymous && field.Type.Kind() == reflect.Struct && field.Type != timeType
}

func refuseTwins(t reflect.Type, fields []tagged) error {
	seen := map[string]bool{}
	for _, field := range fields {
		name := strings.ToLower(field.column.Name)
		if seen[name] {
			return wire.Errorf(Schema, "%s has two fields for it", t).In("", field.column.Name)
		}
		seen[name] = true
	}
	return nil
}

// read reads a tag: a column's name, and options, with commas between.
func (f *tagged) read(tag string) *Error {
	name, rest, _ := strings.Cut(tag, ",")
	if name != "" {
		f.column.Name = name
	}
	for _, option := range strings.Split(rest, ",") {
		word, value, _ := strings.Cut(option, "=")
		switch word {
		case "":
		case "key":
			f.key = true
		case "given":
			f.key, f.given = true, true
		case "unique":
			f.column.Unique = true
		case "null":
			f.column.Nullable = true
		case "text":
			f.column.AsText = true
		case "nocase":
			f.column.Collation = 1
		case "unicode_nocase":
			f.column.Collation = 2
		case "created":
			f.column.Role, f.column.Type, f.typed = wire.CreatedAt, wire.TypeTimestamp, true
		case "modified":
			f.column.Role, f.column.Type, f.typed = wire.ModifiedAt, wire.TypeTimestamp, true
		case "version":
			f.column.Role = wire.Version
		case "max":
			most, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return wire.Errorf(Schema, "max is a number of characters, not '%s'", value)
			}
			f.column.MaxChars, f.column.HasMax = uint32(most), true
		case "type":
			if f.column.Type, f.typed = wire.TypeNamed(value); !f.typed {
				return wire.Errorf(Schema, "'%s' is no type", value)
			}
		case "check":
			f.column.Check = value
		case "index":
			f.inIndex = value
		case "unique_index":
			f.unique = value
		case "ref", "ref_cascade", "ref_set_null":
			table, column, ok := strings.Cut(value, ".")
			if !ok {
				return wire.Errorf(Schema, "'%s' is not table.column", value)
			}
			actions := map[string]uint8{"ref": 0, "ref_cascade": 1, "ref_set_null": 2}
			f.column.References = &wire.Reference{
				Table: table, Column: column, OnDelete: actions[word],
			}
		default:
			return wire.Errorf(Schema, "'%s' is no option of a column", word)
		}
	}
	return nil
}

func defaultType(t reflect.Type) (wire.Type, bool) {
	switch t {
	case currencyType:
		return wire.TypeCurrency, true
	case uuidType:
		return wire.TypeUUID, true
	case timeType:
		return wire.TypeTimestamp, true
	case durationType:
		return wire.TypeTime, true
	case jsonType:
		return wire.TypeJSON, true
	case bytesType:
		return wire.TypeBytes, true
	case anyType:
		return wire.TypeAny, true
	}
	kinds := map[reflect.Kind]wire.Type{
		reflect.Bool: wire.TypeBool, reflect.Int: wire.TypeI64, reflect.Int8: wire.TypeI8,
		reflect.Int16: wire.TypeI16, reflect.Int32: wire.TypeI32, reflect.Int64: wire.TypeI64,
		reflect.Uint: wire.TypeU64, reflect.Uint8: wire.TypeU8, reflect.Uint16: wire.TypeU16,
		reflect.Uint32: wire.TypeU32, reflect.Uint64: wire.TypeU64, reflect.Float32: wire.TypeF32,
		reflect.Float64: wire.TypeF64, reflect.String: wire.TypeText,
	}
	kind, ok := kinds[t.Kind()]
	return kind, ok
}

// describe makes the table that a struct describes.
func describe(t reflect.Type) (*wire.Table, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	table := &wire.Table{Name: tableName(t), KeysBy: wire.KeysByUser}
	given := false
	for place, field := range fields {
		column := field.column
		if field.key {
			table.Key = append(table.Key, place)
			given = given || field.given
		}
		table.Columns = append(table.Columns, column)
		addToIndex(table, place, field.inIndex, false)
		addToIndex(table, place, field.unique, true)
	}
	for place, column := range table.Columns {
		if len(table.Key) == 0 && column.Name == "id" {
			table.Key = []int{place}
		}
	}
	for _, place := range table.Key {
		// A key that is to be made is nil in a record that is new; in the table it never is NULL.
		table.Columns[place].Nullable = false
	}
	if len(table.Key) == 0 {
		return nil, wire.Errorf(Schema, "%s has no key: name a field ID, or tag one with key", t)
	}
	if len(table.Key) == 1 && !given {
		switch table.Columns[table.Key[0]].Type {
		case wire.TypeI64:
			table.KeysBy = wire.KeysByEngine
		case wire.TypeUUID:
			table.KeysBy = wire.KeysByClient
		}
	}
	return table, nil
}

// addToIndex adds a column to the index of this name.
func addToIndex(table *wire.Table, place int, name string, unique bool) {
	if name == "" {
		return
	}
	for number := range table.Indexes {
		if table.Indexes[number].Name == name {
			table.Indexes[number].Columns = append(table.Indexes[number].Columns, place)
			return
		}
	}
	table.Indexes = append(table.Indexes, wire.Index{
		Name: name, Unique: unique, Columns: []int{place},
	})
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

func tableName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(interface{ TableName() string }); ok {
		return named.TableName()
	}
	return snake(t.Name())
}

// snake makes first_name of FirstName, and id of ID.
func snake(name string) string {
	runes := []rune(name)
	var out strings.Builder
	for place, one := range runes {
		if place > 0 && unicode.IsUpper(one) {
			after := place+1 < len(runes) && unicode.IsLower(runes[place+1])
			if !unicode.IsUpper(runes[place-1]) || after {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(one))
	}
	return out.String()
}

var lastUUID struct {
	sync.Mutex
	tick uint64
}

// NewUUID makes a UUID of version 7: it sorts after every one that this process made before.
func NewUUID() UUID {
	// 48 bits of milliseconds and 12 of a counter, which runs on into the milliseconds where more
	// are made in one, or where the clock goes back.
	now := uint64(time.Now().UnixMilli()) << 12
	lastUUID.Lock()
	lastUUID.tick++
	if lastUUID.tick < now {
		lastUUID.tick = now
	}
	tick := lastUUID.tick
	lastUUID.Unlock()
	var id UUID
	binary.BigEndian.PutUint64(id[:], tick>>12<<16|7<<12|tick&0xfff)
	// It fails nowhere; with less randomness the key is still this process's own.
	_, _ = rand.Read(id[8:])
	id[8] = id[8]&0x3f | 0x80
	return id
}
