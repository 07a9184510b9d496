package bobak

import (
	"reflect"
	"testing"
)

func TestConditionsOnRowsOfOtherTables(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Customer{}, Purchase{}, Item{})
		customers, purchases, items := tableOf[Customer](t, db), tableOf[Purchase](t, db), tableOf[Item](t, db)
		one, two := int64(1), int64(2)
		for _, name := range []string{"Ada", "Bob"} {
			ok(t, customers.Insert(ctx, &Customer{Name: name}))
		}
		for _, purchase := range []Purchase{{10, &one}, {11, &two}, {12, nil}} {
			ok(t, purchases.Insert(ctx, &purchase))
		}
		for _, item := range []Item{{0, 10, 3}, {0, 10, 5}, {0, 10, 4}, {0, 11, 1}} {
			ok(t, items.Insert(ctx, &item))
		}
		ids := func(query *Query[Purchase]) []int64 {
			rows, err := query.All(ctx)
			ok(t, err)
			var found []int64
			for _, row := range rows {
				found = append(found, row.ID)
			}
			return found
		}
		ada := customers.Where(Col("name").Eq("Ada")).Column("id")
		ofAda := purchases.Where(Col("customer_id").InRows(ada))
		large := items.Where(Col("amount").Gt(4)).Column("purchase_id")
		for _, one := range []struct{ found, expected []int64 }{
			{ids(ofAda), []int64{10}},
			{ids(purchases.Where(Not(Col("customer_id").InRows(ada)))), []int64{11}},
			{ids(purchases.Where(Col("customer_id").InRows(customers.Where().Column("id")))), []int64{10, 11}},
			{ids(purchases.Where(Col("id").InRows(large))), []int64{10}},
		} {
			if !reflect.DeepEqual(one.found, one.expected) {
				t.Errorf("found %v, expected %v", one.found, one.expected)
			}
		}
		bought := items.Where(Col("purchase_id").InRows(ofAda.Column("id")), Col("amount").Gt(3))
		if count, err := bought.Update(ctx, Add("amount", 10)); err != nil || count != 2 {
			t.Errorf("updated %d, %v", count, err)
		}
		if count, err := items.Where(Col("purchase_id").InRows(ofAda.Column("id"))).Delete(ctx); err != nil || count != 3 {
			t.Errorf("deleted %d, %v", count, err)
		}
		_, err := purchases.Where(Col("id").InRows(customers.Where().Limit(1).Column("id"))).All(ctx)
		fails(t, err, Misuse)
		_, err = purchases.Where(Col("id").InRows(customers.Where().Column("name"))).All(ctx)
		fails(t, err, Mismatch)
	})
}

type Customer struct {
	ID   int64
	Name string
}

type Purchase struct {
	ID         int64
	CustomerID *int64
}

type Item struct {
	ID         int64
	PurchaseID int64
	Amount     int64
}

func TestRelatedRows(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Customer{}, Purchase{}, Item{})
		customers, items := tableOf[Customer](t, db), tableOf[Item](t, db)
		purchases := tableOf[Purchase](t, db)
		one, two := int64(1), int64(2)
		for _, name := range []string{"Ada", "Bob"} {
			ok(t, customers.Insert(ctx, &Customer{Name: name}))
		}
		all := []Purchase{{10, &one}, {11, &two}, {12, nil}}
		for number := range all {
			ok(t, purchases.Insert(ctx, &all[number]))
		}
		for _, item := range []Item{{0, 10, 3}, {0, 10, 5}, {0, 10, 4}, {0, 11, 1}} {
			ok(t, items.Insert(ctx, &item))
		}
		amountsOf := func(query *Query[Item], purchases []Purchase) [][]int64 {
			rows, err := Related(ctx, query, "purchase_id", purchases,
				func(purchase *Purchase) *int64 { return &purchase.ID },
				func(item *Item) *int64 { return &item.PurchaseID })
			ok(t, err)
			found := make([][]int64, len(rows))
			for number := range rows {
				for _, item := range rows[number] {
					found[number] = append(found[number], item.Amount)
				}
			}
			return found
		}
		amounts := func(query *Query[Item]) [][]int64 { return amountsOf(query, all) }
		largest := items.Where(Col("amount").Gt(1)).OrderBy("-amount")
		for _, one := range []struct {
			found, expected [][]int64
		}{
			{amounts(items.Where()), [][]int64{{3, 5, 4}, {1}, nil}},
			{amounts(largest), [][]int64{{5, 4, 3}, nil, nil}},
			{amounts(largest.Limit(1).Offset(1)), [][]int64{{4}, nil, nil}},
			{amountsOf(largest.Limit(1).Offset(1), all[:1]), [][]int64{{4}}},
		} {
			if !reflect.DeepEqual(one.found, one.expected) {
				t.Errorf("found %v, expected %v", one.found, one.expected)
			}
		}
		// Along a reference: at most one row for each record.
		byCustomer := func(column string, parents []Purchase) ([][]Customer, error) {
			return Related(ctx, customers.Where(), column, parents,
				func(purchase *Purchase) *int64 { return purchase.CustomerID },
				func(customer *Customer) *int64 { return &customer.ID })
		}
		found, err := byCustomer("id", all)
		ok(t, err)
		expected := [][]Customer{{{1, "Ada"}}, {{2, "Bob"}}, nil}
		if !reflect.DeepEqual(found, expected) {
			t.Errorf("found %v", found)
		}
		if found, err := byCustomer("id", all[2:]); err != nil || len(found) != 1 || found[0] != nil {
			t.Errorf("found %v, %v", found, err)
		}
		_, err = byCustomer("nothing", all)
		fails(t, err, Schema)
	})
}

// A Comment refers to a customer or a purchase.
type Comment struct {
	ID          int64
	Text        string
	TargetTable string
	TargetKey   int64
}

func TestReferencesToARecordOfAnyType(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Customer{}, Purchase{}, Comment{})
		customers, purchases := tableOf[Customer](t, db), tableOf[Purchase](t, db)
		comments := tableOf[Comment](t, db)
		people, one := []Customer{{1, "Ada"}, {2, "Bob"}}, int64(1)
		for number := range people {
			ok(t, customers.Insert(ctx, &people[number]))
		}
		ok(t, purchases.Insert(ctx, &Purchase{10, &one}))
		for _, comment := range []Comment{
			{0, "kind", "customer", 1}, {0, "late", "purchase", 10},
			{0, "nice", "customer", 1}, {0, "gone", "purchase", 1},
		} {
			ok(t, comments.Insert(ctx, &comment))
		}
		texts := func(query *Query[Comment]) [][]string {
			rows, err := Related(ctx, query, "target_key", people,
				func(customer *Customer) *int64 { return &customer.ID },
				func(comment *Comment) *int64 { return &comment.TargetKey })
			ok(t, err)
			found := make([][]string, len(rows))
			for number := range rows {
				for _, comment := range rows[number] {
					found[number] = append(found[number], comment.Text)
				}
			}
			return found
		}
		ofPeople := comments.Where(Col("target_table").Eq("customer")).OrderBy("-text")
		if found := texts(ofPeople); !reflect.DeepEqual(found, [][]string{{"nice", "kind"}, nil}) {
			t.Errorf("found %v", found)
		}
		if found := texts(ofPeople.Limit(1)); !reflect.DeepEqual(found, [][]string{{"nice"}, nil}) {
			t.Errorf("found %v", found)
		}
		// In the other direction: the records of one type at a time.
		about, err := comments.Where(Col("target_table").Eq("purchase")).All(ctx)
		ok(t, err)
		found, err := Related(ctx, purchases.Where(), "id", about,
			func(comment *Comment) *int64 { return &comment.TargetKey },
			func(purchase *Purchase) *int64 { return &purchase.ID })
		ok(t, err)
		if !reflect.DeepEqual(found, [][]Purchase{{{10, &one}}, nil}) {
			t.Errorf("found %v", found)
		}
	})
}
