package bobak

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

const defaultPort = "4715"

// target is a server's transport and address, with the settings of connections to it.
type target struct {
	network        string // tcp, unix or stdio
	address        string
	program        []string
	database       string
	shown          wire.Credentials
	tls            bool
	ca             string
	timeout        time.Duration // 0 waits forever
	connectTimeout time.Duration
	connections    int
	textTimes      bool // database/sql sends times as text
}

// parseURL reads a URL. Its errors never show what follows the question mark.
func parseURL(text string) (*target, error) {
	place, query, _ := strings.Cut(text, "?")
	scheme, rest, _ := strings.Cut(place, ":")
	settings, err := parseSettings(query)
	if err != nil {
		return nil, err
	}
	t := &target{timeout: time.Minute, connectTimeout: 10 * time.Second, connections: 64}
	switch scheme {
	case "bobak":
		err = t.overTCP(rest)
	case "bobak+unix":
		t.network = "unix"
		if t.address, err = decode(rest); err == nil && t.address == "" {
			err = config("the URL has no socket; write bobak+unix:/PATH/TO/SOCKET")
		}
	case "bobak+stdio":
		t.network = "stdio"
		for _, word := range strings.Fields(rest) {
			if word, err = decodeWord(word); err != nil {
				break
			}
			t.program = append(t.program, word)
		}
		if err == nil && len(t.program) == 0 {
			err = config("the URL has no program; write bobak+stdio:bobak serve --stdio app.db")
		}
	default:
		err = config("'%s' is not a transport; the URLs are: bobak://HOST:PORT/DATABASE, "+
			"bobak+unix:PATH, bobak+stdio:PROGRAM ARGUMENTS", scheme)
	}
	if err != nil {
		return nil, err
	}
	for name, value := range settings {
		if err := t.set(name, value); err != nil {
			return nil, err
		}
	}
	if (t.shown.User == "") != (t.shown.Password == "") {
		return nil, config("user and password are required together")
	}
	return t, nil
}

func (t *target) overTCP(rest string) error {
	place, err := decode(rest)
	if err != nil {
		return err
	}
	host, database, _ := strings.Cut(strings.TrimPrefix(place, "//"), "/")
	// Messages show the host, so it must not contain a password.
	if strings.Contains(rest, "@") || strings.Contains(host, "@") {
		return config("the user and the password are settings; write bobak://HOST:PORT/DATABASE?user=…&password=…")
	}
	if host == "" {
		return config("the URL has no host; write bobak://HOST:PORT/DATABASE")
	}
	if _, port, ok := strings.Cut(host, ":"); ok && strings.Count(host, ":") == 1 {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return config("the port is no number up to 65535")
		}
	}
	t.network, t.database, t.address = "tcp", database, host
	if _, _, err := net.SplitHostPort(host); err != nil {
		t.address = net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
	}
	return nil
}

func (t *target) set(name, value string) error {
	milliseconds := func(into *time.Duration) error {
		number, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return config("%s is a number of milliseconds, not '%s'", name, value)
		}
		*into = time.Duration(number) * time.Millisecond
		return nil
	}
	switch {
	case name == "token":
		t.shown.Token = value
	case name == "user":
		t.shown.User = value
	case name == "password":
		t.shown.Password = value
	case name == "timeout":
		return milliseconds(&t.timeout)
	case name == "connect_timeout":
		return milliseconds(&t.connectTimeout)
	case name == "connections":
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 {
			return config("connections is a number of at least 1, not '%s'", value)
		}
		t.connections = number
	case name == "times":
		if value != "integer" && value != "text" {
			return config("times is one of integer, text, not '%s'", value)
		}
		t.textTimes = value == "text"
	case name == "ca":
		t.ca = value
	case name == "tls" && t.network == "tcp":
		if value != "on" && value != "off" {
			return config("tls is one of on, off, not '%s'", value)
		}
		t.tls = value == "on"
	case name == "db" && t.network != "tcp":
		t.database = value
	default:
		return config("unknown setting '%s'; the settings are: token, user, password, timeout, "+
			"connect_timeout, connections, times, tls and ca over TCP, db otherwise", name)
	}
	return nil
}

// place returns the address as messages show it.
func (t *target) place() string {
	if t.network == "stdio" {
		return t.program[0]
	}
	return t.address
}

func parseSettings(query string) (map[string]string, error) {
	settings := map[string]string{}
	for _, part := range strings.Split(query, "&") {
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if _, twice := settings[name]; !ok || twice {
			// A password may have a question mark.
			shown := "a setting"
			if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz_") == "" {
				shown = "'" + name + "'"
			}
			return nil, config("%s has no value, or occurs twice", shown)
		}
		value, err := decode(value)
		if err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}

func decode(text string) (string, error) {
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return "", config("a percent sign without two digits")
	}
	return decoded, nil
}

// decodeWord rejects quotes: without a shell, a quoted word would name another file.
func decodeWord(word string) (string, error) {
	if strings.HasPrefix(word, `"`) || strings.HasPrefix(word, "'") {
		return "", config("the word %s begins with a quote; write a space as %%20, without quotes", word)
	}
	return decode(word)
}

func config(format string, arguments ...any) *Error {
	return wire.Errorf(Config, format, arguments...)
}
