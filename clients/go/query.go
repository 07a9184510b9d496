package bobak

import (
	"context"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Condition selects rows. Make one with [Col], and combine several with [And], [Or] and [Not].
type Condition struct {
	place func(*plan) (wire.Condition, error)
}

// on returns the condition over positions of columns.
func (c Condition) on(p *plan) (wire.Condition, error) {
	if c.place == nil {
		return wire.Condition{}, misuse("an empty Condition selects nothing: make one with Col")
	}
	return c.place(p)
}

// Col is a column by its name: bobak.Col("age").Gt(30).
type Col string

func (c Col) compare(comparison uint8, value any) Condition {
	return Condition{func(p *plan) (wire.Condition, error) {
		place, err := p.place(string(c))
		if err != nil {
			return wire.Condition{}, err
		}
		if other, ok := value.(Col); ok {
			right, err := p.place(string(other))
			return wire.Condition{
				Tag: wire.CompareColumns, Place: place, Comparison: comparison, Right: right,
			}, err
		}
		stored, err := p.stored(place, value)
		if err == nil && stored == nil {
			err = misuse("no value is equal to NULL, greater or less: use IsNull")
		}
		return wire.Condition{
			Tag: wire.Compare, Place: place, Comparison: comparison, Values: []any{stored},
		}, err
	}}
}

// Eq matches rows whose column equals a value, or another column.
func (c Col) Eq(value any) Condition { return c.compare(0, value) }

// Ne matches rows whose column differs.
func (c Col) Ne(value any) Condition { return c.compare(1, value) }

// Lt matches rows whose column is less.
func (c Col) Lt(value any) Condition { return c.compare(2, value) }

// Le matches rows whose column is less or equal.
func (c Col) Le(value any) Condition { return c.compare(3, value) }

// Gt matches rows whose column is greater.
func (c Col) Gt(value any) Condition { return c.compare(4, value) }

// Ge matches rows whose column is greater or equal.
func (c Col) Ge(value any) Condition { return c.compare(5, value) }

// In matches rows whose column is one of the values. A nil among them matches nothing.
func (c Col) In(values ...any) Condition {
	return Condition{func(p *plan) (wire.Condition, error) {
		place, err := p.place(string(c))
		found := wire.Condition{Tag: wire.In, Place: place}
		for _, value := range values {
			stored, failed := p.stored(place, value)
			if err == nil {
				err = failed
			}
			if stored != nil {
				// As in SQL, NULL equals nothing.
				found.Values = append(found.Values, stored)
			}
		}
		return found, err
	}}
}

// InRows matches rows whose column equals a column of rows of another table:
// Col("customer_id").InRows(customers.Where(Col("city").Eq("Bern")).Column("id")). The server compares; the rows are
// not sent.
func (c Col) InRows(rows ColumnOfRows) Condition {
	return Condition{func(p *plan) (wire.Condition, error) {
		place, err := p.place(string(c))
		found := wire.Condition{Tag: wire.InQuery, Place: place}
		if err != nil {
			return found, err
		}
		return found, rows.put(&found)
	}}
}

// ColumnOfRows is a column of the rows that match a query, for [Col.InRows].
type ColumnOfRows struct{ put func(*wire.Condition) error }

// IsNull matches rows whose column is NULL.
func (c Col) IsNull() Condition { return c.text(wire.IsNull, "") }

// Like matches a pattern: % stands for any sequence of characters, _ for one.
func (c Col) Like(pattern string) Condition { return c.text(wire.Like, pattern) }

// LikeEscape is Like with a character after which the next one stands for itself. The character is neither % nor _.
func (c Col) LikeEscape(pattern string, escape rune) Condition {
	return Condition{func(p *plan) (wire.Condition, error) {
		place, err := p.place(string(c))
		return wire.Condition{Tag: wire.LikeEscape, Place: place, Text: pattern, Escape: string(escape)}, err
	}}
}

// Contains matches texts that have a part somewhere, byte for byte.
func (c Col) Contains(part string) Condition { return c.text(wire.Contains, part) }

// EndsWith matches texts that end with a suffix, byte for byte.
func (c Col) EndsWith(suffix string) Condition { return c.text(wire.EndsWith, suffix) }

// StartsWith matches texts that begin with a prefix, byte for byte.
func (c Col) StartsWith(prefix string) Condition { return c.text(wire.StartsWith, prefix) }

func (c Col) text(tag uint8, text string) Condition {
	return Condition{func(p *plan) (wire.Condition, error) {
		place, err := p.place(string(c))
		return wire.Condition{Tag: tag, Place: place, Text: text}, err
	}}
}

// And matches rows that match all conditions.
func And(conditions ...Condition) Condition { return several(wire.And, conditions) }

// Or matches rows that match at least one condition.
func Or(conditions ...Condition) Condition { return several(wire.Or, conditions) }

// Not matches rows for which the condition is false, but not those for which it is unknown because of
// NULL.
func Not(condition Condition) Condition { return several(wire.Not, []Condition{condition}) }

func several(tag uint8, conditions []Condition) Condition {
	return Condition{func(p *plan) (wire.Condition, error) {
		found := wire.Condition{Tag: tag}
		for _, condition := range conditions {
			part, err := condition.on(p)
			if err != nil {
				return found, err
			}
			found.Parts = append(found.Parts, part)
		}
		return found, nil
	}}
}

// Assignment sets a column, or adds to it.
type Assignment struct {
	column string
	value  any
	adds   bool
}

// Set assigns a value to a column.
func Set(column string, value any) Assignment { return Assignment{column, value, false} }

// Add adds a value to a column, in one step on the server.
func Add(column string, value any) Assignment { return Assignment{column, value, true} }

// assigns resolves assignments to positions of columns, and adds the modification time.
func (p *plan) assigns(assignments []Assignment) ([]wire.Assign, error) {
	found, stamped := make([]wire.Assign, 0, len(assignments)+1), p.modified < 0
	for _, one := range assignments {
		place, err := p.settable(one.column)
		if err != nil {
			return nil, err
		}
		stored, err := p.stored(place, one.value)
		if err != nil {
			return nil, err
		}
		stamped = stamped || place == p.modified
		found = append(found, wire.Assign{Place: place, Value: stored, Adds: one.adds})
	}
	if !stamped {
		w := wire.BeginRow(nil, 1)
		stamp(&w, &p.schema.Columns[p.modified], currentTime())
		row, _, err := wire.NextRow(w.End())
		if err != nil {
			return nil, err
		}
		found = append(found, wire.Assign{Place: p.modified, Value: row.Value(0)})
	}
	return found, nil
}

// Expr is a column, or an aggregate.
type Expr struct {
	what uint8
	name string
}

// Column selects a column.
func Column(name string) Expr { return Expr{0, name} }

// Count is the number of rows.
func Count() Expr { return Expr{1, ""} }

// CountOf is the number of rows whose column is not NULL.
func CountOf(column string) Expr { return Expr{2, column} }

// Sum is the sum of a column, or NULL if no row has a value.
func Sum(column string) Expr { return Expr{3, column} }

// Min is the smallest value.
func Min(column string) Expr { return Expr{4, column} }

// Max is the largest value.
func Max(column string) Expr { return Expr{5, column} }

// Avg is the average, a float; for money in whole units.
func Avg(column string) Expr { return Expr{6, column} }

// Rank is how well a row fits the search of its query: the larger the better. It is a float, and a number of the
// engine: compare those of one query only.
func Rank() Expr { return Expr{7, ""} }

// Distance is the distance of a row in a query for the nearest rows, a float: see [Query.Nearest].
func Distance() Expr { return Expr{8, ""} }

// Query selects rows of a table. Its methods return new queries. A request is sent only by All, First,
// Each, Count, Select, Update and Delete.
type Query[T any] struct {
	table      *Table[T]
	conditions []Condition
	order      []string
	limit      *uint64
	offset     uint64
	lock       *wire.Lock
	search     *string
	nearest    *nearest
}

// RowLock is how a query locks rows: see [Query.Lock].
type RowLock struct{ lock wire.Lock }

var (
	// Wait waits for rows that another transaction has locked, for at most the engine's busy timeout.
	Wait = RowLock{wire.Lock{How: 0}}
	// NoWait fails with Busy if another transaction has locked one of the rows.
	NoWait = RowLock{wire.Lock{How: 1}}
	// SkipLocked leaves out rows that another transaction has locked: for queues.
	SkipLocked = RowLock{wire.Lock{How: 2}}
)

// WaitAtMost waits for each locked row at most this long, at least a millisecond, then fails with Busy.
func WaitAtMost(limit time.Duration) RowLock {
	millis := limit.Milliseconds()
	if millis < 1 {
		millis = 1
	} else if millis > math.MaxUint32 {
		millis = math.MaxUint32
	}
	return RowLock{wire.Lock{How: 3, Millis: uint32(millis)}}
}

// OrderBy orders by columns; "-age" is descending. Rows that are equal in them are ordered by key.
func (q Query[T]) OrderBy(columns ...string) *Query[T] {
	q.order = append(append([]string{}, q.order...), columns...)
	return &q
}

// Limit limits the number of rows.
func (q Query[T]) Limit(rows uint64) *Query[T] {
	q.limit = &rows
	return &q
}

// Offset skips rows.
func (q Query[T]) Offset(rows uint64) *Query[T] {
	q.offset = rows
	return &q
}

// Search selects the rows whose texts have what is searched for, the best first unless the query has an order:
// articles.Where().Search(`fox OR "lazy dog"`). The table needs a full-text search. The error is Syntax if the search
// cannot be read.
func (q Query[T]) Search(text string) *Query[T] {
	q.search = &text
	return &q
}

// Nearest selects at most so many rows whose vectors are nearest to one, the nearest first:
// documents.Where(Col("language").Eq("en")).Nearest("embedding", bobak.Cosine, wanted, 10). Conditions come before;
// there is no order. [Distance] selects the distances.
func (q Query[T]) Nearest(column string, metric Metric, to []float32, rows uint64) *Query[T] {
	q.nearest = &nearest{column, metric, to}
	q.limit = &rows
	return &q
}

// Lock locks the rows that the query reads until the transaction ends. It fails with Misuse outside of a
// transaction, and with Unsupported for groups and aggregates.
func (q Query[T]) Lock(how RowLock) *Query[T] {
	q.lock = &how.lock
	return &q
}

// Column is a column of the rows that match, for [Col.InRows]. It accepts no limit, offset, search or lock.
func (q *Query[T]) Column(name string) ColumnOfRows {
	return ColumnOfRows{func(into *wire.Condition) error {
		if q.limit != nil || q.offset > 0 || q.lock != nil || q.search != nil {
			return misuse("a condition takes all rows that match: leave out limit, offset, search and lock")
		}
		place, err := q.table.plan.place(name)
		if err != nil {
			return err
		}
		condition, err := q.condition()
		if condition != nil {
			into.Parts = []wire.Condition{*condition}
		}
		into.Right, into.Other = place, q.table.plan
		return err
	}}
}

// fitted is that of the table: the call gets the query with its newest description.
func (q *Query[T]) fitted(ctx context.Context, call func(*Query[T]) error) error {
	return q.table.fitted(ctx, func(t *Table[T]) error {
		now := *q
		now.table = t
		return call(&now)
	})
}

// All returns all rows.
func (q *Query[T]) All(ctx context.Context) (records []T, err error) {
	err = q.fitted(ctx, func(q *Query[T]) (err error) {
		records, err = q.all(ctx)
		return err
	})
	return records, err
}

func (q *Query[T]) all(ctx context.Context) ([]T, error) {
	var records []T
	put, err := q.source(nil, nil)
	if err != nil {
		return nil, err
	}
	err = q.table.session.run(ctx, false, func(c *conn) error {
		records = records[:0]
		source, err := put(c)
		if err != nil {
			return err
		}
		return c.query(source, false, nil, func(row wire.Row) error {
			records = append(records, *new(T))
			return q.table.plan.read(row, reflect.ValueOf(&records[len(records)-1]).Elem())
		})
	})
	return records, err
}

// First returns the first row. The error is NotFound if there is none.
func (q *Query[T]) First(ctx context.Context) (*T, error) {
	found, err := q.Limit(1).All(ctx)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, wire.Errorf(NotFound, "no row was found").In(q.table.plan.schema.Name, "")
	}
	return &found[0], nil
}

// Each calls work with each row, in constant memory, until work returns an error, which Each returns. The
// record is reused for the next row. work may use the database.
func (q *Query[T]) Each(ctx context.Context, work func(*T) error) error {
	put, err := q.source(nil, nil)
	if err != nil {
		return err
	}
	record := new(T)
	return each(ctx, q.table.session, put, func(row wire.Row) error {
		*record = *new(T)
		if err := q.table.plan.read(row, reflect.ValueOf(record).Elem()); err != nil {
			return err
		}
		return work(record)
	})
}

// Count returns the number of rows. It accepts no limit and no offset.
func (q *Query[T]) Count(ctx context.Context) (int64, error) {
	if q.nearest == nil && (q.limit != nil || q.offset > 0) {
		return 0, misuse("Count counts all rows that match: it accepts no limit and no offset").In(q.table.plan.schema.Name, "")
	}
	rows, err := q.Select(ctx, nil, Count())
	if err != nil {
		return 0, err
	}
	return rows[0][0].(int64), nil
}

// Select returns columns, or aggregates of each group, as int64, float64, string, []byte, bool, Currency,
// UUID, time.Time, time.Duration, json.RawMessage, or nil.
func (q *Query[T]) Select(ctx context.Context, group []string, exprs ...Expr) (rows [][]any, err error) {
	err = q.fitted(ctx, func(q *Query[T]) (err error) {
		rows, err = q.selectRows(ctx, group, exprs)
		return err
	})
	return rows, err
}

func (q *Query[T]) selectRows(ctx context.Context, group []string, exprs []Expr) ([][]any, error) {
	put, err := q.source(group, exprs)
	if err != nil {
		return nil, err
	}
	p := q.table.plan
	var rows [][]any
	err = q.table.session.run(ctx, false, func(c *conn) error {
		rows = nil
		source, err := put(c)
		if err != nil {
			return err
		}
		return c.query(source, false, nil, func(row wire.Row) error {
			if row.Len() != len(exprs) {
				return wire.Garbled("a row of another query")
			}
			values := make([]any, len(exprs))
			for number, expr := range exprs {
				value, err := natural(row.Value(number), p.resultType(expr))
				if err != nil {
					return err
				}
				values[number] = value
			}
			rows = append(rows, values)
			return nil
		})
	})
	return rows, err
}

// Update assigns columns of all rows, and returns their number.
func (q *Query[T]) Update(ctx context.Context, assignments ...Assignment) (count int64, err error) {
	err = q.fitted(ctx, func(q *Query[T]) error {
		assigns, err := q.table.plan.assigns(assignments)
		if err == nil {
			count, err = q.change(ctx, assigns)
		}
		return err
	})
	return count, err
}

// Delete deletes all rows, and returns their number.
func (q *Query[T]) Delete(ctx context.Context) (count int64, err error) {
	err = q.fitted(ctx, func(q *Query[T]) (err error) {
		count, err = q.change(ctx, nil)
		return err
	})
	return count, err
}

func (q *Query[T]) change(ctx context.Context, assigns []wire.Assign) (int64, error) {
	if q.search != nil {
		return 0, misuse("Update and Delete change all rows that match the condition: they accept no search")
	}
	if q.limit != nil || q.offset > 0 {
		return 0, misuse("Update and Delete change all rows that match the condition: they accept no limit and no offset")
	}
	condition, err := q.condition()
	if err != nil {
		return 0, err
	}
	return q.table.plan.change(ctx, q.table.session, condition, assigns)
}

func (q *Query[T]) condition() (*wire.Condition, error) {
	if len(q.conditions) == 0 {
		return nil, nil
	}
	whole := q.conditions[0]
	if len(q.conditions) > 1 {
		whole = And(q.conditions...)
	}
	found, err := whole.on(q.table.plan)
	if err != nil {
		return nil, err
	}
	if err := found.CheckDepth(wire.Depth); err != nil {
		return nil, err
	}
	return &found, nil
}

// asks puts a source together, once the connection is known.
type asks func(*conn) (func(*wire.Writer), error)

// source is the query over numbered columns. Its order ends with the key's columns, or with the
// group's, so that it is the same on every engine.
func (q *Query[T]) source(group []string, exprs []Expr) (asks, error) {
	found, err := q.selected(group, exprs)
	if err != nil {
		return nil, err
	}
	return q.asking(found), nil
}

func (q *Query[T]) asking(found *wire.Select) asks {
	return func(c *conn) (func(*wire.Writer), error) {
		table, err := c.tablesOf(q.table.plan, found.Condition)
		return func(w *wire.Writer) { wire.PutSelect(w, table, found) }, err
	}
}

func (q *Query[T]) selected(group []string, exprs []Expr) (*wire.Select, error) {
	p := q.table.plan
	condition, err := q.condition()
	if err != nil {
		return nil, err
	}
	found := &wire.Select{Condition: condition, Limit: q.limit, Offset: q.offset, Lock: q.lock}
	if q.search != nil {
		found.Search = &wire.Search{Text: *q.search, Ranked: len(q.order) == 0}
	}
	if q.nearest != nil {
		if q.order != nil || q.search != nil || q.lock != nil {
			return nil, wire.Errorf(Unsupported, "the nearest rows are sorted by their distance: leave out order, "+
				"search and lock").In(p.schema.Name, "")
		}
		if found.Nearest, err = q.nearest.place(p); err != nil {
			return nil, err
		}
	}
	aggregates := len(group) > 0
	for _, expr := range exprs {
		place := 0
		if expr.name != "" {
			if place, err = p.place(expr.name); err != nil {
				return nil, err
			}
		}
		aggregates = aggregates || expr.what != 0 && expr.what < 7
		found.Columns = append(found.Columns, wire.Expr{What: expr.what, Place: place})
	}
	if exprs == nil {
		for place := range p.schema.Columns {
			found.Columns = append(found.Columns, wire.Expr{Place: place})
		}
	}
	for _, name := range group {
		place, err := p.place(name)
		if err != nil {
			return nil, err
		}
		found.Group = append(found.Group, place)
	}
	return found, q.putOrder(found, aggregates)
}

func (q *Query[T]) putOrder(into *wire.Select, aggregates bool) error {
	ordered := map[int]bool{}
	for _, name := range q.order {
		place, err := q.table.plan.place(strings.TrimPrefix(name, "-"))
		if err != nil {
			return err
		}
		ordered[place] = true
		into.Order = append(into.Order, wire.Order{Place: place, Descending: name[0] == '-'})
	}
	rest := q.table.plan.schema.Key
	if aggregates {
		rest = into.Group
	}
	for _, place := range rest {
		if !ordered[place] {
			into.Order = append(into.Order, wire.Order{Place: place})
		}
	}
	return nil
}

func (p *plan) resultType(expr Expr) wire.Type {
	column := wire.TypeAny
	if place, err := p.place(expr.name); err == nil {
		column = p.schema.Columns[place].Type
	}
	switch {
	case expr.what == 0 || expr.what == 4 || expr.what == 5:
		return column
	case expr.what == 3 && column == wire.TypeCurrency:
		return column
	}
	return wire.TypeAny
}
