//go:build !unix

package bobak

import "net"

// hasNothingToRead cannot test this here without blocking: a broken connection fails at its next use.
func hasNothingToRead(net.Conn, bool) bool { return true }
