package bobak

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"strings"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// Page is one page of a query: see [Query.Page].
type Page[T any] struct {
	Items []T
	// Next is where the next page begins; empty on the last page. It is a short text, with the order, and the last row's
	// values in its columns and in those of the key.
	Next string
}

// Page returns at most size rows, after the page whose Next is after, the first page for an empty text: in any order,
// at the same cost for each page. Rows that are inserted or deleted meanwhile neither repeat nor hide others.
//
//	page, err = accounts.Where().OrderBy("-balance").Page(ctx, 20, page.Next)
func (q *Query[T]) Page(ctx context.Context, size uint64, after string) (page *Page[T], err error) {
	err = q.fitted(ctx, func(q *Query[T]) (err error) {
		page, err = q.page(ctx, size, after)
		return err
	})
	return page, err
}

func (q *Query[T]) page(ctx context.Context, size uint64, after string) (*Page[T], error) {
	p := q.table.plan
	if q.limit != nil || q.offset > 0 || q.search != nil || q.nearest != nil {
		return nil, wire.Errorf(Unsupported, "a page needs a query without limit, offset, search and nearest").
			In(p.schema.Name, "")
	}
	if size == 0 {
		return nil, misuse("a page has at least one row")
	}
	found, err := q.selected(nil, nil)
	if err != nil {
		return nil, err
	}
	if after != "" {
		if err := putAfter(p, found, after); err != nil {
			return nil, err
		}
	}
	// One more row tells whether there is a next page.
	limit := size + 1
	found.Limit = &limit
	page := new(Page[T])
	err = q.table.session.run(ctx, false, func(c *conn) error {
		*page = Page[T]{}
		source, err := q.asking(found)(c)
		if err != nil {
			return err
		}
		last := ""
		return c.query(source, false, nil, func(row wire.Row) error {
			if uint64(len(page.Items)) == size {
				page.Next = last
				return nil
			}
			page.Items = append(page.Items, *new(T))
			if uint64(len(page.Items)) == size {
				last = tokenOf(p, found, row)
			}
			return p.read(row, reflect.ValueOf(&page.Items[len(page.Items)-1]).Elem())
		})
	})
	return page, err
}

// tokenOf is the place behind a row.
func tokenOf(p *plan, found *wire.Select, row wire.Row) string {
	values := make([]any, 1+len(found.Order))
	values[0] = orderText(p, found)
	for number, step := range found.Order {
		if step.Place < row.Len() {
			values[1+number] = row.Value(step.Place)
		}
	}
	return hex.EncodeToString(wire.AppendRow(nil, values)[4:])
}

// orderText is the order of a page, which its token begins with.
func orderText(p *plan, found *wire.Select) string {
	names := make([]string, len(found.Order))
	for number, step := range found.Order {
		names[number] = p.schema.Columns[step.Place].Name
		if step.Descending {
			names[number] = "-" + names[number]
		}
	}
	return strings.Join(names, ",")
}

// putAfter adds the condition that a row is behind the place of a token: a > x or a = x and (b > y or …).
func putAfter(p *plan, found *wire.Select, token string) error {
	data, err := hex.DecodeString(token)
	framed := binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
	row, _, garbled := wire.NextRow(append(framed, data...))
	if err != nil || garbled != nil || row.Len() == 0 || row.Tag(0) != wire.Text {
		return wire.Errorf(Mismatch, "the text is no page token").In(p.schema.Name, "")
	}
	of, order := string(row.Bytes(0)), orderText(p, found)
	if of != order || row.Len() != 1+len(found.Order) {
		return misuse("the page token belongs to the order %s, and the query has %s", of, order).In(p.schema.Name, "")
	}
	var condition wire.Condition
	for number := len(found.Order) - 1; number >= 0; number-- {
		step, value := found.Order[number], row.Value(1+number)
		later := laterValue(step, value, p.schema.Columns[step.Place].Nullable)
		if number == len(found.Order)-1 {
			condition = later
			continue
		}
		same := wire.Condition{Tag: wire.Compare, Place: step.Place, Values: []any{value}}
		if value == nil {
			same = wire.Condition{Tag: wire.IsNull, Place: step.Place}
		}
		rest := wire.Condition{Tag: wire.And, Parts: []wire.Condition{same, condition}}
		condition = wire.Condition{Tag: wire.Or, Parts: []wire.Condition{later, rest}}
	}
	if found.Condition != nil {
		condition = wire.Condition{Tag: wire.And, Parts: []wire.Condition{*found.Condition, condition}}
	}
	found.Condition = &condition
	return nil
}

// laterValue is the condition that a column's value comes after another one. NULL is the smallest value.
func laterValue(step wire.Order, value any, nullable bool) wire.Condition {
	isNull := wire.Condition{Tag: wire.IsNull, Place: step.Place}
	switch {
	case value == nil && step.Descending:
		return wire.Condition{Tag: wire.Or}
	case value == nil:
		return wire.Condition{Tag: wire.Not, Parts: []wire.Condition{isNull}}
	case !step.Descending:
		return wire.Condition{Tag: wire.Compare, Place: step.Place, Comparison: 4, Values: []any{value}}
	}
	less := wire.Condition{Tag: wire.Compare, Place: step.Place, Comparison: 2, Values: []any{value}}
	if nullable {
		return wire.Condition{Tag: wire.Or, Parts: []wire.Condition{less, isNull}}
	}
	return less
}
