package bobak

import (
	"reflect"
	"testing"
)

// Sized is a record whose columns may be NULL.
type Sized struct {
	ID   int64
	Name *string
	Size *float64
}

func TestPagesFollowEachOtherInAnyOrder(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Sized{})
		all := tableOf[Sized](t, db)
		x, e, empty := "x", "é", ""
		small, two, large := 0.1, 2.0, 1e300
		for _, row := range []Sized{
			{Name: &x, Size: &small}, {Size: &two}, {Name: &e, Size: &two}, {Name: &x}, {Name: &empty, Size: &small},
			{}, {Name: &x, Size: &large},
		} {
			ok(t, all.Insert(ctx, &row))
		}
		for _, order := range [][]string{{}, {"-id"}, {"name"}, {"-name"}, {"size", "-name"}, {"-size", "name", "-id"}} {
			query := all.Where(Col("id").Gt(1)).OrderBy(order...)
			wanted, err := query.All(ctx)
			ok(t, err)
			var found []Sized
			for after, first := "", true; first || after != ""; first = false {
				page, err := query.Page(ctx, 2, after)
				ok(t, err)
				found, after = append(found, page.Items...), page.Next
			}
			if !reflect.DeepEqual(found, wanted) {
				t.Errorf("%v: found %v", order, found)
			}
		}
		query := all.Where().OrderBy("-size")
		first, err := query.Page(ctx, 3, "")
		ok(t, err)
		larger := 1e301
		ok(t, all.Insert(ctx, &Sized{Size: &larger}))
		rest, err := query.Page(ctx, 9, first.Next)
		ok(t, err)
		wanted, err := query.All(ctx)
		ok(t, err)
		if !reflect.DeepEqual(rest.Items, wanted[4:]) {
			t.Errorf("found %v", rest.Items)
		}
		_, err = query.Page(ctx, 2, "zz")
		fails(t, err, Mismatch)
		for _, other := range [][]string{{"size"}, {"-name"}, {"-size", "name"}} {
			_, err = all.Where().OrderBy(other...).Page(ctx, 2, first.Next)
			fails(t, err, Misuse)
		}
		_, err = query.Limit(3).Page(ctx, 2, "")
		fails(t, err, Unsupported)
		_, err = query.Page(ctx, 0, "")
		fails(t, err, Misuse)
	})
}

func TestLimitsOfCountsAndListsWithNull(t *testing.T) {
	ctx, db := background, open(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place, Sized{})
	all := tableOf[Sized](t, db)
	one, two := 1.0, 2.0
	for _, size := range []*float64{&one, &two, nil} {
		ok(t, all.Insert(ctx, &Sized{Size: size}))
	}
	_, err := all.Where().Limit(1).Count(ctx)
	fails(t, err, Misuse)
	_, err = all.Where().Offset(1).Count(ctx)
	fails(t, err, Misuse)
	for _, wrong := range []*Query[Sized]{all.Where(Condition{}), all.Where(Not(Condition{}), Col("id").Eq(1))} {
		_, err = wrong.Delete(ctx)
		fails(t, err, Misuse)
	}
	for condition, expected := range map[*Condition]int64{
		{Col("size").In(1.0, nil).place}: 1, {Col("size").In(nil).place}: 0, {Not(Col("size").In(1.0, nil)).place}: 1,
	} {
		count, err := all.Where(*condition).Count(ctx)
		ok(t, err)
		equal(t, count, expected)
	}
}
