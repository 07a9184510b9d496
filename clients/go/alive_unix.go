//go:build unix

package bobak

import (
	"net"
	"syscall"
)

// isQuiet looks, without waiting, whether a socket has nothing to read, not even its end. Under TLS
// there may be something that is nobody's answer.
func isQuiet(conn net.Conn, tls bool) bool {
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
