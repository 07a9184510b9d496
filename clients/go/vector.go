package bobak

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// vectorBytes returns the stored form of a vector. The error is Mismatch for another length, and OutOfRange for NaN
// and infinities.
func vectorBytes(numbers []float32, length uint16) ([]byte, error) {
	if len(numbers) != int(length) {
		return nil, wire.Errorf(Mismatch, "the vector has %d numbers, and its column has %d", len(numbers), length)
	}
	bytes := make([]byte, 0, 4*len(numbers))
	for place, number := range numbers {
		if wide := float64(number); math.IsNaN(wide) || math.IsInf(wide, 0) {
			return nil, wire.Errorf(OutOfRange, "number %d of the vector is %v: its numbers must be finite", place+1, number)
		}
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(number))
	}
	return bytes, nil
}

// vectorOf returns the numbers of a stored vector.
func vectorOf(bytes []byte) ([]float32, error) {
	if len(bytes)%4 != 0 {
		return nil, wire.Errorf(Mismatch, "a vector has 4 bytes for each number, not %d", len(bytes))
	}
	numbers := make([]float32, len(bytes)/4)
	for place := range numbers {
		numbers[place] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*place:]))
	}
	return numbers, nil
}

// vectorCodec stores a nil slice as NULL if the column may be NULL.
func vectorCodec(column *wire.Column) codec {
	return codec{
		func(from reflect.Value, w *wire.RowWriter) error {
			if column.Nullable && from.IsNil() {
				w.Null()
				return nil
			}
			bytes, err := vectorBytes(from.Interface().([]float32), column.Length)
			if err == nil {
				w.Bytes(bytes)
			}
			return err
		},
		func(row wire.Row, place int, into reflect.Value) error {
			switch row.Tag(place) {
			case wire.Null:
				into.Set(reflect.Zero(into.Type()))
			case wire.Bytes:
				numbers, err := vectorOf(row.Bytes(place))
				if err != nil {
					return err
				}
				into.Set(reflect.ValueOf(numbers))
			default:
				return mismatch(row, place, "a vector")
			}
			return nil
		},
	}
}

// Metric is how the distance of two vectors is measured: see [Query.Nearest].
type Metric uint8

// The metrics. The smaller the distance, the nearer are the vectors.
const (
	// Cosine is 1 minus the cosine of the angle.
	Cosine Metric = iota
	// Euclidean is the length of the difference.
	Euclidean
	// Dot is minus the dot product.
	Dot
)

// nearest is from which vector a query measures distances.
type nearest struct {
	column string
	metric Metric
	to     []float32
}

func (n *nearest) place(p *plan) (*wire.Nearest, error) {
	place, err := p.place(n.column)
	if err != nil {
		return nil, err
	}
	column := &p.schema.Columns[place]
	if column.Type != wire.TypeVector {
		return nil, wire.Errorf(Mismatch, "a distance is that of vectors, and this column is %s", column.Type).
			In(p.schema.Name, column.Name)
	}
	if n.metric > Dot {
		return nil, misuse("the metric is Cosine, Euclidean or Dot")
	}
	to, err := vectorBytes(n.to, column.Length)
	return &wire.Nearest{Place: place, Metric: uint8(n.metric), To: to}, p.in(err, column)
}
