package bobak

import (
	"context"
	"time"
)

// WithDeleted includes deleted rows of a record whose deleted rows stay. The column has the time of the deletion.
func (q Query[T]) WithDeleted(column string) *Query[T] {
	return q.and(Or(Col(column).IsNull(), Not(Col(column).IsNull())))
}

// OnlyDeleted selects deleted rows only: notes.Where().OnlyDeleted("deleted_at").
func (q Query[T]) OnlyDeleted(column string) *Query[T] {
	return q.and(Not(Col(column).IsNull()))
}

// Restore restores the deleted rows, and returns their number.
func (q *Query[T]) Restore(ctx context.Context, column string) (int64, error) {
	return q.OnlyDeleted(column).Update(ctx, Set(column, nil))
}

// Purge removes for good the rows that were deleted before a time, and returns their number.
func (q *Query[T]) Purge(ctx context.Context, column string, before time.Time) (int64, error) {
	return q.OnlyDeleted(column).and(Col(column).Lt(before)).Delete(ctx)
}

func (q Query[T]) and(condition Condition) *Query[T] {
	q.conditions = append(append([]Condition{}, q.conditions...), condition)
	return &q
}
