package bobak

import (
	"context"
	"io"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

const (
	// blobPart is how many bytes of a value are read at once, and writtenPart how many are sent at once.
	blobPart    = 1 << 20
	writtenPart = 256 << 10
	// valueParts is the capability of servers that read and write parts of values.
	valueParts = 1 << 23
)

// Blob is a column of bytes of one row, which is read in parts: see Table.ReadBlob.
//
// Each part is a read of its own, of up to a MiB. If the row was changed meanwhile, which shows in the
// length of the value or in the version of the row, the error of the next read is Conflict.
type Blob struct {
	ctx      context.Context
	session  Session
	address  blobAddress
	size     int64
	version  any
	position int64
	// part has the bytes from start on.
	part  []byte
	start int64
}

// blobAddress is where a value is.
type blobAddress struct {
	plan  *plan
	key   []byte
	place int
}

// ReadBlob opens a column of bytes of the row with this key, to read it in parts, with the context. A key of
// several columns is a []any. The error is NotFound if there is no such row, or if the value is NULL.
func (t *Table[T]) ReadBlob(ctx context.Context, key any, column string) (*Blob, error) {
	address, err := t.address(key, column)
	if err != nil {
		return nil, err
	}
	b := &Blob{ctx: ctx, session: t.session, address: address}
	size, version, found, err := b.read(0)
	if err != nil {
		return nil, err
	}
	if !found || size == nil {
		return nil, wire.Errorf(NotFound, "no row has the key %v and a value", key).
			In(t.plan.schema.Name, column)
	}
	b.size, b.version = size.(int64), version
	return b, nil
}

// WriteBlob replaces a column of bytes of the row with this key by the bytes that a reader returns, which are
// sent in parts, and reports whether the row exists. A key of several columns is a []any.
//
// If the reader fails, or has fewer or more bytes than length, the value stays as it was.
func (t *Table[T]) WriteBlob(
	ctx context.Context, key any, column string, length int64, source io.Reader,
) (found bool, err error) {
	address, err := t.address(key, column)
	if err != nil {
		return false, err
	}
	err = t.session.run(ctx, true, func(c *conn) error {
		found, err = c.writeBlob(address, length, source)
		return err
	})
	return found, err
}

func (t *Table[T]) address(key any, column string) (blobAddress, error) {
	t = t.now()
	parts, ok := key.([]any)
	if !ok {
		parts = []any{key}
	}
	place, err := t.plan.place(column)
	if err != nil {
		return blobAddress{}, err
	}
	if found := t.plan.schema.Columns[place].Type; found != wire.TypeBytes {
		return blobAddress{}, wire.Errorf(Unsupported, "only bytes are read and written in parts, not %v",
			found).In(t.plan.schema.Name, column)
	}
	row, err := t.plan.appendKey(nil, parts)
	return blobAddress{t.plan, row, place}, err
}

// put encodes where the value is, and a number: the first byte, or the length.
func (a *blobAddress) put(w *wire.Writer, table uint32, number uint64) {
	w.U32(table)
	w.U16(uint16(a.place))
	w.Out = append(w.Out, a.key...)
	w.U64(number)
}

func (c *conn) has(capability uint32, what string) error {
	if c.welcome.Capabilities&capability == 0 {
		return wire.Errorf(Unsupported, "the server, %s with %s, has no %s", c.welcome.Server,
			c.welcome.Engine, what)
	}
	return nil
}

// writeBlob sends a value. Without the last part the value is too short, so that the server rejects it.
func (c *conn) writeBlob(address blobAddress, length int64, source io.Reader) (bool, error) {
	table, err := c.table(address.plan)
	if err == nil {
		err = c.has(valueParts, "values in parts")
	}
	part, next := make([]byte, writtenPart), make([]byte, writtenPart)
	size, failed := 0, error(nil)
	if err == nil {
		size, err = fillFrom(source, part)
	}
	if err != nil {
		return false, err
	}
	id, started := uint32(0), false
	for more := true; more; {
		following := 0
		if size == writtenPart {
			following, failed = fillFrom(source, next)
		}
		if more = following > 0 && failed == nil; failed != nil {
			size = 0
		}
		put := func(w *wire.Writer) {
			address.put(w, table, uint64(length))
			w.Out = append(w.Out, part[:size]...)
		}
		switch {
		case failed != nil && !started:
			return false, failed
		case started:
			c.putMore(wire.WriteValue, more, id, put)
		default:
			if id, err = c.put(wire.WriteValue, more, put); err != nil {
				return false, err
			}
			started = true
		}
		if err := c.flush(); err != nil {
			return false, err
		}
		part, next, size = next, part, following
	}
	_, body, err := c.receive(id, wire.Count)
	if failed != nil {
		return false, failed
	}
	if err != nil {
		return false, err
	}
	count, err := wire.ParseCount(body)
	return count > 0, err
}

// fillFrom reads until the buffer is full, or the reader has ended.
func fillFrom(source io.Reader, buffer []byte) (int, error) {
	count, err := io.ReadFull(source, buffer)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return count, err
}

// Size returns the number of bytes.
func (b *Blob) Size() int64 { return b.size }

// read reads the part at an offset, and returns the length of the value and the version of its row.
func (b *Blob) read(offset int64) (size, version any, found bool, err error) {
	b.part, b.start = b.part[:0], offset
	err = b.session.run(b.ctx, false, func(c *conn) error {
		if err := c.has(valueParts, "values in parts"); err != nil {
			return err
		}
		table, err := c.table(b.address.plan)
		if err != nil {
			return err
		}
		body, err := c.ask(wire.ReadPart, wire.Rows, func(w *wire.Writer) {
			b.address.put(w, table, uint64(offset))
			w.U32(blobPart)
		})
		if found = err == nil && len(body) > 0; !found {
			return err
		}
		row, _, err := wire.NextRow(body)
		if err != nil {
			return err
		}
		if row.Len() != 3 {
			return wire.Garbled("a part of a value of another length than three")
		}
		size, version = row.Value(0), row.Value(2)
		if row.Tag(1) == wire.Bytes {
			b.part = append(b.part[:0], row.Bytes(1)...)
		}
		return nil
	})
	return size, version, found, err
}

// Read reads the next bytes.
func (b *Blob) Read(buffer []byte) (int, error) {
	count, err := b.readAt(buffer, b.position)
	b.position += int64(count)
	return count, err
}

// ReadAt reads the bytes at an offset. Unlike that of other types, it must not be called at the same time as
// other methods.
func (b *Blob) ReadAt(buffer []byte, offset int64) (total int, err error) {
	for total < len(buffer) && err == nil {
		var count int
		count, err = b.readAt(buffer[total:], offset+int64(total))
		total += count
	}
	return total, err
}

func (b *Blob) readAt(buffer []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, misuse("a position before the value")
	}
	if offset >= b.size {
		return 0, io.EOF
	}
	if at := offset - b.start; at < 0 || at >= int64(len(b.part)) {
		size, version, found, err := b.read(offset)
		if err != nil {
			return 0, err
		}
		if !found || size != any(b.size) || version != b.version || len(b.part) == 0 {
			b.part = b.part[:0]
			return 0, wire.Errorf(Conflict, "the row was changed while its value was read: open the "+
				"value again").In(b.address.plan.schema.Name, "")
		}
	}
	return copy(buffer, b.part[offset-b.start:]), nil
}

// Seek sets the position of the next Read, which may be after the end.
func (b *Blob) Seek(offset int64, origin int) (int64, error) {
	switch origin {
	case io.SeekCurrent:
		offset += b.position
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return b.position, misuse("a position before the value")
	}
	b.position = offset
	return offset, nil
}

// Close ends the reading. There is nothing to release.
func (b *Blob) Close() error { return nil }
