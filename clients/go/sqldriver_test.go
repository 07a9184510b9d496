package bobak

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

func TestDatabaseSQL(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		db, err := sql.Open("bobak", url)
		ok(t, err)
		defer func() { ok(t, db.Close()) }()
		ok(t, db.PingContext(background))
		_, err = db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, at TIMESTAMP_MICROS, raw BLOB)")
		ok(t, err)
		at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
		insert, err := db.Prepare("INSERT INTO t (name, at, raw) VALUES (?, ?, ?)")
		ok(t, err)
		for n := 0; n < 3; n++ {
			result, err := insert.Exec(sql.NullString{String: "é", Valid: n > 0}, at, []byte{0})
			ok(t, err)
			count, err := result.RowsAffected()
			ok(t, err)
			equal(t, count, 1)
			id, err := result.LastInsertId()
			ok(t, err)
			equal(t, id, int64(n+1))
		}
		ok(t, insert.Close())
		var id int64
		ok(t, db.QueryRow("INSERT INTO t (name) VALUES (?) RETURNING id", "x").Scan(&id))
		equal(t, id, 4)
		tx, err := db.Begin()
		ok(t, err)
		rows, err := tx.Query("SELECT id, name, at FROM t WHERE at = ? ORDER BY id", at)
		ok(t, err)
		seen := 0
		for rows.Next() {
			var name sql.NullString
			var found time.Time
			ok(t, rows.Scan(&id, &name, &found))
			equal(t, found.UTC(), at)
			equal(t, name.Valid, id > 1)
			// A write while rows are open.
			_, err := tx.Exec("UPDATE t SET name = 'seen' WHERE id = ?", id)
			ok(t, err)
			seen++
		}
		ok(t, rows.Err())
		equal(t, seen, 3)
		ok(t, tx.Rollback())
		var count int
		ok(t, db.QueryRow("SELECT count(*) FROM t WHERE name = 'seen'").Scan(&count))
		equal(t, count, 0)
		_, err = db.Exec("INSERT INTO t (id) VALUES (1)")
		fails(t, err, Duplicate)
		_, err = db.BeginTx(background, &sql.TxOptions{ReadOnly: true})
		fails(t, err, Unsupported)
		// Before Go 1.20 database/sql returns only the text of this error.
		_, err = db.Exec("SELECT ?", struct{}{})
		equal(t, err != nil, true)
	})
}

func TestDatabaseSQLContexts(t *testing.T) {
	db, err := sql.Open("bobak", "bobak+unix:"+serveUnix(t, t.TempDir()).place)
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	endless := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	rows, err := db.QueryContext(ctx, endless)
	ok(t, err)
	for rows.Next() {
	}
	if err := rows.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	ok(t, rows.Close())
	ok(t, db.Ping())
}

func TestDatabaseSQLReconnectsAfterARestart(t *testing.T) {
	folder := t.TempDir()
	server := serveUnix(t, folder)
	db, err := sql.Open("bobak", "bobak+unix:"+server.place)
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	_, err = db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY)")
	ok(t, err)
	server.kill()
	serveUnix(t, folder)
	time.Sleep(rested)
	_, err = db.Exec("INSERT INTO t VALUES (1)")
	ok(t, err)
}

func openSQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("bobak", url)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

func TestDatabaseSQLNamedParameters(t *testing.T) {
	db := openSQL(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place)
	text := `SELECT :a || ':a' /* :a */ || @b || :a -- :b
		AS "x:a"`
	var found string
	ok(t, db.QueryRow(text, sql.Named("b", "2"), sql.Named("a", "1")).Scan(&found))
	equal(t, found, "1:a21")
	for _, wrong := range []struct {
		text      string
		arguments []any
	}{
		{"SELECT :a", []any{sql.Named("a", 1), 2}},
		{"SELECT :a", []any{sql.Named("a", 1), sql.Named("b", 2)}},
		{"SELECT :a, ?", []any{sql.Named("a", 1)}},
		{"SELECT :a", []any{sql.Named("a", 1), sql.Named("a", 2)}},
	} {
		_, err := db.Exec(wrong.text, wrong.arguments...)
		fails(t, err, Misuse)
	}
}

func TestDatabaseSQLLastInsertID(t *testing.T) {
	url := "bobak+unix:" + serveUnix(t, t.TempDir()).place
	open(t, url, Person{}, Square{})
	db := openSQL(t, url)
	last := func(text string) (int64, error) {
		result, err := db.Exec(text)
		ok(t, err)
		rows, err := result.RowsAffected()
		ok(t, err)
		equal(t, rows >= 1, true)
		return result.LastInsertId()
	}
	for text, expected := range map[string]int64{
		`INSERT INTO "person" (id, name, balance) VALUES (1, 'a', 0), (7, ';', 0) ; `:  7,
		"insert or replace into Person (id, name, balance) values (5, 'RETURNING', 0)": 5,
		"REPLACE INTO [person] (id, name, balance) VALUES (6, 'c', 0)":                 6,
	} {
		id, err := last(text)
		ok(t, err)
		equal(t, id, expected)
	}
	for _, text := range []string{
		"INSERT INTO person (name, balance) SELECT name, balance FROM person",
		"INSERT INTO main.person (name, balance) VALUES ('d', 0)",
		"INSERT INTO square (row, letter) VALUES (1, 'A')",
		"UPDATE person SET balance = 1",
	} {
		_, err := last(text)
		fails(t, err, Unsupported)
	}
	_, err := db.Exec("INSERT INTO person (id, name, balance) VALUES (1, 'x', 0)")
	fails(t, err, Duplicate)
}

func TestDatabaseSQLTimes(t *testing.T) {
	url := "bobak+unix:" + serveUnix(t, t.TempDir()).place
	db := openSQL(t, url)
	_, err := db.Exec("CREATE TABLE visit (id INTEGER PRIMARY KEY, at datetime)")
	ok(t, err)
	at := time.Date(2024, 2, 29, 12, 30, 0, 1000, time.UTC)
	other := openSQL(t, url+"?times=text")
	_, err = other.Exec("INSERT INTO visit (at) VALUES (?), (?)", at, &at)
	ok(t, err)
	// As other programs write it.
	var text string
	ok(t, db.QueryRow("SELECT CAST(max(at) AS TEXT) FROM visit").Scan(&text))
	equal(t, text, "2024-02-29 12:30:00.000001")
	_, err = db.Exec("INSERT INTO visit (at) VALUES (?)", at)
	ok(t, err)
	rows, err := db.Query("SELECT at, 'x' FROM visit UNION ALL SELECT NULL, 'y' ORDER BY at")
	ok(t, err)
	names, err := rows.ColumnTypes()
	ok(t, err)
	equal(t, names[1].DatabaseTypeName(), "TEXT")
	equal(t, names[1].ScanType().String(), "string")
	count := 0
	for rows.Next() {
		var found time.Time
		ok(t, rows.Scan(ScanTime(&found), &text))
		if !found.Equal(at) && !(text == "y" && found.IsZero()) {
			t.Fatal(found, text)
		}
		count++
	}
	ok(t, rows.Err())
	equal(t, count, 4)
	fails(t, ScanTime(&at).Scan("yesterday"), Mismatch)
	fails(t, ScanTime(&at).Scan(1.5), Mismatch)
	for _, text := range []string{
		"2024-02-29T12:30:00.000001Z", "2024-02-29 14:30:00.000001+02:00",
		"2024-02-29 12:30:00.000001",
	} {
		var found time.Time
		ok(t, ScanTime(&found).Scan([]byte(text)))
		equal(t, found.Equal(at), true)
	}
	_, err = Open(url + "?times=x")
	fails(t, err, Config)
}

func TestDatabaseSQLTypes(t *testing.T) {
	// As the server names the types of columns.
	for column, stored := range map[wire.Type]any{
		wire.TypeTimestamp: int64(0), wire.TypeDateTime: "1970-01-01T00:00:00", wire.TypeDate: int64(0),
	} {
		found, err := driverValue(stored, column)
		ok(t, err)
		equal(t, found.(time.Time).Equal(time.Unix(0, 0)), true)
		text, err := driverValue("yesterday", column)
		ok(t, err)
		equal(t, text == "yesterday", true)
		null, err := driverValue(nil, column)
		ok(t, err)
		equal(t, null == nil, true)
		rows := &sqlRows{open: cursor{columns: []wire.ResultColumn{{Name: "a", Type: column}}}}
		equal(t, rows.ColumnTypeDatabaseTypeName(0), strings.ToUpper(column.String()))
		equal(t, rows.ColumnTypeScanType(0).String(), "time.Time")
	}
	for column, stored := range map[wire.Type]any{
		wire.TypeCurrency: int64(125_000), wire.TypeTime: int64(3_600_500_000), wire.TypeUUID: make([]byte, 16),
	} {
		found, err := driverValue(stored, column)
		ok(t, err)
		text := map[wire.Type]string{
			wire.TypeCurrency: "12.50", wire.TypeTime: "01:00:00.5", wire.TypeUUID: UUID{}.String(),
		}[column]
		equal(t, found.(string), text)
	}
	var amount Currency
	for _, value := range []any{"1.25", []byte("1.25")} {
		ok(t, amount.Scan(value))
		equal(t, amount, 12_500)
	}
	fails(t, amount.Scan(1.25), Mismatch)
	id, found := NewUUID(), UUID{}
	for _, value := range []any{id[:], id.String(), []byte(id.String())} {
		ok(t, found.Scan(value))
		equal(t, found, id)
	}
	fails(t, found.Scan(nil), Mismatch)
}
