package bobak

import (
	"context"
	"errors"
	"strings"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// sqlResult is the result of a statement.
type sqlResult struct {
	rows   int64
	key    int64
	hasKey bool
}

// LastInsertId returns the generated integer key of the last row of INSERT INTO … VALUES.
func (r *sqlResult) LastInsertId() (int64, error) {
	if !r.hasKey {
		return 0, wire.Errorf(Unsupported, "the key is known only after INSERT INTO … VALUES into a "+
			"table with generated integer keys: use INSERT … RETURNING with Query")
	}
	return r.key, nil
}

func (r *sqlResult) RowsAffected() (int64, error) { return r.rows, nil }

// insertReturningKey runs INSERT INTO … VALUES with RETURNING, so that LastInsertId needs no further
// request. It returns nil for other statements, and for engines without RETURNING.
func (c *sqlConn) insertReturningKey(
	ctx context.Context, text string, arguments []wire.Parameter,
) (*sqlResult, error) {
	switch c.conn.welcome.Engine {
	case "sqlite", "postgres":
	default:
		return nil, nil
	}
	table := insertedTable(text)
	if table == "" {
		return nil, nil
	}
	key, err := c.keyOf(ctx, table)
	if key == "" || err != nil {
		return nil, err
	}
	quoted := `"` + strings.ReplaceAll(key, `"`, `""`) + `"`
	text = strings.TrimRight(text, "; \t\r\n") + " RETURNING " + quoted
	result := &sqlResult{}
	err = c.conn.call(ctx, c.lost(true), func() error {
		source, err := c.conn.sql(text, arguments)
		if err != nil {
			return err
		}
		return c.conn.query(source, false, nil, func(row wire.Row) error {
			result.rows++
			if row.Len() == 1 && row.Tag(0) == wire.Int {
				result.key, result.hasKey = row.Int(0), true
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// keyOf returns the name of a table's generated integer key column, or an empty string.
func (c *sqlConn) keyOf(ctx context.Context, table string) (string, error) {
	name := strings.ToLower(table)
	if key, known := c.keys[name]; known {
		return key, nil
	}
	keys := map[string]string{}
	err := c.conn.call(ctx, c.lost(false), func() error {
		body, err := c.conn.ask(wire.Tables, wire.Schemas, nil)
		if err != nil {
			return err
		}
		found, _, err := wire.ParseSchemas(body)
		for _, table := range found {
			if table.KeysBy == wire.KeysByEngine && len(table.Key) == 1 {
				keys[strings.ToLower(table.Name)] = table.Columns[table.Key[0]].Name
			}
		}
		return err
	})
	if err != nil {
		if errors.Is(err, Denied) || errors.Is(err, Unsupported) {
			// The user may not see the schema: the statement runs as written.
			err = nil
		} else {
			return "", err
		}
	}
	if _, exists := keys[name]; !exists {
		keys[name] = ""
	}
	c.keys = keys
	return keys[name], nil
}

// insertedTable returns the table of INSERT INTO … VALUES without RETURNING, or an empty string.
func insertedTable(text string) string {
	tokens := tokenize(text)
	next := func() string {
		if len(tokens) == 0 {
			return ""
		}
		token := tokens[0].text
		tokens = tokens[1:]
		return token
	}
	word := strings.ToUpper(next())
	if word == "INSERT" {
		if word = strings.ToUpper(next()); word == "OR" {
			next()
			word = strings.ToUpper(next())
		}
	} else if word == "REPLACE" {
		word = strings.ToUpper(next())
	}
	if word != "INTO" {
		return ""
	}
	table := next()
	hasValues := false
	for place, token := range tokens {
		switch strings.ToUpper(token.text) {
		case ".":
			if place == 0 {
				// Of another schema, or attached.
				return ""
			}
		case "SELECT", "RETURNING":
			return ""
		case ";":
			if place != len(tokens)-1 {
				return ""
			}
		case "VALUES":
			hasValues = true
		}
	}
	if !hasValues {
		return ""
	}
	if first := table[0]; first == '"' || first == '`' || first == '[' {
		table = table[1 : len(table)-1]
	}
	return table
}
