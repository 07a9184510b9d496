package wire

// Welcome is a server's response to an authenticated client.
type Welcome struct {
	Version                               uint16
	Frame, Row, Requests, Handles, Window uint32
	Capabilities                          uint32
	Engine, Server                        string
}

// ParseWelcome reads a welcome.
func ParseWelcome(body []byte) (Welcome, error) {
	r := &Reader{Data: body}
	w := Welcome{Version: r.U16()}
	for _, limit := range []*uint32{
		&w.Frame, &w.Row, &w.Requests, &w.Handles, &w.Window, &w.Capabilities,
	} {
		*limit = r.U32()
	}
	w.Engine, w.Server = r.Text(), r.Text()
	return w, r.Finish()
}

// ParseError reads an error.
func ParseError(body []byte) (*Error, error) {
	r := &Reader{Data: body}
	found := readError(r)
	return found, r.Finish()
}

func readError(r *Reader) *Error {
	kind := Kind(r.U8())
	if kind < NotFound || kind > Invalid {
		// A kind that is newer than this client is some error all the same.
		kind = Engine
	}
	e := &Error{Kind: kind, Message: r.Text(), Row: -1}
	e.Table, e.Column = r.OptionalText(), r.OptionalText()
	if r.Bool() {
		e.Row = int64(r.U64())
	}
	if r.Bool() {
		e.Code = int32(r.U32())
	}
	e.Detail = r.OptionalText()
	if kind == Invalid {
		for count := r.U16(); count > 0; count-- {
			e.Violations = append(e.Violations, Violation{r.OptionalText(), r.Text()})
		}
	}
	return e
}

// ParseCount reads a number of rows.
func ParseCount(body []byte) (uint64, error) {
	r := &Reader{Data: body}
	count := r.U64()
	return count, r.Finish()
}

// Tags of groups of outcomes.
const (
	IntegerKeys uint8 = iota
	Inserted
	KeyGiven
	Changed
	Ignored
	Failed
	UpdatedInteger
	UpdatedKey
)

// Group is the outcome of consecutive rows.
type Group struct {
	Tag  uint8
	Rows uint32
	// Value is the first integer key, the key of the updated row, or how many rows each has changed.
	Value int64
	Key   [16]byte
	Err   *Error
}

// ParseOutcomes reads outcomes.
func ParseOutcomes(body []byte) ([]Group, error) {
	r := &Reader{Data: body}
	var groups []Group
	for len(r.Data) > 0 {
		g := Group{Tag: r.U8(), Rows: r.U32()}
		isSingle := g.Tag == KeyGiven || g.Tag >= Failed
		if g.Rows == 0 || g.Rows > 1 && isSingle {
			r.fail("%d rows of one outcome", g.Rows)
		}
		switch g.Tag {
		case IntegerKeys, Changed, UpdatedInteger:
			g.Value = int64(r.U64())
		case KeyGiven, UpdatedKey:
			copy(g.Key[:], r.Raw(16))
		case Failed:
			g.Err = readError(r)
		case Inserted, Ignored:
		default:
			r.fail("%d is not an outcome", g.Tag)
		}
		groups = append(groups, g)
	}
	return groups, r.Err
}

// ResultColumn is a column of a result. Its type is TypeAny if the server does not know it.
type ResultColumn struct {
	Name string
	Type Type
}

// ParseColumns reads the number of an open query, and its columns.
func ParseColumns(body []byte) (uint64, []ResultColumn, error) {
	r := &Reader{Data: body}
	cursor := r.U64()
	var columns []ResultColumn
	for count := r.U16(); count > 0 && r.Err == nil; count-- {
		name := r.Text()
		found, _ := readType(r)
		columns = append(columns, ResultColumn{name, found})
	}
	return cursor, columns, r.Finish()
}

// ParseSchemas reads descriptions of tables, each as a table and as its bytes.
func ParseSchemas(body []byte) ([]*Table, [][]byte, error) {
	r := &Reader{Data: body}
	var tables []*Table
	var described [][]byte
	for count := r.U32(); count > 0 && r.Err == nil; count-- {
		bytes := append([]byte{}, r.Bytes()...)
		if r.Err != nil {
			break
		}
		table, err := ParseTable(bytes)
		if err != nil {
			return nil, nil, err
		}
		tables, described = append(tables, table), append(described, bytes)
	}
	return tables, described, r.Finish()
}
