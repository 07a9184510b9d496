package bobak

import (
	"database/sql"
	"strings"
	"testing"
)

func TestArgumentsHaveNamesAndLists(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url)
		_, err := Exec(ctx, db, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
		ok(t, err)
		rows := [][]any{{1, "pen"}, {2, "ink"}}
		_, err = ExecMany(ctx, db, "INSERT INTO item (id, name) VALUES (?, ?)", rows)
		ok(t, err)
		_, err = Exec(ctx, db, "INSERT INTO item (id, name) VALUES (:id, :name)", sql.Named("name", "pad"), sql.Named("id", 3))
		ok(t, err)
		text := "SELECT id FROM item WHERE name IN (:names) OR id = :id OR name = ':id' ORDER BY id"
		ids := func(text string, arguments ...any) []int64 {
			found, err := SQL[int64](ctx, db, text, arguments...)
			ok(t, err)
			return found
		}
		same := func(found []int64, wanted ...int64) {
			t.Helper()
			if len(found) != len(wanted) || len(found) > 0 && found[0] != wanted[0] {
				t.Errorf("found %v, not %v", found, wanted)
			}
		}
		same(ids(text, sql.Named("names", []string{"pad", "cup"}), sql.Named("id", 1)), 1, 3)
		same(ids(text, sql.Named("names", []string{}), sql.Named("id", 2)), 2)
		same(ids("SELECT id FROM item WHERE id NOT IN (?) AND id < ?", []int{}, 3), 1, 2)
		same(ids("SELECT id FROM item WHERE id IN (?) AND id < ?", []int64{2, 3}, 3), 2)
		_, err = SQL[int64](ctx, db, "SELECT id FROM item WHERE id = ?", []int{1})
		fails(t, err, Misuse)
	})
}

func TestTextsAreBoundOutsideOfStringsAndComments(t *testing.T) {
	bound := func(text string, arguments ...any) string {
		t.Helper()
		text, _, err := bindAny(text, arguments)
		ok(t, err)
		return text
	}
	text := "SELECT ':a', \":a\", a::text -- :a\n, :b /* :a */ FROM t WHERE x=:a AND y IN(:b,:a)"
	equal(t, bound(text, sql.Named("a", 1), sql.Named("b", 2)),
		"SELECT ':a', \":a\", a::text -- :a\n, ? /* :a */ FROM t WHERE x=? AND y IN(?,?)")
	equal(t, bound("a IN (:none) OR b NOT in (:none )", sql.Named("none", []int{})),
		"a IN (NULL) IS TRUE OR b NOT in (NULL ) IS NOT FALSE")
	for _, wrong := range []struct {
		text, message string
		arguments     []any
	}{
		{"x = :a AND y = ?", "the SQL has a parameter ?", []any{sql.Named("a", 1)}},
		{"x = :b", "the SQL has no parameter :a", []any{sql.Named("a", 1)}},
		{"x = :a", "a list of values stands alone", []any{sql.Named("a", []int{1})}},
		{"x IN (?) AND y = ?", "the SQL has 2 parameters, and 1 arguments are given", []any{[]int{1}}},
	} {
		_, _, err := bindAny(wrong.text, wrong.arguments)
		if err == nil || !strings.Contains(err.Error(), wrong.message) {
			t.Errorf("%s: %v", wrong.text, err)
		}
	}
}
