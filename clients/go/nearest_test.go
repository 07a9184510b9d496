package bobak

import (
	"math"
	"reflect"
	"testing"
)

type Picture struct {
	ID       int64
	Language string
	Looks    []float32 `bobak:",vector=3"`
	Small    []float32 `bobak:",vector=2,null"`
}

func TestNearest(t *testing.T) {
	overEachTransport(t, func(t *testing.T, url string) {
		ctx, db := background, open(t, url, Picture{})
		pictures := tableOf[Picture](t, db)
		second := Picture{2, "fr", []float32{0.5, 2.5, 0}, []float32{3, 4}}
		for _, picture := range []Picture{
			{1, "en", []float32{1, 0, 0}, nil}, second, {3, "en", []float32{-1, 0.25, 0}, nil},
		} {
			ok(t, pictures.Insert(ctx, &picture))
		}
		found, err := pictures.Get(ctx, int64(2))
		if err != nil || !reflect.DeepEqual(*found, second) {
			t.Fatal(found, err)
		}
		by := func(metric Metric, to ...float32) *Query[Picture] {
			return pictures.Where().Nearest("looks", metric, to, 10)
		}
		for _, one := range []struct {
			found  *Query[Picture]
			wanted [][]any
		}{
			{by(Euclidean, 1, 0, 0).Limit(1), [][]any{{int64(1), 0.0}}},
			{by(Euclidean, 1, 0, 0).Limit(1).Offset(1), [][]any{{int64(3), math.Sqrt(4.0625)}}},
			{by(Dot, 0, 1, 0).Limit(1), [][]any{{int64(2), -2.5}}},
			{pictures.Where(Col("language").Eq("fr")).Nearest("looks", Dot, []float32{1, 0, 0}, 9), [][]any{{int64(2), -0.5}}},
			{pictures.Where().Nearest("small", Euclidean, []float32{3, 5}, 9), [][]any{{int64(2), 1.0}}},
		} {
			rows, err := one.found.Select(ctx, nil, Column("id"), Distance())
			if err != nil || !reflect.DeepEqual(rows, one.wanted) {
				t.Fatal(rows, one.wanted, err)
			}
		}
		read, err := SQL[Picture](ctx, db, "SELECT * FROM picture WHERE id = ?", 2)
		if err != nil || !reflect.DeepEqual(read, []Picture{second}) {
			t.Fatal(read, err)
		}
		all, err := by(Cosine, 2, 0, 0).All(ctx)
		if err != nil || len(all) != 3 || all[0].ID != 1 || all[2].ID != 3 {
			t.Fatal(all, err)
		}
		nan, infinite := float32(math.NaN()), float32(math.Inf(1))
		for _, one := range []struct {
			found *Query[Picture]
			kind  Kind
		}{
			{by(Cosine, 1, 2), Mismatch},
			{by(Cosine, 1, nan, 0), OutOfRange},
			{by(Cosine, 1, infinite, 0), OutOfRange},
			{by(Cosine, 0, 0, 0), OutOfRange},
			{by(Cosine, 1, 0, 0).OrderBy("id"), Unsupported},
			{by(Cosine, 1, 0, 0).Search("fox"), Unsupported},
			{by(Cosine, 1, 0, 0).Lock(Wait), Unsupported},
			{by(Cosine), Mismatch},
			{by(Metric(3), 1, 0, 0), Misuse},
			{pictures.Where().Nearest("id", Dot, []float32{1}, 1), Mismatch},
		} {
			_, err := one.found.All(ctx)
			fails(t, err, one.kind)
			if one.kind == OutOfRange && err.(*Error).Column != "looks" {
				t.Fatal(err)
			}
		}
		fails(t, pictures.Insert(ctx, &Picture{9, "en", []float32{1}, nil}), Mismatch)
		fails(t, pictures.Insert(ctx, &Picture{9, "en", []float32{1, nan, 2}, nil}), OutOfRange)
		fails(t, pictures.Insert(ctx, &Picture{9, "en", nil, nil}), Mismatch)
		_, err = by(Cosine, 1, 0, 0).Delete(ctx)
		fails(t, err, Misuse)
		_, err = by(Cosine, 1, 0, 0).Count(ctx)
		fails(t, err, Unsupported)
		_, err = pictures.Where().Select(ctx, nil, Distance())
		fails(t, err, Schema)
	})
}

func TestVectorsInChanges(t *testing.T) {
	ctx, db := background, open(t, "bobak+unix:"+serveUnix(t, t.TempDir()).place, Picture{})
	ok(t, db.Track(ctx, "picture", true))
	pictures := tableOf[Picture](t, db)
	picture := Picture{1, "en", []float32{1, 0, 0}, nil}
	ok(t, pictures.Insert(ctx, &picture))
	page, err := pictures.Changes(ctx, 0, 10)
	if err != nil || len(page.Changes) != 1 || !reflect.DeepEqual(*page.Changes[0].After, picture) {
		t.Fatal(page, err)
	}
}

func TestAVectorHasALength(t *testing.T) {
	for _, wrong := range []any{
		struct {
			ID int64
			V  []float32
		}{},
		struct {
			ID int64
			V  []float32 `bobak:",vector=0"`
		}{},
		struct {
			ID int64
			V  []float32 `bobak:",vector=65536"`
		}{},
		struct {
			ID int64
			V  []float32 `bobak:",type=vector"`
		}{},
	} {
		_, err := describe(reflect.TypeOf(wrong))
		fails(t, err, Schema)
	}
}
