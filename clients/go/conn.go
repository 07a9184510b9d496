package bobak

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

const (
	// rested is how long a connection may be idle without being tested before its next use.
	rested = 200 * time.Millisecond
	// grace is how long a cancelled request may take to end before the connection is closed.
	grace = 2 * time.Second
	// credit is how many bytes of rows the server may send before the client grants more.
	credit = 1 << 20
	// texts is how many SQL texts a connection remembers: repeated ones are prepared.
	texts = 256
)

// effect is what a broken connection means for the call that used it.
type effect int

const (
	nothing     effect = iota // the call may be repeated
	transaction               // the transaction is undone
	unknown                   // the call may have been committed
)

var numbers uint64

// conn is one connection: it sends requests, reads responses, and numbers tables and SQL texts. Calls of several
// goroutines take turns; only cancelling happens in another one.
type conn struct {
	number  uint64
	stream  stream
	welcome wire.Welcome
	timeout time.Duration

	in       []byte // received bytes; in[at:] is not decoded yet
	at       int
	out      []byte
	next     uint32
	pending  map[uint32]bool
	tables   map[*plan]uint32
	byName   map[string]uint32
	texts    map[string]*uint32
	numbered uint32
	used     time.Time

	turn    chan struct{} // is full while a call runs
	writing sync.Mutex    // guards writing to stream

	mutex     sync.Mutex // guards the deadline of stream, and the two below
	cancelled error
	waiting   []uint32
	broken    atomic.Bool
}

func connect(ctx context.Context, t *target) (*conn, error) {
	stream, err := dial(ctx, t)
	if err != nil {
		if known := (*Error)(nil); errors.As(err, &known) {
			return nil, known
		}
		if notTLS := (tls.RecordHeaderError{}); errors.As(err, &notTLS) {
			return nil, wire.Errorf(Config, "%s does not speak TLS: remove tls=on, or start the "+
				"server with a certificate", t.place()).Because(err)
		}
		kind := Unreachable
		if cause := ctx.Err(); cause != nil {
			kind, err = kindOf(cause), cause
		}
		return nil, wire.Errorf(kind, "could not reach %s: %v", t.place(), err).Because(err)
	}
	c := &conn{
		number: atomic.AddUint64(&numbers, 1), stream: stream, timeout: t.timeout, next: 1,
		pending: map[uint32]bool{}, byName: map[string]uint32{},
		tables: map[*plan]uint32{}, texts: map[string]*uint32{}, turn: make(chan struct{}, 1),
	}
	c.welcome.Frame, c.welcome.Window = 1<<26, 1<<22
	err = c.call(ctx, nothing, func() error {
		id, err := c.put(wire.Hello, false, func(w *wire.Writer) {
			wire.PutHello(w, [2]uint16{1, 1}, t.database, "bobak-go "+Version, t.shown)
		})
		if err != nil {
			return err
		}
		_, body, err := c.receive(id, wire.Welcomed)
		if err != nil {
			return err
		}
		c.welcome, err = wire.ParseWelcome(body)
		return err
	})
	if err != nil {
		c.close()
		if foreign := wire.Foreign(c.in[c.at:]); foreign != "" {
			return nil, wire.Errorf(Config, "%s", foreign).Because(err)
		}
		return nil, err
	}
	return c, nil
}

func (c *conn) close() {
	c.broken.Store(true)
	_ = c.stream.Close()
}

// idle reports whether the connection works and has no outstanding requests.
func (c *conn) idle() bool {
	return !c.broken.Load() && len(c.pending) == 0 && len(c.out) == 0 && c.at == len(c.in)
}

// usable reports whether a pooled connection still works. A write on one that the server has closed would be Unknown.
func (c *conn) usable(writes bool) bool {
	return c.idle() && (!writes && time.Since(c.used) < rested || c.stream.alive())
}

// broke is an error that makes the connection unusable.
type broke struct {
	cause   error
	garbled bool
}

func (b *broke) Error() string { return b.cause.Error() }

// call runs an operation under a context, after those that began before. If the connection breaks, the error says what
// that means for the call.
func (c *conn) call(ctx context.Context, lost effect, run func() error) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer func() { <-c.turn }()
	if c.broken.Load() {
		return lostConnection(lost)
	}
	done := c.watch(ctx)
	err := run()
	if flushErr := c.flush(); err == nil {
		err = flushErr
	}
	stopped := done()
	c.used = time.Now()
	var broken *broke
	if garbled := wire.Garbled(""); errors.As(err, &garbled) {
		broken = &broke{garbled, true}
	}
	if broken == nil && !errors.As(err, &broken) {
		if stopped != nil && err != nil && errors.Is(err, Interrupted) {
			return interrupted(stopped)
		}
		return err
	}
	c.broken.Store(true)
	if stopped == nil {
		return broken.tell(lost)
	}
	if lost == unknown {
		return wire.Errorf(Unknown, "the call was cancelled: %v; the write happened completely or not at all", stopped).
			Because(stopped)
	}
	return interrupted(stopped)
}

// take waits for the turn of a call.
func (c *conn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return interrupted(err)
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return interrupted(ctx.Err())
	}
}

// watch cancels the outstanding requests when the context ends. The returned function stops the watching,
// and returns the context's error if it has ended.
func (c *conn) watch(ctx context.Context) func() error {
	c.mutex.Lock()
	c.cancelled = nil
	c.mutex.Unlock()
	if ctx.Done() == nil {
		return func() error { return nil }
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			c.cancel(ctx.Err())
		case <-stop:
		}
	}()
	return func() error {
		close(stop)
		<-stopped
		return c.cancelled
	}
}

func (c *conn) cancel(why error) {
	c.mutex.Lock()
	c.cancelled = why
	// It also ends a write that is blocked.
	_ = c.stream.SetDeadline(time.Now().Add(grace))
	var out []byte
	for _, id := range c.waiting {
		out = wire.AppendFrame(out, wire.Cancel, false, id, nil)
	}
	c.mutex.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	// If this fails, the deadline ends the call.
	_, _ = c.stream.Write(out)
}

// put adds a request to the output buffer, and returns its number.
func (c *conn) put(kind wire.FrameKind, more bool, put func(*wire.Writer)) (uint32, error) {
	id, start := c.next, len(c.out)
	c.out = wire.AppendFrame(c.out, kind, more, id, put)
	if size := len(c.out) - start - wire.HeadSize; size > int(c.welcome.Frame) {
		c.out = c.out[:start]
		return 0, wire.Errorf(OutOfRange, "the request has %d bytes, and the server accepts %d", size,
			c.welcome.Frame)
	}
	if c.next++; c.next == 0 {
		// 0 is for messages that answer no request.
		c.next = 1
	}
	if !kind.Unanswered() {
		c.pending[id] = true
		c.mutex.Lock()
		c.waiting = append(c.waiting, id)
		c.mutex.Unlock()
	}
	return id, nil
}

// putMore adds a further frame of a request.
func (c *conn) putMore(kind wire.FrameKind, more bool, id uint32, put func(*wire.Writer)) {
	c.out = wire.AppendFrame(c.out, kind, more, id, put)
}

// flush sends the output buffer.
func (c *conn) flush() error {
	if len(c.out) == 0 || c.broken.Load() {
		return nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.extend()
	_, err := c.stream.Write(c.out)
	if c.out = c.out[:0]; cap(c.out) > 4<<20 {
		c.out = nil
	}
	if err != nil {
		return &broke{cause: err}
	}
	return nil
}

// extend restarts the timeout, unless the call was cancelled.
func (c *conn) extend() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cancelled == nil {
		deadline := time.Time{}
		if c.timeout > 0 {
			deadline = time.Now().Add(c.timeout)
		}
		_ = c.stream.SetDeadline(deadline)
	}
}

// receive waits for the next frame of a response. Its body is valid until the next call.
func (c *conn) receive(id uint32, kind wire.FrameKind) (wire.Head, []byte, error) {
	if err := c.flush(); err != nil {
		return wire.Head{}, nil, err
	}
	head, body, err := c.frame()
	if err != nil {
		return head, nil, err
	}
	if !head.More {
		c.completed(head.ID)
	}
	switch {
	case head.ID == 0 && head.Kind == wire.Failure:
		said, err := wire.ParseError(body)
		if err != nil {
			return head, nil, err
		}
		return head, nil, &broke{cause: said}
	case head.ID != id:
		return head, nil, wire.Garbled("a response to a request that was not sent")
	case head.Kind == wire.Failure:
		said, err := wire.ParseError(body)
		if err != nil {
			return head, nil, err
		}
		return head, nil, said
	case head.Kind != kind:
		return head, nil, wire.Garbled("a response of an unexpected kind")
	}
	return head, body, nil
}

func (c *conn) completed(id uint32) {
	delete(c.pending, id)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for place, other := range c.waiting {
		if other == id {
			c.waiting = append(c.waiting[:place], c.waiting[place+1:]...)
			return
		}
	}
}

// frame reads the next frame from the stream.
func (c *conn) frame() (wire.Head, []byte, error) {
	if err := c.fill(wire.HeadSize); err != nil {
		return wire.Head{}, nil, err
	}
	head, err := wire.ParseHead(c.in[c.at:])
	if err != nil {
		return head, nil, err
	}
	end := wire.HeadSize + int(head.Length)
	if err := c.fill(end); err != nil {
		return head, nil, err
	}
	body := c.in[c.at+wire.HeadSize : c.at+end]
	c.at += end
	return head, body, nil
}

// fill reads until so many bytes are buffered. Memory grows with the received bytes, not with the length
// that a head claims.
func (c *conn) fill(size int) error {
	for len(c.in)-c.at < size {
		if c.at > 0 && cap(c.in)-c.at < size {
			c.in = append(c.in[:0], c.in[c.at:]...)
			c.at = 0
		} else if c.at == len(c.in) {
			c.in, c.at = c.in[:0], 0
		}
		if cap(c.in)-len(c.in) < 64<<10 {
			grown := make([]byte, len(c.in), 2*cap(c.in)+128<<10)
			copy(grown, c.in)
			c.in = grown
		}
		c.extend()
		count, err := c.stream.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+count]
		if err != nil && count == 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return &broke{cause: err}
		}
	}
	return nil
}

// table returns the number of a table, which it defines on the server before its first use.
func (c *conn) table(p *plan) (uint32, error) {
	if number, ok := c.tables[p]; ok {
		return number, nil
	}
	number, ok := c.byName[string(p.described)]
	if !ok {
		if len(c.byName) >= int(c.welcome.Handles) {
			// The server accepts no more definitions: start again with number 0.
			c.byName = map[string]uint32{}
		}
		number = uint32(len(c.byName))
		_, err := c.put(wire.Define, false, func(w *wire.Writer) {
			w.U32(number)
			w.Out = append(w.Out, p.described...)
		})
		if err != nil {
			return 0, err
		}
		c.byName[string(p.described)] = number
		c.tables = map[*plan]uint32{}
	}
	c.tables[p] = number
	return number, nil
}

// tablesOf returns the number of a table, and sets those of the tables that a condition names.
func (c *conn) tablesOf(p *plan, condition *wire.Condition) (uint32, error) {
	if err := c.setNumbers(condition); err != nil {
		return 0, err
	}
	number, err := c.table(p)
	if err != nil {
		return 0, err
	}
	// A definition may have started again with number 0. All are known now.
	return number, c.setNumbers(condition)
}

func (c *conn) setNumbers(condition *wire.Condition) (err error) {
	if condition == nil {
		return nil
	}
	if condition.Tag == wire.InQuery {
		if condition.Table, err = c.table(condition.Other.(*plan)); err != nil {
			return err
		}
	}
	for place := range condition.Parts {
		if err := c.setNumbers(&condition.Parts[place]); err != nil {
			return err
		}
	}
	return nil
}

// sql returns a function that encodes an SQL text. A repeated text is prepared, and then has a number.
func (c *conn) sql(text string, parameters []wire.Parameter) (func(*wire.Writer), error) {
	number, seen := c.texts[text]
	if !seen {
		if len(c.texts) >= texts {
			c.texts, c.numbered = map[string]*uint32{}, 0
		}
		c.texts[text] = nil
		return func(w *wire.Writer) { wire.PutSQL(w, text, parameters) }, nil
	}
	if number == nil {
		given := c.numbered
		_, err := c.put(wire.Prepare, false, func(w *wire.Writer) {
			w.U32(given)
			w.Text(text)
		})
		if err != nil {
			return nil, err
		}
		c.numbered++
		number = &given
		c.texts[text] = number
	}
	return func(w *wire.Writer) { wire.PutStatement(w, *number, parameters) }, nil
}

// tell is the error for the user.
func (b *broke) tell(lost effect) *Error {
	said := (*Error)(nil)
	rejected := errors.As(b.cause, &said)
	if rejected && lost == nothing {
		// Rejected before anything was done: its own kind says more.
		return said
	}
	kind := Unreachable
	message := "the connection to the server broke: " + b.cause.Error()
	switch {
	case errors.Is(b.cause, os.ErrDeadlineExceeded):
		kind, message = Timeout, "the server did not answer in time"
	case errors.Is(b.cause, io.ErrUnexpectedEOF):
		message = "the server closed the connection"
		if known := (*closed)(nil); errors.As(b.cause, &known) {
			message += ": " + known.why
		}
	case b.garbled:
		message = "the server sent an invalid message: " + b.cause.Error()
	case rejected:
		message = "the server closed the connection: " + said.Message
	}
	switch lost {
	case transaction:
		message += "; the transaction was rolled back: run it again from its start"
	case unknown:
		kind = Unknown
		message += "; the write happened completely or not at all"
	}
	return wire.Errorf(kind, "%s", message).Because(b.cause)
}

func (b *broke) Unwrap() error { return b.cause }

func interrupted(cause error) *Error {
	return wire.Errorf(kindOf(cause), "the call was cancelled: %v", cause).Because(cause)
}

func kindOf(cause error) Kind {
	if errors.Is(cause, context.DeadlineExceeded) {
		return Timeout
	}
	return Interrupted
}

// lostConnection is the error of a call on a connection that broke in an earlier one.
func lostConnection(lost effect) *Error {
	message := "the connection to the server broke"
	if lost == transaction {
		message += "; the transaction was rolled back: run it again from its start"
	}
	return wire.Errorf(Unreachable, "%s", message)
}

func misuse(format string, arguments ...any) *Error {
	return wire.Errorf(Misuse, format, arguments...)
}
