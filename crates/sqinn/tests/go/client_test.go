// Sqinn's own Go client against bobak-sqinn, whose path is in BOBAK_SQINN.
package client

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cvilsmeier/sqinn-go/v2"
)

func launch(t *testing.T, db string) *sqinn.Sqinn {
	t.Helper()
	sq, err := sqinn.Launch(sqinn.Options{Sqinn: os.Getenv("BOBAK_SQINN"), Db: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sq.Close(); err != nil {
			t.Error(err)
		}
	})
	return sq
}

func TestValues(t *testing.T) {
	sq := launch(t, ":memory:")
	sq.MustExecSql("CREATE TABLE v(i INTEGER, j INTEGER, d REAL, s TEXT, b BLOB)")
	large := bytes.Repeat([]byte{0, 1, 2, 3}, 250_000)
	rows := [][]sqinn.Value{
		{sqinn.Int32Value(-7), sqinn.Int64Value(1 << 60), sqinn.DoubleValue(0.1), sqinn.StringValue("Namé"), sqinn.BlobValue(large)},
		{sqinn.Int32Value(0), sqinn.Int64Value(-1), sqinn.DoubleValue(-1e300), sqinn.StringValue(""), sqinn.BlobValue([]byte{})},
		{sqinn.NullValue(), sqinn.NullValue(), sqinn.NullValue(), sqinn.NullValue(), sqinn.NullValue()},
	}
	sq.MustExec("INSERT INTO v VALUES(?,?,?,?,?)", len(rows), 5, func(i int, params []sqinn.Value) { copy(params, rows[i]) })
	types := []byte{sqinn.ValInt32, sqinn.ValInt64, sqinn.ValDouble, sqinn.ValString, sqinn.ValBlob}
	got := sq.MustQueryRows("SELECT * FROM v ORDER BY rowid", nil, types)
	if len(got) != len(rows) {
		t.Fatalf("%d rows", len(got))
	}
	for i := range rows {
		for j := range rows[i] {
			a, b := rows[i][j], got[i][j]
			if a.Type != b.Type || a.Int32 != b.Int32 || a.Int64 != b.Int64 || a.Double != b.Double || a.String != b.String || !bytes.Equal(a.Blob, b.Blob) {
				t.Errorf("row %d column %d: %v became %v", i, j, a.Type, b.Type)
			}
		}
	}
}

func TestManyRowsInAFile(t *testing.T) {
	sq := launch(t, filepath.Join(t.TempDir(), "many.db"))
	sq.MustExecSql("CREATE TABLE u(id INTEGER PRIMARY KEY, name TEXT)")
	const n = 100_000
	sq.MustExecSql("BEGIN")
	sq.MustExec("INSERT INTO u VALUES(?,?)", n, 2, func(i int, params []sqinn.Value) {
		params[0] = sqinn.Int32Value(i)
		params[1] = sqinn.StringValue(fmt.Sprintf("name %d", i))
	})
	sq.MustExecSql("COMMIT")
	next := 0
	sq.MustQuery("SELECT id, name FROM u ORDER BY id", nil, []byte{sqinn.ValInt32, sqinn.ValString}, func(row int, v []sqinn.Value) {
		if v[0].Int32 != next || v[1].String != fmt.Sprintf("name %d", next) {
			t.Fatalf("row %d: %v", row, v)
		}
		next++
	})
	if next != n {
		t.Fatalf("%d rows", next)
	}
}

func TestErrors(t *testing.T) {
	sq := launch(t, "")
	for _, sql := range []string{"nonsense", "SELECT * FROM nowhere"} {
		err := sq.ExecSql(sql)
		if err == nil || !strings.Contains(err.Error(), "sqinn: ") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := sq.QueryRows("SELECT abs(-9223372036854775808)", nil, []byte{sqinn.ValInt64}); err == nil {
		t.Error("no error")
	}
}
