package wire

// Type is a column's type.
type Type uint8

// The types, by their numbers on the wire.
const (
	TypeBool Type = iota
	TypeI8
	TypeI16
	TypeI32
	TypeI64
	TypeU8
	TypeU16
	TypeU32
	TypeU64
	TypeF32
	TypeF64
	TypeText
	TypeBytes
	TypeUUID
	TypeCurrency
	TypeDate
	TypeTime
	TypeDateTime
	TypeTimestamp
	TypeJSON
	TypeAny
	// Only SQL's parameters and results have it.
	TypeDecimal
	// TypeVector is that of vectors: their length follows.
	TypeVector
)

var typeNames = [...]string{
	"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "text", "bytes",
	"uuid", "currency", "date", "time", "datetime", "timestamp", "json", "any",
	"decimal", "vector",
}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown"
}

// TypeNamed returns the type with this name.
func TypeNamed(name string) (Type, bool) {
	for number, other := range typeNames {
		if other == name {
			return Type(number), true
		}
	}
	return 0, false
}

// Roles of columns that Bobak sets.
const (
	Plain uint8 = iota
	CreatedAt
	ModifiedAt
	Version
)

// The generators of keys: the engine, the client (UUIDs), or none, if the program gives them.
const (
	KeysByEngine uint8 = iota
	KeysByClient
	KeysByUser
)

// What a delete of the referenced row does.
const (
	Restrict uint8 = iota
	Cascade
	SetNull
	NoAction
)

// Reference is a foreign key of one column.
type Reference struct {
	Table, Column string
	// OnDelete is 0 restrict, 1 cascade, 2 set NULL, 3 no action; plus 4 times the action on update
	// (0 no action, 1 restrict, 2 cascade, 3 set NULL), plus 16 if the rule is checked at the commit.
	OnDelete uint8
}

// Column describes a column.
type Column struct {
	Name                     string
	Type                     Type
	Nullable, Unique, AsText bool
	// Collation is 0 binary, 1 ASCII case-insensitive, 2 Unicode case-insensitive.
	Collation, Role uint8
	// MaxChars is 0 if there is no limit.
	MaxChars   uint32
	HasMax     bool
	Default    any
	HasDefault bool
	Check      string
	References *Reference
	// Generated is the expression by which the engine computes the column; empty if it is written.
	Generated string
	// Length is the number of the numbers of a vector.
	Length uint16
}

// Index describes an index over columns, by their positions.
type Index struct {
	Name    string
	Unique  bool
	Columns []int
}

// ForeignKey describes a foreign key of several columns.
type ForeignKey struct {
	// Columns are positions, in the order of Referenced.
	Columns    []int
	Table      string
	Referenced []string
	// Actions are those of [Reference.OnDelete].
	Actions uint8
}

// Bits above the generator of keys.
const (
	neverReused    = 4
	hasForeignKeys = 8
	isView         = 16
	isSearched     = 32
)

// SearchSchema is what a table is searched by.
type SearchSchema struct {
	Columns  []int
	Language string
}

// Table describes a table.
type Table struct {
	Name    string
	Columns []Column
	Key     []int
	KeysBy  uint8
	// NeverReused says that the engine never makes the key of a deleted row again.
	NeverReused bool
	Indexes     []Index
	ForeignKeys []ForeignKey
	// View says that it is a view, which can only be read and may have no key.
	View bool
	// Search is what the table is searched by, or nil.
	Search *SearchSchema
}

// Describe returns the description as bytes.
func (t *Table) Describe() []byte {
	w := &Writer{}
	w.Text(t.Name)
	w.U16(uint16(len(t.Columns)))
	for place := range t.Columns {
		t.Columns[place].put(w)
	}
	w.Places(t.Key)
	keys := t.KeysBy
	if t.NeverReused {
		keys |= neverReused
	}
	if len(t.ForeignKeys) > 0 {
		keys |= hasForeignKeys
	}
	if t.View {
		keys |= isView
	}
	if t.Search != nil {
		keys |= isSearched
	}
	w.U8(keys)
	w.U16(uint16(len(t.Indexes)))
	for _, index := range t.Indexes {
		w.Text(index.Name)
		w.Bool(index.Unique)
		w.Places(index.Columns)
	}
	if len(t.ForeignKeys) > 0 {
		w.U16(uint16(len(t.ForeignKeys)))
	}
	for _, key := range t.ForeignKeys {
		w.Places(key.Columns)
		w.Text(key.Table)
		for _, name := range key.Referenced {
			w.Text(name)
		}
		w.U8(key.Actions)
	}
	if t.Search != nil {
		w.Places(t.Search.Columns)
		w.Text(t.Search.Language)
	}
	return w.Out
}

func (c *Column) put(w *Writer) {
	w.Text(c.Name)
	w.U8(uint8(c.Type))
	if c.Type == TypeVector {
		w.U16(c.Length)
	}
	flags := uint8(0)
	for bit, set := range [...]bool{c.Nullable, c.Unique, c.AsText, c.Generated != ""} {
		if set {
			flags |= 1 << bit
		}
	}
	w.U8(flags)
	w.U8(c.Collation)
	w.U8(c.Role)
	w.Bool(c.HasMax)
	if c.HasMax {
		w.U32(c.MaxChars)
	}
	w.Bool(c.HasDefault)
	if c.HasDefault {
		w.Value(c.Default)
	}
	w.Bool(c.Check != "")
	if c.Check != "" {
		w.Text(c.Check)
	}
	w.Bool(c.References != nil)
	if c.References != nil {
		w.Text(c.References.Table)
		w.Text(c.References.Column)
		w.U8(c.References.OnDelete)
	}
	if c.Generated != "" {
		w.Text(c.Generated)
	}
}

// ParseTable reads a description.
func ParseTable(described []byte) (*Table, error) {
	r := &Reader{Data: described}
	t := &Table{Name: r.Text()}
	for count := r.U16(); count > 0 && r.Err == nil; count-- {
		t.Columns = append(t.Columns, readColumn(r))
	}
	t.Key = r.Places(len(t.Columns))
	keys := r.upTo(63, "a generator of keys")
	if t.KeysBy = keys & 3; t.KeysBy > KeysByUser {
		r.fail("%d is not a key generator", keys)
	}
	t.NeverReused = keys&neverReused != 0
	t.View = keys&isView != 0
	for count := r.U16(); count > 0 && r.Err == nil; count-- {
		index := Index{Name: r.Text(), Unique: r.Bool()}
		index.Columns = r.Places(len(t.Columns))
		t.Indexes = append(t.Indexes, index)
	}
	count := uint16(0)
	if keys&hasForeignKeys != 0 {
		count = r.U16()
	}
	for ; count > 0 && r.Err == nil; count-- {
		key := ForeignKey{Columns: r.Places(len(t.Columns)), Table: r.Text()}
		for range key.Columns {
			key.Referenced = append(key.Referenced, r.Text())
		}
		key.Actions = r.upTo(31, "an action of a foreign key")
		t.ForeignKeys = append(t.ForeignKeys, key)
	}
	if keys&isSearched != 0 {
		t.Search = &SearchSchema{r.Places(len(t.Columns)), r.Text()}
	}
	return t, r.Finish()
}

func readColumn(r *Reader) Column {
	c := Column{Name: r.Text()}
	c.Type, c.Length = readType(r)
	flags := r.upTo(47, "a column's flags")
	c.Nullable, c.Unique, c.AsText = flags&1 != 0, flags&2 != 0, flags&4 != 0
	c.Collation = r.upTo(2, "a collation")
	c.Role = r.upTo(Version, "a role")
	if c.HasMax = r.Bool(); c.HasMax {
		c.MaxChars = r.U32()
	}
	if c.HasDefault = r.Bool(); c.HasDefault {
		c.Default = r.Value()
	}
	c.Check = r.OptionalText()
	if r.Bool() {
		c.References = &Reference{r.Text(), r.Text(), r.upTo(31, "an action on delete")}
	}
	if flags&8 != 0 {
		c.Generated = r.Text()
	}
	return c
}

// readType reads a type, and the length of a vector.
func readType(r *Reader) (Type, uint16) {
	found := Type(r.upTo(uint8(TypeVector), "a type"))
	if found == TypeVector {
		return found, r.U16()
	}
	return found, 0
}

func (r *Reader) upTo(most uint8, what string) uint8 {
	value := r.U8()
	if value > most {
		r.fail("%d is not %s", value, what)
	}
	return value
}
