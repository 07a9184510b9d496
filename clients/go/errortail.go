package bobak

import (
	"io"
	"strings"
	"sync"
	"unicode"
)

const (
	// kept is how many of the last bytes of a child process's standard error are stored.
	kept = 4096
	// An error shows at most shownLines lines and shownBytes bytes of them.
	shownLines, shownBytes = 8, 800
)

// errorTail passes on the standard error of a child process, and stores the end of it.
type errorTail struct {
	onward io.Writer

	mutex sync.Mutex
	said  []byte
	cut   bool
}

func (l *errorTail) Write(data []byte) (int, error) {
	l.mutex.Lock()
	l.said = append(l.said, data...)
	if over := len(l.said) - kept; over > 0 {
		l.said, l.cut = append(l.said[:0], l.said[over:]...), true
	}
	l.mutex.Unlock()
	// The program continues even if this process has no standard error.
	_, _ = l.onward.Write(data)
	return len(data), nil
}

// String returns the last lines as one.
func (l *errorTail) String() string {
	l.mutex.Lock()
	lines := strings.Split(string(l.said), "\n")
	cut := l.cut
	l.mutex.Unlock()
	if cut && len(lines) > 1 {
		// The first line is incomplete.
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
