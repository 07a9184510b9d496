package bobak

import (
	"context"
	"reflect"
)

// Related returns, for each parent, the rows of a query that are related to it: those whose column has
// the value that key returns, in the query's order. It sends one query for all parents, or none if no
// parent has a key. The query's limit and offset apply to the rows of each parent.
//
// key returns the parent's value, and of that of a row in the column; both may return nil for NULL. The
// lines of orders, by a foreign key of lines:
//
//	lines, err := bobak.Related(ctx, lines.Where().OrderBy("-amount"), "order_id", orders,
//		func(order *Order) *int64 { return &order.ID },
//		func(line *Line) *int64 { return &line.OrderID })
//
// In the other direction, along a foreign key, each parent has at most one row: the column is then the
// key of the referenced table.
func Related[P, T any, K comparable](
	ctx context.Context, query *Query[T], column string, parents []P, key func(*P) *K, of func(*T) *K,
) ([][]T, error) {
	related, groups := make([][]T, len(parents)), map[K][]T{}
	var wanted []any
	for number := range parents {
		value := key(&parents[number])
		if value == nil {
			continue
		}
		if _, known := groups[*value]; !known {
			groups[*value] = nil
			wanted = append(wanted, *value)
		}
	}
	if len(wanted) == 0 {
		return related, nil
	}
	all := *query
	all.conditions = append(append([]Condition{}, query.conditions...), Col(column).In(wanted...))
	all.limit, all.offset = query.relatedLimit(wanted), 0
	rows, err := all.All(ctx)
	if err != nil {
		return nil, err
	}
	for number := range rows {
		if value := of(&rows[number]); value != nil {
			groups[*value] = append(groups[*value], rows[number])
		}
	}
	for number := range parents {
		if value := key(&parents[number]); value != nil {
			related[number] = query.limited(groups[*value])
		}
	}
	return related, nil
}

// relatedLimit returns the limit of all rows that are related to these values. The query's limit is one for each value. A
// text may equal others in a column without case, which are not related.
func (q *Query[T]) relatedLimit(wanted []any) *uint64 {
	if len(wanted) != 1 || q.limit == nil || reflect.TypeOf(wanted[0]).Kind() == reflect.String {
		return nil
	}
	limit := q.offset + *q.limit
	if limit < q.offset {
		return nil
	}
	return &limit
}

// limited returns the rows within the query's limit and offset.
func (q *Query[T]) limited(rows []T) []T {
	if q.offset >= uint64(len(rows)) {
		return nil
	}
	rows = rows[q.offset:]
	if q.limit != nil && *q.limit < uint64(len(rows)) {
		rows = rows[:*q.limit]
	}
	return rows
}
