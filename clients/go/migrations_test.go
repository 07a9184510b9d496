package bobak

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrationsAreVerified(t *testing.T) {
	folder, ctx := t.TempDir(), context.Background()
	files := filepath.Join(folder, "migrations")
	table := `{"name":"t","key":["id"],"columns":[{"name":"id","type":"i64"}],"indexes":[]}`
	for name, text := range map[string]string{
		"0001_a": "first\nup\ncreate table " + table + "\n",
		"0002_b": "after 0001_a\nup\nrename table t to u\n",
	} {
		_ = os.MkdirAll(files, 0o700)
		text = "bobak migration 1\n" + text
		if err := os.WriteFile(filepath.Join(files, name+".migration"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(last string, kind Kind, message string) {
		t.Helper()
		db, err := Open(stdioURL(t, folder))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.VerifyMigrations(ctx, last)
		var failure *Error
		if message == "" && err == nil {
			return
		}
		if !errors.As(err, &failure) || failure.Kind != kind || !strings.Contains(err.Error(), message) {
			t.Fatalf("%s: %v", last, err)
		}
	}
	verify("0001_a", Schema, "older than the program: migrate it to 0001_a first")
	migrate := exec.Command(program(t), "migrate", "up", "app.db")
	migrate.Dir = folder
	if output, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	verify("0002_b", 0, "")
	verify("0001_a", Conflict, "newer than the program: it has migration 0002_b")
	verify("0003_c", Schema, "older than the program")
}
