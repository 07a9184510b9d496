package bobak

import (
	"context"
	"errors"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// ChangeKind is what happened to a row.
type ChangeKind uint8

// The kinds, by their numbers in a log.
const (
	Inserted ChangeKind = iota + 1
	Updated
	Deleted
)

func (k ChangeKind) String() string {
	names := [...]string{"unknown", "insert", "update", "delete"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Change is one change of one row of a tracked table. R is a pointer to the table's struct.
type Change[R any] struct {
	// ID is larger than that of every change committed before, in any tracked table.
	ID int64
	// Table is the table's name.
	Table string
	Kind  ChangeKind
	// At is the time of the change, in UTC; it never decreases.
	At time.Time
	// Actor made the change; empty if the server does not know.
	Actor string
	// Before and After are the record before and after the change, or nil. A field is zero if its column
	// was added later.
	Before, After R
}

// ChangePage is some changes, and where to continue.
type ChangePage[R any] struct {
	Changes []Change[R]
	// Next is the value of since for the next page.
	Next int64
}

const (
	// changesPage is how many changes Follow reads together.
	changesPage = 1000
	// Follow waits pollInterval after an empty page, and up to longestInterval if more pages are empty.
	pollInterval    = 2 * time.Millisecond
	longestInterval = 100 * time.Millisecond
	// logHead is the number of a log's columns before those of its table: number, time, actor, verb.
	logHead = 4
)

// Changes returns at most limit changes of this tracked table with numbers above since, in the order of
// their commits. The error is NotFound if changes after that number were pruned, and Schema if the table
// is not tracked.
func (t *Table[T]) Changes(ctx context.Context, since int64, limit int) (*ChangePage[*T], error) {
	return changesOf(ctx, t.session, since, limit, t.logged())
}

// LastChange returns the number of the last change of this tracked table, or 0.
func (t *Table[T]) LastChange(ctx context.Context) (last int64, err error) {
	t = t.now()
	err = t.session.run(ctx, false, func(c *conn) error {
		last, err = c.pruned(t.plan)
		if err != nil {
			return err
		}
		found, err := c.lastChange(t.plan)
		last = larger(last, found)
		return err
	})
	return last, err
}

// Follow calls work with the changes of this tracked table as they happen, after the number since, until
// the context ends or work returns an error, which Follow returns. A program that stores the ID of the
// last change can continue after it at any time. Follow polls the database every few milliseconds, and
// ten times a second if there are no changes.
func (t *Table[T]) Follow(
	ctx context.Context, since int64, work func(*Change[*T]) error,
) error {
	pause := pollInterval
	for {
		page, err := t.Changes(ctx, since, changesPage)
		if err != nil {
			return err
		}
		for number := range page.Changes {
			if err := work(&page.Changes[number]); err != nil {
				return err
			}
		}
		since = page.Next
		if len(page.Changes) > 0 {
			pause = pollInterval
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		if pause *= 2; pause > longestInterval {
			pause = longestInterval
		}
	}
}

// History returns the changes of the record with this key, in their order, as far back as the log goes.
// It is fast if the table is tracked with history.
func (t *Table[T]) History(ctx context.Context, key ...any) (changes []Change[*T], err error) {
	t = t.now()
	stored, err := t.plan.key(key)
	if err != nil {
		return nil, err
	}
	condition := &wire.Condition{Tag: wire.Or, Parts: make([]wire.Condition, 2)}
	for after := range condition.Parts {
		side := wire.Condition{Tag: wire.And}
		for number, place := range t.plan.schema.Key {
			side.Parts = append(side.Parts, wire.Condition{
				Tag: wire.Compare, Place: logHead + 2*place + after,
				Values: stored[number : number+1],
			})
		}
		condition.Parts[after] = side
	}
	err = t.session.run(ctx, false, func(c *conn) error {
		changes, err = readLog(c, t.logged(), condition, nil)
		return err
	})
	return changes, err
}

func (t *Table[T]) logged() logged[*T] {
	t = t.now()
	return logged[*T]{t.plan, func() (*T, reflect.Value) {
		record := new(T)
		return record, reflect.ValueOf(record).Elem()
	}}
}

// Changes returns at most limit changes of the tracked tables of these structs, with numbers above since,
// in the order of their commits: db.Changes(ctx, 0, 1000, Person{}, Flight{}). Before and After are a
// *Person, a *Flight, or nil. See [Table.Changes].
func (db *DB) Changes(
	ctx context.Context, since int64, limit int, records ...any,
) (*ChangePage[any], error) {
	if len(records) == 0 {
		return nil, misuse("name a struct for each table")
	}
	var tables []logged[any]
	for _, record := range records {
		kind := reflect.TypeOf(record)
		for kind != nil && kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind == nil {
			return nil, wire.Errorf(Schema, "nil is not a struct")
		}
		p, err := db.planFor(ctx, db, kind)
		if err != nil {
			return nil, err
		}
		tables = append(tables, logged[any]{p, func() (any, reflect.Value) {
			record := reflect.New(kind)
			return record.Interface(), record.Elem()
		}})
	}
	return changesOf(ctx, db, since, limit, tables...)
}

// logged is a tracked table, and a function that makes a record of it.
type logged[R any] struct {
	plan *plan
	make func() (R, reflect.Value)
}

func changesOf[R any](
	ctx context.Context, in Session, since int64, limit int, tables ...logged[R],
) (page *ChangePage[R], err error) {
	if limit < 1 {
		limit = 1
	}
	err = in.run(ctx, false, func(c *conn) error {
		page, err = readPage(c, since, limit, tables)
		return err
	})
	return page, err
}

func readPage[R any](
	c *conn, since int64, limit int, tables []logged[R],
) (*ChangePage[R], error) {
	// A reader that sees a number can read all smaller ones. So the largest number is read first, and then
	// each log up to it.
	last := since
	for _, table := range tables {
		found, err := c.lastChange(table.plan)
		if err != nil {
			return nil, err
		}
		last = larger(last, found)
	}
	page, most := &ChangePage[R]{Next: last}, uint64(limit)
	between := &wire.Condition{Tag: wire.And, Parts: []wire.Condition{
		{Tag: wire.Compare, Comparison: 4, Values: []any{since}},
		{Tag: wire.Compare, Comparison: 3, Values: []any{last}},
	}}
	for _, table := range tables {
		found, err := readLog(c, table, between, &most)
		if err != nil {
			return nil, err
		}
		page.Changes = append(page.Changes, found...)
	}
	// Pruning records its number in the same transaction. If it is not recorded now, nothing was missing
	// from what was read.
	for _, table := range tables {
		pruned, err := c.pruned(table.plan)
		if err != nil {
			return nil, err
		}
		if pruned > since {
			return nil, wire.Errorf(NotFound, "changes up to %d were pruned, and %d is before that: "+
				"begin with a copy", pruned, since).In(table.plan.schema.Name, "")
		}
	}
	sort.SliceStable(page.Changes, func(a, b int) bool {
		return page.Changes[a].ID < page.Changes[b].ID
	})
	if len(page.Changes) >= limit {
		page.Changes = page.Changes[:limit]
		page.Next = page.Changes[limit-1].ID
	}
	return page, nil
}

// readLog reads the changes that match a condition over a table's log, ordered by number.
func readLog[R any](
	c *conn, table logged[R], condition *wire.Condition, limit *uint64,
) (changes []Change[R], err error) {
	log := table.plan.log()
	selected := &wire.Select{Condition: condition, Limit: limit, Order: []wire.Order{{}}}
	for place := range log.schema.Columns {
		selected.Columns = append(selected.Columns, wire.Expr{Place: place})
	}
	err = c.selectFrom(log, selected, func(row wire.Row) error {
		change, err := readChange(table, row)
		changes = append(changes, change)
		return err
	})
	return changes, table.plan.untracked(err)
}

func readChange[R any](table logged[R], row wire.Row) (change Change[R], err error) {
	p := table.plan
	if row.Len() != logHead+2*len(p.byPlace) || row.Tag(0) != wire.Int || row.Tag(1) != wire.Int ||
		row.Tag(3) != wire.Int || row.Int(3) < 1 || row.Int(3) > 3 {
		return change, wire.Errorf(Corrupt, "a row of the log is not a change").In(p.schema.Name, "")
	}
	change.ID, change.Table, change.Kind = row.Int(0), p.schema.Name, ChangeKind(row.Int(3))
	change.At = time.UnixMicro(row.Int(1)).UTC()
	if row.Tag(2) == wire.Text {
		change.Actor = string(row.Bytes(2))
	}
	if change.Kind != Inserted {
		var record reflect.Value
		change.Before, record = table.make()
		err = p.readLogged(row, 0, record)
	}
	if err == nil && change.Kind != Deleted {
		var record reflect.Value
		change.After, record = table.make()
		err = p.readLogged(row, 1, record)
	}
	return change, err
}

// readLogged sets a record from a row of its table's log: its values before the change, or after it.
func (p *plan) readLogged(row wire.Row, after int, record reflect.Value) error {
	for number := range p.fields {
		field := &p.fields[number]
		place := logHead + 2*field.place + after
		if row.Tag(place) == wire.Null && !field.column.Nullable {
			// The column was added later.
			continue
		}
		if err := field.codec.get(row, place, record.FieldByIndex(field.index)); err != nil {
			return p.in(err, field.column)
		}
	}
	return nil
}

// log returns the plan of a table's log, as the engine creates it.
func (p *plan) log() *plan {
	p.logOnce.Do(func() {
		log := &wire.Table{Name: "bobak_log_" + p.schema.Name, Key: []int{0}, KeysBy: wire.KeysByUser}
		log.Columns = []wire.Column{
			{Name: "seq", Type: wire.TypeI64},
			{Name: "at", Type: wire.TypeI64},
			{Name: "who", Type: wire.TypeText, Nullable: true},
			{Name: "verb", Type: wire.TypeI64},
		}
		for _, column := range p.schema.Columns {
			for _, when := range []string{"old_", "new_"} {
				log.Columns = append(log.Columns, wire.Column{
					Name: when + column.Name, Type: column.Type, Length: column.Length, AsText: column.AsText, Nullable: true,
				})
			}
		}
		p.logPlan = &plan{schema: log, described: log.Describe()}
	})
	return p.logPlan
}

// trackedPlan is the plan of the table that lists the tracked tables, and up to where each is pruned.
var trackedPlan = func() *plan {
	table := &wire.Table{Name: "bobak_tracked", Key: []int{0}, Columns: []wire.Column{
		{Name: "id", Type: wire.TypeI64},
		{Name: "name", Type: wire.TypeText},
		{Name: "pruned", Type: wire.TypeI64},
	}}
	return &plan{schema: table, described: table.Describe()}
}()

// lastChange returns the largest number in a table's log, or 0.
func (c *conn) lastChange(p *plan) (last int64, err error) {
	largest := &wire.Select{Columns: []wire.Expr{{What: 5}}}
	err = c.selectFrom(p.log(), largest, func(row wire.Row) error {
		if row.Len() == 1 && row.Tag(0) == wire.Int {
			last = row.Int(0)
		}
		return nil
	})
	return last, p.untracked(err)
}

// pruned returns the largest number that was pruned from a table's log.
func (c *conn) pruned(p *plan) (pruned int64, err error) {
	all := &wire.Select{Columns: []wire.Expr{{Place: 1}, {Place: 2}}}
	err = c.selectFrom(trackedPlan, all, func(row wire.Row) error {
		if row.Len() == 2 && row.Tag(0) == wire.Text && row.Tag(1) == wire.Int &&
			strings.EqualFold(string(row.Bytes(0)), p.schema.Name) {
			pruned = row.Int(1)
		}
		return nil
	})
	return pruned, p.untracked(err)
}

func (c *conn) selectFrom(p *plan, selected *wire.Select, each func(wire.Row) error) error {
	table, err := c.table(p)
	if err != nil {
		return err
	}
	return c.query(func(w *wire.Writer) { wire.PutSelect(w, table, selected) }, false, nil, each)
}

// untracked replaces the error of a missing log.
func (p *plan) untracked(err error) error {
	var found *Error
	if !errors.As(err, &found) || found.Kind != Schema {
		return err
	}
	return wire.Errorf(Schema, "the table is not tracked, or this user may not read its log: track "+
		"it with Track").In(p.schema.Name, "").Because(err)
}

func larger(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}
