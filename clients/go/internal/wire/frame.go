package wire

import "bytes"

// FrameKind is the kind of a frame.
type FrameKind uint8

// The kinds of frames: below 0x80 they are sent by the client, others by the server.
const (
	Hello   FrameKind = 0x01
	Define  FrameKind = 0x02
	Prepare FrameKind = 0x03
	Forget  FrameKind = 0x04
	Control FrameKind = 0x05
	Write   FrameKind = 0x06
	Change  FrameKind = 0x07
	Batch   FrameKind = 0x08
	Get     FrameKind = 0x09
	Query   FrameKind = 0x0a
	Open    FrameKind = 0x0b
	Fetch   FrameKind = 0x0c
	Close   FrameKind = 0x0d
	Tables  FrameKind = 0x0e
	Alter   FrameKind = 0x0f
	Execute FrameKind = 0x10
	Flush   FrameKind = 0x11
	Ping    FrameKind = 0x12
	Cancel  FrameKind = 0x13
	Credit  FrameKind = 0x14
	Losses  FrameKind = 0x15

	ReadPart   FrameKind = 0x16
	WriteValue FrameKind = 0x17
	Explain    FrameKind = 0x18

	Ok       FrameKind = 0x81
	Failure  FrameKind = 0x82
	Welcomed FrameKind = 0x83
	Count    FrameKind = 0x84
	Outcomes FrameKind = 0x85
	Rows     FrameKind = 0x86
	Columns  FrameKind = 0x87
	Schemas  FrameKind = 0x88
)

// Unanswered reports whether the server never responds to it.
func (k FrameKind) Unanswered() bool {
	switch k {
	case Define, Prepare, Forget, Close, Cancel, Credit:
		return true
	}
	return false
}

// HeadSize is the length of a head in bytes.
const HeadSize = 12

// Head precedes the body of a frame.
type Head struct {
	Length uint32
	Kind   FrameKind
	// More is set if further frames of the same message follow.
	More bool
	ID   uint32
}

// Foreign describes the problem if the server's first bytes are of another protocol; otherwise it returns
// an empty string. No frame begins with these bytes: it would be too long.
func Foreign(first []byte) string {
	switch {
	case len(first) > 2 && first[0] >= 0x14 && first[0] <= 0x17 && first[1] == 3 && first[2] >= 1 && first[2] <= 4:
		return "the server speaks TLS: add tls=on to the URL"
	case bytes.HasPrefix(first, []byte("HTTP/")):
		return "this is an HTTP listener: Bobak's own protocol has another port"
	}
	return ""
}

// AppendHead appends a head.
func AppendHead(out []byte, head Head) []byte {
	flags := byte(0)
	if head.More {
		flags = 1
	}
	out = order.AppendUint32(out, head.Length)
	out = append(out, byte(head.Kind), flags, 0, 0)
	return order.AppendUint32(out, head.ID)
}

// AppendFrame appends a head, the body that put appends, and then its length.
func AppendFrame(out []byte, kind FrameKind, more bool, id uint32, put func(*Writer)) []byte {
	start := len(out)
	writer := Writer{Out: AppendHead(out, Head{Kind: kind, More: more, ID: id})}
	if put != nil {
		put(&writer)
	}
	order.PutUint32(writer.Out[start:], uint32(len(writer.Out)-start-HeadSize))
	return writer.Out
}

// ParseHead reads a head of 12 bytes.
func ParseHead(head []byte) (Head, error) {
	kind, flags := FrameKind(head[4]), head[5]
	known := kind >= Hello && kind <= Losses || kind >= Ok && kind <= Schemas
	if !known || flags > 1 || head[6] != 0 || head[7] != 0 {
		return Head{}, Garbled("bytes that are not a frame header")
	}
	return Head{order.Uint32(head), kind, flags == 1, order.Uint32(head[8:])}, nil
}
