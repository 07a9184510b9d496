// Package bobak stores Go structs in SQLite, in memory or on a server, through a Bobak server: over TCP,
// TLS, a Unix socket, or pipes to a child process. It needs no cgo.
//
//	db, err := bobak.Open("bobak+stdio:bobak serve people.db --stdio")
//	err = db.Create(ctx, Person{})
//	people, err := bobak.Of[Person](ctx, db)
//	ada := Person{Name: "Ada"}
//	err = people.Insert(ctx, &ada) // sets ada.ID
//
// [Open] returns a [DB] with typed tables; sql.Open("bobak", url) returns a *sql.DB.
package bobak

import "github.com/bobak-db/bobak/clients/go/internal/wire"

// Version is the version of this client.
const Version = "0.1.0"

// Error is the error of every failing call. Use errors.As to get it, and errors.Is(err, bobak.NotFound) to
// test its kind.
type Error = wire.Error

// Violation is one thing that is wrong with a row that the rules of its record reject.
type Violation = wire.Violation

// Kind is the reason of an error.
type Kind = wire.Kind

// The kinds of errors.
const (
	NotFound      = wire.NotFound      // no row has the key
	Duplicate     = wire.Duplicate     // the key or a unique value exists
	Conflict      = wire.Conflict      // the row was changed since it was read
	Constraint    = wire.Constraint    // a NOT NULL, CHECK or foreign key rule
	TooLong       = wire.TooLong       // more characters than the column allows
	OutOfRange    = wire.OutOfRange    // a value that does not fit
	Mismatch      = wire.Mismatch      // a value of another type
	Unsupported   = wire.Unsupported   // the engine cannot do this
	Schema        = wire.Schema        // a table or column is missing, or differs
	Syntax        = wire.Syntax        // the SQL is wrong
	Busy          = wire.Busy          // another writer, or all connections in use
	Serialization = wire.Serialization // the transaction conflicted with another
	Timeout       = wire.Timeout       // the response did not arrive in time
	Unreachable   = wire.Unreachable   // no connection; nothing was committed
	Unknown       = wire.Unknown       // the connection broke during a write
	Denied        = wire.Denied        // the server rejected the credentials, or the user has no permission
	Full          = wire.Full          // the disk is full
	ReadOnly      = wire.ReadOnly      // the database is read-only
	Corrupt       = wire.Corrupt       // damaged bytes
	Io            = wire.Io            // an error of the server's operating system
	Config        = wire.Config        // a URL or setting
	Misuse        = wire.Misuse        // a call in the wrong state
	Interrupted   = wire.Interrupted   // the context was cancelled
	EngineError   = wire.Engine        // another error of the engine
	Invalid       = wire.Invalid       // the rules of the record reject the row: Error.Violations
)

// TableSchema describes a table.
type TableSchema = wire.Table
