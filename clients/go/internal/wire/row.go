package wire

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Storage classes of values: the tags of a row.
const (
	Null byte = iota
	Int
	Float
	Text
	Bytes
)

// RowWriter encodes one row in the row codec, its columns in order.
type RowWriter struct {
	out   []byte
	start int
	count int
	next  int
}

// BeginRow begins a row with this number of columns at the end of out.
func BeginRow(out []byte, columns int) RowWriter {
	start := len(out)
	head := 6 + 9*columns
	out = append(out, make([]byte, head)...)
	order.PutUint16(out[start+4:], uint16(columns))
	return RowWriter{out: out, start: start, count: columns}
}

func (w *RowWriter) put(tag byte, slot uint64) {
	w.out[w.start+6+w.next] = tag
	order.PutUint64(w.out[w.start+6+w.count+8*w.next:], slot)
	w.next++
}

func (w *RowWriter) heap(tag byte, length int) {
	offset := len(w.out) - w.start - 6 - 9*w.count
	w.put(tag, uint64(offset)|uint64(length)<<32)
}

// Null writes NULL.
func (w *RowWriter) Null() { w.put(Null, 0) }

// Int writes an integer.
func (w *RowWriter) Int(value int64) { w.put(Int, uint64(value)) }

// Float writes a float.
func (w *RowWriter) Float(value float64) { w.put(Float, math.Float64bits(value)) }

// Text writes a text.
func (w *RowWriter) Text(value string) {
	w.heap(Text, len(value))
	w.out = append(w.out, value...)
}

// Bytes writes bytes.
func (w *RowWriter) Bytes(value []byte) {
	w.heap(Bytes, len(value))
	w.out = append(w.out, value...)
}

// Value writes nil, int64, float64, string or []byte.
func (w *RowWriter) Value(value any) {
	switch value := value.(type) {
	case int64:
		w.Int(value)
	case float64:
		w.Float(value)
	case string:
		w.Text(value)
	case []byte:
		w.Bytes(value)
	default:
		w.Null()
	}
}

// End ends the row, and returns all bytes.
func (w *RowWriter) End() []byte {
	order.PutUint32(w.out[w.start:], uint32(len(w.out)-w.start-4))
	return w.out
}

// AppendRow appends a row of values.
func AppendRow(out []byte, values []any) []byte {
	row := BeginRow(out, len(values))
	for _, value := range values {
		row.Value(value)
	}
	return row.End()
}

// Row is a valid row, a part of the body that it was received in.
type Row struct {
	tags, slots, heap []byte
}

// Len returns the number of columns.
func (r Row) Len() int { return len(r.tags) }

// Tag returns the storage class of a column's value.
func (r Row) Tag(place int) byte { return r.tags[place] }

func (r Row) slot(place int) uint64 { return order.Uint64(r.slots[8*place:]) }

// Int returns the value of an integer column.
func (r Row) Int(place int) int64 { return int64(r.slot(place)) }

// Float returns the value of a float column.
func (r Row) Float(place int) float64 { return math.Float64frombits(r.slot(place)) }

// Bytes returns a text or bytes, as a part of the body.
func (r Row) Bytes(place int) []byte {
	slot := r.slot(place)
	offset := slot & 0xffff_ffff
	return r.heap[offset : offset+slot>>32]
}

// Value returns a copy of a column's value: nil, int64, float64, string or []byte.
func (r Row) Value(place int) any {
	switch r.tags[place] {
	case Int:
		return r.Int(place)
	case Float:
		return r.Float(place)
	case Text:
		return string(r.Bytes(place))
	case Bytes:
		return append([]byte{}, r.Bytes(place)...)
	default:
		return nil
	}
}

// NextRow returns the first of framed rows, and the rest.
func NextRow(body []byte) (Row, []byte, error) {
	if len(body) < 4 || uint64(len(body)-4) < uint64(order.Uint32(body)) {
		return Row{}, nil, Garbled("a row whose length is wrong")
	}
	end := 4 + int(order.Uint32(body))
	row, err := checkRow(body[4:end])
	return row, body[end:], err
}

func checkRow(data []byte) (Row, error) {
	if len(data) < 2 {
		return Row{}, Garbled("a truncated row")
	}
	count := int(order.Uint16(data))
	head := 2 + 9*count
	if len(data) < head {
		return Row{}, Garbled("a truncated row")
	}
	row := Row{data[2 : 2+count], data[2+count : head], data[head:]}
	used := uint64(0)
	for place, tag := range row.tags {
		slot, good := row.slot(place), true
		switch tag {
		case Null:
			good = slot == 0
		case Int:
		case Float:
			good = !math.IsNaN(math.Float64frombits(slot))
		case Text, Bytes:
			good = slot&0xffff_ffff == used && used+slot>>32 <= uint64(len(row.heap))
			good = good && (tag == Bytes || utf8.Valid(row.heap[used:used+slot>>32]))
			used += slot >> 32
		default:
			good = false
		}
		if !good {
			return Row{}, Garbled(fmt.Sprintf("column %d of a row is damaged", place))
		}
	}
	if used != uint64(len(row.heap)) {
		return Row{}, Garbled("a row whose length is wrong")
	}
	return row, nil
}
