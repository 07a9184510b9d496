package bobak

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inModule runs a program in its own module, which requires this one as the README says.
func inModule(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	module := "module first\n\ngo 1.19\n\nrequire github.com/bobak-db/bobak/clients/go v0.0.0\n\n" +
		"replace github.com/bobak-db/bobak/clients/go => " + mustAbs(t, ".") + "\n"
	ok(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600))
	ok(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(text), 0o600))
	ok(t, os.Symlink(mustAbs(t, program(t)), filepath.Join(folder, "bobak")))
	command := exec.Command("go", "run", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "GOFLAGS=-mod=mod")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return string(output)
}

// programs returns the Go code of the README.
func programs(t *testing.T) (found []string) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	ok(t, err)
	parts := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	for _, part := range parts {
		found = append(found, part[1])
	}
	return found
}

func TestTheFirstProgram(t *testing.T) {
	equal(t, inModule(t, programs(t)[0]), "&{1 Ada} <nil>\n")
}

// TestTheOtherParts completes the README's other parts to a program, and runs it.
func TestTheOtherParts(t *testing.T) {
	parts := programs(t)
	types, records, _ := strings.Cut(parts[1], "\n\n")
	changes, driver := parts[2], parts[3]
	_, driver, _ = strings.Cut(driver, ")\n")
	// Inserts one record, which Follow sees; then the context ends.
	changes = strings.NewReplacer(
		"page, err", "check(accounts.Insert(ctx, &Account{Owner: \"Ada\"}))\npage, err",
		"page.Next, ", "page.Next-1, ", "\treturn nil", "\tcancel()\n\treturn nil",
	).Replace(changes)
	text := `package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	bobak "github.com/bobak-db/bobak/clients/go"
)

` + types + `

type Person struct {
	ID   int64
	Name string
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	db, err := bobak.Open("bobak+stdio:bobak serve bank.db --stdio")
	check(err)
	check(db.Create(ctx, Person{}))
	check(db.Track(ctx, "person", false))
	bern, many := "Bern", make([]Account, 1000)
	for n := range many {
		many[n] = Account{Owner: fmt.Sprint(n), City: &bern, Balance: 200_0000}
	}
	records(ctx, db, many)
	changes(ctx, cancel, db)
	check(db.Close())
	driver()
}

func records(ctx context.Context, db *bobak.DB, many []Account) {
` + checked(records) + `
	fmt.Println(report.Inserted, count, len(top), len(sums), counts[0], found[0].Balance)
}

func changes(ctx context.Context, cancel func(), db *bobak.DB) {
` + checked(changes) + `
	fmt.Println(len(page.Changes), len(several.Changes), len(history))
}

func driver() {
` + checked(driver) + `
	_ = db
}

func check(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}
`
	said := regexp.MustCompile(`(?m)^(.*insert).*$`).ReplaceAllString(inModule(t, text), "$1")
	equal(t, said, "1000 1000 3 1 1000 205.00\n1 insert\n1 1 0\n")
}

// checked adds a check of the error to each statement.
func checked(part string) string {
	var out strings.Builder
	for _, line := range strings.SplitAfter(part, "\n") {
		out.WriteString(line)
		isStatement := regexp.MustCompile(`^[^\t}].*\berr :?= .*[^{]\n$`).MatchString(line)
		if isStatement || line == "})\n" {
			out.WriteString("check(err)\n")
		}
	}
	return out.String()
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	ok(t, err)
	return path
}
