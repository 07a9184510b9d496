//go:build unix

package bobak

import (
	"net"
	"syscall"
)

// hasNothingToRead reports whether a socket is open and has nothing to read. It does not block. Under TLS
// there may be bytes that belong to no response.
func hasNothingToRead(conn net.Conn, tls bool) bool {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	access, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = access.Read(func(fd uintptr) bool {
		var room [1]byte
		count, _, err := syscall.Recvfrom(int(fd), room[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || tls && count > 0
		return true
	})
	return err == nil && quiet
}
