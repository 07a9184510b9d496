package bobak

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// sqlRows are the rows of an open query, fetched in blocks.
type sqlRows struct {
	ctx    context.Context
	conn   *sqlConn
	open   cursor
	body   []byte
	rest   []byte
	ended  bool
	closed bool
}

func (r *sqlRows) Columns() []string {
	names := make([]string, len(r.open.columns))
	for place, column := range r.open.columns {
		names[place] = column.Name
	}
	return names
}

// ColumnTypeDatabaseTypeName returns the name of a column's Bobak type, such as TIMESTAMP. For a column
// whose type the server does not know, it is the storage class of the next row's value: INTEGER, REAL,
// TEXT, BLOB or NULL; an empty string if there is no such row.
func (r *sqlRows) ColumnTypeDatabaseTypeName(place int) string {
	if column := r.open.columns[place].Type; column != wire.TypeAny {
		return strings.ToUpper(column.String())
	}
	row, ok := r.peek()
	if !ok || place >= row.Len() {
		return ""
	}
	return [...]string{"NULL", "INTEGER", "REAL", "TEXT", "BLOB"}[row.Tag(place)]
}

// ColumnTypeScanType returns the Go type of a column's values.
func (r *sqlRows) ColumnTypeScanType(place int) reflect.Type {
	switch r.ColumnTypeDatabaseTypeName(place) {
	case "DATE", "DATETIME", "TIMESTAMP":
		return timeType
	case "CURRENCY":
		return currencyType
	case "UUID":
		return uuidType
	case "BOOL":
		return reflect.TypeOf(false)
	case "TEXT", "JSON", "DECIMAL", "TIME":
		return reflect.TypeOf("")
	case "BYTES", "BLOB", "VECTOR":
		return bytesType
	case "REAL", "F32", "F64":
		return reflect.TypeOf(float64(0))
	case "", "NULL":
		return anyType
	}
	return reflect.TypeOf(int64(0))
}

// peek returns the next row without consuming it.
func (r *sqlRows) peek() (wire.Row, bool) {
	if r.fetch() != nil || r.ended {
		return wire.Row{}, false
	}
	row, _, err := wire.NextRow(r.rest)
	return row, err == nil
}

// fetch fetches the next block if none is left.
func (r *sqlRows) fetch() error {
	if len(r.rest) > 0 || r.ended {
		return nil
	}
	err := r.conn.conn.call(r.ctx, r.conn.lost(false), func() error {
		found, err := r.conn.conn.fetch(r.open)
		// Other statements reuse the connection's buffer.
		r.body = append(r.body[:0], found...)
		return err
	})
	if err != nil {
		return err
	}
	r.rest, r.ended = r.body, len(r.body) == 0
	return nil
}

func (r *sqlRows) Next(into []driver.Value) error {
	if err := r.fetch(); err != nil {
		return err
	}
	if r.ended {
		return io.EOF
	}
	row, rest, err := wire.NextRow(r.rest)
	if err != nil || row.Len() != len(into) {
		return wire.Errorf(Corrupt, "the server sent bytes that are not a row of this query")
	}
	for place := range into {
		if into[place], err = driverValue(row.Value(place), r.open.columns[place].Type); err != nil {
			return err
		}
	}
	r.rest = rest
	return nil
}

// driverValue returns a stored value as database/sql expects it: a time if the column has one; the text of an
// amount, a decimal number, a time of day or a UUID. Text that is not a time, in the table of another program, stays text.
func driverValue(stored any, column wire.Type) (driver.Value, error) {
	switch column {
	case wire.TypeDate, wire.TypeDateTime, wire.TypeTimestamp:
		if text, ok := stored.(string); ok {
			at := time.Time{}
			if (timeScanner{&at}).parse(text) != nil {
				return text, nil
			}
			return at, nil
		}
		return natural(stored, column)
	case wire.TypeCurrency, wire.TypeTime, wire.TypeUUID:
		value, err := natural(stored, column)
		switch value := value.(type) {
		case Currency:
			return value.String(), err
		case UUID:
			return value.String(), err
		case time.Duration:
			return time.Time{}.Add(value).Format("15:04:05.999999"), err
		}
		return value, err
	case wire.TypeBool, wire.TypeDecimal:
		return natural(stored, column)
	}
	return stored, nil
}

func (r *sqlRows) Close() error {
	if r.closed || r.conn.conn.broken.Load() {
		return nil
	}
	r.closed = true
	c := r.conn.conn
	err := c.call(context.Background(), nothing, func() error { return c.closeCursor(r.open) })
	if errors.Is(err, Unreachable) {
		// The cursor ended with the connection.
		return nil
	}
	return err
}
