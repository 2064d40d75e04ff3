// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/checks"
	"github.com/docket-project/docket/conformance/conformancetest"
	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// oneCheck is a check that needs no objects.
const oneCheck = "get-not-found"

// shared is the control plane of the tests of this package, if one of them needs it.
var shared uptest.Server

func upConfig(t *testing.T) *rest.Config {
	t.Helper()
	return testkit.Must(shared.Config(nil))(t)
}

// behind starts a proxy in front of a server and returns a kubeconfig for it.
func behind(t *testing.T, config *rest.Config, breakage func(http.Handler) http.Handler) string {
	t.Helper()
	proxy := testkit.Must(conformancetest.NewProxy(config, breakage))(t)
	t.Cleanup(proxy.Close)
	// Tokens in kubeconfigs are for TLS only.
	secure := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: strings.TrimPrefix(proxy.Config.Host, "http://")})
		},
		ErrorLog: log.New(io.Discard, "", 0), // Clients go while they are answered.
	})
	t.Cleanup(secure.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["a"] = &clientcmdapi.Cluster{
		Server: secure.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}),
	}
	kubeconfig.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}
	kubeconfig.CurrentContext = "a"
	testkit.NoError(t, clientcmd.WriteToFile(*kubeconfig, path))
	return path
}

func unbroken(next http.Handler) http.Handler { return next }

// TestConformance: the exit code and the three formats, on a good server and on a broken one.
func TestConformance(t *testing.T) {
	t.Parallel()
	config := upConfig(t)
	wrong := broken.OnAnswer(broken.Method(http.MethodGet, broken.Single), func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusNotFound {
			a.Body = []byte("404 page not found\n")
		}
	})
	good, bad := behind(t, config, unbroken), behind(t, config, wrong)
	for name, test := range map[string]struct {
		kubeconfig string
		args       []string
		code       int
		out        string
		errOut     string
	}{
		"good":               {good, nil, cli.ExitOK, "\n1 passed, 0 failed, 0 undecided, ", "checks  "},
		"several resources":  {good, []string{"--resource=clusterpolicyreports"}, cli.ExitOK, "Resources: clusterpolicyreports, policyreports", ""},
		"broken":             {bad, nil, exitBroken, "FAILED " + oneCheck + " policyreports\n", "The server breaks a rule: 1 check failed."},
		"broken, as JSON":    {bad, []string{"--output=json"}, exitBroken, `"outcome": "failed"`, "The server breaks a rule"},
		"broken, as XML":     {bad, []string{"-o", "junit"}, exitBroken, `<failure message="expected 404 Not Found `, "The server breaks a rule"},
		"skipped":            {bad, []string{"--skip", oneCheck}, exitUndecided, "0 passed, 0 failed", "Nothing was checked"},
		"refused":            {good, []string{"--namespace=nowhere"}, exitUndecided, "TROUBLE policyreports\n", "No check failed, but some were inconclusive."},
		"failed and trouble": {bad, []string{"--namespace=nowhere"}, exitBroken, "TROUBLE policyreports\n", "The server breaks a rule"},
		"no such version":    {good, []string{"--group-version=none.example.com/v1"}, exitUndecided, "", "Error: the server does not have the group version none.example.com/v1; it has "},
		"no such resource":   {good, []string{"--resource=nones"}, exitUndecided, "", `no resource "nones"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"conformance", "--kubeconfig", test.kubeconfig, "--group-version=wgpolicyk8s.io/v1alpha2", "--resource=policyreports", "--only", oneCheck}, test.args...)
			code, out, errOut := called(t, time.Now(), args...)
			if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(errOut, test.errOut) {
				t.Errorf("code %d, want %d, %q in\n%s\nand %q in\n%s", code, test.code, test.out, out, test.errOut, errOut)
			}
			if strings.Contains(errOut, "--help") {
				t.Errorf("the help is no help:\n%s", errOut)
			}
			if strings.Contains(out+errOut, config.BearerToken) {
				t.Error("the token is shown")
			}
			parse(t, test.args, out)
		})
	}
}

// parse reads JSON and XML as programs do.
func parse(t *testing.T, args []string, out string) {
	t.Helper()
	var err error
	switch {
	case slices.Contains(args, "--output=json"):
		err = json.Unmarshal([]byte(out), &struct{}{})
	case slices.Contains(args, "junit"):
		err = xml.Unmarshal([]byte(out), &struct{}{})
	}
	if err != nil {
		t.Errorf("%v in\n%s", err, out)
	}
}

// TestConformanceIsCalledWrong: mistakes are all told at once, with the flag and what helps.
func TestConformanceIsCalledWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kubeconfig, empty, sample := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "empty"), filepath.Join(dir, "sample.yaml")
	for path, text := range map[string]string{
		kubeconfig: "kind: Config\ncontexts: [{name: here, context: {cluster: a}}]\ncurrent-context: here\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n",
		empty:      "", sample: "[not: an object",
	} {
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, test := range map[string]struct {
		args  []string
		usage bool
		want  []string
	}{
		"nothing":           {nil, true, []string{"--group-version: is required; give GROUP/VERSION"}},
		"group only":        {[]string{"--group-version=apps"}, true, []string{`--group-version: "apps" has no version`, "apps/v1"}},
		"group with dots":   {[]string{"--group-version=a.example.com"}, true, []string{`--group-version: "a.example.com" has no version`}},
		"three parts":       {[]string{"--group-version=a/b/c"}, true, []string{`--group-version: "a/b/c" is not a group version`}},
		"no version":        {[]string{"--group-version=apps/"}, true, []string{`--group-version: "apps/" is not a group version`}},
		"no group":          {[]string{"--group-version=/v1"}, true, []string{`--group-version: "/v1" is not a group version`}},
		"unknown checks":    {[]string{"--group-version=v1", "--skip=x,y", "--only=z"}, true, []string{`--skip: there is no check "x"; ` + "`docket conformance list`", `--skip: there is no check "y"`, `--only: there is no check "z"`}},
		"unknown format":    {[]string{"--group-version=v1", "--output=yaml"}, true, []string{`--output: "yaml" is not one of text, json, junit`}},
		"numbers":           {[]string{"--group-version=v1", "--timeout=0s", "--parallel=-1"}, true, []string{"--timeout: ", "--parallel: "}},
		"no such sample":    {[]string{"--group-version=v1", "--sample=/nonexistent.yaml"}, true, []string{"--sample: open /nonexistent.yaml"}},
		"bad sample":        {[]string{"--group-version=v1", "--sample", sample}, true, []string{"--sample: " + sample}},
		"empty sample":      {[]string{"--group-version=v1", "--sample", empty}, true, []string{"--sample: " + empty}},
		"no kubeconfig":     {[]string{"--group-version=v1", "--kubeconfig=/nonexistent"}, true, []string{"--kubeconfig: ", "/nonexistent"}},
		"empty kubeconfig":  {[]string{"--group-version=v1", "--kubeconfig", empty}, true, []string{"--kubeconfig: "}},
		"no such context":   {[]string{"--group-version=v1", "--context=there"}, true, []string{`--context: the kubeconfig has no context "there"; it has here`}},
		"argument":          {[]string{"lst"}, true, []string{"did you mean `docket conformance list`?"}},
		"list in no format": {[]string{"list", "--output=xml"}, true, []string{`--output: "xml" is not one of text, json, markdown`}},
		"no server":         {[]string{"--group-version=v1"}, false, []string{"Error: ask for the resources of v1: GET /api/v1: ", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"conformance"}, test.args...)
			if !slices.Contains(test.args, "list") && !slices.ContainsFunc(test.args, func(arg string) bool { return strings.HasPrefix(arg, "--kubeconfig") }) {
				args = append(args, "--kubeconfig", kubeconfig)
			}
			code, out, errOut := called(t, time.Now(), args...)
			if code != exitUndecided || out != "" || strings.Contains(errOut, "--help`") != test.usage {
				t.Errorf("code %d, %q\n%s", code, out, errOut)
			}
			for _, want := range test.want {
				if !strings.Contains(errOut, want) {
					t.Errorf("%q is not in\n%s", want, errOut)
				}
			}
		})
	}
}

// TestConformanceInterrupted: the report comes nevertheless.
func TestConformanceInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	kubeconfig := behind(t, upConfig(t), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/policyreports/") {
				cancel()
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	var out, errOut bytes.Buffer
	root := newRoot(cli.Process{Out: &out, ErrOut: &errOut, LookupEnv: func(string) (string, bool) { return "", false }})
	code := cli.Execute(ctx, root, []string{"conformance", "--kubeconfig", kubeconfig, "--group-version=wgpolicyk8s.io/v1alpha2", "--resource=policyreports", "--only", oneCheck})
	if code != exitUndecided || !strings.Contains(out.String(), "Interrupted: ") || strings.Contains(out.String(), "Left behind") {
		t.Errorf("code %d\n%s", code, out.String())
	}
	if told := errOut.String(); strings.Count(told, "Interrupted: removing") != 1 {
		t.Errorf("it does not tell what it does:\n%s", told)
	}
}

// TestConformanceList: every check is in every format.
func TestConformanceList(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "markdown"} {
		code, out, errOut := called(t, time.Now(), "conformance", "list", "--output", format)
		if code != cli.ExitOK || errOut != "" {
			t.Errorf("%s: code %d, %s", format, code, errOut)
		}
		for _, check := range checks.All() {
			if !strings.Contains(out, check.ID) {
				t.Errorf("%s: %s is missing", format, check.ID)
			}
		}
	}
}

// TestConformanceTeachesWhatThereIs: examples name checks that exist, and shells offer them.
func TestConformanceTeachesWhatThereIs(t *testing.T) {
	t.Parallel()
	command, _ := testkit.Must2(testRoot().Find([]string{"conformance"}))(t)
	examples := regexp.MustCompile(`--(?:skip|only) (\S+)`).FindAllStringSubmatch(command.Example, -1)
	if len(examples) < 2 {
		t.Fatalf("%d examples in\n%s", len(examples), command.Example)
	}
	_, offered, _ := called(t, time.Now(), "__complete", "conformance", "--skip", "")
	for _, example := range examples {
		if !slices.ContainsFunc(checks.All(), func(c runner.Check) bool { return c.ID == example[1] }) {
			t.Errorf("the help has the check %s, which does not exist", example[1])
		}
		if !strings.Contains(offered, example[1]+"\t") {
			t.Errorf("%s is not offered:\n%s", example[1], offered)
		}
	}
	if _, formats, _ := called(t, time.Now(), "__complete", "conformance", "--output", ""); !strings.HasPrefix(formats, "text\njson\njunit\n") {
		t.Errorf("formats: %s", formats)
	}
}
