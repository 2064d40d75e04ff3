//go:build ignore

// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Writes models.json to the standard output. The package that it reads exists only
// while hack/generate.sh runs.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/plane/core/openapi/generated"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes a model a line, so that one can see what a new version of Kubernetes changed.
func run() error {
	definitions := generated.GetOpenAPIDefinitions(spec.MustCreateRef)
	// Definitions adds these.
	for name := range generatedopenapi.GetOpenAPIDefinitions(spec.MustCreateRef) {
		delete(definitions, name)
	}
	var document bytes.Buffer
	separator := "{\n"
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(definitions[name].Schema); err != nil {
			return fmt.Errorf("encode the model %s: %w", name, err)
		}
		fmt.Fprintf(&document, "%s%q: %s", separator, name, bytes.TrimSpace(line.Bytes()))
		separator = ",\n"
	}
	document.WriteString("\n}\n")
	_, err := document.WriteTo(os.Stdout)
	return err
}
