package bobak

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// UUID is 16 bytes.
type UUID [16]byte

// ParseUUID reads 32 hexadecimal digits, with or without hyphens.
func ParseUUID(text string) (UUID, error) {
	var id UUID
	digits := strings.ReplaceAll(text, "-", "")
	if count, err := hex.Decode(id[:], []byte(digits)); len(digits) != 32 || err != nil || count != 16 {
		return UUID{}, wire.Errorf(Mismatch, "'%s' is not a UUID", text)
	}
	return id, nil
}

func (id UUID) String() string {
	text := hex.EncodeToString(id[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

var lastUUID struct {
	sync.Mutex
	tick uint64
}

// NewUUID returns a UUID of version 7, which sorts after every one that this process made before.
func NewUUID() UUID {
	// 48 bits of milliseconds and 12 bits of a counter. The counter overflows into the milliseconds if many
	// are made in one millisecond, or if the clock goes back.
	now := uint64(time.Now().UnixMilli()) << 12
	lastUUID.Lock()
	lastUUID.tick++
	if lastUUID.tick < now {
		lastUUID.tick = now
	}
	tick := lastUUID.tick
	lastUUID.Unlock()
	var id UUID
	binary.BigEndian.PutUint64(id[:], tick>>12<<16|7<<12|tick&0xfff)
	// Read does not fail on supported systems; without it the key would still be unique in this process.
	_, _ = rand.Read(id[8:])
	id[8] = id[8]&0x3f | 0x80
	return id
}
