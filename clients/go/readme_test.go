package bobak

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFirstProgram builds and runs the README's first program, in a module of its own.
func TestTheFirstProgram(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	ok(t, err)
	text, _, _ := strings.Cut(string(readme), "```\n\n```sh")
	_, text, _ = strings.Cut(text, "```go\n")
	folder, here := t.TempDir(), mustAbs(t, ".")
	module := "module first\n\ngo 1.19\n\nrequire github.com/bobak-db/bobak/clients/go v0.0.0\n\n" +
		"replace github.com/bobak-db/bobak/clients/go => " + here + "\n"
	ok(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600))
	ok(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(text), 0o600))
	ok(t, os.Symlink(mustAbs(t, program(t)), filepath.Join(folder, "bobak")))
	command := exec.Command("go", "run", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "GOFLAGS=-mod=mod")
	output, err := command.CombinedOutput()
	if expected := "&{1 Ada} <nil>\n"; err != nil || string(output) != expected {
		t.Fatalf("%v: %s", err, output)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	ok(t, err)
	return path
}
