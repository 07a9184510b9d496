//go:build !unix

package bobak

import "net"

// isQuiet can't look without waiting here: a connection that broke shows at its next use.
func isQuiet(net.Conn, bool) bool { return true }
