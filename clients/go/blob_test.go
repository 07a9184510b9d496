package bobak

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

type Photo struct {
	ID      int64
	Name    string `bobak:",index=photo_name"`
	Data    *[]byte
	Version int64 `bobak:",version"`
}

func photoData() []byte {
	data := make([]byte, 1_500_001)
	for at := range data {
		data[at] = byte(uint64(at) * 0x9e3779b9 >> 13)
	}
	return data
}

// failing returns some bytes, and then an error.
type failing struct{ rest int }

var errGone = errors.New("the disk is gone")

func (f *failing) Read(room []byte) (int, error) {
	if f.rest == 0 {
		return 0, errGone
	}
	count := len(room)
	if count > f.rest {
		count = f.rest
	}
	f.rest -= count
	return count, nil
}

func TestValuesInParts(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db, data := background, open(t, url, Photo{}), photoData()
		photos := tableOf[Photo](t, db)
		photo := Photo{Name: "sea"}
		ok(t, photos.Insert(ctx, &photo))
		for _, key := range []int64{photo.ID, photo.ID + 1} {
			_, err := photos.ReadBlob(ctx, key, "data")
			fails(t, err, NotFound)
		}
		found, err := photos.WriteBlob(ctx, photo.ID, "data", int64(len(data)), bytes.NewReader(data))
		ok(t, err)
		equal(t, found, true)
		found, err = photos.WriteBlob(ctx, photo.ID+1, "data", 1, strings.NewReader("a"))
		ok(t, err)
		equal(t, found, false)
		stored, err := photos.Get(ctx, photo.ID)
		ok(t, err)
		if !bytes.Equal(*stored.Data, data) || stored.Version != 1 {
			t.Fatal("another value, or version", stored.Version)
		}
		blob, err := photos.ReadBlob(ctx, photo.ID, "data")
		ok(t, err)
		equal(t, blob.Size(), int64(len(data)))
		whole, err := io.ReadAll(blob)
		ok(t, err)
		if !bytes.Equal(whole, data) {
			t.Fatal("another value")
		}
		_, err = blob.Seek(-3, io.SeekEnd)
		ok(t, err)
		end, err := io.ReadAll(blob)
		ok(t, err)
		equal(t, string(end), string(data[len(data)-3:]))
		part := make([]byte, 100)
		_, err = blob.ReadAt(part, 1<<20-50)
		ok(t, err)
		equal(t, string(part), string(data[1<<20-50:1<<20+50]))
		_, err = blob.Seek(-1, io.SeekStart)
		fails(t, err, Misuse)
		ok(t, blob.Close())

		for _, length := range []int64{0, int64(len(data)) - 1, int64(len(data)) + 1} {
			_, err = photos.WriteBlob(ctx, photo.ID, "data", length, bytes.NewReader(data))
			fails(t, err, Misuse)
		}
		for _, count := range []int{10, 600_000} {
			_, err = photos.WriteBlob(ctx, photo.ID, "data", 700_000, &failing{count})
			if err != errGone {
				t.Fatal(err)
			}
		}
		stored, err = photos.Get(ctx, photo.ID)
		ok(t, err)
		equal(t, stored.Version, int64(1))
		_, err = photos.ReadBlob(ctx, photo.ID, "name")
		fails(t, err, Unsupported)

		blob, err = photos.ReadBlob(ctx, photo.ID, "data")
		ok(t, err)
		_, err = photos.Set(ctx, photo.ID, Set("name", "land"))
		ok(t, err)
		_, err = blob.ReadAt(part, 1_200_000)
		fails(t, err, Conflict)
	})
}

func TestPlans(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Photo{})
		photos := tableOf[Photo](t, db)
		plan, err := photos.Where(Col("version").Eq(1)).Explain(ctx)
		ok(t, err)
		if len(plan.Advice) != 1 || !reflect.DeepEqual(plan.Advice[0].Columns, []string{"version"}) {
			t.Fatal(plan)
		}
		equal(t, plan.Steps[0].Table+" "+plan.Steps[0].Access, "photo scan")
		plan, err = photos.Where(Col("name").Eq("sea")).Explain(ctx)
		ok(t, err)
		if len(plan.Advice) != 0 || plan.Steps[0].Access != "search" {
			t.Fatal(plan)
		}
		plan, err = Explain(ctx, db, "SELECT id FROM photo AS p WHERE p.version = ?", 1)
		ok(t, err)
		equal(t, plan.Steps[0].Table+" "+plan.Advice[0].Columns[0], "photo version")
		if !strings.HasSuffix(plan.String(), "advice: "+plan.Advice[0].Message+"\n") {
			t.Error(plan)
		}
		_, err = Explain(ctx, db, "SELECT missing FROM photo")
		fails(t, err, Schema)
	})
}
