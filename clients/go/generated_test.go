package bobak

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Airport and Flight have a column of each kind.
type Airport struct {
	Code string `bobak:",key,max=3"`
	Name string `bobak:",unique,collation=nocase"`
}

type Flight struct {
	ID       UUID
	Origin   string        `bobak:",references=airport(code),on_delete=cascade,index"`
	Number   uint16        `bobak:",check=number > 0,unique_index=number_of_day"`
	Day      time.Time     `bobak:",type=date,unique_index=number_of_day"`
	Leaves   time.Duration `bobak:",store=text"`
	Lands    *time.Time    `bobak:",type=datetime"`
	Price    Currency
	Late     *bool
	Distance float64
	Share    float32
	Notes    string `bobak:",search=english"`
	Data     []byte `bobak:",null"`
	Tags     json.RawMessage
	Extra    any
	Place    []float32 `bobak:",vector=2,null"`
	Made     time.Time `bobak:",created_at"`
	Changed  time.Time `bobak:",modified_at"`
	Version  int64     `bobak:",version"`
}

// useGenerated is a program that creates the tables of the generated structs.
const useGenerated = `package main

import (
	"context"
	"os"

	bobak "github.com/bobak-db/bobak/clients/go"
	"made/models"
)

func main() {
	db, err := bobak.Open(os.Args[1])
	if err == nil {
		err = db.Create(context.Background(), models.Airport{}, models.Flight{}, models.Odd{})
	}
	if err != nil {
		panic(err)
	}
	_ = db.Close()
}
`

// oddNames has a column with the name of the method, and others with characters that names in Go cannot have.
const oddNames = "CREATE TABLE odd (id INTEGER PRIMARY KEY, TableName TEXT, \"nai\u0308ve\" INTEGER, " +
	"\"na\u00efve\" INTEGER, \"\u2163\" INTEGER, i_d INTEGER, \"\uff83\uff7d\uff84\" INTEGER)"

func TestGeneratedStructsDescribeTheirTables(t *testing.T) {
	folder := t.TempDir()
	given := stdioURL(t, folder)
	db := open(t, given, Airport{}, Flight{})
	_, err := Exec(background, db, oddNames)
	ok(t, err)
	ok(t, db.Close())
	code := output(t, folder, program(t), "schema", "app.db", "--go")
	here, err := os.Getwd()
	ok(t, err)
	module := "module made\n\ngo 1.19\n\nrequire github.com/bobak-db/bobak/clients/go v0.0.0\n\n" +
		"replace github.com/bobak-db/bobak/clients/go => " + here + "\n"
	ok(t, os.Mkdir(filepath.Join(folder, "models"), 0o755))
	for name, text := range map[string]string{"go.mod": module, "main.go": useGenerated, "models/models.go": code} {
		ok(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	equal(t, output(t, folder, "gofmt", "-l", "models"), "")
	output(t, folder, "go", "vet", "./...")
	output(t, folder, "go", "run", ".", strings.Replace(given, "app.db", "made.db", 1))
	described := output(t, folder, program(t), "schema", "app.db")
	equal(t, output(t, folder, program(t), "schema", "made.db"), described)
	if !strings.Contains(described, "vector(2)?") {
		t.Errorf("described: %s", described)
	}
}

// output returns the output of a program that must succeed.
func output(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir, command.Stderr = folder, os.Stderr
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, arguments, err)
	}
	return string(printed)
}
