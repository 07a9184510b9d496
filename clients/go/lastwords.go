package bobak

import (
	"io"
	"strings"
	"sync"
	"unicode"
)

const (
	// kept is how many bytes are kept of what a child process says on its standard error.
	kept = 4096
	// shownLines and shownBytes are how much of it an error shows.
	shownLines, shownBytes = 8, 800
)

// lastWords passes on what a child process says on its standard error, and keeps the end of it.
type lastWords struct {
	onward io.Writer

	mutex sync.Mutex
	said  []byte
	cut   bool
}

func (l *lastWords) Write(data []byte) (int, error) {
	l.mutex.Lock()
	l.said = append(l.said, data...)
	if over := len(l.said) - kept; over > 0 {
		l.said, l.cut = append(l.said[:0], l.said[over:]...), true
	}
	l.mutex.Unlock()
	// Where nobody hears it, the program goes on all the same.
	_, _ = l.onward.Write(data)
	return len(data), nil
}

// String is the last lines, as one.
func (l *lastWords) String() string {
	l.mutex.Lock()
	lines := strings.Split(string(l.said), "\n")
	cut := l.cut
	l.mutex.Unlock()
	if cut && len(lines) > 1 {
		// Of the first there is but a part.
		lines = lines[1:]
	}
	var shown []string
	for _, line := range lines {
		if line = strings.TrimSpace(strings.Map(printable, line)); line != "" {
			shown = append(shown, line)
		}
	}
	if over := len(shown) - shownLines; over > 0 {
		shown = shown[over:]
	}
	text := strings.Join(shown, " | ")
	if over := len(text) - shownBytes; over > 0 {
		text = "…" + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

func printable(letter rune) rune {
	if unicode.IsPrint(letter) {
		return letter
	}
	return ' '
}
