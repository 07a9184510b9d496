package bobak

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// pool is a connection pool. Over pipes it has one connection.
type pool struct {
	target *target
	free   chan struct{}
	// transactions is the number of connections in transactions.
	transactions atomic.Int64

	mutex  sync.Mutex
	rested []*conn
	closed bool
}

func newPool(t *target) *pool {
	most := t.connections
	if t.network == "stdio" {
		most = 1
	}
	return &pool{target: t, free: make(chan struct{}, most)}
}

// take returns a connection, and whether it was used before: then it may have broken unnoticed.
func (p *pool) take(ctx context.Context, writes bool) (*conn, bool, error) {
	limit := p.target.timeout
	if limit == 0 {
		limit = time.Minute
	}
	select {
	case p.free <- struct{}{}:
	default:
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case p.free <- struct{}{}:
		case <-ctx.Done():
			err := ctx.Err()
			return nil, false, wire.Errorf(kindOf(err), "the call was cancelled: %v: %s", err, p.inUse()).Because(err)
		case <-timer.C:
			return nil, false, wire.Errorf(Busy, "%s", p.inUse())
		}
	}
	for {
		found, err := p.pop()
		if err != nil {
			<-p.free
			return nil, false, err
		}
		if found == nil {
			break
		}
		if found.usable(writes) {
			return found, true, nil
		}
		found.close()
	}
	opened, err := connect(ctx, p.target)
	if err != nil {
		<-p.free
		return nil, false, err
	}
	return opened, false, nil
}

// inUse says why a call waits. A call outside the transaction of its own goroutine may wait for itself.
func (p *pool) inUse() string {
	message := fmt.Sprintf("all %d connections to the server are in use", cap(p.free))
	if count := p.transactions.Load(); count > 0 {
		message += fmt.Sprintf(", %d of them in transactions, within which tables need In(tx), and SQL and Exec the tx", count)
	}
	return message
}

func (p *pool) pop() (*conn, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return nil, misuse("the database is closed")
	}
	if len(p.rested) == 0 {
		return nil, nil
	}
	last := len(p.rested) - 1
	found := p.rested[last]
	p.rested = p.rested[:last]
	return found, nil
}

// give returns a connection to the pool, or closes it if it is broken or has outstanding requests.
func (p *pool) give(c *conn) {
	p.mutex.Lock()
	keep := c.idle() && !p.closed
	if keep {
		p.rested = append(p.rested, c)
	}
	p.mutex.Unlock()
	if !keep {
		c.close()
	}
	<-p.free
}

func (p *pool) close() {
	p.mutex.Lock()
	rested := p.rested
	p.rested, p.closed = nil, true
	p.mutex.Unlock()
	for _, c := range rested {
		c.close()
	}
}
