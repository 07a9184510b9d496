// Package wire encodes and decodes the protocol that docs/wire.md describes. It has no sockets.
package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

var order = binary.LittleEndian

// Garbled is an error for bytes that do not follow the protocol.
type Garbled string

func (g Garbled) Error() string { return string(g) }

// Writer appends to Out.
type Writer struct{ Out []byte }

// U8 appends a byte.
func (w *Writer) U8(value uint8) { w.Out = append(w.Out, value) }

// Bool appends 0 or 1.
func (w *Writer) Bool(value bool) {
	if value {
		w.U8(1)
	} else {
		w.U8(0)
	}
}

// U16 appends two bytes.
func (w *Writer) U16(value uint16) { w.Out = order.AppendUint16(w.Out, value) }

// U32 appends four bytes.
func (w *Writer) U32(value uint32) { w.Out = order.AppendUint32(w.Out, value) }

// U64 appends eight bytes.
func (w *Writer) U64(value uint64) { w.Out = order.AppendUint64(w.Out, value) }

// Text appends a text with its length before it.
func (w *Writer) Text(value string) {
	w.U32(uint32(len(value)))
	w.Out = append(w.Out, value...)
}

// Bytes appends bytes with their length before them.
func (w *Writer) Bytes(value []byte) {
	w.U32(uint32(len(value)))
	w.Out = append(w.Out, value...)
}

// Places appends positions of columns.
func (w *Writer) Places(places []int) {
	w.U16(uint16(len(places)))
	for _, place := range places {
		w.U16(uint16(place))
	}
}

// Value appends a storage class and a value: nil, int64, float64, string or []byte.
func (w *Writer) Value(value any) {
	switch value := value.(type) {
	case int64:
		w.U8(1)
		w.U64(uint64(value))
	case float64:
		w.U8(2)
		w.U64(math.Float64bits(value))
	case string:
		w.U8(3)
		w.Text(value)
	case []byte:
		w.U8(4)
		w.Bytes(value)
	default:
		w.U8(0)
	}
}

// Reader decodes a body from its beginning. After its first error it returns zero values.
type Reader struct {
	Data []byte
	Err  error
}

func (r *Reader) fail(format string, arguments ...any) {
	if r.Err == nil {
		r.Err = Garbled(fmt.Sprintf(format, arguments...))
	}
	r.Data = nil
}

// Raw reads bytes.
func (r *Reader) Raw(size uint64) []byte {
	if uint64(len(r.Data)) < size {
		r.fail("a truncated message")
		return nil
	}
	piece := r.Data[:size]
	r.Data = r.Data[size:]
	return piece
}

// U8 reads a byte.
func (r *Reader) U8() uint8 {
	if piece := r.Raw(1); piece != nil {
		return piece[0]
	}
	return 0
}

// Bool reads 0 or 1.
func (r *Reader) Bool() bool {
	value := r.U8()
	if value > 1 {
		r.fail("%d is not a boolean", value)
	}
	return value == 1
}

// U16 reads two bytes.
func (r *Reader) U16() uint16 {
	if piece := r.Raw(2); piece != nil {
		return order.Uint16(piece)
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32() uint32 {
	if piece := r.Raw(4); piece != nil {
		return order.Uint32(piece)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if piece := r.Raw(8); piece != nil {
		return order.Uint64(piece)
	}
	return 0
}

// Bytes reads bytes with their length before them. They are a part of the body.
func (r *Reader) Bytes() []byte { return r.Raw(uint64(r.U32())) }

// Text reads a text.
func (r *Reader) Text() string {
	piece := r.Bytes()
	if !utf8.Valid(piece) {
		r.fail("a text that is not UTF-8")
		return ""
	}
	return string(piece)
}

// OptionalText reads an optional text; a missing one is empty.
func (r *Reader) OptionalText() string {
	if r.Bool() {
		return r.Text()
	}
	return ""
}

// Places reads positions of columns, all below the limit.
func (r *Reader) Places(limit int) []int {
	places := make([]int, 0, 4)
	for count := r.U16(); count > 0 && r.Err == nil; count-- {
		place := int(r.U16())
		if place >= limit {
			r.fail("a column number %d of %d", place, limit)
		}
		places = append(places, place)
	}
	return places
}

// Value reads a single value.
func (r *Reader) Value() any {
	switch class := r.U8(); class {
	case 0:
		return nil
	case 1:
		return int64(r.U64())
	case 2:
		value := math.Float64frombits(r.U64())
		if math.IsNaN(value) {
			r.fail("NaN is not a value")
		}
		return value
	case 3:
		return r.Text()
	case 4:
		return append([]byte{}, r.Bytes()...)
	default:
		r.fail("%d is not a storage class", class)
		return nil
	}
}

// Finish returns the first error. Remaining bytes are an error.
func (r *Reader) Finish() error {
	if r.Err == nil && len(r.Data) > 0 {
		r.fail("%d bytes too many", len(r.Data))
	}
	return r.Err
}
