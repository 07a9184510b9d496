package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// object is a message, or a part of a message.
type object = map[string]any

type vector struct {
	Name, From, Hex string
	Kind            FrameKind
	More            bool
	ID              uint32
	Message         object
	Values          []any
}

func load(t *testing.T, name string) []vector {
	t.Helper()
	text, err := os.ReadFile("../../../../vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var vectors []vector
	if err := decoder.Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func fromHex(text string) []byte {
	data, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// value reads a value of the vector files.
func value(found any) any {
	switch found := found.(type) {
	case json.Number:
		number, err := found.Int64()
		if err != nil {
			panic(err)
		}
		return number
	case object:
		if text, ok := found["int"].(string); ok {
			number, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				unsigned, _ := strconv.ParseUint(text, 10, 64)
				return unsigned
			}
			return number
		}
		if text, ok := found["float"].(string); ok {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(err)
			}
			return number
		}
		return fromHex(found["hex"].(string))
	}
	return found
}

func values(found any) []any {
	list, made := found.([]any), []any{}
	for _, one := range list {
		made = append(made, value(one))
	}
	return made
}

func number(found any) int {
	if found == nil {
		return 0
	}
	return int(value(found).(int64))
}

func numbers(found any) []int {
	made := []int{}
	for _, one := range found.([]any) {
		made = append(made, number(one))
	}
	return made
}

func text(found any) string {
	if found == nil {
		return ""
	}
	return found.(string)
}

func place(list []string, word string) uint8 {
	for number, other := range list {
		if other == word {
			return uint8(number)
		}
	}
	panic(word)
}

func table(found any) *Table {
	from := found.(object)
	t := &Table{Name: text(from["name"]), Key: numbers(from["key"])}
	t.KeysBy = uint8(number(from["keys_made_by"]))
	t.NeverReused = from["never_reused"] == true
	t.View = from["view"] == true
	if search, ok := from["search"].(object); ok {
		t.Search = &SearchSchema{numbers(search["columns"]), text(search["language"])}
	}
	for _, one := range from["columns"].([]any) {
		from := one.(object)
		kind, _ := TypeNamed(text(from["type"]))
		c := Column{
			Name: text(from["name"]), Type: kind, Nullable: from["nullable"].(bool),
			Unique: from["unique"].(bool), AsText: from["as_text"].(bool),
			Collation: uint8(number(from["collation"])), Role: uint8(number(from["role"])),
			MaxChars: uint32(number(from["max_chars"])), HasMax: from["max_chars"] != nil,
			Default: value(from["default"]), HasDefault: from["default"] != nil,
			Check: text(from["check"]), Length: uint16(number(from["length"])),
		}
		if to, ok := from["references"].(object); ok {
			actions := number(to["on_delete"]) + 4*number(to["on_update"])
			if deferred, _ := to["deferred"].(bool); deferred {
				actions += 16
			}
			c.References = &Reference{text(to["table"]), text(to["column"]), uint8(actions)}
		}
		t.Columns = append(t.Columns, c)
	}
	for _, one := range from["indexes"].([]any) {
		from := one.(object)
		t.Indexes = append(t.Indexes, Index{
			text(from["name"]), from["unique"].(bool), numbers(from["columns"]),
		})
	}
	keys, _ := from["foreign_keys"].([]any)
	for _, one := range keys {
		from := one.(object)
		key := ForeignKey{Columns: numbers(from["columns"]), Table: text(from["table"])}
		for _, name := range from["referenced"].([]any) {
			key.Referenced = append(key.Referenced, text(name))
		}
		key.Actions = uint8(number(from["actions"]))
		t.ForeignKeys = append(t.ForeignKeys, key)
	}
	return t
}

func condition(found any) *Condition {
	if found == nil {
		return nil
	}
	from := found.(object)
	parts := func(tag uint8, list []any) *Condition {
		c := &Condition{Tag: tag}
		for _, one := range list {
			c.Parts = append(c.Parts, *condition(one))
		}
		return c
	}
	for word, tag := range map[string]uint8{"and": And, "or": Or} {
		if list, ok := from[word].([]any); ok {
			return parts(tag, list)
		}
	}
	if part, ok := from["not"]; ok {
		return parts(Not, []any{part})
	}
	if column, ok := from["is_null"]; ok {
		return &Condition{Tag: IsNull, Place: number(column)}
	}
	c := &Condition{Place: number(from["column"])}
	if query, ok := from["in_query"]; ok {
		from := query.(object)
		c.Tag, c.Table, c.Right = InQuery, uint32(number(from["table"])), number(from["column"])
		if inner := condition(from["condition"]); inner != nil {
			c.Parts = []Condition{*inner}
		}
		return c
	}
	if list, ok := from["in"]; ok {
		c.Tag, c.Values = In, values(list)
		return c
	}
	texts := map[string]uint8{"like": Like, "starts_with": StartsWith, "contains": Contains, "ends_with": EndsWith}
	for word, tag := range texts {
		if pattern, ok := from[word]; ok {
			c.Tag, c.Text = tag, text(pattern)
			if escape, ok := from["escape"]; ok {
				c.Tag, c.Escape = LikeEscape, text(escape)
			}
			return c
		}
	}
	c.Comparison = place(Comparisons, text(from["comparison"]))
	if right, ok := from["right"]; ok {
		c.Tag, c.Right = CompareColumns, number(right)
		return c
	}
	c.Tag, c.Values = Compare, []any{value(from["value"])}
	return c
}

func sqlParameters(from object) []Parameter {
	var parameters []Parameter
	for at, value := range values(from["parameters"]) {
		ty, _ := TypeNamed(text(from["types"].([]any)[at]))
		parameters = append(parameters, Parameter{Value: value, Type: ty})
	}
	return parameters
}

func putSource(w *Writer, from object) {
	if sql, ok := from["sql"]; ok {
		PutSQL(w, text(sql), sqlParameters(from))
		return
	}
	if statement, ok := from["statement"]; ok {
		PutStatement(w, uint32(number(statement)), sqlParameters(from))
		return
	}
	s := &Select{Condition: condition(from["condition"]), Group: numbers(from["group"])}
	for _, one := range from["columns"].([]any) {
		for what, column := range one.(object) {
			s.Columns = append(s.Columns, Expr{place(Expressions, what), number(column)})
		}
	}
	for _, one := range from["order"].([]any) {
		step := one.(object)
		s.Order = append(s.Order, Order{number(step["column"]), step["descending"].(bool)})
	}
	if from["limit"] != nil {
		limit := uint64(number(from["limit"]))
		s.Limit = &limit
	}
	s.Offset = uint64(number(from["offset"]))
	if lock, ok := from["lock"].(object); ok {
		s.Lock = &Lock{3, uint32(number(lock["wait_at_most"]))}
	} else if lock, ok := from["lock"]; ok {
		s.Lock = &Lock{place(Locks, text(lock)), 0}
	}
	if search, ok := from["search"].(object); ok {
		s.Search = &Search{text(search["text"]), search["ranked"].(bool)}
	}
	if near, ok := from["nearest"].(object); ok {
		s.Nearest = &Nearest{int(number(near["column"])), place(Metrics, text(near["metric"])), nil}
		for _, one := range near["to"].([]any) {
			number, _ := one.(json.Number).Float64()
			s.Nearest.To = order.AppendUint32(s.Nearest.To, math.Float32bits(float32(number)))
		}
	}
	PutSelect(w, uint32(number(from["table"])), s)
}

func putRun(w *Writer, m object) {
	sets := SetOf(numbers(m["columns"]))
	if by, ok := m["by"]; ok {
		sets = append(SetOf(numbers(by)), sets...)
	}
	PutRun(w, uint32(number(m["table"])), place(Verbs, text(m["verb"])), sets)
}

// put appends what a client sends, made of a message.
func put(w *Writer, kind FrameKind, m object) {
	switch kind {
	case Hello:
		shown, _ := m["credentials"].(object)
		PutHello(w, [2]uint16{uint16(number(m["lowest"])), uint16(number(m["highest"]))},
			text(m["database"]), text(m["client"]),
			Credentials{text(shown["token"]), text(shown["user"]), text(shown["password"])})
	case Define:
		w.U32(uint32(number(m["number"])))
		w.Out = append(w.Out, table(m["table"]).Describe()...)
	case Prepare:
		w.U32(uint32(number(m["number"])))
		w.Text(text(m["sql"]))
	case Forget:
		w.Bool(m["what"] == "table")
		w.U32(uint32(number(m["number"])))
	case Control:
		PutControl(w, place(Steps, text(m["step"])), text(m["name"]))
	case Write:
		putRun(w, m)
		w.Out = AppendRow(w.Out, values(m["row"]))
	case Change:
		var assigns []Assign
		if list, ok := m["assign"].([]any); ok {
			for _, one := range list {
				from := one.(object)
				column, adds := from["add"]
				if !adds {
					column = from["set"]
				}
				assigns = append(assigns, Assign{number(column), value(from["value"]), adds})
			}
		}
		PutChange(w, uint32(number(m["table"])), condition(m["condition"]), assigns)
	case Batch:
		w.Bool(m["on_error"] == "continue")
		for _, one := range m["runs"].([]any) {
			run := one.(object)
			putRun(w, run)
			var rows []byte
			for _, row := range run["rows"].([]any) {
				rows = AppendRow(rows, values(row))
			}
			w.Bytes(rows)
		}
	case Get:
		w.U32(uint32(number(m["table"])))
		w.Out = AppendRow(w.Out, values(m["key"]))
	case ReadPart, WriteValue:
		w.U32(uint32(number(m["table"])))
		w.U16(uint16(number(m["column"])))
		w.Out = AppendRow(w.Out, values(m["key"]))
		if kind == ReadPart {
			w.U64(uint64(number(m["first"])))
			w.U32(uint32(number(m["most"])))
			return
		}
		w.U64(uint64(number(m["length"])))
		w.Out = append(w.Out, value(m["bytes"]).([]byte)...)
	case Explain:
		putSource(w, m["source"].(object))
	case Query:
		w.U32(uint32(number(m["credit"])))
		w.Bool(m["columns"].(bool))
		putSource(w, m["source"].(object))
	case Open, Execute:
		putSource(w, m["source"].(object))
	case Fetch, Close:
		w.U64(uint64(number(m["cursor"])))
	case Credit:
		w.U32(uint32(number(m["bytes"])))
	case Alter:
		putAlter(w, m["changes"].([]any))
	}
}

func putAlter(w *Writer, changes []any) {
	w.U16(uint16(len(changes)))
	for _, one := range changes {
		from := one.(object)
		if created, ok := from["create_table"]; ok {
			PutSchemaChange(w, CreateTable, 0, table(created))
		} else if column, ok := from["add_column"]; ok {
			PutSchemaChange(w, AddColumn, number(column), table(from["table"]))
		} else if history, ok := from["track"]; ok {
			PutSchemaChange(w, Track, number(history), table(from["table"]))
		} else if _, ok := from["untrack"]; ok {
			PutSchemaChange(w, Untrack, 0, table(from["table"]))
		} else {
			PutSchemaChange(w, AddIndex, number(from["add_index"]), table(from["table"]))
		}
	}
}

func sameError(e *Error, m object) error {
	row, code := int64(-1), int32(0)
	if m["row"] != nil {
		row = int64(number(m["row"]))
	}
	if m["code"] != nil {
		code = int32(number(m["code"]))
	}
	expected := Error{
		Kind: Kind(number(m["kind"])), Message: text(m["message"]), Table: text(m["table"]),
		Column: text(m["column"]), Row: row, Code: code, Detail: text(m["detail"]),
	}
	if listed, ok := m["violations"].([]any); ok {
		for _, one := range listed {
			violation := one.(object)
			expected.Violations = append(expected.Violations,
				Violation{text(violation["column"]), text(violation["message"])})
		}
	}
	return same(*e, expected)
}

func same(found, expected any) error {
	if !reflect.DeepEqual(found, expected) {
		return fmt.Errorf("found %#v, expected %#v", found, expected)
	}
	return nil
}

// check reads an answer, and holds it to its message.
func check(kind FrameKind, body []byte, m object) error {
	switch kind {
	case Welcomed:
		w, err := ParseWelcome(body)
		limit := func(name string) uint32 { return uint32(number(m[name])) }
		expected := Welcome{
			uint16(number(m["version"])), limit("frame"), limit("row"), limit("requests"),
			limit("handles"), limit("window"), limit("capabilities"), text(m["engine"]),
			text(m["server"]),
		}
		return either(err, same(w, expected))
	case Failure:
		e, err := ParseError(body)
		return either(err, sameError(e, m))
	case Count:
		count, err := ParseCount(body)
		expected := value(m["rows"])
		return either(err, same(fmt.Sprint(count), fmt.Sprint(expected)))
	case Outcomes:
		groups, err := ParseOutcomes(body)
		return either(err, checkGroups(groups, m["groups"].([]any)))
	case Rows:
		for _, expected := range m["rows"].([]any) {
			row, rest, err := NextRow(body)
			if err := either(err, sameRow(row, values(expected))); err != nil {
				return err
			}
			body = rest
		}
		return same(len(body), 0)
	case Columns:
		cursor, columns, err := ParseColumns(body)
		var expected []ResultColumn
		for _, one := range m["columns"].([]any) {
			kind, _ := TypeNamed(text(one.(object)["type"]))
			expected = append(expected, ResultColumn{text(one.(object)["name"]), kind})
		}
		return either(err, either(same(columns, expected), same(int(cursor), number(m["cursor"]))))
	case Schemas:
		tables, described, err := ParseSchemas(body)
		if err != nil {
			return err
		}
		for place, one := range m["tables"].([]any) {
			if place >= len(tables) {
				return fmt.Errorf("%d tables", len(tables))
			}
			err := same(tables[place].Describe(), described[place])
			if err := either(err, same(described[place], table(one).Describe())); err != nil {
				return err
			}
		}
		return nil
	}
	return same(len(body), 0)
}

func either(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func checkGroups(groups []Group, expected []any) error {
	if len(groups) != len(expected) {
		return fmt.Errorf("%d groups", len(groups))
	}
	for place, one := range expected {
		from, found := one.(object), groups[place]
		made := Group{Tag: Inserted, Rows: uint32(number(from["rows"]))}
		if first, ok := from["integer_keys"]; ok {
			made.Tag, made.Value = IntegerKeys, int64(number(first))
		} else if key, ok := from["key"]; ok {
			made.Tag = KeyGiven
			copy(made.Key[:], value(key).([]byte))
		} else if count, ok := from["changed"]; ok {
			made.Tag, made.Value = Changed, int64(number(count))
		} else if key, ok := from["updated_integer"]; ok {
			made.Tag, made.Value = UpdatedInteger, int64(number(key))
		} else if key, ok := from["updated_key"]; ok {
			made.Tag = UpdatedKey
			copy(made.Key[:], value(key).([]byte))
		} else if _, ok := from["ignored"]; ok {
			made.Tag = Ignored
		} else if failed, ok := from["failed"]; ok {
			if err := sameError(found.Err, failed.(object)); err != nil {
				return err
			}
			made.Tag, made.Err = Failed, found.Err
		}
		if err := same(found, made); err != nil {
			return err
		}
	}
	return nil
}

func sameRow(row Row, expected []any) error {
	if row.Len() != len(expected) {
		return fmt.Errorf("%d columns", row.Len())
	}
	for place := range expected {
		// As texts, so that -0 differs from 0.
		found := fmt.Sprintf("%T %v", row.Value(place), row.Value(place))
		if err := same(found, fmt.Sprintf("%T %v", expected[place], expected[place])); err != nil {
			return err
		}
	}
	return nil
}

func TestFrames(t *testing.T) {
	for _, v := range load(t, "wire.json") {
		data := fromHex(v.Hex)
		if v.From == "client" {
			made := AppendFrame(nil, v.Kind, v.More, v.ID, func(w *Writer) { put(w, v.Kind, v.Message) })
			if !bytes.Equal(made, data) {
				t.Errorf("%s:\n%x\n%x", v.Name, made, data)
			}
			continue
		}
		head, err := ParseHead(data)
		expected := Head{uint32(len(data) - HeadSize), v.Kind, v.More, v.ID}
		if err := either(err, same(head, expected)); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		if err := check(v.Kind, data[HeadSize:], v.Message); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

func TestFramesThatAreCut(t *testing.T) {
	for _, v := range load(t, "wire.json") {
		if v.From == "client" {
			continue
		}
		body := fromHex(v.Hex)[HeadSize:]
		for end := range body {
			if check(v.Kind, body[:end], v.Message) == nil {
				t.Errorf("%s: cut at %d it passed", v.Name, end)
			}
		}
	}
}

func TestRows(t *testing.T) {
	for _, v := range load(t, "rows.json") {
		data := fromHex(v.Hex)
		framed := append(order.AppendUint32(nil, uint32(len(data))), data...)
		row, rest, err := NextRow(framed)
		if v.Values == nil {
			if err == nil {
				t.Errorf("%s passed", v.Name)
			}
			continue
		}
		if err := either(err, sameRow(row, values(v.Values))); err != nil || len(rest) > 0 {
			t.Errorf("%s: %v", v.Name, err)
		}
		if made := AppendRow(nil, values(v.Values)); !bytes.Equal(made, framed) {
			t.Errorf("%s: %x", v.Name, made)
		}
	}
}

func TestHeadsThatAreNone(t *testing.T) {
	for _, head := range []string{"HTTP/1.1 400", strings.Repeat("\x00", 12), "\x00\x00\x00\x00\x81\x02\x00\x00....", "\x00\x00\x00\x00\x81\x00\x01\x00...."} {
		if _, err := ParseHead([]byte(head)); err == nil {
			t.Errorf("%q passed", head)
		}
	}
}
