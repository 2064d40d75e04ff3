// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// longestName is the limit for the name of a Service in an APIService.
	longestName = 63
	// aliveTimeout is enough for a server on this machine.
	aliveTimeout = time.Second
)

// chooseName gives a server whose name was derived from its command, such as python3, another
// name while a server of that name is running: they would take each other's registration. A name that
// the user gave is used as it is.
func (o *Options) chooseName(ctx context.Context, e *endpoint, notes io.Writer) error {
	list, err := e.servers(ctx)
	if err != nil || !o.derived {
		return err
	}
	taken := map[string]bool{}
	for i := range list {
		if name, here := strings.CutPrefix(list[i].Service, o.Namespace+"/"); here && isAlive(ctx, list[i].URL) {
			taken[name] = true
		}
	}
	base := o.Name
	for n := 2; taken[o.Name]; n++ {
		suffix := "-" + strconv.Itoa(n)
		o.Name = base[:min(len(base), longestName-len(suffix))] + suffix
	}
	if o.Name != base {
		_, err = fmt.Fprintf(notes, "docket run: a server named %s is already running; this one is %s (set another name with --name)\n", base, o.Name)
	}
	return err
}

// isAlive reports whether a process listens at an address of this machine.
func isAlive(ctx context.Context, address string) bool {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, aliveTimeout)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return false
	}
	_ = connection.Close() // It was opened to be closed.
	return true
}

// nameOf makes the name in an APIService from that of a program.
func nameOf(command string) string {
	base := strings.TrimSuffix(filepath.Base(command), ".exe")
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, base)
	name = strings.TrimLeft(name, "-0123456789")
	return strings.TrimRight(name[:min(len(name), longestName)], "-")
}
