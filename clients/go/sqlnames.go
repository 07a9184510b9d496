package bobak

import (
	"database/sql/driver"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// sqlToken is a part of an SQL text that is not a space or a comment.
type sqlToken struct {
	text  string
	start int
}

// tokenize splits an SQL text into words, quoted parts and single characters. Named parameters, such as
// :name and @name, are one token.
func tokenize(text string) []sqlToken {
	var tokens []sqlToken
	for at := 0; at < len(text); {
		length, skip := nextToken(text[at:])
		if !skip {
			tokens = append(tokens, sqlToken{text[at : at+length], at})
		}
		at += length
	}
	return tokens
}

// nextToken returns the length of the token at the beginning of a text, and whether it is only a space
// or a comment.
func nextToken(text string) (length int, skip bool) {
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsSpace(first):
		return size, true
	case strings.HasPrefix(text, "--"):
		return endOf(text, 2, "\n"), true
	case strings.HasPrefix(text, "/*"):
		return endOf(text, 2, "*/"), true
	case first == '\'' || first == '"' || first == '`':
		return endOf(text, 1, text[:1]), false
	case first == '[':
		return endOf(text, 1, "]"), false
	case strings.HasPrefix(text, "::"):
		// A cast of PostgreSQL.
		return 2, false
	case first == '$':
		if end := strings.IndexByte(text[1:], '$'); end >= 0 && wordLength(text[1:]) == end {
			// A dollar-quoted string of PostgreSQL.
			return endOf(text, end+2, text[:end+2]), false
		}
	case first == ':' || first == '@':
		return size + wordLength(text[size:]), false
	}
	if length := wordLength(text); length > 0 {
		return length, false
	}
	return size, false
}

// endOf returns the position after the next occurrence of end, or the length of the text.
func endOf(text string, from int, end string) int {
	if found := strings.Index(text[from:], end); found >= 0 {
		return from + found + len(end)
	}
	return len(text)
}

func wordLength(text string) int {
	for place, letter := range text {
		if letter != '_' && !unicode.IsLetter(letter) && !unicode.IsDigit(letter) {
			return place
		}
	}
	return len(text)
}

// bindNames replaces named parameters, such as :name or @name, by ? in the order of the text, and returns
// the arguments in this order.
func bindNames(text string, values []driver.NamedValue) (string, []wire.Parameter, error) {
	arguments, named := make([]wire.Parameter, len(values)), map[string]wire.Parameter{}
	for place, value := range values {
		// CheckNamedValue has made each value a parameter.
		arguments[place], _ = value.Value.(wire.Parameter)
		if value.Name != "" {
			named[value.Name] = arguments[place]
		}
	}
	if len(named) == 0 {
		return text, arguments, nil
	}
	if len(named) != len(values) {
		return "", nil, misuse("arguments are either all named or all positional, each name once")
	}
	var out strings.Builder
	used, at := map[string]bool{}, 0
	arguments = arguments[:0]
	for _, token := range tokenize(text) {
		if token.text == "?" {
			return "", nil, misuse("the SQL has a parameter ?, and the arguments have names")
		}
		if token.text[0] != ':' && token.text[0] != '@' {
			continue
		}
		name := token.text[1:]
		value, exists := named[name]
		if !exists {
			continue
		}
		out.WriteString(text[at:token.start])
		out.WriteString("?")
		at, used[name] = token.start+len(token.text), true
		arguments = append(arguments, value)
	}
	for _, value := range values {
		if !used[value.Name] {
			return "", nil, misuse("the SQL has no parameter :%s", value.Name)
		}
	}
	out.WriteString(text[at:])
	return out.String(), arguments, nil
}

// sqlTextTime is the form in which other programs store times as text: SQLite's own.
const sqlTextTime = "2006-01-02 15:04:05.999999"

// timeAsText returns a time as text, and other values as they are.
func timeAsText(value any) any {
	switch value := value.(type) {
	case time.Time:
		return value.UTC().Format(sqlTextTime)
	case *time.Time:
		if value != nil {
			return value.UTC().Format(sqlTextTime)
		}
	}
	return value
}
