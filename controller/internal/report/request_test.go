// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// The body of a request is what encoding/json makes of the whole report, metadata that was added later included.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, api := range []API{WGPolicy, OpenReports} {
		l := NewLayout(Options{Split: true, API: api})
		scanned(l, 3, 2)
		l.Set(clusterPolicy("pod-security-policy-0"), policy.Reference{APIVersion: "v1", Kind: "Node", Name: "a"}, []policy.Result{pass("<&\u2028>")})
		for object := range l.Reports() {
			encoded := testkit.Must(encodeReport(object))(t)
			before := testkit.Must(encoded.hash())(t)
			object.SetUID("u")
			object.SetResourceVersion("7")
			object.SetLabels(map[string]string{ManagedByLabel: Manager, "other": "<b>"})
			got := testkit.Must(encoded.request(kindOf(api, object.GetNamespace() != "")))(t)
			if want := asJSON(t, object); string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if len(object.GetResults()) > 0 {
				object.GetResults()[0].Message += "!"
			}
			if after := testkit.Must(hashOf(object))(t); after == before {
				t.Errorf("%s: another message and the same hash", object.GetName())
			}
		}
	}
}
