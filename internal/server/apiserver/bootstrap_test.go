// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

// authorityFile writes an authority that was made at the given time for a day.
func authorityFile(t *testing.T, madeAt time.Time) string {
	t.Helper()
	pair := testkit.Must(certificate.NewAuthority("test", madeAt, 24*time.Hour))(t)
	path := filepath.Join(t.TempDir(), "ca.crt")
	testkit.NoError(t, os.WriteFile(path, pair.CertificatePEM, 0o600))
	return path
}

// TestBootstrap: the endpoint shows what the package prints, for the same parameters.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	ca := authorityFile(t, time.Now())
	s := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) { o.BootstrapCAFile = ca })
	bundle := testkit.Must(os.ReadFile(ca))(t)
	for name, test := range map[string]struct {
		path, accept string
		change       func(*bootstrap.Parameters)
		format       bootstrap.Format
	}{
		"defaults":         {path: "wgpolicyk8s.io", format: bootstrap.YAML},
		"results":          {path: "results.docket.dev", format: bootstrap.YAML},
		"any type":         {path: "openreports.io", accept: "*/*", format: bootstrap.YAML},
		"JSON by header":   {path: "wgpolicyk8s.io", accept: "text/html, application/json;q=0.9, */*", format: bootstrap.JSON},
		"JSON by query":    {path: "wgpolicyk8s.io?output=json", format: bootstrap.JSON},
		"query wins":       {path: "wgpolicyk8s.io?output=yaml", accept: "application/json", format: bootstrap.YAML},
		"header of nobody": {path: "wgpolicyk8s.io", accept: "image/png", format: bootstrap.YAML},
		"all parameters": {
			path:   "reports.kyverno.io?namespace=reports&service=archive&https-port=8443&create-namespace=true",
			format: bootstrap.YAML,
			change: func(p *bootstrap.Parameters) {
				p.Namespace, p.Service, p.HTTPSPort, p.CreateNamespace = "reports", "archive", 8443, true
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group, _, _ := strings.Cut(test.path, "?")
			parameters := bootstrap.NewParameters()
			parameters.Groups, parameters.CABundle = []string{group}, bundle
			if test.change != nil {
				test.change(&parameters)
			}
			want := testkit.Must(bootstrap.Print(parameters, test.format))(t)
			answer := s.do(t, http.MethodGet, "/bootstrap/"+test.path, nil, "Accept: "+test.accept).want(t, http.StatusOK)
			testkit.NoDiff(t, cmp.Diff(string(want), string(answer.body)), "the endpoint shows something else (-printed +shown)")
			if got := answer.Header.Get("Content-Type"); got != "application/"+string(test.format) {
				t.Errorf("Content-Type %q for %s", got, test.format)
			}
			if got := answer.Header.Get("Warning"); got != "" {
				t.Errorf("unexpected warning %q", got)
			}
		})
	}
	t.Run("index", func(t *testing.T) {
		t.Parallel()
		var list metav1.RootPaths
		testkit.NoError(t, json.Unmarshal(s.do(t, http.MethodGet, "/bootstrap", nil).want(t, http.StatusOK).body, &list))
		want := []string{"/bootstrap/openreports.io", "/bootstrap/reports.kyverno.io", "/bootstrap/results.docket.dev", "/bootstrap/wgpolicyk8s.io"}
		testkit.NoDiff(t, cmp.Diff(want, list.Paths), "paths (-want +got)")
	})
	t.Run("head", func(t *testing.T) {
		t.Parallel()
		s.do(t, http.MethodHead, "/bootstrap/wgpolicyk8s.io", nil).want(t, http.StatusOK)
	})
}

func TestBootstrapRefuses(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) {
		o.Storage.APIGroups = []string{"wgpolicyk8s.io", "openreports.io", "wgpolicyk8s.io"}
	})
	for name, test := range map[string]struct {
		method, path string
		code         int
		want         []string
	}{
		"unknown group":       {path: "/apps", code: http.StatusNotFound, want: []string{`\"apps\"`, "openreports.io, results.docket.dev, wgpolicyk8s.io"}},
		"group not served":    {path: "/reports.kyverno.io", code: http.StatusNotFound, want: []string{"openreports.io, results.docket.dev, wgpolicyk8s.io"}},
		"below a group":       {path: "/wgpolicyk8s.io/v1alpha2", code: http.StatusNotFound, want: []string{"wgpolicyk8s.io"}},
		"bad namespace":       {path: "/wgpolicyk8s.io?namespace=A", code: http.StatusBadRequest, want: []string{`namespace: \"A\"`}},
		"bad service":         {path: "/wgpolicyk8s.io?service=", code: http.StatusBadRequest, want: []string{"service: "}},
		"bad port":            {path: "/wgpolicyk8s.io?https-port=https", code: http.StatusBadRequest, want: []string{`https-port: \"https\"`}},
		"port out of range":   {path: "/wgpolicyk8s.io?https-port=4294967739", code: http.StatusBadRequest, want: []string{"https-port: "}},
		"bad boolean":         {path: "/wgpolicyk8s.io?create-namespace=maybe", code: http.StatusBadRequest, want: []string{"create-namespace: ", "true or false"}},
		"bad format":          {path: "/wgpolicyk8s.io?output=xml", code: http.StatusBadRequest, want: []string{"output: ", "yaml, json"}},
		"unknown parameter":   {path: "/wgpolicyk8s.io?insecure=1", code: http.StatusBadRequest, want: []string{"insecure: is no parameter", "https-port"}},
		"twice":               {path: "/wgpolicyk8s.io?service=a&service=b", code: http.StatusBadRequest, want: []string{"service: is given 2 times"}},
		"several at once":     {path: "/wgpolicyk8s.io?service=A&output=xml&x=", code: http.StatusBadRequest, want: []string{"output: ", "service: ", "x: "}},
		"damaged query":       {path: "/wgpolicyk8s.io?namespace=%zz", code: http.StatusBadRequest, want: []string{"query: "}},
		"nothing is created":  {method: http.MethodPost, path: "/wgpolicyk8s.io", code: http.StatusMethodNotAllowed, want: []string{"registers nothing itself"}},
		"nor by the index":    {method: http.MethodPut, path: "", code: http.StatusMethodNotAllowed, want: []string{"registers nothing itself"}},
		"nor anything erased": {method: http.MethodDelete, path: "/wgpolicyk8s.io", code: http.StatusMethodNotAllowed, want: []string{"registers nothing itself"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method := test.method
			if method == "" {
				method = http.MethodGet
			}
			answer := s.do(t, method, "/bootstrap"+test.path, nil).want(t, test.code)
			var status metav1.Status
			if err := json.Unmarshal(answer.body, &status); err != nil || status.Kind != "Status" || status.Code != int32(test.code) {
				t.Errorf("the answer is no Status of %d: %v\n%s", test.code, err, answer.body)
			}
			for _, part := range test.want {
				if !strings.Contains(string(answer.body), part) {
					t.Errorf("%s is not in the answer:\n%s", part, answer.body)
				}
			}
		})
	}
}

// TestBootstrapAuthority: the file is read at each request, and without one the
// answer says what that means.
func TestBootstrapAuthority(t *testing.T) {
	t.Parallel()
	const path = "/bootstrap/wgpolicyk8s.io"
	without := startServer(t, databases()["sqlite"](t))
	answer := without.do(t, http.MethodGet, path, nil).want(t, http.StatusOK)
	if warning := answer.Header.Get("Warning"); !strings.Contains(warning, "no caBundle") || !strings.Contains(warning, "--bootstrap-ca-file") {
		t.Errorf("without the flag the warning is %q", warning)
	}
	if strings.Contains(string(answer.body), "caBundle") {
		t.Error("there is a caBundle without an authority")
	}

	file := authorityFile(t, time.Now())
	with := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) { o.BootstrapCAFile = file })
	first := with.do(t, http.MethodGet, path, nil).want(t, http.StatusOK)
	testkit.NoError(t, os.Rename(authorityFile(t, time.Now()), file))
	if second := with.do(t, http.MethodGet, path, nil).want(t, http.StatusOK); string(first.body) == string(second.body) {
		t.Error("a new authority is not shown")
	}
	testkit.NoError(t, os.Rename(authorityFile(t, time.Now().Add(-48*time.Hour)), file))
	expired := with.do(t, http.MethodGet, path, nil).want(t, http.StatusInternalServerError)
	if !strings.Contains(string(expired.body), "--bootstrap-ca-file") || !strings.Contains(string(expired.body), "is expired") {
		t.Errorf("an authority past its end:\n%s", expired.body)
	}
}

// TestBootstrapCAFile: an unusable file prevents the start. A file that has only expired does not:
// reports are served all the same.
func TestBootstrapCAFile(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	testkit.NoError(t, os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600))
	for name, test := range map[string]struct{ file, want string }{
		"none":         {"", ""},
		"good":         {authorityFile(t, time.Now()), ""},
		"expired":      {authorityFile(t, time.Now().Add(-48*time.Hour)), ""},
		"no such file": {"/nonexistent", "--bootstrap-ca-file: "},
		"private key":  {key, "private key"},
	} {
		options := apiserver.NewOptions()
		options.Storage.Database = "sqlite:///x.db"
		options.BootstrapCAFile = test.file
		err := errors.Join(options.Validate()...)
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestBootstrapIsNotForEverybody: the cluster decides who may read it, by path.
func TestBootstrapIsNotForEverybody(t *testing.T) {
	t.Parallel()
	config, err := clusterOptions(t, newestCluster().start(t)).Complete().Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	completed, err := config.Complete()
	if err != nil {
		t.Fatal(err)
	}
	server, err := completed.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := runServer(t, server)
	s.do(t, http.MethodGet, "/bootstrap/wgpolicyk8s.io", nil).want(t, http.StatusOK)
	anonymous := anonymousClient(t, server)
	for _, path := range []string{"/bootstrap", "/bootstrap/wgpolicyk8s.io", "/bootstrap/apps"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.config.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := anonymous.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusForbidden || strings.Contains(string(body), "APIService") {
			t.Errorf("%s for anybody: %s\n%s", path, response.Status, body)
		}
	}
}
