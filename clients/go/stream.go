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
	// endTimeout is how long a child process may take to end after its input has ended.
	endTimeout = 5 * time.Second
	// reasonTimeout is how long to wait for the exit status after a child process has closed its output.
	reasonTimeout = 500 * time.Millisecond
)

// stream carries a connection's bytes.
type stream interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	// alive reports whether the other end is connected and has sent nothing.
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
		return nil, config("could not read the trusted certificates: %v", err).Because(err)
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

func (s *socket) alive() bool { return hasNothingToRead(s.raw, s.raw != s.Conn) }

// pipes are the pipes to a child process.
type pipes struct {
	input, output *os.File
	command       *exec.Cmd
	ended         chan struct{}
	// tail is the end of its standard error; silent is closed when that has ended.
	tail   *errorTail
	silent chan struct{}
}

// startProgram starts a program. Its standard error is copied to that of this process.
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
	// An own pipe, because Wait would block as long as any process has the command's pipe open.
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
		input, output, command, make(chan struct{}), &errorTail{onward: os.Stderr}, make(chan struct{}),
	}
	go func() {
		// ProcessState has the exit status.
		_ = command.Wait()
		close(p.ended)
	}()
	go func() {
		_, _ = io.Copy(p.tail, said)
		_ = said.Close()
		close(p.silent)
	}()
	return p, nil
}

func (p *pipes) Read(room []byte) (int, error) {
	count, err := p.output.Read(room)
	if errors.Is(err, io.EOF) {
		err = p.reason()
	}
	return count, err
}

func (p *pipes) Write(data []byte) (int, error) {
	count, err := p.input.Write(data)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = p.reason()
	}
	return count, err
}

// reason returns why the stream has ended: the exit status and the end of standard error, if they are known
// soon.
func (p *pipes) reason() error {
	name, end := p.command.Path, "closed its output"
	if len(p.command.Args) > 0 {
		name = p.command.Args[0]
	}
	timer := time.NewTimer(reasonTimeout)
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
	if said := p.tail.String(); said != "" {
		message += ", and said: " + said
	}
	return &closed{message}
}

// closed is the error of a stream that has ended.
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
	// The program ends when its input ends.
	_ = p.input.Close()
	select {
	case <-p.ended:
	case <-time.After(endTimeout):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	return p.output.Close()
}
