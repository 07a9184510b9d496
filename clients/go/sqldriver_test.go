package bobak

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

func TestDatabaseSQL(t *testing.T) {
	behindEachDoor(t, func(t *testing.T, url string) {
		db, err := sql.Open("bobak", url)
		ok(t, err)
		defer func() { ok(t, db.Close()) }()
		ok(t, db.PingContext(background))
		_, err = db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, at INTEGER, raw BLOB)")
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
			_, err = result.LastInsertId()
			fails(t, err, Unsupported)
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
			var micros int64
			ok(t, rows.Scan(&id, &name, &micros))
			equal(t, time.UnixMicro(micros).UTC(), at)
			equal(t, name.Valid, id > 1)
			// A write beside rows that are open.
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
		// Before Go 1.20 database/sql gives only the words of these.
		_, err = db.Exec("SELECT ?", sql.Named("a", 1))
		equal(t, err != nil, true)
		_, err = db.BeginTx(background, &sql.TxOptions{ReadOnly: true})
		fails(t, err, Unsupported)
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

func TestDatabaseSQLSurvivesARestart(t *testing.T) {
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
