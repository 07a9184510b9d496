package bobak

import (
	"reflect"
	"testing"
)

// Large is a record of a view.
type Large struct {
	ID     int64
	Amount int64
}

func TestViewsAreRead(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Item{})
		items := tableOf[Item](t, db)
		for amount := int64(3); amount < 6; amount++ {
			ok(t, items.Insert(ctx, &Item{PurchaseID: 1, Amount: amount}))
		}
		_, err := Exec(ctx, db, "CREATE VIEW large AS SELECT id, amount FROM item WHERE amount > 3")
		ok(t, err)
		view := tableOf[Large](t, db)
		found, err := view.Where().OrderBy("-amount").All(ctx)
		ok(t, err)
		if !reflect.DeepEqual(found, []Large{{3, 5}, {2, 4}}) {
			t.Errorf("found %v", found)
		}
		count, err := items.Where(Col("id").InRows(view.Where(Col("amount").Gt(4)).Column("id"))).Count(ctx)
		ok(t, err)
		equal(t, count, int64(1))
		fails(t, view.Insert(ctx, &Large{9, 9}), Unsupported)
		_, err = view.Where().Update(ctx, Set("amount", 1))
		fails(t, err, Unsupported)
		_, err = view.Where().Delete(ctx)
		fails(t, err, Unsupported)
	})
}
