package bobak

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Currency is an exact amount of money: its ten-thousandths, so 1.2345 is Currency(12345).
type Currency int64

// ParseCurrency reads "-12", "12.3", "+12.3456". More than four decimals are an error unless they are zero.
func ParseCurrency(text string) (Currency, error) {
	digits, negative := strings.TrimPrefix(text, "+"), false
	if len(digits) == len(text) {
		digits = strings.TrimPrefix(text, "-")
		negative = len(digits) != len(text)
	}
	units, decimals, _ := strings.Cut(digits, ".")
	all := units + (decimals + "0000")[:4]
	bad := units == "" && decimals == "" || strings.Trim(units+decimals, "0123456789") != ""
	if bad || len(decimals) > 4 && strings.Trim(decimals[4:], "0") != "" {
		return 0, wire.Errorf(Mismatch, "'%s' is not an amount", text)
	}
	if negative {
		all = "-" + all
	}
	scaled, err := strconv.ParseInt(all, 10, 64)
	if err != nil {
		return 0, wire.Errorf(OutOfRange, "the amount is beyond ±922337203685477.5807")
	}
	return Currency(scaled), nil
}

// String returns the amount with two decimals, or up to four if they are needed.
func (c Currency) String() string {
	magnitude, sign := uint64(c), ""
	if c < 0 {
		magnitude, sign = -magnitude, "-"
	}
	decimals := strconv.FormatUint(10_000+magnitude%10_000, 10)[1:]
	decimals = decimals[:2] + strings.TrimRight(decimals[2:], "0")
	if len(decimals) == 3 {
		decimals += "0"
	}
	return sign + strconv.FormatUint(magnitude/10_000, 10) + "." + decimals
}

// MarshalJSON writes the amount as a string, so that JSON readers do not round it.
func (c Currency) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// UnmarshalJSON reads a string.
func (c *Currency) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	if err == nil {
		*c, err = ParseCurrency(text)
	}
	return err
}

// Date is a day as an argument of SQL: bobak.Date(at) is the day that at shows in its zone. A [time.Time] is an instant
// there.
type Date time.Time

// DateTime is a time without a zone as an argument of SQL: bobak.DateTime(at) is what at shows in its zone.
type DateTime time.Time

const (
	microsPerDay = int64(86_400_000_000)
	dateForm     = "2006-01-02"
	timeForm     = "15:04:05.000000"
	dateTimeForm = "2006-01-02T15:04:05.000000"
)

// The years from -9999 to 9999.
var (
	leastMicros = time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	lastMicros  = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
)

var (
	currencyType = reflect.TypeOf(Currency(0))
	uuidType     = reflect.TypeOf(UUID{})
	timeType     = reflect.TypeOf(time.Time{})
	durationType = reflect.TypeOf(time.Duration(0))
	bytesType    = reflect.TypeOf([]byte(nil))
	jsonType     = reflect.TypeOf(json.RawMessage(nil))
	vectorType   = reflect.TypeOf([]float32(nil))
	anyType      = reflect.TypeOf((*any)(nil)).Elem()
)

// codec converts a Go value to its column's stored form, and back.
type codec struct {
	put func(reflect.Value, *wire.RowWriter) error
	get func(wire.Row, int, reflect.Value) error
}

// codecOf returns the codec of a Go type in a column. NULL is a nil pointer, or a nil slice.
func codecOf(t reflect.Type, column *wire.Column) (codec, bool) {
	if t.Kind() == reflect.Pointer {
		inner, ok := codecOf(t.Elem(), column)
		return pointerCodec(t, inner), ok
	}
	switch {
	case t == anyType:
		return anyCodec(column), true
	case column.Type == wire.TypeVector:
		return vectorCodec(column), t == vectorType
	case column.Type == wire.TypeAny:
		return plainCodec(t, column)
	case t == currencyType:
		return intCodec(t), column.Type == wire.TypeCurrency
	case t == uuidType:
		return uuidCodec(column.AsText), column.Type == wire.TypeUUID
	case t == timeType:
		return timeCodec(column)
	case t == durationType:
		return durationCodec(column.AsText), column.Type == wire.TypeTime
	case column.Type == wire.TypeJSON:
		return jsonCodec(t), true
	}
	plain, ok := plainCodec(t, column)
	return plain, ok && plainFits(t, column.Type)
}

// plainFits reports whether a column can store a basic Go type.
func plainFits(t reflect.Type, column wire.Type) bool {
	switch t.Kind() {
	case reflect.Bool:
		return column == wire.TypeBool
	case reflect.Float32, reflect.Float64:
		return column == wire.TypeF32 || column == wire.TypeF64
	case reflect.String:
		return column == wire.TypeText
	case reflect.Slice:
		return column == wire.TypeBytes
	default:
		return column >= wire.TypeI8 && column <= wire.TypeU64
	}
}

func plainCodec(t reflect.Type, column *wire.Column) (codec, bool) {
	switch t.Kind() {
	case reflect.Bool:
		return boolCodec(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCodec(t), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintCodec(), true
	case reflect.Float32, reflect.Float64:
		return floatCodec(column.Type), true
	case reflect.String:
		return textCodec(), true
	case reflect.Slice:
		return bytesCodec(column.Nullable), t.Elem().Kind() == reflect.Uint8
	}
	return codec{}, false
}

func mismatch(row wire.Row, place int, expected string) error {
	classes := []string{"NULL", "an integer", "a float", "a text", "bytes"}
	return wire.Errorf(Mismatch, "expected %s, found %s", expected, classes[row.Tag(place)])
}

// reads wraps a get for values of one storage class.
func reads(
	tag byte, expected string, get func(wire.Row, int, reflect.Value) error,
) func(wire.Row, int, reflect.Value) error {
	return func(row wire.Row, place int, into reflect.Value) error {
		if row.Tag(place) != tag {
			return mismatch(row, place, expected)
		}
		return get(row, place, into)
	}
}

func boolCodec() codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if from.Bool() {
				w.Int(1)
			} else {
				w.Int(0)
			}
			return nil
		},
		reads(wire.Int, "a bool", func(row wire.Row, place int, into reflect.Value) error {
			value := row.Int(place)
			if value != 0 && value != 1 {
				return wire.Errorf(Mismatch, "expected a bool (0 or 1), found %d", value)
			}
			into.SetBool(value == 1)
			return nil
		}),
	}
}

func intCodec(t reflect.Type) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			w.Int(from.Int())
			return nil
		},
		reads(wire.Int, "an integer", func(row wire.Row, place int, into reflect.Value) error {
			value := row.Int(place)
			if into.OverflowInt(value) {
				return wire.Errorf(OutOfRange, "%d does not fit in %s", value, t)
			}
			into.SetInt(value)
			return nil
		}),
	}
}

func uintCodec() codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if from.Uint() > math.MaxInt64 {
				return wire.Errorf(OutOfRange, "%d is beyond what engines store: 64 bits with a sign", from.Uint())
			}
			w.Int(int64(from.Uint()))
			return nil
		},
		reads(wire.Int, "an integer", func(row wire.Row, place int, into reflect.Value) error {
			value := row.Int(place)
			if value < 0 || into.OverflowUint(uint64(value)) {
				return wire.Errorf(OutOfRange, "%d does not fit in %s", value, into.Type())
			}
			into.SetUint(uint64(value))
			return nil
		}),
	}
}

// putFloat writes a float. A 32-bit column takes the nearest 32-bit float: servers reject any other.
func putFloat(w *wire.RowWriter, value float64, column wire.Type) error {
	if math.IsNaN(value) {
		return wire.Errorf(OutOfRange, "NaN cannot be stored")
	}
	stored := value
	if column == wire.TypeF32 {
		stored = float64(float32(value))
	}
	if math.IsInf(stored, 0) != math.IsInf(value, 0) || (stored == 0) != (value == 0) {
		return wire.Errorf(OutOfRange, "%v does not fit f32", value)
	}
	w.Float(stored)
	return nil
}

func floatCodec(column wire.Type) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error { return putFloat(w, from.Float(), column) },
		reads(wire.Float, "a float", func(row wire.Row, place int, into reflect.Value) error {
			value := row.Float(place)
			if into.OverflowFloat(value) {
				return wire.Errorf(OutOfRange, "%v does not fit in %s", value, into.Type())
			}
			into.SetFloat(value)
			return nil
		}),
	}
}

func textCodec() codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error { return putText(w, from.String()) },
		reads(wire.Text, "a text", func(row wire.Row, place int, into reflect.Value) error {
			into.SetString(string(row.Bytes(place)))
			return nil
		}),
	}
}

// bytesCodec stores a nil slice as NULL, or as no bytes if the column may not be NULL.
func bytesCodec(nullable bool) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if nullable && from.IsNil() {
				w.Null()
			} else {
				w.Bytes(from.Bytes())
			}
			return nil
		},
		func(row wire.Row, place int, into reflect.Value) error {
			switch row.Tag(place) {
			case wire.Null:
				into.Set(reflect.Zero(into.Type()))
			case wire.Bytes:
				into.SetBytes(append([]byte{}, row.Bytes(place)...))
			default:
				return mismatch(row, place, "bytes")
			}
			return nil
		},
	}
}

func uuidCodec(asText bool) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			id := from.Interface().(UUID)
			if asText {
				w.Text(id.String())
			} else {
				w.Bytes(id[:])
			}
			return nil
		},
		func(row wire.Row, place int, into reflect.Value) error {
			id, err := uuidOf(row.Value(place))
			if err == nil {
				into.Set(reflect.ValueOf(id))
			}
			return err
		},
	}
}

func uuidOf(stored any) (UUID, error) {
	switch stored := stored.(type) {
	case string:
		return ParseUUID(stored)
	case []byte:
		if len(stored) == 16 {
			return *(*UUID)(stored), nil
		}
	}
	return UUID{}, wire.Errorf(Mismatch, "expected a UUID, found %v", stored)
}

// timeCodec stores instants, days, and times without a zone, which it treats as UTC.
func timeCodec(column *wire.Column) (codec, bool) {
	form, unit, zone := "", int64(1), ""
	switch column.Type {
	case wire.TypeTimestamp:
		form, zone = dateTimeForm, "Z"
	case wire.TypeDateTime:
		form = dateTimeForm
	case wire.TypeDate:
		form, unit = dateForm, microsPerDay
	default:
		return codec{}, false
	}
	asText, civil := column.AsText, column.Type != wire.TypeTimestamp
	put := func(from reflect.Value, w *wire.RowWriter) error {
		at := from.Interface().(time.Time)
		if civil {
			at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(),
				at.Nanosecond(), time.UTC)
		}
		if asText {
			w.Text(at.UTC().Format(form) + zone)
		} else {
			w.Int(floorDiv(at.UnixMicro(), unit))
		}
		return nil
	}
	get := func(row wire.Row, place int, into reflect.Value) error {
		at, err := timeOf(row.Value(place), form+zone, unit)
		if err == nil {
			into.Set(reflect.ValueOf(at))
		}
		return err
	}
	return codec{put, get}, true
}

func timeOf(stored any, form string, unit int64) (time.Time, error) {
	switch stored := stored.(type) {
	case string:
		at, err := time.Parse(strings.TrimSuffix(form, ".000000"), stored)
		if err != nil {
			at, err = time.Parse(form, stored)
		}
		if err != nil {
			return at, wire.Errorf(Mismatch, "'%s' is not a time: %v", stored, err).Because(err)
		}
		return at.UTC(), nil
	case int64:
		// Beyond are the infinities of PostgreSQL.
		if stored < leastMicros/unit || stored > lastMicros/unit {
			what := "microseconds are out of the range of times"
			if unit != 1 {
				what = "days are out of the range of dates"
			}
			return time.Time{}, wire.Errorf(OutOfRange, "%d %s: years -9999 to 9999", stored, what)
		}
		if unit == 1 {
			return time.UnixMicro(stored).UTC(), nil
		}
		return time.Unix(stored*86_400, 0).UTC(), nil
	}
	return time.Time{}, wire.Errorf(Mismatch, "expected a time, found %v", stored)
}

func floorDiv(value, by int64) int64 {
	quotient := value / by
	if value%by < 0 {
		quotient--
	}
	return quotient
}

// durationCodec stores times of day: the time since midnight.
func durationCodec(asText bool) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			since := time.Duration(from.Int())
			if since < 0 || since >= 24*time.Hour {
				return wire.Errorf(OutOfRange, "%s is not a time of day", since)
			}
			if asText {
				w.Text(time.Time{}.Add(since).Format(timeForm))
			} else {
				w.Int(since.Microseconds())
			}
			return nil
		},
		func(row wire.Row, place int, into reflect.Value) error {
			since, err := durationOf(row.Value(place))
			if err == nil {
				into.SetInt(int64(since))
			}
			return err
		},
	}
}

func durationOf(stored any) (time.Duration, error) {
	switch stored := stored.(type) {
	case string:
		at, err := time.Parse("15:04:05", stored)
		if err != nil {
			return 0, wire.Errorf(Mismatch, "'%s' is not a time: %v", stored, err).Because(err)
		}
		return at.Sub(time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)), nil
	case int64:
		if stored >= 0 && stored < microsPerDay {
			return time.Duration(stored) * time.Microsecond, nil
		}
	}
	return 0, wire.Errorf(Mismatch, "expected a time of day, found %v", stored)
}

// jsonCodec stores any type that encoding/json can encode.
func jsonCodec(t reflect.Type) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if t == jsonType && from.IsNil() {
				w.Null()
				return nil
			}
			if t.Kind() == reflect.String {
				return putText(w, from.String())
			}
			text, err := json.Marshal(from.Interface())
			if err != nil {
				return wire.Errorf(Mismatch, "the value has no JSON form: %v", err).Because(err)
			}
			return putText(w, string(text))
		},
		func(row wire.Row, place int, into reflect.Value) error {
			if row.Tag(place) == wire.Null && t == jsonType {
				into.Set(reflect.Zero(into.Type()))
				return nil
			}
			if row.Tag(place) != wire.Text {
				return mismatch(row, place, "JSON text")
			}
			if t.Kind() == reflect.String {
				into.SetString(string(row.Bytes(place)))
				return nil
			}
			if err := json.Unmarshal(row.Bytes(place), into.Addr().Interface()); err != nil {
				return wire.Errorf(Mismatch, "the JSON does not fit the field: %v", err).Because(err)
			}
			return nil
		},
	}
}

func pointerCodec(t reflect.Type, inner codec) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if from.IsNil() {
				w.Null()
				return nil
			}
			return inner.put(from.Elem(), w)
		},
		func(row wire.Row, place int, into reflect.Value) error {
			if row.Tag(place) == wire.Null {
				into.Set(reflect.Zero(into.Type()))
				return nil
			}
			made := reflect.New(t.Elem())
			into.Set(made)
			return inner.get(row, place, made.Elem())
		},
	}
}

// anyCodec is for fields of the type any: it stores by the value's type, and reads by the column's type.
func anyCodec(column *wire.Column) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if from.IsNil() {
				w.Null()
				return nil
			}
			return putAny(from.Elem(), column, w)
		},
		func(row wire.Row, place int, into reflect.Value) error {
			value, err := natural(row.Value(place), column.Type)
			if value == nil || err != nil {
				into.Set(reflect.Zero(into.Type()))
				return err
			}
			into.Set(reflect.ValueOf(value))
			return nil
		},
	}
}

func putAny(value reflect.Value, column *wire.Column, w *wire.RowWriter) error {
	if found, ok := codecOf(value.Type(), column); ok {
		return found.put(value, w)
	}
	// Literals have Go's default types: an integer may be an amount or a float, a text an amount.
	switch {
	case column.Type == wire.TypeCurrency && value.CanInt():
		amount, ok := scaled(value.Int())
		if !ok {
			return wire.Errorf(OutOfRange, "the amount is beyond ±922337203685477.5807")
		}
		w.Int(amount)
		return nil
	case isFloat(column.Type) && value.CanInt():
		// Beyond 2^53 a conversion there and back finds whether the float is exact, but for the largest integers, whose
		// float is 2^63.
		number := float64(value.Int())
		if number >= math.MaxInt64 || int64(number) != value.Int() {
			return wire.Errorf(OutOfRange, "%d has no exact float", value.Int())
		}
		return putFloat(w, number, column.Type)
	case column.Type == wire.TypeCurrency && value.Kind() == reflect.String:
		amount, err := ParseCurrency(value.String())
		w.Int(int64(amount))
		return err
	}
	return wire.Errorf(Mismatch, "the column has the type %s, and the value the type %s", column.Type, value.Type())
}

// natural converts a stored value to the Go type of its column.
func natural(stored any, column wire.Type) (any, error) {
	if stored == nil {
		return nil, nil
	}
	integer, isInteger := stored.(int64)
	switch column {
	case wire.TypeBool:
		if integer == 0 && isInteger || integer == 1 {
			return integer == 1, nil
		}
	case wire.TypeDecimal:
		return decimalText(stored), nil
	case wire.TypeCurrency:
		if isInteger {
			return Currency(integer), nil
		}
	case wire.TypeUUID:
		return uuidOf(stored)
	case wire.TypeVector:
		if bytes, ok := stored.([]byte); ok {
			return vectorOf(bytes)
		}
	case wire.TypeDate:
		return timeOf(stored, dateForm, microsPerDay)
	case wire.TypeDateTime:
		return timeOf(stored, dateTimeForm, 1)
	case wire.TypeTimestamp:
		return timeOf(stored, dateTimeForm+"Z", 1)
	case wire.TypeTime:
		return durationOf(stored)
	case wire.TypeJSON:
		if text, ok := stored.(string); ok {
			return json.RawMessage(text), nil
		}
	}
	return stored, nil
}

// storedIn returns a value in its column's stored form; nil is NULL.
func storedIn(value any, column *wire.Column) (any, error) {
	if value == nil {
		return nil, nil
	}
	w := wire.BeginRow(nil, 1)
	if err := putAny(reflect.ValueOf(value), column, &w); err != nil {
		return nil, err
	}
	row, _, err := wire.NextRow(w.End())
	if err != nil {
		return nil, err
	}
	return row.Value(0), nil
}

// parameter returns an SQL argument with its type. Numbers, texts and bytes are plain values without one.
func parameter(value any) (wire.Parameter, error) {
	ty := wire.TypeAny
	for rv := reflect.ValueOf(value); rv.Kind() == reflect.Pointer; rv = reflect.ValueOf(value) {
		if rv.IsNil() {
			return wire.Parameter{Type: ty}, nil
		}
		value = rv.Elem().Interface()
	}
	switch given := value.(type) {
	case nil:
		return wire.Parameter{Type: ty}, nil
	case Date:
		ty, value = wire.TypeDate, time.Time(given)
	case DateTime:
		ty, value = wire.TypeDateTime, time.Time(given)
	case bool:
		ty = wire.TypeBool
	case Currency:
		ty = wire.TypeCurrency
	case UUID:
		ty = wire.TypeUUID
	case time.Time:
		ty = wire.TypeTimestamp
	case time.Duration:
		ty = wire.TypeTime
	case json.RawMessage:
		ty = wire.TypeJSON
	}
	stored, err := storedIn(value, &wire.Column{Type: ty})
	return wire.Parameter{Value: stored, Type: ty}, err
}

func putText(w *wire.RowWriter, text string) error {
	if !utf8.ValidString(text) {
		return wire.Errorf(Mismatch, "a text that is not UTF-8 cannot be stored")
	}
	w.Text(text)
	return nil
}
