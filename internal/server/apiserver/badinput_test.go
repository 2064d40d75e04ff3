// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/server/apiserver"
)

const (
	mergePatch = "Content-Type: application/merge-patch+json"
	jsonPatch  = "Content-Type: application/json-patch+json"
	applyPatch = "Content-Type: application/apply-patch+yaml"
)

// badRequest is a request that must be refused, without harm.
type badRequest struct {
	method, path string
	body         string
	headers      []string
	wantCode     int
	// wantText must be part of the message.
	wantText string
}

// TestSemantics18BadInput sends what clients get wrong, or send on purpose. Each is refused with a Status that says
// what is wrong, and the server works on.
func TestSemantics18BadInput(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t), func(o *apiserver.Options) {
		o.Server.MaxRequestBodyBytes = 1 << 20
	})
	mustCreate(t, s.reports("ns"), report("there", 1))
	groups := map[string]map[string]badRequest{
		"body": badBodies(), "query": badQueries(), "name": badNames(), "media type": badMediaTypes(), "patch": badPatches(),
	}
	for group, requests := range groups {
		for name, r := range requests {
			t.Run(group+"/"+name, func(t *testing.T) {
				answer := s.do(t, r.method, r.path, []byte(r.body), r.headers...).want(t, r.wantCode)
				status := statusOf(t, answer)
				if status.Status != metav1.StatusFailure || int(status.Code) != r.wantCode || !strings.Contains(status.Message, r.wantText) {
					t.Errorf("the answer does not say %q: %s", r.wantText, answer.body)
				}
			})
		}
	}
	left := names(mustList(t, s.client.Resource(policyReports), metav1.ListOptions{}))
	if len(left) != 1 || left[0] != "there" {
		t.Errorf("bad requests changed what is stored: %v", left)
	}
}

// body returns a report as JSON with one piece of text replaced.
func body(replace, by string) string {
	const good = `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"bad"},` +
		`"summary":{"fail":1},"results":[{"policy":"p","result":"fail"}]}`
	if !strings.Contains(good, replace) {
		panic("nothing to replace: " + replace)
	}
	return strings.Replace(good, replace, by, 1)
}

func badBodies() map[string]badRequest {
	collection := reportsPath("ns", "")
	post := func(body string, code int, text string) badRequest {
		return badRequest{method: http.MethodPost, path: collection, body: body, wantCode: code, wantText: text}
	}
	strict := post(body(`"summary"`, `"sumary"`), http.StatusBadRequest, `unknown field "sumary"`)
	strict.path += "?fieldValidation=Strict"
	twice := post(body(`"summary":{"fail":1}`, `"summary":{"fail":1},"summary":{"fail":2}`), http.StatusBadRequest, "duplicate field")
	twice.path += "?fieldValidation=Strict"
	yaml := post("metadata: [", http.StatusBadRequest, "yaml")
	yaml.headers = []string{"Content-Type: application/yaml"}
	return map[string]badRequest{
		"empty":                 post(" ", http.StatusBadRequest, ""),
		"not JSON":              post("{", http.StatusBadRequest, "unexpected end"),
		"not YAML":              yaml,
		"an array":              post("[]", http.StatusBadRequest, ""),
		"a wrong type":          post(body(`{"fail":1}`, `{"fail":"one"}`), http.StatusUnprocessableEntity, "summary.fail"),
		"an unknown outcome":    post(body(`"result":"fail"`, `"result":"maybe"`), http.StatusUnprocessableEntity, "results[0].result"),
		"no policy":             post(body(`"policy":"p",`, ``), http.StatusUnprocessableEntity, "results[0].policy"),
		"an unknown field":      strict,
		"a field twice":         twice,
		"another kind":          post(body(`"PolicyReport"`, `"ClusterPolicyReport"`), http.StatusUnprocessableEntity, "must be PolicyReport"),
		"no kind":               post(body(`"kind":"PolicyReport",`, ``), http.StatusBadRequest, "Kind"),
		"another group":         post(body(`wgpolicyk8s.io/v1alpha2`, `openreports.io/v1alpha1`), http.StatusBadRequest, ""),
		"another version":       post(body(`v1alpha2`, `v1beta1`), http.StatusBadRequest, "v1beta1"),
		"another namespace":     post(body(`"name":"bad"`, `"name":"bad","namespace":"elsewhere"`), http.StatusBadRequest, "namespace"),
		"a version on create":   post(body(`"name":"bad"`, `"name":"bad","resourceVersion":"1"`), http.StatusInternalServerError, "resourceVersion should not be set"),
		"more than the limit":   post(body(`"p"`, `"`+strings.Repeat("p", 1<<20)+`"`), http.StatusRequestEntityTooLarge, "too large"),
		"an invalid label":      post(body(`"name":"bad"`, `"name":"bad","labels":{"a b":"c"}`), http.StatusUnprocessableEntity, "metadata.labels"),
		"very deep":             post(body(`{"fail":1}`, strings.Repeat(`{"a":`, 100000)+"1"+strings.Repeat("}", 100000)), http.StatusRequestEntityTooLarge, "values"),
		"delete options":        {method: http.MethodDelete, path: reportsPath("ns", "there"), body: `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Sometimes"}`, wantCode: http.StatusUnprocessableEntity, wantText: "propagationPolicy"},
		"another name in a PUT": {method: http.MethodPut, path: reportsPath("ns", "there"), body: body(`"bad"`, `"other"`), wantCode: http.StatusBadRequest, wantText: "name"},
	}
}

func badQueries() map[string]badRequest {
	get := func(query string, code int, text string) badRequest {
		return badRequest{method: http.MethodGet, path: reportsPath("ns", "") + "?" + query, wantCode: code, wantText: text}
	}
	return map[string]badRequest{
		"a label selector that can't be parsed": get("labelSelector="+url.QueryEscape("a in (b"), http.StatusBadRequest, ""),
		"a field selector that can't be parsed": get("fieldSelector=metadata.name", http.StatusBadRequest, ""),
		"a field that can't be selected":        get("fieldSelector=results%3Da", http.StatusBadRequest, "results"),
		"SQL in a field selector":               get("fieldSelector="+url.QueryEscape(`x';drop table object;--=a`), http.StatusBadRequest, ""),
		"a continue token of nonsense":          get("limit=1&continue=nonsense", http.StatusBadRequest, "continue"),
		"a continue token of another format":    get("limit=1&continue="+url.QueryEscape("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vIn0"), http.StatusBadRequest, "continue"),
		"a continue token with a version":       get("limit=1&resourceVersion=5&continue=x", http.StatusBadRequest, ""),
		"a version that is no number":           get("resourceVersion=latest", http.StatusBadRequest, ""),
		"a negative version":                    get("resourceVersion=-1", http.StatusBadRequest, ""),
		"a version beyond 64 bits":              get("resourceVersion=99999999999999999999", http.StatusBadRequest, ""),
		"a version of the future":               get("resourceVersion=9000000000000000&resourceVersionMatch=NotOlderThan", http.StatusGatewayTimeout, "Too large resource version"),
		"a match without a version":             get("resourceVersionMatch=Exact", http.StatusUnprocessableEntity, "resourceVersionMatch"),
		"an exact match of version 0":           get("resourceVersion=0&resourceVersionMatch=Exact", http.StatusUnprocessableEntity, "resourceVersion"),
		"initial events without a match":        get("watch=true&sendInitialEvents=true", http.StatusUnprocessableEntity, "sendInitialEvents"),
		"a limit that is no number":             get("limit=all", http.StatusBadRequest, ""),
		"a watch from nonsense":                 get("watch=true&resourceVersion=latest", http.StatusBadRequest, ""),
		"unknown dry run":                       {method: http.MethodDelete, path: reportsPath("ns", "there") + "?dryRun=Perhaps", wantCode: http.StatusUnprocessableEntity, wantText: "dryRun"},
		"deletecollection with a bad selector":  {method: http.MethodDelete, path: reportsPath("ns", "") + "?labelSelector=" + url.QueryEscape("a in (b"), wantCode: http.StatusBadRequest},
	}
}

func badNames() map[string]badRequest {
	post := func(name string) badRequest {
		return badRequest{
			method: http.MethodPost, path: reportsPath("ns", ""), body: body(`"bad"`, fmt.Sprintf("%q", name)),
			wantCode: http.StatusUnprocessableEntity, wantText: "metadata.name",
		}
	}
	long := post(strings.Repeat("n", 254))
	namespace := badRequest{
		method: http.MethodPost, path: reportsPath("UPPER", ""), body: body(`"bad"`, `"bad"`),
		wantCode: http.StatusUnprocessableEntity, wantText: "metadata.namespace",
	}
	return map[string]badRequest{
		"254 characters": long,
		"upper case":     post("Name"),
		"a slash":        post("a/b"),
		"dots":           post(".."),
		"no name at all": post(""),
		"namespace":      namespace,
		"missing object": {method: http.MethodGet, path: reportsPath("ns", "missing"), wantCode: http.StatusNotFound, wantText: `policyreports.wgpolicyk8s.io "missing" not found`},
		"traversal":      {method: http.MethodGet, path: reportsPath("ns", "..%2f..%2fother"), wantCode: http.StatusBadRequest, wantText: "%"},
	}
}

func badMediaTypes() map[string]badRequest {
	collection := reportsPath("ns", "")
	return map[string]badRequest{
		"accept XML":    {method: http.MethodGet, path: collection, headers: []string{"Accept: application/xml"}, wantCode: http.StatusNotAcceptable},
		"send XML":      {method: http.MethodPost, path: collection, body: "<a/>", headers: []string{"Content-Type: application/xml"}, wantCode: http.StatusUnsupportedMediaType},
		"send protobuf": {method: http.MethodPost, path: collection, body: "k8s\x00", headers: []string{"Content-Type: application/vnd.kubernetes.protobuf"}, wantCode: http.StatusUnsupportedMediaType},
		"patch as JSON": {method: http.MethodPatch, path: reportsPath("ns", "there"), body: "{}", wantCode: http.StatusUnsupportedMediaType},
	}
}

func badPatches() map[string]badRequest {
	patch := func(kind, body string, code int, text string) badRequest {
		return badRequest{method: http.MethodPatch, path: reportsPath("ns", "there"), body: body, headers: []string{kind}, wantCode: code, wantText: text}
	}
	var many bytes.Buffer
	for i := range 10001 {
		fmt.Fprintf(&many, `%c{"op":"test","path":"/kind","value":"PolicyReport"}`, "[,"[min(i, 1)])
	}
	apply := patch(applyPatch, `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport"}`, http.StatusUnprocessableEntity, "fieldManager")
	managed := patch(applyPatch, `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"managedFields":[{}]}}`, http.StatusBadRequest, "managedFields")
	managed.path += "?fieldManager=x"
	return map[string]badRequest{
		"merge patch that is no JSON":       patch(mergePatch, "{", http.StatusBadRequest, ""),
		"JSON patch that is no list":        patch(jsonPatch, "{}", http.StatusBadRequest, ""),
		"JSON patch with too many steps":    patch(jsonPatch, many.String()+"]", http.StatusRequestEntityTooLarge, ""),
		"merge patch with an unknown value": patch(mergePatch, `{"results":[{"policy":"p","result":"maybe"}]}`, http.StatusUnprocessableEntity, "results[0].result"),
		"merge patch of the name":           patch(mergePatch, `{"metadata":{"name":"other"}}`, http.StatusBadRequest, ""),
		"apply without a manager":           apply,
		"apply with managed fields":         managed,
	}
}

// TestUnknownFields: Warn tells and stores, Ignore only stores.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t))
	for validation, wantWarning := range map[string]bool{"Warn": true, "Ignore": false} {
		answer := s.do(t, http.MethodPost, reportsPath("ns", "")+"?fieldValidation="+validation,
			[]byte(strings.Replace(body(`"summary"`, `"sumary"`), `"bad"`, `"`+strings.ToLower(validation)+`"`, 1))).want(t, http.StatusCreated)
		if got := strings.Contains(answer.Header.Get("Warning"), `unknown field \"sumary\"`); got != wantWarning {
			t.Errorf("%s: warning %q, want one: %v", validation, answer.Header.Get("Warning"), wantWarning)
		}
	}
}

// TestProtobuf: reports have no such form, but clients that offer JSON as well get
// that, and errors come in the form that was asked for.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t))
	mustCreate(t, s.reports("ns"), report("a", 1))
	const protobuf = "application/vnd.kubernetes.protobuf"
	s.do(t, http.MethodGet, reportsPath("ns", "a"), nil, "Accept: "+protobuf).want(t, http.StatusNotAcceptable)
	both := s.do(t, http.MethodGet, reportsPath("ns", "a"), nil, "Accept: "+protobuf+",application/json").want(t, http.StatusOK)
	if got := both.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("protobuf or JSON was answered with %s", got)
	}
}

// TestExtremes: what is large or odd but allowed works.
func TestExtremes(t *testing.T) {
	t.Parallel()
	for name, newURL := range enginesFor(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, newURL(t))
			client := s.reports(strings.Repeat("n", 63))
			longest := strings.Repeat("n", 253)
			mustCreate(t, client, report(longest, 1))
			mustGet(t, client, longest)

			odd := report("odd", 1)
			const message = "nul \x00, quote ' \", percent %s, emoji \U0001f600, replacement \ufffd"
			odd.Object["results"] = []any{map[string]any{"policy": "p", "message": message, "properties": map[string]any{"k\x00": "v\x00"}}}
			mustCreate(t, client, odd)
			if got := mustGet(t, client, "odd").Object["results"]; !cmp.Equal(odd.Object["results"], got) {
				t.Errorf("odd text came back as %v", got)
			}

			results := 20000
			if name == "etcd" {
				results = 3000 // TestEtcdTooLarge shows its limit.
			}
			mustCreate(t, client, report("large", results))
			large := mustGet(t, client, "large")
			if got, ok := large.Object["results"].([]any); !ok || len(got) != results {
				t.Errorf("a report of %d results came back with %d", results, len(got))
			}
			large.SetLabels(map[string]string{"x": "y"})
			mustUpdate(t, client, large)
			mustDelete(t, client, "large")
		})
	}
}

// TestLongSelectors: selectors of thousands of parts select what they say.
func TestLongSelectors(t *testing.T) {
	t.Parallel()
	parts := func(n int, format, separator string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(all, separator)
	}
	for name, newURL := range enginesFor(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := startServer(t, newURL(t)).reports("team-a")
			mustCreate(t, client, labelled(report("selected", 1), map[string]string{"a": "v7", "b": "w"}))
			mustCreate(t, client, labelled(report("other", 1), map[string]string{"a": "x"}))
			for selector, want := range map[string][]string{
				"a in (" + parts(3000, "v%d", ",") + ")":   {"selected"},
				"a=v7,b=w," + parts(3000, "no-%d!=x", ","): {"selected"},
				"a=v7,b=w," + parts(3000, "a!=y%d", ","):   {"selected"},
				parts(3000, "a in (v7,x%d)", ","):          {"selected"},
				"a," + parts(3000, "a%d", ","):             {},
				"b=w," + parts(3000, "a%d=x", ","):         {},
			} {
				if got := names(mustList(t, client, metav1.ListOptions{LabelSelector: selector})); !cmp.Equal(want, got) {
					t.Errorf("%.30s… selects %v, want %v", selector, got, want)
				}
			}
		})
	}
}
