package bobak

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

type typeVector struct {
	Type, Text string
	Stored     any
}

func vectorsOf(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../vectors/" + name)
	ok(t, err)
	ok(t, json.Unmarshal(text, into))
}

func typeVectors(t *testing.T) []typeVector {
	var vectors []typeVector
	vectorsOf(t, "types.json", &vectors)
	for place := range vectors {
		vectors[place].Stored = vectorValue(vectors[place].Stored)
	}
	return vectors
}

// vectorValue returns a value of the vector files.
func vectorValue(found any) any {
	switch found := found.(type) {
	case float64:
		return int64(found)
	case map[string]any:
		if text, ok := found["int"].(string); ok {
			number, _ := strconv.ParseInt(text, 10, 64)
			return number
		}
		if text, ok := found["float"].(string); ok {
			number, _ := strconv.ParseFloat(text, 64)
			return number
		}
		data, _ := hex.DecodeString(found["hex"].(string))
		return data
	}
	return found
}

func welcome(t *testing.T) string {
	var vectors []struct{ Name, Hex string }
	vectorsOf(t, "wire.json", &vectors)
	for _, one := range vectors {
		if one.Name == "welcome" {
			data, _ := hex.DecodeString(one.Hex)
			return string(data)
		}
	}
	t.Fatal("the vectors have no welcome")
	return ""
}

// fakeServer sends each connection the responses, whatever it requests.
func fakeServer(t *testing.T, responses ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	ok(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			stream, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				room := make([]byte, 65_536)
				for _, answer := range responses {
					_, _ = stream.Read(room)
					_, _ = stream.Write([]byte(answer))
				}
			}()
		}
	}()
	return "bobak+unix:" + path
}

func head(kind wire.FrameKind, id, length uint32) string {
	return string(wire.AppendHead(nil, wire.Head{Length: length, Kind: kind, ID: id}))
}

func TestTCPRequiresCredentials(t *testing.T) {
	base := "bobak://" + serveTCP(t, t.TempDir()).place
	for _, rest := range []string{"/", "/main?token=0123456789abcdeF", "/main?user=a&password=b"} {
		_, err := Open(base + rest)
		fails(t, err, Denied)
	}
	_, err := Open(base + "/other?token=" + testToken)
	fails(t, err, Config)
	_, err = Open(base + "/main?token=" + testToken + "&x=1")
	if strings.Contains(fails(t, err, Config).Error(), testToken) {
		t.Fatal(err)
	}
	ok(t, open(t, base+"/main?token="+testToken).Ping(background))
}

func TestErrorsShowNoPassword(t *testing.T) {
	for _, url := range []string{
		"bobak://ada:sec%20ret@localhost:1/x", "bobak://ada:sec/ret@localhost/x", "bobak://ada:p?sec@localhost",
		"bobak://ada%40sec", "bobak://localhost:99999/x", "bobak://ada:sec?x=1",
	} {
		_, err := Open(url)
		if message := fails(t, err, Config).Error(); strings.Contains(message, "sec") {
			t.Error(message)
		}
	}
}

func TestTLS(t *testing.T) {
	folder := t.TempDir()
	make := "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 " +
		"-subj /CN=localhost -addext subjectAltName=DNS:localhost " +
		"-addext basicConstraints=critical,CA:FALSE"
	command := exec.Command("openssl", strings.Fields(make)...)
	command.Dir = folder
	if err := command.Run(); err != nil {
		t.Fatal("openssl, which makes the certificate, is missing: ", err)
	}
	server := serveTCP(t, folder, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	_, port, _ := net.SplitHostPort(server.place)
	url := "bobak://localhost:" + port + "/?token=" + testToken + "&tls=on"
	_, err := Open(url)
	fails(t, err, Unreachable)
	_, err = Open(strings.TrimSuffix(url, "&tls=on"))
	says(t, err, Config, "the server speaks TLS: add tls=on")
	_, err = Open("bobak://" + serveTCP(t, folder).place + "/?tls=on")
	says(t, err, Config, "does not speak TLS: remove tls=on")
	table := tableOf[Person](t, open(t, url+"&ca="+folder+"/cert.pem", Person{}))
	_, err = table.InsertMany(background, people(20_000))
	ok(t, err)
	found, err := table.All(background)
	ok(t, err)
	equal(t, len(found), 20_000)
}

// says checks the kind of an error, and its message.
func says(t *testing.T, err error, kind Kind, pattern string) {
	t.Helper()
	said := fails(t, err, kind).Error()
	if !regexp.MustCompile(pattern).MatchString(said) {
		t.Fatalf("expected %s, found %s", pattern, said)
	}
}

func TestTheErrorHasTheReasonOfAnEndedChild(t *testing.T) {
	folder := t.TempDir()
	loop := "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done"
	for url, why := range map[string]string{
		stdioURL(t, folder+"/none"):           `bobak ended \(exit status 1\), and said: bobak: could not open .*none/app\.db`,
		shell("kill -9 $$"):                   `: sh ended \(signal: killed\)$`,
		shell("echo hm; echo hm >&2; exit 3"): `: sh ended \(exit status 3\), and said: hm$`,
		// The process continues; the client waits only a moment.
		shell("exec >&-; echo hm >&2; read x"):              `: sh closed its output, and said: hm$`,
		shell(loop + "; printf '\\033[1mlast' >&2; exit 3"): `line 1999 \| \[1mlast$`,
	} {
		_, err := Open(url)
		says(t, err, Unreachable, why)
		equal(t, strings.Contains(err.Error(), "line 1900") || len(err.Error()) > 1_000, false)
	}
	db := open(t, shell(fmt.Sprintf("exec %s serve %s/app.db --stdio", program(t), folder)), Person{})
	table := tableOf[Person](t, db)
	err := db.InTx(background, func(tx *Tx) error {
		ok(t, tx.conn.stream.(*pipes).command.Process.Kill())
		return table.In(tx).Insert(background, &Person{Name: "lost"})
	})
	says(t, err, Unreachable, `sh ended \(signal: killed\); the transaction was rolled back`)
	count, err := table.Count(background)
	ok(t, err)
	equal(t, count, 0)
}

func TestWrongURLs(t *testing.T) {
	for _, url := range []string{
		"app.db", "bobak:", "bobak+unix:", "bobak+stdio: ", "http://x", "bobak://h?tls=maybe",
		"bobak://h?user=x", "bobak://h?timeout=x", "bobak://h?what=1", "bobak://h?token=1&token=2",
		"bobak://h?connections=0", "bobak://%zz",
		`bobak+stdio:true "app.db"`, "bobak+stdio:'true' x",
	} {
		_, err := Open(url)
		fails(t, err, Config)
	}
	for _, url := range []string{
		"bobak+unix:/nowhere/at/all", "bobak+stdio:/nowhere/at/all", "bobak+stdio:true",
		"bobak://127.0.0.1:1/",
	} {
		_, err := Open(url)
		fails(t, err, Unreachable)
	}
}

func TestAKilledServer(t *testing.T) {
	folder := t.TempDir()
	server := serveUnix(t, folder)
	db := open(t, "bobak+unix:"+server.place, Person{})
	table := tableOf[Person](t, db)
	ok(t, table.Insert(background, &Person{Name: "Ada"}))
	err := db.InTx(background, func(tx *Tx) error {
		ok(t, table.In(tx).Insert(background, &Person{Name: "lost"}))
		server.kill()
		return table.In(tx).Insert(background, &Person{Name: "lost too"})
	})
	equal(t, fails(t, err, Unreachable).Retryable(), true)
	_, err = table.Count(background)
	fails(t, err, Unreachable)
	server = serveUnix(t, folder)
	// A read is repeated on a new connection; the transaction is undone.
	count, err := table.Count(background)
	ok(t, err)
	equal(t, count, 1)
	server.kill()
	server = serveUnix(t, folder)
	// Nothing is sent on the closed connection, however short it has rested.
	db.pool.rested[0].used = time.Now()
	_, err = table.Set(background, 1, Set("age", 37))
	ok(t, err)
	ok(t, db.InTx(background, func(tx *Tx) error {
		return table.In(tx).Insert(background, &Person{Name: "b"})
	}))
	// Killed during a batch: the result is unknown.
	b, err := NewBatch(background, db, BatchOptions{})
	ok(t, err)
	many := people(40_000)
	for place := range many {
		if place == 20_000 {
			server.kill()
		}
		if err = table.BatchInsert(b, &many[place]); err != nil {
			break
		}
	}
	if err == nil {
		_, err = b.Finish()
	}
	equal(t, fails(t, err, Unknown).Retryable(), false)
	b.Discard()
}

func TestAClientThatExitsDuringATransaction(t *testing.T) {
	if url := os.Getenv("BOBAK_TEST_EXIT"); url != "" {
		db, _ := Open(url)
		tx, _ := db.Begin(background)
		table, _ := Of[Person](background, tx)
		_ = table.Insert(background, &Person{Name: "x"})
		os.Exit(7)
	}
	url := "bobak+unix:" + serveUnix(t, t.TempDir()).place
	table := tableOf[Person](t, open(t, url, Person{}))
	other := exec.Command(os.Args[0], "-test.run", t.Name())
	other.Env = append(os.Environ(), "BOBAK_TEST_EXIT="+url)
	ended := (*exec.ExitError)(nil)
	if err := other.Run(); !errors.As(err, &ended) || ended.ExitCode() != 7 {
		t.Fatal(err)
	}
	// Its transaction is undone: others can write, and see none of its changes.
	one := Person{Name: "y"}
	ok(t, table.Insert(background, &one))
	equal(t, one.ID, 1)
}

func TestInvalidResponses(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		strings.Repeat("\x00", 12),
		head(wire.Ok, 1, 0),
		head(wire.Ok, 77, 0),
		head(wire.Ping, 2, 0),
		head(wire.Count, 2, 8) + "12345678",
		head(wire.Welcomed, 1, 3) + "abc",
	} {
		_, err := Open(fakeServer(t, answer))
		if strings.HasPrefix(answer, "HTTP") {
			// The response to the first request shows another protocol.
			fails(t, err, Config)
		} else {
			fails(t, err, Unreachable)
		}
		db, err := Open(fakeServer(t, welcome(t), answer))
		ok(t, err)
		fails(t, db.Ping(background), Unreachable)
		_, err = Exec(background, db, "DELETE FROM x")
		if !strings.HasPrefix(answer, head(wire.Count, 2, 8)) {
			fails(t, err, Unknown)
		}
	}
}

func TestMissingResponses(t *testing.T) {
	_, err := Open(fakeServer(t) + "?timeout=50")
	fails(t, err, Timeout)
	db, err := Open(fakeServer(t, welcome(t)) + "?timeout=50")
	ok(t, err)
	fails(t, db.Ping(background), Timeout)
	_, err = Exec(background, db, "DELETE FROM x")
	fails(t, err, Unknown)
}

func TestLimits(t *testing.T) {
	folder := t.TempDir()
	server := serveUnix(t, folder, "--max-frame", "100000", "--max-row", "50000")
	db := open(t, "bobak+unix:"+server.place+"?connections=1&timeout=300", Square{})
	_, err := SQL[string](background, db, "SELECT ?", strings.Repeat("x", 100_000))
	fails(t, err, OutOfRange)
	table := tableOf[Square](t, db)
	long, longer := strings.Repeat("y", 20_000), strings.Repeat("y", 60_000)
	var squares []Square
	for row := int16(0); row < 30; row++ {
		squares = append(squares, Square{Row: row, TakenBy: &long})
	}
	// Batches are divided to fit the server's limits.
	_, err = table.InsertMany(background, squares)
	ok(t, err)
	squares[20].TakenBy = &longer
	_, err = table.InsertMany(background, squares)
	equal(t, fails(t, err, OutOfRange).Row, 20)
	ok(t, db.InTx(background, func(*Tx) error {
		_, err := table.Count(background)
		fails(t, err, Busy)
		return nil
	}))
	ok(t, db.Close())
	_, err = table.Count(background)
	fails(t, err, Misuse)
}
