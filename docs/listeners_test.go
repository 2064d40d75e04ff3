// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// listens are the words by which a program listens, or makes a server, by the paths of their packages. A word ends
// where a star stands.
var listens = map[string][]string{
	"net":                                 {"Listen*", "FileListener", "FilePacketConn"},
	"net/http":                            {"Server", "ListenAndServe*", "Serve", "ServeTLS"},
	"net/http/httptest":                   {"NewServer", "NewTLSServer", "NewUnstartedServer"},
	"net/http/fcgi":                       {"Serve"},
	"net/rpc":                             {"Accept", "ServeConn"},
	"crypto/tls":                          {"Listen"},
	"golang.org/x/net/http2":              {"Server"},
	"google.golang.org/grpc":              {"NewServer"},
	"go.etcd.io/etcd/server/v3/embed":     {"StartEtcd"},
	"k8s.io/apiserver/pkg/server":         {"SecureServingInfo", "RunServer"},
	"k8s.io/apiserver/pkg/server/options": {"NewSecureServingOptions", "CreateListener"},
	"github.com/docket-project/docket/internal/plane/statedir": {"Listen*"},
}

// listeners are all places that listen, with the tests of their bounds or the reason for none. Each place needs one.
var listeners = map[string]string{
	"internal/kit/connections/server.go: http.Server": "TestServerHasAllBounds",

	"controller/internal/admission/webhook/server.go: net.ListenConfig": "TestConnectionsOfOnePeerAreBounded",
	"controller/internal/manager/health.go: net.ListenConfig":           "TestMetricsConnectionsAreBounded",

	"internal/server/apiserver/options.go: options.NewSecureServingOptions": "TestConnectionsOfServerAreBounded",
	"internal/plane/gateway/server.go: options.NewSecureServingOptions":     "TestConnectionsOfGatewayAreBounded",

	// Listeners of these are bounded where they are served.
	"internal/plane/statedir/listen.go: net.ListenConfig":   "TestListen",
	"internal/plane/gateway/run.go: statedir.Listen":        "TestConnectionsOfGatewayAreBounded",
	"internal/plane/up/run.go: statedir.Listen":             "TestConnectionsOfServerAreBounded",
	"internal/plane/up/console.go: statedir.ListenLoopback": "TestConnectionsOfConsoleAreBounded",
	"cmd/docket/console.go: statedir.Listen":                "TestConnectionsOfConsoleAreBounded",
	"cmd/docket/console_team.go: statedir.Listen":           "TestConnectionsOfConsoleAreBounded",

	"internal/plane/run/workspace.go: net.ListenConfig": "no server: finds a free port",
}

// tools are folders of programs and helpers that only tests and measurements run, on loopback.
var tools = []string{"test/", "internal/kit/testenv/", "conformance/conformancetest/", "controller/internal/policy/registry/registrytest/",
	"internal/store/etcdstore/etcdtest/", "internal/plane/uptest/", "controller/test/", "hack/", "internal/tools/"}

// TestListeners promises that every place where a program listens is known, with a test of its bounds.
func TestListeners(t *testing.T) {
	t.Parallel()
	known := readTests(t)
	found := map[string]bool{}
	testkit.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel("..", path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || path == binFolder):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		case slices.ContainsFunc(tools, func(folder string) bool { return strings.HasPrefix(name, folder) }):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		for _, word := range listensIn(file) {
			found[name+": "+word] = true
		}
		return err
	}))
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if listeners[place] == "" {
			t.Errorf("%s is new: serve it by internal/kit/connections, and name the test of its bounds in listeners", place)
		}
	}
	for place, bound := range listeners {
		if !found[place] {
			t.Errorf("%s listens no more: remove it from listeners", place)
		}
		if strings.HasPrefix(bound, "Test") && !known.names[bound] {
			t.Errorf("%s cites %s, which is no test", place, bound)
		}
	}
}

// listensIn returns the words of listens that a file uses. Pointers to servers, and listeners that others made, don't
// count.
func listensIn(file *ast.File) []string {
	packages := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = path
	}
	var out []string
	add := func(expression ast.Expr) {
		selector, ok := expression.(*ast.SelectorExpr)
		if !ok {
			return
		}
		of, ok := selector.X.(*ast.Ident)
		if !ok || selector.Sel.Name == "Listener" {
			return
		}
		path := packages[of.Name]
		if slices.ContainsFunc(listens[path], func(word string) bool {
			beginning, open := strings.CutSuffix(word, "*")
			return word == selector.Sel.Name || open && strings.HasPrefix(selector.Sel.Name, beginning)
		}) {
			out = append(out, path[strings.LastIndex(path, "/")+1:]+"."+selector.Sel.Name)
		}
	}
	each := func(expressions []ast.Expr) {
		for _, expression := range expressions {
			add(expression)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CompositeLit:
			add(node.Type)
			each(node.Elts)
		case *ast.KeyValueExpr:
			add(node.Value)
		case *ast.ValueSpec:
			add(node.Type)
			each(node.Values)
		case *ast.Field:
			add(node.Type)
		case *ast.AssignStmt:
			each(node.Rhs)
		case *ast.ReturnStmt:
			each(node.Results)
		case *ast.CallExpr:
			add(node.Fun)
			each(node.Args) // new(http.Server)
		}
		return true
	})
	return out
}

// TestListensIn promises that the check finds what it is for.
func TestListensIn(t *testing.T) {
	t.Parallel()
	const imports = `package x
import ("net"; "net/http"; web "net/http"; grpc "google.golang.org/grpc"; options "k8s.io/apiserver/pkg/server/options")
`
	for text, want := range map[string]string{
		`var s = &http.Server{}`:                                       "http.Server",
		`var s http.Server`:                                            "http.Server",
		`var s = new(web.Server)`:                                      "http.Server",
		`func f() { web.ListenAndServeTLS("", "", "", nil) }`:          "http.ListenAndServeTLS",
		`func f() { net.ListenTCP("tcp", nil) }`:                       "net.ListenTCP",
		`func f() { (&net.ListenConfig{}).Listen(nil, "tcp", "") }`:    "net.ListenConfig",
		`var s = grpc.NewServer()`:                                     "grpc.NewServer",
		`var o = options.NewSecureServingOptions()`:                    "options.NewSecureServingOptions",
		`func f(l net.Listener, s *http.Server) { http.NewRequest() }`: "",
		`type s struct { web.Server }`:                                 "http.Server",
		`var listen = net.Listen`:                                      "net.Listen",
		`func f() any { listen := net.ListenUDP; return listen }`:      "net.ListenUDP",
		`func f() any { return s{listen: net.ListenUnix} }`:            "net.ListenUnix",
	} {
		file := testkit.Must(parser.ParseFile(token.NewFileSet(), "x.go", imports+text, parser.SkipObjectResolution))(t)
		if got := strings.Join(listensIn(file), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
