package bobak

import (
	"database/sql"
	"strings"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// textTimes are the forms of times as text that [ScanTime] reads.
var textTimes = []string{
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02",
}

// ScanTime returns a target of Scan for a time whose column the server gives as a number or as text: the
// result of an expression, such as max(at), or a column that another program has written.
//
//	var at time.Time
//	err := db.QueryRow("SELECT max(at) FROM visit").Scan(bobak.ScanTime(&at))
//
// An integer is microseconds since 1970, as Bobak stores times, and a text is ISO 8601, in UTC unless it
// names a zone. NULL is the zero time.
func ScanTime(at *time.Time) sql.Scanner { return timeScanner{at} }

type timeScanner struct{ at *time.Time }

func (s timeScanner) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*s.at = time.Time{}
	case time.Time:
		*s.at = value
	case int64:
		*s.at = time.UnixMicro(value).UTC()
	case string:
		return s.parse(value)
	case []byte:
		return s.parse(string(value))
	default:
		return wire.Errorf(Mismatch, "%T is not a time", value)
	}
	return nil
}

func (s timeScanner) parse(text string) error {
	for _, form := range textTimes {
		if at, err := time.Parse(form, strings.TrimSpace(text)); err == nil {
			*s.at = at.UTC()
			return nil
		}
	}
	return wire.Errorf(Mismatch, "'%s' is not a time", text)
}

// Scan reads an amount for database/sql, from text: the columns of amounts and of decimal numbers have it. An integer is
// Mismatch, since it does not say in which unit it is: CAST it to DECIMAL(19, 4), or scan it into an int64.
func (c *Currency) Scan(value any) (err error) {
	switch value := value.(type) {
	case int64:
		err = wire.Errorf(Mismatch, "%d is an integer and no amount: CAST it to DECIMAL(19, 4)", value)
	case string:
		*c, err = ParseCurrency(value)
	case []byte:
		*c, err = ParseCurrency(string(value))
	default:
		err = wire.Errorf(Mismatch, "%T is not an amount", value)
	}
	return err
}

// Scan reads a UUID for database/sql: from 16 bytes, or from text.
func (id *UUID) Scan(value any) (err error) {
	if bytes, ok := value.([]byte); ok && len(bytes) != len(id) {
		value = string(bytes)
	}
	*id, err = uuidOf(value)
	return err
}
