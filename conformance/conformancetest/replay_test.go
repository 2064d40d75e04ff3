// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformancetest

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/docket-project/docket/conformance/broken"
)

// TestTouched: a check is run again if a server changes anything that it sends or gets, and else not.
func TestTouched(t *testing.T) {
	everything := func(*http.Request) bool { return true }
	for name, test := range map[string]struct {
		breaks func(http.Handler) http.Handler
		want   bool
	}{
		"nothing":           {func(next http.Handler) http.Handler { return next }, false},
		"other order":       {broken.OnAnswered(everything, func(map[string]any) {}), false},
		"body that is read": {broken.OnRequest(everything, func(r *http.Request) { broken.BodyOf(r) }), false},
		"query":             {broken.WithoutQuery(everything, "dryRun"), true},
		"header":            {broken.OnRequest(everything, func(r *http.Request) { r.Header.Set("Accept", "text/plain") }), true},
		"sent":              {broken.OnSentObject(everything, func(object map[string]any) { object["b"] = 1 }), true},
		"method":            {broken.OnRequest(everything, func(r *http.Request) { r.Method = http.MethodPut }), true},
		"answer":            {broken.OnAnswered(everything, func(object map[string]any) { delete(object, "z") }), true},
		"number":            {broken.InAnswers("7", "7.0"), true},
		"code":              {broken.OnAnswer(everything, func(_ *http.Request, a *broken.Answer) { a.Code++ }), true},
		"header of answer":  {broken.OnAnswer(everything, func(_ *http.Request, a *broken.Answer) { a.Header.Del("Etag") }), true},
		"instead":           {broken.Instead(everything, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusOK) }), true},
		"another request": {broken.Instead(everything, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			broken.Current(next, r)
			next.ServeHTTP(w, r)
		}), true},
		"aborted": {broken.Instead(everything, func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }), true},
		"hanging": {broken.Instead(everything, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r)
			<-r.Context().Done()
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &exchange{
				check: "a-check", method: http.MethodPost, url: "/apis/example.com/v1/things/a?dryRun=All",
				sent: http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}, body: []byte(`{"a": 1}`),
				code: http.StatusCreated, received: http.Header{"Content-Type": {"application/json"}, "Etag": {"1"}},
				answer: *bytes.NewBufferString(`{"z": 7, "a": {}}` + "\n"),
			}
			b := &Baseline{exchanges: []*exchange{e}}
			if got := b.touched(t.Context(), broken.That(name, test.breaks)); got["a-check"] != test.want || len(got) > 1 {
				t.Errorf("touched %v, want %v", got, test.want)
			}
		})
	}
}

// TestUnanswered: what is not known is run again.
func TestUnanswered(t *testing.T) {
	b := &Baseline{exchanges: []*exchange{{check: "a-check", method: http.MethodGet, url: "/", failed: true}}}
	if !b.touched(t.Context(), broken.That("nothing", func(next http.Handler) http.Handler { return next }))["a-check"] {
		t.Error("the check is not touched")
	}
}
