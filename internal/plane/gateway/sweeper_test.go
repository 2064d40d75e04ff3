// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestEndedNeedsAClearWord: objects are deleted only if the cluster itself says that their
// namespace ends or is gone, not because something in between answers 404.
func TestEndedNeedsAClearWord(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code    int
		body    string
		want    bool
		wantErr bool
	}{
		"there":             {code: 200, body: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"team"}}`},
		"ending":            {code: 200, body: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"team","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, want: true},
		"gone":              {code: 404, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"team","kind":"namespaces"}}`, want: true},
		"another is gone":   {code: 404, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"other","kind":"namespaces"}}`},
		"no such page":      {code: 404, body: `404 page not found`},
		"a proxy's page":    {code: 404, body: `<html>not here</html>`},
		"no right":          {code: 403, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`},
		"not authenticated": {code: 401, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`},
		"trouble":           {code: 500, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.code)
				_, _ = w.Write([]byte(test.body)) // A client that left fails the test itself.
			}))
			t.Cleanup(server.Close)
			client := testkit.Must(kubernetes.NewForConfig(&rest.Config{Host: server.URL}))(t)
			got, err := (&sweeper{cluster: client}).ended(t.Context(), "team")
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("ended: %v, %v; want %v, an error: %v", got, err, test.want, test.wantErr)
			}
		})
	}
}
