package bobak

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

const (
	// patience is how long a child process may take to end after its input has ended.
	patience = 5 * time.Second
	// farewell is how long one that has closed its output may take to end, and to say why.
	farewell = 500 * time.Millisecond
)

// stream carries a connection's bytes.
type stream interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	// alive says whether the other end is there, and has said nothing unasked.
	alive() bool
}

// dial connects.
func dial(ctx context.Context, t *target) (stream, error) {
	if t.network == "stdio" {
		return startProgram(t.program)
	}
	ctx, cancel := context.WithTimeout(ctx, t.connectTimeout)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, t.network, t.address)
	if err != nil {
		return nil, err
	}
	if !t.tls {
		return &socket{raw, raw}, nil
	}
	settings, err := tlsSettings(t)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	secured := tls.Client(raw, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &socket{secured, raw}, nil
}

func tlsSettings(t *target) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(t.address)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if t.ca == "" {
		return settings, nil
	}
	trusted, err := os.ReadFile(t.ca)
	if err != nil {
		return nil, config("the certificates to trust can't be read: %v", err).Because(err)
	}
	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(trusted) {
		return nil, config("there is no certificate in %s", t.ca)
	}
	return settings, nil
}

// socket is a TCP connection, with or without TLS, or a Unix socket.
type socket struct {
	net.Conn
	raw net.Conn
}

func (s *socket) alive() bool { return isQuiet(s.raw, s.raw != s.Conn) }

// pipes are those of a child process.
type pipes struct {
	input, output *os.File
	command       *exec.Cmd
	ended         chan struct{}
	// words are its last on standard error; silent is closed when no more come.
	words  *lastWords
	silent chan struct{}
}

// startProgram starts a program. What it says on standard error goes to this process's.
func startProgram(words []string) (stream, error) {
	theirInput, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	output, theirOutput, err := os.Pipe()
	if err != nil {
		_, _ = theirInput.Close(), input.Close()
		return nil, err
	}
	// A pipe of this end's own: that of the command would be waited for as long as any process has it.
	said, theirWords, err := os.Pipe()
	if err != nil {
		_, _ = theirInput.Close(), input.Close()
		_, _ = output.Close(), theirOutput.Close()
		return nil, err
	}
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = theirInput, theirOutput, theirWords
	err = command.Start()
	_, _, _ = theirInput.Close(), theirOutput.Close(), theirWords.Close()
	if err != nil {
		_, _, _ = input.Close(), output.Close(), said.Close()
		return nil, err
	}
	p := &pipes{
		input, output, command, make(chan struct{}), &lastWords{onward: os.Stderr}, make(chan struct{}),
	}
	go func() {
		// How it ends, its state shows.
		_ = command.Wait()
		close(p.ended)
	}()
	go func() {
		_, _ = io.Copy(p.words, said)
		_ = said.Close()
		close(p.silent)
	}()
	return p, nil
}

func (p *pipes) Read(room []byte) (int, error) {
	count, err := p.output.Read(room)
	if errors.Is(err, io.EOF) {
		err = p.farewell()
	}
	return count, err
}

func (p *pipes) Write(data []byte) (int, error) {
	count, err := p.input.Write(data)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = p.farewell()
	}
	return count, err
}

// farewell is why no more comes: how the program has ended, and its last words, as far as they are
// known soon.
func (p *pipes) farewell() error {
	name, end := p.command.Path, "closed its output"
	if len(p.command.Args) > 0 {
		name = p.command.Args[0]
	}
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-p.ended:
		end = "ended (" + p.command.ProcessState.String() + ")"
		select {
		case <-p.silent:
		case <-timer.C:
		}
	case <-timer.C:
	}
	message := name + " " + end
	if said := p.words.String(); said != "" {
		message += ", and said: " + said
	}
	return &closed{message}
}

// closed is the end of a stream, with what is known of it.
type closed struct{ why string }

func (c *closed) Error() string { return c.why }
func (c *closed) Unwrap() error { return io.ErrUnexpectedEOF }

func (p *pipes) SetDeadline(deadline time.Time) error {
	if err := p.input.SetWriteDeadline(deadline); err != nil {
		return err
	}
	return p.output.SetReadDeadline(deadline)
}

func (p *pipes) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *pipes) Close() error {
	// The end of its input tells the program to end.
	_ = p.input.Close()
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	return p.output.Close()
}
