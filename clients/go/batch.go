package bobak

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// part is the approximate number of bytes of rows that are sent together.
const part = 1 << 19

// BatchOptions control how a batch handles rows that fail.
type BatchOptions struct {
	// SkipErrors skips rows that the server rejects, and reports them. Otherwise the first one undoes the
	// whole batch.
	SkipErrors bool
}

// Report is the result of a batch.
type Report struct {
	Rows, Inserted, Changed, Ignored int64
	// Errors has an error for each skipped row, with its row number.
	Errors []*Error
	groups []wire.Group
}

// EachKey calls each with the integer keys that the engine has generated, and those of the rows that
// BatchUpsertOn has updated, by row number.
func (r *Report) EachKey(each func(row, key int64)) {
	row := int64(0)
	for _, group := range r.groups {
		for offset := int64(0); offset < int64(group.Rows); offset++ {
			if group.Tag == wire.IntegerKeys || group.Tag == wire.UpdatedInteger {
				each(row, group.Value+offset)
			}
			row++
		}
	}
}

func (r *Report) take(groups []wire.Group) int64 {
	taken := int64(0)
	for _, group := range groups {
		rows := int64(group.Rows)
		taken += rows
		switch group.Tag {
		case wire.IntegerKeys, wire.Inserted, wire.KeyGiven:
			r.Inserted += rows
		case wire.Changed:
			r.Changed += rows * group.Value
		case wire.UpdatedInteger, wire.UpdatedKey:
			r.Changed += rows
		case wire.Ignored:
			r.Ignored += rows
		case wire.Failed:
			r.Errors = append(r.Errors, group.Err)
		}
	}
	r.groups = append(r.groups, groups...)
	r.Rows += taken
	return taken
}

// Batch is many writes to one or several tables as one transaction: after Finish either all rows are
// written or none. Rows are sent in parts while more are added. Records that are added do not change;
// the report has their generated keys.
type Batch struct {
	ctx     context.Context
	session Session
	release func()
	options BatchOptions
	report  Report
	// A part is sent when it has full bytes. The server accepts rows of at most longest bytes.
	full, longest int

	runs    []run
	size    int
	added   int64
	started bool
	over    bool
	id      uint32
	sent    int64
	waiting []sentPart
}

// run is consecutive rows with the same table, verb and set of columns.
type run struct {
	plan *plan
	verb uint8
	sets wire.Set
	rows []byte
}

// sentPart is a part whose outcomes have not arrived: the number of rows up to its end, and its bytes.
type sentPart struct {
	rows int64
	size int
}

// NewBatch begins a batch, in a database or a transaction. It uses one connection until Finish or Discard.
func NewBatch(ctx context.Context, in Session, options BatchOptions) (*Batch, error) {
	session, release, err := in.exclusive(ctx)
	if err != nil {
		return nil, err
	}
	b := &Batch{ctx: ctx, session: session, release: release, options: options, full: part}
	err = session.run(ctx, false, func(c *conn) error {
		b.longest = int(c.welcome.Row)
		if half := int(c.welcome.Frame) / 2; half < b.full {
			b.full = half
		}
		return nil
	})
	if err != nil {
		b.leave()
		return nil, err
	}
	return b, nil
}

// BatchInsert adds a new record to a batch. An integer key that the engine generates is in the report.
func (t *Table[T]) BatchInsert(b *Batch, record *T) error {
	return t.batchNew(b, record, wire.Insert)
}

// BatchInsertOrIgnore adds a new record, which is ignored if its key or a unique value exists.
func (t *Table[T]) BatchInsertOrIgnore(b *Batch, record *T) error {
	return t.batchNew(b, record, wire.InsertOrIgnore)
}

// BatchUpsert adds a new record, or overwrites the row with its key.
func (t *Table[T]) BatchUpsert(b *Batch, record *T) error {
	return t.batchNew(b, record, wire.Upsert)
}

// BatchUpsertOn adds a new record, or updates the row with the same values in the columns of a unique
// index: see UpsertOn.
func (t *Table[T]) BatchUpsertOn(b *Batch, record *T, columns ...string) error {
	t = t.now()
	sets, err := t.setsOn(columns)
	if err != nil {
		return err
	}
	return t.batchNewAt(b, record, wire.UpsertOn, sets, currentTime())
}

func (t *Table[T]) batchNew(b *Batch, record *T, verb uint8) error {
	t = t.now()
	return t.batchNewAt(b, record, verb, t.setsOf(verb), currentTime())
}

func (t *Table[T]) batchNewAt(
	b *Batch, record *T, verb uint8, sets wire.Set, now time.Time,
) error {
	return b.add(t.plan, verb, sets, func(out []byte) ([]byte, error) {
		return t.plan.appendNew(out, reflect.ValueOf(record).Elem(), now)
	})
}

// BatchUpdate adds an update of the row with this record's key.
func (t *Table[T]) BatchUpdate(b *Batch, record *T) error {
	t = t.now()
	return b.add(t.plan, wire.Update, t.plan.updated, func(out []byte) ([]byte, error) {
		return t.plan.appendRow(out, reflect.ValueOf(record).Elem(), currentTime(), false)
	})
}

// BatchDelete adds a delete by key.
func (t *Table[T]) BatchDelete(b *Batch, key ...any) error {
	t = t.now()
	return b.add(t.plan, wire.Delete, wire.SetOf(nil), func(out []byte) ([]byte, error) {
		return t.plan.appendKey(out, key)
	})
}

// InsertMany inserts all records, or none, and sets their keys and time stamps.
func (t *Table[T]) InsertMany(ctx context.Context, records []T) (*Report, error) {
	t = t.now()
	b, err := NewBatch(ctx, t.session, BatchOptions{})
	if err != nil {
		return nil, err
	}
	now := currentTime()
	for place := range records {
		if err := t.batchNewAt(b, &records[place], wire.Insert, wire.SetOf(nil), now); err != nil {
			b.Discard()
			return nil, err
		}
	}
	report, err := b.Finish()
	if err != nil {
		return nil, err
	}
	report.EachKey(func(row, key int64) {
		if failed := t.plan.setKey(reflect.ValueOf(&records[row]).Elem(), key); err == nil {
			err = failed
		}
	})
	if t.plan.created < 0 && t.plan.modified < 0 {
		return report, err
	}
	for place := range records {
		failed := t.plan.setStamps(reflect.ValueOf(&records[place]).Elem(), now, true)
		if err == nil {
			err = failed
		}
	}
	return report, err
}

func (b *Batch) add(p *plan, verb uint8, sets wire.Set, put func([]byte) ([]byte, error)) error {
	if b.over {
		return misuse("the batch has ended")
	}
	last := len(b.runs) - 1
	fits := last >= 0 && b.runs[last].plan == p && b.runs[last].verb == verb
	if !fits || !bytes.Equal(b.runs[last].sets, sets) {
		b.runs = append(b.runs, run{plan: p, verb: verb, sets: sets})
		last++
	}
	into := &b.runs[last]
	start := len(into.rows)
	rows, err := put(into.rows)
	if err != nil {
		into.rows = into.rows[:start]
		if known := (*Error)(nil); errors.As(err, &known) && known.Row < 0 {
			known.Row = b.added
		}
		return err
	}
	if size := len(rows) - start; size > b.longest {
		into.rows = rows[:start]
		err := wire.Errorf(OutOfRange, "the row is larger than the %d bytes that the server accepts",
			b.longest).In(p.schema.Name, "")
		err.Row = b.added
		return err
	}
	into.rows = rows
	b.size += len(rows) - start
	b.added++
	if b.size < b.full {
		return nil
	}
	return b.session.run(b.ctx, true, func(c *conn) error { return b.send(c, true) })
}

// send sends the collected rows as a part.
func (b *Batch) send(c *conn, more bool) error {
	// While its responses are not read, the server reads no more than its window.
	for len(b.waiting) > 0 && b.unanswered()+b.size > int(c.welcome.Window) {
		if _, err := b.receive(c); err != nil {
			return err
		}
	}
	numbers := make([]uint32, len(b.runs))
	for place := range b.runs {
		var err error
		if numbers[place], err = c.table(b.runs[place].plan); err != nil {
			return err
		}
	}
	put := func(w *wire.Writer) {
		w.Bool(b.options.SkipErrors)
		for place := range b.runs {
			wire.PutRun(w, numbers[place], b.runs[place].verb, b.runs[place].sets)
			w.Bytes(b.runs[place].rows)
		}
	}
	if b.started {
		c.putMore(wire.Batch, more, b.id, put)
	} else {
		id, err := c.put(wire.Batch, more, put)
		if err != nil {
			return err
		}
		b.id, b.started = id, true
	}
	b.sent = b.added
	b.waiting = append(b.waiting, sentPart{b.sent, b.size})
	// Reuses the memory of the last run: most batches write to one table.
	if len(b.runs) > 0 {
		b.runs[0], b.runs = b.runs[len(b.runs)-1], b.runs[:1]
		b.runs[0].rows = b.runs[0].rows[:0]
	}
	b.size = 0
	return c.flush()
}

func (b *Batch) unanswered() int {
	size := 0
	for _, one := range b.waiting {
		size += one.size
	}
	return size
}

// receive reads the next outcomes, and returns whether more follow.
func (b *Batch) receive(c *conn) (bool, error) {
	head, body, err := c.receive(b.id, wire.Outcomes)
	if err != nil {
		if said := (*Error)(nil); errors.As(err, &said) {
			b.end(c)
		}
		return false, err
	}
	groups, err := wire.ParseOutcomes(body)
	if err != nil {
		return false, err
	}
	b.report.take(groups)
	if b.report.Rows > b.sent || !head.More && b.report.Rows != b.sent {
		return false, wire.Garbled("the number of outcomes is not the number of rows")
	}
	for len(b.waiting) > 0 && b.waiting[0].rows <= b.report.Rows {
		b.waiting = b.waiting[1:]
	}
	return head.More, nil
}

// end ends the message of a batch that failed.
func (b *Batch) end(c *conn) {
	if !b.over && b.started {
		c.putMore(wire.Batch, false, b.id, func(w *wire.Writer) { w.U8(0) })
	}
	b.over = true
}

// Finish sends the remaining rows, and waits for all outcomes.
func (b *Batch) Finish() (*Report, error) {
	if b.over {
		b.leave()
		return nil, misuse("the batch has ended")
	}
	defer b.leave()
	if !b.started && b.size == 0 {
		b.over = true
		return &b.report, nil
	}
	err := b.session.run(b.ctx, true, func(c *conn) error {
		if err := b.send(c, false); err != nil {
			return err
		}
		// The last part is sent: after a failure there is nothing to end.
		b.over = true
		for more := true; more; {
			var err error
			if more, err = b.receive(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &b.report, nil
}

// Discard undoes the batch. It does nothing after Finish.
func (b *Batch) Discard() {
	defer b.leave()
	if b.over || !b.started {
		b.over = true
		return
	}
	ctx := context.Background()
	if b.ctx.Err() != nil {
		// The caller does not want to wait any more.
		limit, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		ctx = limit
	}
	// If this fails, the connection is broken, and the server undoes the batch.
	_ = b.session.run(ctx, true, func(c *conn) error {
		c.putMore(wire.Cancel, false, b.id, nil)
		b.end(c)
		for more := true; more; {
			var err error
			if more, err = b.receive(c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Batch) leave() {
	if b.release != nil {
		b.release()
		b.release = nil
	}
}

// GetMany returns the records with these keys, and nil for each missing one. The requests are pipelined.
// A key of several columns is a []any.
func (t *Table[T]) GetMany(ctx context.Context, keys ...any) (found []*T, err error) {
	err = t.fitted(ctx, func(t *Table[T]) (err error) {
		found, err = t.getMany(ctx, keys)
		return err
	})
	return found, err
}

func (t *Table[T]) getMany(ctx context.Context, keys []any) ([]*T, error) {
	rows := make([][]byte, len(keys))
	for place, key := range keys {
		parts, ok := key.([]any)
		if !ok {
			parts = []any{key}
		}
		var err error
		if rows[place], err = t.plan.appendKey(nil, parts); err != nil {
			return nil, err
		}
	}
	var found []*T
	err := t.session.run(ctx, false, func(c *conn) error {
		table, err := c.table(t.plan)
		if err != nil {
			return err
		}
		put := func(place int) (wire.FrameKind, func(*wire.Writer), error) {
			return wire.Get, func(w *wire.Writer) {
				w.U32(table)
				w.Out = append(w.Out, rows[place]...)
			}, nil
		}
		found = make([]*T, len(rows))
		return c.pipeline(len(rows), put, wire.Rows, func(place int, body []byte) error {
			if len(body) == 0 {
				return nil
			}
			row, _, err := wire.NextRow(body)
			if err != nil {
				return err
			}
			found[place] = new(T)
			return t.plan.read(row, reflect.ValueOf(found[place]).Elem())
		})
	})
	return found, err
}

// ExecMany runs an SQL statement once for each list of arguments, all or none, and returns the number of
// changed rows. The requests are pipelined.
func ExecMany(ctx context.Context, in Session, text string, arguments [][]any) (int64, error) {
	if db, ok := in.(*DB); ok {
		total := int64(0)
		err := db.InTx(ctx, func(tx *Tx) (err error) {
			total, err = execMany(ctx, tx, text, arguments)
			return err
		})
		return total, err
	}
	total := int64(0)
	tx, ok := in.(*Tx)
	if !ok {
		return execMany(ctx, in, text, arguments)
	}
	err := tx.Savepoint(ctx, "bobak_many", func() (err error) {
		total, err = execMany(ctx, in, text, arguments)
		return err
	})
	return total, err
}

func execMany(ctx context.Context, in Session, text string, arguments [][]any) (int64, error) {
	total := int64(0)
	err := in.run(ctx, true, func(c *conn) error {
		put := func(place int) (wire.FrameKind, func(*wire.Writer), error) {
			text, stored, err := bindAny(text, arguments[place])
			if err != nil {
				return 0, nil, err
			}
			source, err := c.sql(text, stored)
			return wire.Execute, source, err
		}
		return c.pipeline(len(arguments), put, wire.Count, func(_ int, body []byte) error {
			count, err := wire.ParseCount(body)
			total += int64(count)
			return err
		})
	})
	return total, err
}

// pipeline sends requests without waiting for each response. After the first failure it sends no more,
// and reads the outstanding responses.
func (c *conn) pipeline(
	count int, put func(int) (wire.FrameKind, func(*wire.Writer), error), answer wire.FrameKind,
	take func(int, []byte) error,
) error {
	most := 256
	if limit := int(c.welcome.Requests) / 2; limit < most {
		most = limit + 1
	}
	ids := make([]uint32, 0, count)
	var failed error
	receive := func(place int) error {
		_, body, err := c.receive(ids[place], answer)
		if err == nil {
			err = take(place, body)
		}
		if said := (*Error)(nil); errors.As(err, &said) {
			if failed == nil {
				failed = said
				if said.Row < 0 && answer == wire.Count {
					said.Row = int64(place)
				}
			}
			return nil
		}
		return err
	}
	taken := 0
	for place := 0; place < count && failed == nil; place++ {
		kind, body, err := put(place)
		if err == nil {
			var id uint32
			if id, err = c.put(kind, false, body); err == nil {
				ids = append(ids, id)
			}
		}
		if err != nil {
			failed = err
			break
		}
		for len(ids)-taken >= most || len(ids) > taken && len(c.out) > 1<<20 {
			if err := receive(taken); err != nil {
				return err
			}
			taken++
		}
	}
	for ; taken < len(ids); taken++ {
		if err := receive(taken); err != nil {
			return err
		}
	}
	return failed
}
