// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// oldestResult is how much older than Cluster.Now a result may be.
const oldestResult = 48 * time.Hour

// report is what all producers fill in; object makes it an object of its kind.
type report struct {
	kind        Kind
	name        string
	namespace   string
	labels      map[string]any
	annotations map[string]any
	source      string
	about       *subject // scope and owner; nil for a report about many resources
	results     []any
	scan        map[string]any // in place of results, for Trivy's kinds
}

func (r report) object() *unstructured.Unstructured {
	metadata := map[string]any{"name": r.name}
	if r.namespace != "" {
		metadata["namespace"] = r.namespace
	}
	if len(r.labels) > 0 {
		metadata["labels"] = r.labels
	}
	if len(r.annotations) > 0 {
		metadata["annotations"] = r.annotations
	}
	if r.about != nil {
		metadata["ownerReferences"] = []any{r.about.owner()}
	}
	object := map[string]any{
		"apiVersion": r.kind.APIVersion,
		"kind":       r.kind.Kind,
		"metadata":   metadata,
	}
	if r.scan != nil {
		object["report"] = r.scan
		return &unstructured.Unstructured{Object: object}
	}
	if r.kind.ephemeral() {
		object["spec"] = map[string]any{
			"owner":   r.about.owner(),
			"summary": summary(r.results),
			"results": r.results,
		}
		return &unstructured.Unstructured{Object: object}
	}
	if r.kind.APIVersion == openreportsVersion {
		object["source"] = r.source
	}
	if r.about != nil {
		object["scope"] = r.about.reference()
	}
	object["summary"] = summary(r.results)
	object["results"] = r.results
	return &unstructured.Unstructured{Object: object}
}

// result is one entry of a report.
type result struct {
	source, policy, rule, category, severity, outcome, message string
	scored                                                     bool
	properties                                                 map[string]any
	about                                                      *subject // when the report has no scope
	at                                                         time.Time
}

func (r result) object() map[string]any {
	object := map[string]any{
		"source":   r.source,
		"policy":   r.policy,
		"category": r.category,
		"severity": r.severity,
		"result":   r.outcome,
		"message":  r.message,
		"scored":   r.scored,
		"timestamp": map[string]any{
			"seconds": r.at.Unix(),
			"nanos":   int64(0),
		},
	}
	if r.rule != "" {
		object["rule"] = r.rule
	}
	if len(r.properties) > 0 {
		object["properties"] = r.properties
	}
	if r.about != nil {
		object["resources"] = []any{r.about.reference()}
	}
	return object
}

func summary(results []any) map[string]any {
	counts := count(results, "result")
	return map[string]any{
		"pass": counts["pass"], "fail": counts["fail"], "warn": counts["warn"],
		"error": counts["error"], "skip": counts["skip"],
	}
}

// count returns how many entries have which value of a field.
func count(entries []any, field string) map[string]int64 {
	counts := map[string]int64{}
	for _, entry := range entries {
		if object, ok := entry.(map[string]any); ok {
			if value, ok := object[field].(string); ok {
				counts[value]++
			}
		}
	}
	return counts
}

// ago returns a time at most oldestResult before now.
func (c Cluster) ago(random *rand.Rand) time.Time {
	return c.Now.Add(-time.Duration(random.Int64N(int64(oldestResult)))).Truncate(time.Second)
}

// weighted returns an outcome: mostly pass, as in a cluster that people look after.
func weighted(random *rand.Rand) string {
	switch n := random.IntN(100); {
	case n < 78:
		return "pass"
	case n < 94:
		return "fail"
	case n < 97:
		return "skip"
	case n < 99:
		return "warn"
	default:
		return "error"
	}
}

func pick[T any](random *rand.Rand, from []T) T {
	return from[random.IntN(len(from))]
}
