package bobak

import (
	"context"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// migration is a row of the table that lists the migrations of a database.
type migration struct {
	Name     string `bobak:",key=given"`
	Checksum string
	// Step is -1 for a migration that is done.
	Step int64
	At   time.Time
}

// TableName is the table of migrations.
func (migration) TableName() string { return "bobak_migrations" }

// VerifyMigrations checks that the migration last is the last one that the database has: an error of
// the kind [Schema] says that it is older, and one of the kind [Conflict] that it is newer. Call it after
// [Open], with the newest migration that the program knows, such as "0012_names".
func (db *DB) VerifyMigrations(ctx context.Context, last string) error {
	if _, err := tables(ctx, db); err != nil {
		return err
	}
	table := migration{}.TableName()
	if _, ok := db.find(table); !ok {
		return wire.Errorf(Schema, "the database is older than the program: migrate it to %s first; or this user may not read "+
			"the table of its migrations", last).In(table, "")
	}
	migrations, err := Of[migration](ctx, db)
	if err != nil {
		return err
	}
	rows, err := migrations.All(ctx)
	if err != nil {
		return err
	}
	done, newer := false, ""
	for _, row := range rows {
		done = done || row.Name == last && row.Step == -1
		if row.Name > newer {
			newer = row.Name
		}
	}
	if newer > last {
		message := "the database is newer than the program: it has migration " + newer
		return &Error{Kind: Conflict, Message: message, Table: table, Row: -1}
	}
	if !done {
		message := "the database is older than the program: migrate it to " + last + " first"
		return &Error{Kind: Schema, Message: message, Table: table, Row: -1}
	}
	return nil
}
