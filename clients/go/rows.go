package bobak

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// query reads all rows of a source. With names the columns precede the rows.
func (c *conn) query(
	source func(*wire.Writer), names bool, columns func([]wire.ResultColumn) error,
	each func(wire.Row) error,
) error {
	id, err := c.put(wire.Query, false, func(w *wire.Writer) {
		w.U32(credit)
		w.Bool(names)
		source(w)
	})
	if err != nil {
		return err
	}
	var failed error
	if names {
		_, body, err := c.receive(id, wire.Columns)
		if err != nil {
			return err
		}
		_, found, err := wire.ParseColumns(body)
		if err != nil {
			return err
		}
		failed = columns(found)
	}
	taken := 0
	for more := true; more; {
		if failed != nil {
			return c.giveUp(id, failed)
		}
		head, body, err := c.receive(id, wire.Rows)
		if err != nil {
			return err
		}
		more, taken = head.More, taken+len(body)
		if failed, err = eachRow(body, each); err != nil {
			return err
		}
		if more && failed == nil && taken >= credit/2 {
			size := uint32(taken)
			c.putMore(wire.Credit, false, id, func(w *wire.Writer) { w.U32(size) })
			taken = 0
		}
	}
	return failed
}

// giveUp cancels a response, and reads it to its end.
func (c *conn) giveUp(id uint32, why error) error {
	c.putMore(wire.Cancel, false, id, nil)
	for {
		head, _, err := c.receive(id, wire.Rows)
		if said := (*Error)(nil); errors.As(err, &said) {
			return why
		}
		if err != nil {
			return err
		}
		if !head.More {
			return why
		}
	}
}

// eachRow calls each with the rows of a body. The second error reports invalid bytes.
func eachRow(body []byte, each func(wire.Row) error) (failed, broken error) {
	for len(body) > 0 {
		row, rest, err := wire.NextRow(body)
		if err != nil {
			return nil, err
		}
		if err := each(row); err != nil {
			if garbled := wire.Garbled(""); errors.As(err, &garbled) {
				return nil, err
			}
			return err, nil
		}
		body = rest
	}
	return nil, nil
}

// cursor is an open query, on one connection.
type cursor struct {
	conn    uint64
	number  uint64
	columns []wire.ResultColumn
}

func (c *conn) open(source func(*wire.Writer)) (cursor, error) {
	body, err := c.ask(wire.Open, wire.Columns, source)
	if err != nil {
		return cursor{}, err
	}
	number, columns, err := wire.ParseColumns(body)
	return cursor{c.number, number, columns}, err
}

// fetch returns the next rows, or none at the end.
func (c *conn) fetch(open cursor) ([]byte, error) {
	if c.number != open.conn {
		return nil, wire.Errorf(Unreachable,
			"the connection broke, and the query is lost: run it again")
	}
	return c.ask(wire.Fetch, wire.Rows, func(w *wire.Writer) { w.U64(open.number) })
}

func (c *conn) closeCursor(open cursor) error {
	if c.number != open.conn {
		return nil
	}
	_, err := c.put(wire.Close, false, func(w *wire.Writer) { w.U64(open.number) })
	return err
}

// each calls work with the rows of a source, one block at a time. Between two blocks the connection is
// free.
func each(ctx context.Context, in Session, put asks, work func(wire.Row) error) error {
	held, release, err := in.cursor(ctx)
	if err != nil {
		return err
	}
	defer release()
	var open cursor
	err = held.run(ctx, false, func(c *conn) error {
		source, err := put(c)
		if err == nil {
			open, err = c.open(source)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		// If the connection broke, the cursor is already closed.
		_ = held.run(context.Background(), false, func(c *conn) error { return c.closeCursor(open) })
	}()
	received := work
	work = func(row wire.Row) error {
		if cause := ctx.Err(); cause != nil {
			return interrupted(cause)
		}
		return received(row)
	}
	for {
		var body []byte
		err := held.run(ctx, false, func(c *conn) error {
			found, err := c.fetch(open)
			// work may reuse the connection's buffer.
			body = append(body[:0], found...)
			return err
		})
		if err != nil || len(body) == 0 {
			return err
		}
		failed, broken := eachRow(body, work)
		if broken != nil {
			return wire.Errorf(Corrupt, "the server sent bytes that are not a row: %v", broken)
		}
		if failed != nil {
			return failed
		}
	}
}

// Exec runs an SQL statement, and returns the number of changed rows. Its arguments are those of [SQL].
func Exec(ctx context.Context, in Session, text string, arguments ...any) (count int64, err error) {
	text, stored, err := bindAny(text, arguments)
	if err != nil {
		return 0, err
	}
	err = in.run(ctx, true, func(c *conn) error {
		source, err := c.sql(text, stored)
		if err == nil {
			count, err = c.count(wire.Execute, source)
		}
		return err
	})
	return count, err
}

// SQL returns all rows of an SQL statement, with ? for each argument, or with :name for arguments that [sql.Named] makes. A
// slice other than of bytes has the values of IN (?), and may be empty. T is a struct, whose fields are read
// by column name; a single value; or map[string]any with the values that [Query.Select] returns, in which a decimal
// number, such as a sum of amounts on PostgreSQL, is its text.
//
// A value is converted by the type of its column in the result to that of its field: an amount of 5.00 is 5 as an int64
// and 5.0 as a float64. OutOfRange says that the field has no such value, and Mismatch that it has no values of this
// kind.
func SQL[T any](ctx context.Context, in Session, text string, arguments ...any) ([]T, error) {
	text, stored, err := bindAny(text, arguments)
	if err != nil {
		return nil, err
	}
	var found []T
	err = in.run(ctx, true, func(c *conn) error {
		found = nil
		source, err := c.sql(text, stored)
		if err != nil {
			return err
		}
		var read func(wire.Row, reflect.Value) error
		columns := func(columns []wire.ResultColumn) (err error) {
			read, err = readerOf(reflect.TypeOf((*T)(nil)).Elem(), columns)
			return err
		}
		return c.query(source, true, columns, func(row wire.Row) error {
			found = append(found, *new(T))
			return read(row, reflect.ValueOf(&found[len(found)-1]).Elem())
		})
	})
	return found, err
}

// readerOf returns a function that reads the rows of a result into values of a type.
func readerOf(
	t reflect.Type, columns []wire.ResultColumn,
) (func(wire.Row, reflect.Value) error, error) {
	if t == reflect.TypeOf(map[string]any(nil)) {
		return mapReader(columns)
	}
	base := t
	if t.Kind() == reflect.Pointer {
		base = t.Elem()
	}
	isRecord := base.Kind() == reflect.Struct && base != timeType
	if !isRecord {
		kind, _ := defaultType(base)
		if len(columns) != 1 {
			return nil, wire.Errorf(Mismatch, "a result of %d columns cannot be read as %s", len(columns), t)
		}
		found, ok := resultCodec(t, &wire.Column{Type: kind}, columns[0].Type)
		if !ok {
			return nil, wire.Errorf(Mismatch, "a result cannot be read as %s", t)
		}
		return func(row wire.Row, into reflect.Value) error {
			return inColumn(found.get(row, 0, into), columns[0].Name)
		}, nil
	}
	return recordReader(t, columns)
}

// recordReader reads rows as structs, by column name.
func recordReader(
	t reflect.Type, columns []wire.ResultColumn,
) (func(wire.Row, reflect.Value) error, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	var reads []fieldPlan
	for number := range fields {
		field := &fields[number]
		place := -1
		for number, column := range columns {
			if !strings.EqualFold(column.Name, field.column.Name) {
				continue
			}
			if place >= 0 {
				return nil, twoColumns(field.column.Name)
			}
			place = number
		}
		if place < 0 {
			return nil, wire.Errorf(Schema, "the result has no column with this name").
				In("", field.column.Name)
		}
		found, ok := resultCodec(t.FieldByIndex(field.index).Type, &field.column, columns[place].Type)
		if !ok {
			return nil, wire.Errorf(Schema, "no value of the type %s can be read into this field", field.column.Type).
				In("", field.column.Name)
		}
		reads = append(reads, fieldPlan{field.index, place, found, &field.column})
	}
	return func(row wire.Row, into reflect.Value) error {
		for number := range reads {
			one := &reads[number]
			if err := one.codec.get(row, one.place, into.FieldByIndex(one.index)); err != nil {
				return inColumn(err, one.column.Name)
			}
		}
		return nil
	}, nil
}
