// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dictgen prints a compression dictionary for stored reports: what
// sample reports have in common, as they are encoded for storage. It made
// internal/store/codec/reports1.txt, which must never change again: values
// that are packed with it can only be unpacked with it. A better one gets
// another name and another codec number.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
)

// identity matches what differs from one report to the next and would only
// waste space in a dictionary.
var identity = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9]{10}`)

// size of the dictionary in bytes: more gains little and slows every write.
const size = 48 << 10

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dictgen:", err)
		os.Exit(2)
	}
}

func run() error {
	parts, whole, err := collect()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	// Nearer the end is cheaper to refer to, and long runs cheaper than short
	// ones: single results first, then a whole report of each kind.
	for _, part := range slices.Concat(parts, whole) {
		if _, err := out.WriteString(part); err != nil {
			return err
		}
	}
	return out.Flush()
}

// collect returns parts of reports that don't stand in whole, the rare ones
// first, and a whole report of each kind.
func collect() (parts, whole []string, err error) {
	cluster := sample.Cluster{Seed: 1, NamespaceCount: 3, Now: time.Unix(1700000000, 0)}
	seen := map[string]bool{}
	total := 0
	for i := 0; total < size; i++ {
		for _, kind := range slices.Backward(registry.Kinds()) {
			data, err := encoded(cluster, kind, i)
			if err != nil {
				return nil, nil, err
			}
			if i == 0 {
				whole = append(whole, string(data))
				total += len(data)
			}
			for _, part := range fragments(data) {
				if !seen[part] && i > 0 && total < size {
					total += len(part)
					parts = append(parts, part)
				}
				seen[part] = true
			}
		}
	}
	slices.Reverse(parts)
	return parts, whole, nil
}

// encoded returns a report as it is stored, without what is its own.
func encoded(cluster sample.Cluster, kind registry.Kind, i int) ([]byte, error) {
	sampleKind, err := sample.KindOf(kind.Resource)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(cluster.Report(sampleKind, i, 19))
	if err != nil {
		return nil, err
	}
	object := kind.New()
	if err := json.Unmarshal(data, object); err != nil {
		return nil, err
	}
	if err := asServed(object); err != nil {
		return nil, err
	}
	data, err = json.Marshal(object)
	return identity.ReplaceAll(data, nil), err
}

// managed is how a server records the fields of a report that a client wrote
// whole.
const managed = `{"f:metadata":{"f:annotations":{".":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},` +
	`"f:audit.kyverno.io/resource.uid":{},"f:audit.kyverno.io/source":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"\"}":{}}},` +
	`"f:results":{},"f:scope":{},"f:source":{},"f:summary":{".":{},"f:error":{},"f:fail":{},"f:pass":{},"f:skip":{},"f:warn":{}}}`

// asServed adds what a server adds to an object.
func asServed(object runtime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	now := metav1.NewTime(time.Unix(1800000000, 0).UTC())
	accessor.SetGeneration(1)
	accessor.SetCreationTimestamp(now)
	accessor.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kyverno-reports-controller", Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: object.GetObjectKind().GroupVersionKind().GroupVersion().String(), Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(managed),
	}})
	return nil
}

// end of a result or of the metadata.
var end = regexp.MustCompile(`\},\{|\],"`)

func fragments(data []byte) []string {
	var parts []string
	for {
		at := end.FindIndex(data)
		if at == nil {
			return append(parts, string(data))
		}
		parts = append(parts, string(data[:at[1]]))
		data = data[at[1]:]
	}
}
