package bobak

import (
	"testing"
	"time"
)

type DeletedNote struct {
	ID        int64
	Text      string
	DeletedAt *time.Time `bobak:",type=timestamp"`
}

func TestDeletedRows(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, DeletedNote{})
		notes := tableOf[DeletedNote](t, db)
		old, recent := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
		for _, note := range []DeletedNote{{1, "milk", nil}, {2, "tea", &old}, {3, "rice", &recent}} {
			ok(t, notes.Insert(ctx, &note))
		}
		count := func(query *Query[DeletedNote]) int64 {
			number, err := query.Count(ctx)
			ok(t, err)
			return number
		}
		both, deleted := notes.Where().WithDeleted("deleted_at"), notes.Where().OnlyDeleted("deleted_at")
		if all, gone := count(both), count(deleted); all != 3 || gone != 2 {
			t.Fatal(all, gone)
		}
		purged, err := notes.Where().Purge(ctx, "deleted_at", recent)
		ok(t, err)
		restored, err := notes.Where(Col("text").Eq("rice")).Restore(ctx, "deleted_at")
		ok(t, err)
		again, err := notes.Where().Restore(ctx, "deleted_at")
		ok(t, err)
		if purged != 1 || restored != 1 || again != 0 || count(both) != 2 || count(deleted) != 0 {
			t.Fatal(purged, restored, again)
		}
		_, err = notes.Where().Limit(1).Restore(ctx, "deleted_at")
		fails(t, err, Misuse)
		_, err = notes.Where().OnlyDeleted("gone").All(ctx)
		fails(t, err, Schema)
	})
}
