package bobak

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

// patience is how long a child process may take to end after its input has ended.
const patience = 5 * time.Second

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
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = theirInput, theirOutput, os.Stderr
	err = command.Start()
	_, _ = theirInput.Close(), theirOutput.Close()
	if err != nil {
		_, _ = input.Close(), output.Close()
		return nil, err
	}
	p := &pipes{input, output, command, make(chan struct{})}
	go func() {
		// How it ends, its output shows.
		_ = command.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *pipes) Read(room []byte) (int, error)  { return p.output.Read(room) }
func (p *pipes) Write(data []byte) (int, error) { return p.input.Write(data) }

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
