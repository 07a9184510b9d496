package wire

import (
	"fmt"
	"strings"
)

// Kind is the reason of an error.
type Kind uint8

// The kinds of errors, by their numbers on the wire.
const (
	NotFound Kind = iota + 1
	Duplicate
	Conflict
	Constraint
	TooLong
	OutOfRange
	Mismatch
	Unsupported
	Schema
	Syntax
	Busy
	Serialization
	Timeout
	Unreachable
	Unknown
	Denied
	Full
	ReadOnly
	Corrupt
	Io
	Config
	Misuse
	Interrupted
	Engine
	Invalid
)

var kindNames = [...]string{
	"NotFound", "Duplicate", "Conflict", "Constraint", "TooLong", "OutOfRange", "Mismatch",
	"Unsupported", "Schema", "Syntax", "Busy", "Serialization", "Timeout", "Unreachable", "Unknown",
	"Denied", "Full", "ReadOnly", "Corrupt", "Io", "Config", "Misuse", "Interrupted", "Engine",
	"Invalid",
}

func (k Kind) String() string {
	if k < NotFound || k > Invalid {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k-1]
}

// Error makes a kind a target for errors.Is.
func (k Kind) Error() string { return k.String() }

// Violation is one thing that is wrong with a row.
type Violation struct {
	// Column is empty if the row as a whole is wrong.
	Column string
	// Message continues the column's name: "must not be blank".
	Message string
}

// Error is the error of every failing call.
type Error struct {
	Kind    Kind
	Message string
	// Table and Column are empty if they are unknown.
	Table, Column string
	// Row is the number in its batch, from 0; -1 outside batches.
	Row int64
	// Code is the engine's own code, for SQLite its extended result code; 0 if there is none.
	Code int32
	// Detail is the engine's own message.
	Detail string
	// Violations is what is wrong with the row, if the kind is Invalid.
	Violations []Violation
	// Cause is the error of the operating system, or of the context, behind this one.
	Cause error
}

// Errorf makes an error of a kind.
func Errorf(kind Kind, format string, arguments ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, arguments...), Row: -1}
}

// In sets the table and the column, unless they are set.
func (e *Error) In(table, column string) *Error {
	if e.Table == "" {
		e.Table = table
	}
	if e.Column == "" {
		e.Column = column
	}
	return e
}

// Because sets the cause.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string {
	var places []string
	if e.Table != "" {
		places = append(places, "table "+e.Table)
	}
	if e.Column != "" {
		places = append(places, "column "+e.Column)
	}
	if e.Row >= 0 {
		places = append(places, fmt.Sprintf("row %d", e.Row))
	}
	if len(places) == 0 {
		return e.Message
	}
	return e.Message + " (" + strings.Join(places, ", ") + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether the target is this error's kind.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// Retryable reports whether the same call, or the transaction from its beginning, may succeed if it is
// repeated.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case Busy, Serialization, Timeout, Unreachable:
		return true
	}
	return false
}
