// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// service answers with JSON that repeats the request.
func service(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/large":
			fmt.Fprintf(w, `{"data":%q}`, strings.Repeat("x", 5000))
		case "/error":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "hunter2")
		case "/text":
			fmt.Fprint(w, "hunter2")
		default:
			fmt.Fprintf(w, `{"deny":"bad","method":%q,"sent":%q,"key":%q,"authorization":%q}`,
				r.Method, body, r.Header.Get("X-Key"), r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// calling returns a compiler whose policies may call services of this machine, or not.
func (s *askedServer) calling(t *testing.T, allowed bool) *Compiler {
	t.Helper()
	config := call.Config{MaxResponse: 1000}
	if allowed {
		config.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	return compilerOf(t, s.URL, config)
}

// TestServicesAreCalledByOneClient: calls of rules and of CEL go to the addresses that our ranges allow,
// have bounded answers, and errors without a word of them.
func TestServicesAreCalledByOneClient(t *testing.T) {
	t.Parallel()
	server, api := service(t), newAskedServer(t)
	allowed, blocked := api.calling(t, true), api.calling(t, false)
	rule := func(path, more string) string {
		return strings.Replace(callRule(`{service: {url: "`+server.URL+path+`", headers: [{key: X-Key, value: k}]}`+more+`}`), "to_string(c)", "c.deny || 'none'", 1)
	}
	enginetest.Want(t, enginetest.Compile(t, allowed, rule("/", "")), enginetest.Subject(t, enginetest.BadPod), "r:pass")
	enginetest.Want(t, enginetest.Compile(t, allowed, strings.Replace(rule("/", `, jmesPath: "{deny: join('', [key, method, authorization])}"`), "value: none}", "value: kGET}", 1)), enginetest.Subject(t, enginetest.BadPod), "r:fail")
	posted := strings.Replace(rule("/", `, method: POST, data: [{key: a, value: b}], jmesPath: "{deny: sent}"`), "value: none}", `value: '{"a":"b"}'}`, 1)
	enginetest.Want(t, enginetest.Compile(t, allowed, posted), enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, enginetest.Compile(t, allowed, rule("/error", `, default: {deny: none}`)), enginetest.Subject(t, enginetest.BadPod), "r:fail")
	for _, path := range []string{"/large", "/error", "/text"} {
		results := wantFailing(t, allowed, rule(path, ""))
		if strings.Contains(results, "hunter2") {
			t.Errorf("%s: the answer is in %s", path, results)
		}
	}
	if results := wantFailing(t, blocked, rule("/", "")); !strings.Contains(results, "is blocked") {
		t.Error(results)
	}
	for expression, outcome := range map[string]string{
		`http.Get('` + server.URL + `/').deny == 'bad'`:                   ":pass",
		`http.Get('` + server.URL + `/', {'X-Key': 'k'}).key == 'k'`:      ":pass",
		`http.Get('` + server.URL + `/error').statusCode == 403`:          ":pass",
		`http.Post('` + server.URL + `/', {'a': 'b'}).sent.contains('a')`: ":pass",
		`http.Get('` + server.URL + `/large').statusCode == 200`:          ":error",
	} {
		enginetest.Want(t, enginetest.Compile(t, allowed, celText(expression, false)), enginetest.Subject(t, enginetest.BadPod), outcome)
		enginetest.WantError(t, enginetest.Compile(t, blocked, celText(expression, false)), enginetest.Subject(t, enginetest.BadPod), "", "is blocked")
		enginetest.WantError(t, enginetest.Compile(t, allowed, celText(expression, true)), enginetest.Subject(t, enginetest.BadPod), "", "not allowed in namespaced policies")
		// As do policies from files.
		enginetest.WantError(t, compile(t, celText(expression, false)), enginetest.Subject(t, enginetest.BadPod), "", "is blocked")
	}
}

// wantFailing returns the message of the one result, an error.
func wantFailing(t *testing.T, c *Compiler, text string) string {
	t.Helper()
	results, _ := enginetest.Evaluate(t, enginetest.Compile(t, c, text), enginetest.Subject(t, enginetest.BadPod))
	if len(results) != 1 || results[0].Outcome != "error" {
		t.Fatalf("%+v", results)
	}
	return results[0].Message
}
