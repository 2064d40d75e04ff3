// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// gadgetDocument is a document of OpenAPI with the schema of a gadget in it, which has a reference.
func gadgetDocument(count, description string) string {
	return fmt.Sprintf(`{"components":{"schemas":{
		"Gadget":{"description":%q,"properties":{"count":{"allOf":[{"$ref":"#/components/schemas/Count"}],"description":"x"}},"x-kubernetes-group-version-kind":[{"group":"example.com","kind":"Gadget","version":"v1"}]},
		"Count":%s}},
		"paths":{"/apis/example.com/v1/gadgets":{"get":{"parameters":[{"in":"query","name":"limit"}],"responses":{"200":{}}}},"/apis/other/v1/things":{"get":{}}}}`, description, count)
}

func TestCompareDocuments(t *testing.T) {
	t.Parallel()
	serve := func(openapi, verbs string) *Target {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", typeJSON)
			switch {
			case strings.HasPrefix(r.URL.Path, "/openapi/v3/"):
				fmt.Fprint(w, openapi)
			case r.URL.Path == "/apis/example.com/v1":
				fmt.Fprintf(w, `{"resources":[{"name":"gadgets","verbs":%s}]}`, verbs)
			default:
				fmt.Fprint(w, `{}`)
			}
		}))
		t.Cleanup(server.Close)
		return testkit.Must(NewTarget("documents", &rest.Config{Host: server.URL}, ""))(t)
	}
	integer := gadgetDocument(`{"type":"integer"}`, "One text.")
	left := serve(integer, `["get","list"]`)
	for name, test := range map[string]struct {
		openapi, verbs, want string
	}{
		"equal":              {gadgetDocument(`{"type":"integer"}`, "Another text."), `["list","get"]`, ""},
		"another type":       {gadgetDocument(`{"type":"number"}`, "One text."), `["list","get"]`, "/openapi/v3/apis/example.com/v1 schemas.v1/Gadget.schema.properties.count.type"},
		"a default":          {gadgetDocument(`{"type":"integer","default":0}`, "One text."), `["list","get"]`, "/openapi/v3/apis/example.com/v1 schemas.v1/Gadget.schema.properties.count.default"},
		"a verb":             {integer, `["list"]`, "/apis/example.com/v1 resources.gadgets.verbs"},
		"another parameter":  {strings.Replace(integer, `"limit"`, `"continue"`, 1), `["get","list"]`, `/openapi/v3/apis/example.com/v1 paths."/apis/example.com/v1/gadgets".get.parameters[]`},
		"the path of others": {strings.Replace(integer, "things", "others", 1), `["get","list"]`, ""},
	} {
		runner := &Runner{Left: left, Right: serve(test.openapi, test.verbs)}
		found := testkit.Must(runner.CompareDocuments(t.Context(), []Kind{gadget()}))(t)
		var paths []string
		for _, d := range found {
			paths = append(paths, d.Path)
		}
		if got := strings.Join(paths, ", "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
