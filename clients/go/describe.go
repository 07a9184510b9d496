package bobak

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

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
