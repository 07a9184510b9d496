package bobak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const testToken = "0123456789abcdef"

// program returns BOBAK_TEST_PROGRAM, or the program that cargo has built last.
func program(t testing.TB) string {
	t.Helper()
	if named := os.Getenv("BOBAK_TEST_PROGRAM"); named != "" {
		return named
	}
	target := os.Getenv("CARGO_TARGET_DIR")
	if target == "" {
		target = "../../target"
	}
	newest, found := time.Time{}, ""
	for _, profile := range []string{"debug", "release"} {
		path, _ := filepath.Abs(filepath.Join(target, profile, "bobak"))
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			newest, found = info.ModTime(), path
		}
	}
	if found == "" {
		t.Fatal("no program to test against: run `cargo build -p bobak-cli` first")
	}
	return found
}

// server is a process that runs `bobak serve`.
type server struct {
	command *exec.Cmd
	place   string
}

func serve(t testing.TB, folder string, arguments ...string) *server {
	t.Helper()
	command := exec.Command(program(t), append([]string{"serve"}, arguments...)...)
	command.Dir, command.Stderr = folder, os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := &server{command, strings.TrimSpace(strings.TrimPrefix(line, "listening on "))}
	t.Cleanup(s.kill)
	return s
}

func serveUnix(t testing.TB, folder string, more ...string) *server {
	t.Helper()
	path := filepath.Join(folder, "socket")
	_ = os.Remove(path)
	return serve(t, folder, append([]string{"app.db", "--unix", path}, more...)...)
}

func serveTCP(t testing.TB, folder string, more ...string) *server {
	t.Helper()
	err := os.WriteFile(filepath.Join(folder, "tokens"), []byte(testToken+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"main=app.db", "--listen", "127.0.0.1:0", "--token-file", "tokens"}
	return serve(t, folder, append(arguments, more...)...)
}

func stdioURL(t testing.TB, folder string) string {
	t.Helper()
	file := strings.ReplaceAll(filepath.Join(folder, "app.db"), " ", "%20")
	return fmt.Sprintf("bobak+stdio:%s serve %s --stdio", program(t), file)
}

// shell returns the URL of a shell script, which does not speak the protocol.
func shell(text string) string {
	return "bobak+stdio:sh -c " + strings.NewReplacer("%", "%25", " ", "%20").Replace(text)
}

func (s *server) kill() {
	// The process may have ended already.
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

// overEachTransport runs a test on a new database over each transport.
func overEachTransport(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("tcp", func(t *testing.T) {
		test(t, "bobak://"+serveTCP(t, t.TempDir()).place+"/?token="+testToken)
	})
	t.Run("unix", func(t *testing.T) {
		test(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place)
	})
	t.Run("stdio", func(t *testing.T) {
		test(t, stdioURL(t, t.TempDir()))
	})
}

var background = context.Background()

func open(t testing.TB, url string, records ...any) *DB {
	t.Helper()
	db, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Create(background, records...); err != nil {
		t.Fatal(err)
	}
	return db
}

func tableOf[T any](t testing.TB, in Session) *Table[T] {
	t.Helper()
	table, err := Of[T](background, in)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// fails checks the kind of an error.
func fails(t testing.TB, err error, kind Kind) *Error {
	t.Helper()
	known := (*Error)(nil)
	if !errors.As(err, &known) || !errors.Is(err, kind) {
		t.Fatalf("expected %v, found %v (%T)", kind, err, err)
	}
	return known
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, found, expected T) {
	t.Helper()
	if found != expected {
		t.Fatalf("expected %v, found %v", expected, found)
	}
}
