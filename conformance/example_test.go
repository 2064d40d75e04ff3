// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance"
)

// The tests of an API server check its conventions in one call.
func ExampleRun() {
	var t *testing.T // The parameter of func TestConventions(t *testing.T).
	conformance.Run(t, conformance.Options{
		Config:       &rest.Config{Host: "https://127.0.0.1:8443", BearerTokenFile: "token"},
		GroupVersion: "example.com/v1",
		Resources:    []string{"widgets"},
		Samples:      []byte("{apiVersion: example.com/v1, kind: Widget, spec: {size: 1}}"),
	})
}
