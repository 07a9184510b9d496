package bobak

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// taggedField is a field of a struct, as its type and its tag describe it.
type taggedField struct {
	index  []int
	goType reflect.Type
	column wire.Column
	// typed is set if the tag names the column's type.
	typed bool
	key   bool
	given bool
	// indexName and uniqueIndex name the indexes that the column belongs to.
	indexName   string
	uniqueIndex string
	// language is that of a text which is searched.
	language string
}

// ownIndex stands for an index over one field, which the tag does not name.
const ownIndex = "*"

// fieldsOf reads the exported fields of a struct, and their tags.
func fieldsOf(t reflect.Type) ([]taggedField, error) {
	if t.Kind() != reflect.Struct {
		return nil, wire.Errorf(Schema, "%s is not a struct", t)
	}
	var fields []taggedField
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
		found, err := readField(field, tag)
		if err != nil {
			return nil, err
		}
		fields = append(fields, found)
	}
	return fields, rejectDuplicates(t, fields)
}

func readField(field reflect.StructField, tag string) (taggedField, error) {
	found := taggedField{index: field.Index, goType: field.Type}
	found.column.Name = snake(field.Name)
	if err := found.read(tag); err != nil {
		return found, err.In("", found.column.Name)
	}
	if found.column.Nullable && field.Type.Kind() != reflect.Slice {
		return found, wire.Errorf(Schema, "null is for slices: use a pointer for another type that "+
			"may be NULL").In("", found.column.Name)
	}
	if field.Type.Kind() == reflect.Pointer {
		found.column.Nullable = true
		found.goType = field.Type.Elem()
	}
	if field.Type == jsonType || field.Type == anyType {
		found.column.Nullable = true
	}
	reference := found.column.References
	if reference != nil && reference.OnDelete == wire.SetNull && !found.column.Nullable {
		return found, wire.Errorf(Schema, "on_delete=set_null needs a field that may be NULL: make "+
			"it a pointer").In("", found.column.Name)
	}
	if !found.typed {
		kind, ok := defaultType(found.goType)
		if !ok {
			return found, wire.Errorf(Schema, "no column has the type %s: use a pointer for a value "+
				"that may be NULL, type=json for a document, or vector=384 for a vector", field.Type).In("", found.column.Name)
		}
		found.column.Type = kind
	}
	return found, nil
}

// isEmbedded reports whether the struct takes over the fields of this field.
func isEmbedded(field reflect.StructField) bool {
	return field.Anonymous && field.Type.Kind() == reflect.Struct && field.Type != timeType
}

func rejectDuplicates(t reflect.Type, fields []taggedField) error {
	seen := map[string]bool{}
	for _, field := range fields {
		name := strings.ToLower(field.column.Name)
		if seen[name] {
			return wire.Errorf(Schema, "%s has two fields for this column", t).
				In("", field.column.Name)
		}
		seen[name] = true
	}
	return nil
}

// read reads a tag: the column's name, then options, separated by commas.
func (f *taggedField) read(tag string) *Error {
	options := splitOptions(tag)
	if options[0] != "" {
		f.column.Name = options[0]
	}
	onDelete := ""
	for _, option := range options[1:] {
		word, value, _ := strings.Cut(option, "=")
		if word == "on_delete" {
			onDelete = value
			continue
		}
		if err := f.set(word, value); err != nil {
			return err
		}
	}
	if onDelete == "" {
		return nil
	}
	if f.column.References == nil {
		return wire.Errorf(Schema, "on_delete needs references=table(column)")
	}
	action, err := oneOf("on_delete", onDelete, "restrict", "cascade", "set_null", "no_action")
	f.column.References.OnDelete = action
	return err
}

func (f *taggedField) set(option, value string) (err *Error) {
	switch option {
	case "":
	case "key":
		if value != "" && value != "given" {
			return wire.Errorf(Schema, "key is written key or key=given, not key=%s", value)
		}
		f.key, f.given = true, value == "given"
	case "unique":
		f.column.Unique = true
	case "null":
		f.column.Nullable = true
	case "store":
		_, err = oneOf("store", value, "text")
		f.column.AsText = true
	case "collation":
		f.column.Collation, err = oneOf("collation", value, "binary", "nocase", "unicode_nocase")
	case "created_at":
		f.column.Role, f.column.Type, f.typed = wire.CreatedAt, wire.TypeTimestamp, true
	case "modified_at":
		f.column.Role, f.column.Type, f.typed = wire.ModifiedAt, wire.TypeTimestamp, true
	case "version":
		f.column.Role = wire.Version
	case "max":
		most, failed := strconv.ParseUint(value, 10, 32)
		if failed != nil {
			return wire.Errorf(Schema, "max is a number of characters, not '%s'", value)
		}
		f.column.MaxChars, f.column.HasMax = uint32(most), true
	case "type":
		if f.column.Type, f.typed = wire.TypeNamed(value); !f.typed {
			return wire.Errorf(Schema, "'%s' is not a column type", value)
		}
		if f.column.Type == wire.TypeVector {
			return wire.Errorf(Schema, "a vector has a number of numbers: write vector=384")
		}
	case "check":
		f.column.Check = value
	case "index":
		f.indexName = value
		if value == "" {
			f.indexName = ownIndex
		}
	case "unique_index":
		if f.uniqueIndex = value; value == "" {
			return wire.Errorf(Schema, "unique_index needs a name: fields with the same name share it")
		}
	case "search":
		if f.language = value; value == "" {
			f.language = "simple"
		}
	case "vector":
		length, failed := strconv.ParseUint(value, 10, 16)
		if failed != nil || length == 0 {
			return wire.Errorf(Schema, "vector is a number from 1 to 65535, as in vector=384, not '%s'", value)
		}
		f.column.Type, f.column.Length, f.typed = wire.TypeVector, uint16(length), true
	case "references":
		f.column.References, err = readReference(value)
	default:
		return wire.Errorf(Schema, "'%s' is not an option of a column; the options are: key, "+
			"key=given, unique, max, type, null, store=text, collation, created_at, modified_at, "+
			"version, check, index, unique_index, search, vector, references, on_delete", option)
	}
	return err
}

// splitOptions splits a tag at its commas, except those in parentheses and in SQL strings, which a
// check may contain.
func splitOptions(tag string) []string {
	var options []string
	start, depth, quoted := 0, 0, false
	for place, letter := range tag {
		switch {
		case letter == '\'':
			quoted = !quoted
		case quoted:
		case letter == '(':
			depth++
		case letter == ')':
			depth--
		case letter == ',' && depth <= 0:
			options = append(options, tag[start:place])
			start = place + 1
		}
	}
	return append(options, tag[start:])
}

// readReference reads table(column).
func readReference(text string) (*wire.Reference, *Error) {
	table, column, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	if table == "" || column == "" || text != table+"("+column+")" {
		return nil, wire.Errorf(Schema, "references=%s: write references=table(column)", text)
	}
	return &wire.Reference{Table: table, Column: column}, nil
}

// oneOf returns the number of a word among those that an option accepts.
func oneOf(option, word string, words ...string) (uint8, *Error) {
	for number, other := range words {
		if word == other {
			return uint8(number), nil
		}
	}
	return 0, wire.Errorf(Schema, "%s is one of %s, not '%s'", option, strings.Join(words, ", "), word)
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

// describe returns the schema of the table that a struct describes.
func describe(t reflect.Type) (*wire.Table, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	table := &wire.Table{Name: tableName(t), KeysBy: wire.KeysByUser}
	given := false
	for place, field := range fields {
		column := field.column
		if column.Role != wire.Plain {
			// A pointer is nil in a new record, but the column is never NULL.
			column.Nullable = false
		}
		if field.key {
			table.Key = append(table.Key, place)
			given = given || field.given
		}
		table.Columns = append(table.Columns, column)
		addToIndex(table, place, field.indexName, false)
		addToIndex(table, place, field.uniqueIndex, true)
		if err := addToSearch(table, place, field.language); err != nil {
			return nil, err
		}
	}
	for place, column := range table.Columns {
		if len(table.Key) == 0 && column.Name == "id" {
			table.Key = []int{place}
		}
	}
	for _, place := range table.Key {
		// A generated key is nil in a new record, but never NULL in the table.
		table.Columns[place].Nullable = false
	}
	if len(table.Key) == 0 {
		return nil, wire.Errorf(Schema, "%s has no key: name a field ID, or tag a field with key", t)
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

// addToIndex adds a column to the index with this name. Fields that name the same index share it.
func addToIndex(table *wire.Table, place int, name string, unique bool) {
	if name == "" {
		return
	}
	if name == ownIndex {
		name = table.Name + "_" + table.Columns[place].Name
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

// addToSearch adds a column to what the table is searched by. All of its columns have one language.
func addToSearch(table *wire.Table, place int, language string) error {
	switch {
	case language == "":
	case table.Search == nil:
		table.Search = &wire.SearchSchema{Columns: []int{place}, Language: language}
	case table.Search.Language != language:
		return wire.Errorf(Schema, "the columns of a search have one language, not %s and %s",
			table.Search.Language, language).In(table.Name, table.Columns[place].Name)
	default:
		table.Search.Columns = append(table.Search.Columns, place)
	}
	return nil
}

func tableName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(interface{ TableName() string }); ok {
		return named.TableName()
	}
	return snake(t.Name())
}

// snake returns first_name for FirstName, and id for ID.
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
