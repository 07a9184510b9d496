package bobak

import (
	"database/sql"
	"reflect"
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

// argument is a value for an SQL text, or a list of values for IN (?).
type argument struct {
	name   string
	values []wire.Parameter
	isList bool
}

// argumentOf converts a value: a slice other than of bytes is a list, and a [sql.NamedArg] has a name.
func argumentOf(given any) (argument, error) {
	var converted argument
	if named, ok := given.(sql.NamedArg); ok {
		converted.name, given = named.Name, named.Value
	}
	list := reflect.ValueOf(given)
	converted.isList = list.Kind() == reflect.Slice && list.Type().Elem().Kind() != reflect.Uint8
	if !converted.isList {
		value, err := parameter(given)
		converted.values = []wire.Parameter{value}
		return converted, err
	}
	for place := 0; place < list.Len(); place++ {
		value, err := parameter(list.Index(place).Interface())
		if err != nil {
			return converted, err
		}
		converted.values = append(converted.values, value)
	}
	return converted, nil
}

// bindAny is bind of values that are not yet converted.
func bindAny(text string, values []any) (string, []wire.Parameter, error) {
	arguments := make([]argument, len(values))
	for place, value := range values {
		converted, err := argumentOf(value)
		if err != nil {
			return "", nil, err
		}
		arguments[place] = converted
	}
	return bind(text, arguments)
}

// bind replaces named parameters, such as :name or @name, by ? in the order of the text, and the parameter of a list by as
// many, and returns the values in this order.
func bind(text string, arguments []argument) (string, []wire.Parameter, error) {
	named, hasList := map[string]argument{}, false
	for _, argument := range arguments {
		hasList = hasList || argument.isList
		if argument.name != "" {
			named[argument.name] = argument
		}
	}
	if len(named) == 0 && !hasList {
		values := make([]wire.Parameter, len(arguments))
		for place, argument := range arguments {
			values[place] = argument.values[0]
		}
		return text, values, nil
	}
	if len(named) != 0 && len(named) != len(arguments) {
		return "", nil, misuse("arguments are either all named or all positional, each name once")
	}
	writer := textWriter{text: text, tokens: tokenize(text)}
	used := map[string]bool{}
	positional := 0
	for place, token := range writer.tokens {
		var value argument
		switch {
		case token.text == "?" && len(named) > 0:
			return "", nil, misuse("the SQL has a parameter ?, and the arguments have names")
		case token.text == "?":
			if positional < len(arguments) {
				value = arguments[positional]
			}
			positional++
		case (token.text[0] == ':' || token.text[0] == '@') && len(named) > 0:
			exists := false
			if value, exists = named[token.text[1:]]; !exists {
				continue
			}
			used[token.text[1:]] = true
		default:
			continue
		}
		if err := writer.write(place, value); err != nil {
			return "", nil, err
		}
	}
	if len(named) == 0 && positional != len(arguments) {
		return "", nil, misuse("the SQL has %d parameters, and %d arguments are given", positional, len(arguments))
	}
	for name := range named {
		if !used[name] {
			return "", nil, misuse("the SQL has no parameter :%s", name)
		}
	}
	writer.out.WriteString(text[writer.at:])
	return writer.out.String(), writer.values, nil
}

// textWriter writes a text with other parameters.
type textWriter struct {
	text   string
	tokens []sqlToken
	// at is how much of the text is written.
	at     int
	out    strings.Builder
	values []wire.Parameter
}

// write writes the text up to a token, and the parameters in its place.
func (w *textWriter) write(place int, value argument) error {
	token := w.tokens[place]
	w.out.WriteString(w.text[w.at:token.start])
	w.at = token.start + len(token.text)
	w.values = append(w.values, value.values...)
	if !value.isList {
		w.out.WriteString("?")
		return nil
	}
	is := func(offset int, word string) bool {
		at := place + offset
		return at >= 0 && at < len(w.tokens) && strings.EqualFold(w.tokens[at].text, word)
	}
	if !is(-2, "in") || !is(-1, "(") || !is(1, ")") {
		return misuse("a list of values stands alone in the parentheses of IN: IN (?)")
	}
	if len(value.values) > 0 {
		w.out.WriteString(strings.TrimPrefix(strings.Repeat(", ?", len(value.values)), ", "))
		return nil
	}
	// NULL is neither equal to a value nor different from it.
	end := w.tokens[place+1].start + 1
	w.out.WriteString("NULL" + w.text[w.at:end])
	w.at = end
	if is(-3, "not") {
		w.out.WriteString(" IS NOT FALSE")
	} else {
		w.out.WriteString(" IS TRUE")
	}
	return nil
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
