// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
)

// fakeConsole notes what becomes of it.
type fakeConsole struct {
	kubeconfig      string
	mappings, hosts []string
	ended           chan struct{}
}

func (c *fakeConsole) Invite(host string) string { return "open " + host }

func (c *fakeConsole) Serve(ctx context.Context, listener net.Listener) error {
	defer close(c.ended)
	<-ctx.Done()
	return listener.Close()
}

// newFakeConsole is for Options.NewConsole.
func (c *fakeConsole) newFakeConsole(kubeconfig string, mappings, hosts []string) (Console, error) {
	c.kubeconfig, c.mappings, c.hosts, c.ended = kubeconfig, mappings, hosts, make(chan struct{})
	return c, nil
}

// TestConsole: it is served with the kubeconfig until the server ends, and the greeting has the link to it.
func TestConsole(t *testing.T) {
	t.Parallel()
	var console fakeConsole
	options := testOptions(t, filepath.Join(t.TempDir(), "state"))
	options.NewConsole = console.newFakeConsole
	up := testkit.Must(tryStart(t, options, "open 127.0.0.1:"))(t)
	if want := filepath.Join(options.Dir, statedir.KubeconfigFile); console.kubeconfig != want || len(console.hosts) == 0 {
		t.Errorf("the console is for the kubeconfig %s and the hosts %v, want %s and some", console.kubeconfig, console.hosts, want)
	}
	testkit.NoError(t, up.stop())
	select {
	case <-console.ended:
	default:
		t.Error("the console goes on after the server")
	}
}

// TestNoConsole: there is none if nobody wants it, nor where it could show nothing, and none that others can reach.
func TestNoConsole(t *testing.T) {
	t.Parallel()
	taken := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = taken.Close() }()
	for name, test := range map[string]struct{ listen, database, want string }{
		"switched off":   {"", "sqlite:///x.db", ""},
		"etcd":           {DefaultConsoleListen, "etcd://127.0.0.1:2379/x", ""},
		"open to others": {"0.0.0.0:0", "sqlite:///x.db", "--console-listen: 0.0.0.0:0: other machines can reach it; listen on 127.0.0.1"},
		"taken":          {taken.Addr().String(), "sqlite:///x.db", "--console-listen: another process listens on"},
		"no port":        {"localhost", "sqlite:///x.db", "--console-listen: "},
	} {
		options := testOptions(t, t.TempDir())
		options.ConsoleListen, options.NewConsole = test.listen, new(fakeConsole).newFakeConsole
		options.server.Storage.Database = test.database
		console, err := options.openConsole(t.Context(), "kubeconfig")
		if console != nil || (err == nil) != (test.want == "") || (err != nil && !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v, error %v; want none, and the error %q", name, console, err, test.want)
		}
		if got := console.invitation(); got != "" {
			t.Errorf("%s: the greeting has %q", name, got)
		}
	}
}
