package bobak

import (
	"math"
	"reflect"
	"strconv"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// ranges has the integers of each type. Engines store 64 bits with a sign, so a u64 has 63.
var ranges = map[wire.Type][2]int64{
	wire.TypeI8: {math.MinInt8, math.MaxInt8}, wire.TypeI16: {math.MinInt16, math.MaxInt16},
	wire.TypeI32: {math.MinInt32, math.MaxInt32}, wire.TypeI64: {math.MinInt64, math.MaxInt64},
	wire.TypeU8: {0, math.MaxUint8}, wire.TypeU16: {0, math.MaxUint16},
	wire.TypeU32: {0, math.MaxUint32}, wire.TypeU64: {0, math.MaxInt64},
}

const (
	// scale is the number of units of an amount of 1.
	scale = 10_000
	// exactFloats is the largest integer up to which a float64 has each one.
	exactFloats = 1 << 53
)

func isFloat(column wire.Type) bool { return column == wire.TypeF32 || column == wire.TypeF64 }

// counts reports whether integers of a type are numbers, and not amounts, days or microseconds.
func counts(column wire.Type) bool {
	_, isInteger := ranges[column]
	return isInteger || isFloat(column) || column == wire.TypeAny || column == wire.TypeDecimal
}

// convert returns a value of a column of a result in the stored form of a field's type.
//
// An amount is read as a number in its own unit, and a number as an amount: 5.00 is 5 as an int64. Nothing is
// rounded, except by reading an amount or a decimal number as a float. The error is OutOfRange for a number that the
// field cannot have exactly, and Mismatch for a value of another kind.
func convert(value any, column, field wire.Type) (any, error) {
	if value == nil || field == wire.TypeAny {
		return value, nil
	}
	if _, isInteger := ranges[field]; isInteger {
		return convertInteger(value, column, field)
	}
	switch field {
	case wire.TypeF32, wire.TypeF64:
		return convertFloat(value, column, field)
	case wire.TypeCurrency:
		return convertAmount(value, column, field)
	}
	if !fits(value, column, field) {
		return nil, otherKind(value, column, field)
	}
	return value, nil
}

// fits reports whether a value is one of a field that is not a number.
func fits(value any, column, field wire.Type) bool {
	switch value := value.(type) {
	case int64:
		switch field {
		case wire.TypeBool:
			return (value == 0 || value == 1) && (column == field || counts(column))
		case wire.TypeDateTime, wire.TypeTimestamp:
			return column == wire.TypeDateTime || column == wire.TypeTimestamp
		case wire.TypeDate, wire.TypeTime:
			return column == field
		}
	case string:
		switch field {
		case wire.TypeText, wire.TypeJSON:
			return column != wire.TypeDecimal
		case wire.TypeDate, wire.TypeTime, wire.TypeDateTime, wire.TypeTimestamp, wire.TypeUUID:
			return true
		}
	case []byte:
		return field == wire.TypeBytes || field == wire.TypeUUID || field == wire.TypeVector
	}
	return false
}

func convertInteger(value any, column, field wire.Type) (any, error) {
	if _, ok := value.(string); ok && column == wire.TypeDecimal {
		return nil, outside(value, column, field)
	}
	number, ok := value.(int64)
	if !ok || !counts(column) && column != wire.TypeCurrency && column != wire.TypeBool {
		return nil, otherKind(value, column, field)
	}
	if column == wire.TypeCurrency {
		if number%scale != 0 {
			return nil, outside(value, column, field)
		}
		number /= scale
	}
	if within := ranges[field]; number < within[0] || number > within[1] {
		return nil, outside(value, column, field)
	}
	return number, nil
}

func convertFloat(value any, column, field wire.Type) (any, error) {
	switch value := value.(type) {
	case float64:
		return value, nil
	case string:
		if column == wire.TypeDecimal {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, outside(value, column, field)
			}
			return number, nil
		}
	case int64:
		switch {
		case column == wire.TypeCurrency:
			return float64(value) / scale, nil
		case column == wire.TypeDecimal:
			return float64(value), nil
		case !counts(column):
		case value > exactFloats || value < -exactFloats:
			return nil, outside(value, column, field)
		default:
			return float64(value), nil
		}
	}
	return nil, otherKind(value, column, field)
}

func convertAmount(value any, column, field wire.Type) (any, error) {
	switch value := value.(type) {
	case string:
		if column == wire.TypeDecimal {
			amount, err := ParseCurrency(value)
			if err != nil {
				return nil, outside(value, column, field)
			}
			return int64(amount), nil
		}
	case int64:
		_, isInteger := ranges[column]
		switch {
		case column == wire.TypeCurrency:
			return value, nil
		case isInteger || column == wire.TypeDecimal:
			amount, ok := scaled(value)
			if !ok {
				return nil, outside(value, column, field)
			}
			return amount, nil
		case column == wire.TypeAny:
			return nil, wire.Errorf(Mismatch, "an integer of an unknown type is no amount: CAST it to DECIMAL(19, 4)")
		}
	}
	return nil, otherKind(value, column, field)
}

// scaled returns the ten-thousandths of a whole amount, and whether they fit.
func scaled(whole int64) (int64, bool) {
	if whole > math.MaxInt64/scale || whole < math.MinInt64/scale {
		return 0, false
	}
	return whole * scale, true
}

func outside(value any, column, field wire.Type) error {
	if number, ok := value.(int64); ok && column == wire.TypeCurrency {
		value = Currency(number)
	}
	return wire.Errorf(OutOfRange, "%v has no exact value of type %s", value, field)
}

func otherKind(value any, column, field wire.Type) error {
	found := "a value"
	switch value.(type) {
	case int64:
		found = "an integer"
	case float64:
		found = "a float"
	case string:
		found = "a text"
	case []byte:
		found = "bytes"
	}
	if column != wire.TypeAny {
		found += " of type " + column.String()
	}
	return wire.Errorf(Mismatch, "expected a value of type %s, found %s", field, found)
}

// decimalText returns a decimal number as text, whether the server has sent it as an integer or not.
func decimalText(value any) any {
	if number, ok := value.(int64); ok {
		return strconv.FormatInt(number, 10)
	}
	return value
}

// resultCodec returns the codec that reads values of a column of a result as a Go type, for a field of a type.
func resultCodec(t reflect.Type, field *wire.Column, column wire.Type) (codec, bool) {
	base := t
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if base == anyType && field.Type == wire.TypeAny {
		return codecOf(t, &wire.Column{Type: column})
	}
	if base == timeType && field.Type == wire.TypeTimestamp && column == wire.TypeDate {
		// A day is a time.Time, too.
		return codecOf(t, &wire.Column{Type: column})
	}
	found, ok := codecOf(t, field)
	if !ok || column == field.Type && !isFloat(column) {
		return found, ok
	}
	wanted := field.Type
	if wanted == wire.TypeAny {
		wanted, _ = defaultType(base)
	}
	get := func(row wire.Row, place int, into reflect.Value) error {
		value, err := convert(row.Value(place), column, wanted)
		if err != nil {
			return err
		}
		converted, _, err := wire.NextRow(wire.AppendRow(nil, []any{value}))
		if err != nil {
			return err
		}
		return found.get(converted, 0, into)
	}
	return codec{found.put, get}, true
}

// mapReader reads rows as maps of values by column name.
func mapReader(columns []wire.ResultColumn) (func(wire.Row, reflect.Value) error, error) {
	seen := map[string]bool{}
	for _, column := range columns {
		if seen[column.Name] {
			return nil, twoColumns(column.Name)
		}
		seen[column.Name] = true
	}
	return func(row wire.Row, into reflect.Value) error {
		values := make(map[string]any, len(columns))
		for place, column := range columns {
			value, err := natural(row.Value(place), column.Type)
			if err != nil {
				return inColumn(err, column.Name)
			}
			values[column.Name] = value
		}
		into.Set(reflect.ValueOf(values))
		return nil
	}, nil
}

func twoColumns(name string) error {
	return wire.Errorf(Schema, "the result has two columns with this name: rename one with AS").In("", name)
}

// inColumn names the column in an error.
func inColumn(err error, name string) error {
	if known, ok := err.(*Error); ok {
		return known.In("", name)
	}
	return err
}
