package bobak

import (
	"reflect"
	"testing"
)

type Essay struct {
	ID    int64
	Title string `bobak:",search=english"`
	Stars int64
	Body  *string `bobak:",search=english"`
}

func TestSearch(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Essay{})
		articles := tableOf[Essay](t, db)
		body := func(text string) *string { return &text }
		for _, article := range []Essay{
			{1, "Wolves", 1, body("They howl. A fox does not.")},
			{2, "Foxes", 5, body("The quick fox jumps over lazy dogs.")},
			{3, "Nothing", 5, nil},
		} {
			ok(t, articles.Insert(ctx, &article))
		}
		titles := func(query *Query[Essay]) []string {
			found, err := query.All(ctx)
			ok(t, err)
			var titles []string
			for _, article := range found {
				titles = append(titles, article.Title)
			}
			return titles
		}
		foxes := articles.Where().Search("fox")
		for _, one := range []struct {
			found  *Query[Essay]
			wanted []string
		}{
			{foxes, []string{"Foxes", "Wolves"}},
			{foxes.OrderBy("id"), []string{"Wolves", "Foxes"}},
			{foxes.Limit(1).Offset(1), []string{"Wolves"}},
			{articles.Where(Col("stars").Gt(1)).Search("fox"), []string{"Foxes"}},
			{articles.Where().Search(`"lazy dog" NOT wolf`), []string{"Foxes"}},
		} {
			if found := titles(one.found); !reflect.DeepEqual(found, one.wanted) {
				t.Fatal(found, one.wanted)
			}
		}
		if number, err := foxes.Count(ctx); err != nil || number != 2 {
			t.Fatal(number, err)
		}
		ranks, err := foxes.Select(ctx, nil, Column("id"), Rank())
		ok(t, err)
		if len(ranks) != 2 || ranks[0][0] != int64(2) || ranks[0][1].(float64) <= ranks[1][1].(float64) {
			t.Fatal(ranks)
		}
		_, err = articles.Where().Search("(fox").All(ctx)
		fails(t, err, Syntax)
		_, err = foxes.Delete(ctx)
		fails(t, err, Misuse)
		if found := titles(foxes); len(found) != 2 {
			t.Fatal(found)
		}
	})
}

func TestColumnsOfASearchHaveOneLanguage(t *testing.T) {
	type Wrong struct {
		ID    int64
		Title string `bobak:",search=english"`
		Body  string `bobak:",search"`
	}
	_, err := describe(reflect.TypeOf(Wrong{}))
	fails(t, err, Schema)
}
