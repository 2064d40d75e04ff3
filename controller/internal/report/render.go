// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
)

// Reports returns all reports as they are now, by namespace and name, those about cluster-scoped subjects
// first. Each is complete except for what a server adds.
func (l *Layout) Reports() iter.Seq[report.Accessor] {
	return func(yield func(report.Accessor) bool) {
		for _, key := range l.keys() {
			if finished, ok := l.report(key); ok && !yield(finished) {
				return
			}
		}
	}
}

func (l *Layout) keys() []reportKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make([]reportKey, 0, len(l.chunks))
	for key := range l.chunks {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b reportKey) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return keys
}

// report returns a report as it is now; false if there is none with this key.
func (l *Layout) report(key reportKey) (report.Accessor, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.chunks[key]
	if c == nil {
		return nil, false
	}
	return c.render(l.options.API), true
}

func (l *Layout) has(key reportKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chunks[key] != nil
}

func (l *Layout) isPruned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pruned
}

// overhead returns the size of a report of a group without results, in bytes.
func (l *Layout) overhead(g *group) int {
	const high = 1 << 30 // A chunk with a long number, and so with a hash in its name.
	probe := &chunk{group: g, number: high, key: reportKey{namespace: g.key.namespace, name: g.name(high)}}
	data, err := json.Marshal(probe.render(l.options.API))
	if err != nil {
		return reserve // It is never larger.
	}
	const source, counts = longText, 5 * 10 // The source of the whole report, and the digits of the summary.
	return len(data) + source + counts + serverBytes
}

// render returns the report, which shares nothing with the chunk.
//
// It has no scope: scope is the one resource that a whole report is about, and if there is one, consumers
// name and filter all results by it. What a result is about is in its resources.
func (c *chunk) render(api API) report.Accessor {
	labels, annotations := c.marks()
	meta := metav1.ObjectMeta{Namespace: c.key.namespace, Name: c.key.name, Labels: labels, Annotations: annotations}
	results := c.results()
	summary := report.Count(results).Summary()
	kind := kindOf(api, meta.Namespace != "")
	if api == OpenReports {
		body := openreports.ReportBody{Summary: summary, Results: results}
		if source := report.CommonSource(results); source != "" {
			body.Source = &source
		}
		if meta.Namespace == "" {
			return &openreports.ClusterReport{TypeMeta: kind.typeMeta(), ObjectMeta: meta, ReportBody: body}
		}
		return &openreports.Report{TypeMeta: kind.typeMeta(), ObjectMeta: meta, ReportBody: body}
	}
	body := wgpolicy.ReportBody{Summary: summary, Results: results}
	if meta.Namespace == "" {
		return &wgpolicy.ClusterPolicyReport{TypeMeta: kind.typeMeta(), ObjectMeta: meta, ReportBody: body}
	}
	return &wgpolicy.PolicyReport{TypeMeta: kind.typeMeta(), ObjectMeta: meta, ReportBody: body}
}

// results returns the results by policy, rule and subject.
func (c *chunk) results() []report.Result {
	records := make([]resolved, len(c.records))
	for i := range records {
		r := c.at(i)
		records[i] = resolved{r, c.group.arena.subject(r)}
	}
	slices.SortFunc(records, compareRecords)
	shared := sharing{}
	results := make([]report.Result, len(records))
	for i, r := range records {
		results[i] = r.render(shared)
	}
	return results
}

// resolved is a record with its subject.
type resolved struct {
	*record

	about *subject
}

func compareRecords(a, b resolved) int {
	x, y := a.about, b.about
	p, q := x.place.Value(), y.place.Value()
	s, t := a.text.Value(), b.text.Value()
	return cmp.Or(
		cmp.Compare(s.owner.resultName, t.owner.resultName), cmp.Compare(s.owner.id.Kind, t.owner.id.Kind),
		cmp.Compare(s.rule, t.rule),
		cmp.Compare(p.kind, q.kind), cmp.Compare(x.name, y.name), cmp.Compare(x.uid, y.uid), cmp.Compare(p.apiVersion, q.apiVersion),
		// For several results of one rule.
		cmp.Compare(s.outcome, t.outcome), cmp.Compare(s.message, t.message),
		cmp.Compare(s.properties, t.properties), cmp.Compare(a.changed, b.changed),
	)
}

// sharing has the properties of results, including the process of their policy: most results of a report have
// equal ones and share one map.
type sharing map[sharedProperties]map[string]string

type sharedProperties struct {
	process string
	data    string
}

func (s sharing) properties(r *record) map[string]string {
	t := r.text.Value()
	key := sharedProperties{process: t.owner.presentation.Process, data: t.properties}
	properties, known := s[key]
	if known {
		return properties
	}
	properties = decode(key.data)
	if key.process != "" {
		if properties == nil {
			properties = map[string]string{}
		}
		properties[processProperty] = key.process
	}
	s[key] = properties
	return properties
}

// decode is the inverse of encode.
func decode(data string) map[string]string {
	if data == "" {
		return nil
	}
	var properties map[string]string
	if err := json.Unmarshal([]byte(data), &properties); err != nil {
		return nil
	}
	return properties
}

func (r resolved) render(shared sharing) report.Result {
	reference, t := r.about.reference(), r.text.Value()
	shown := &t.owner.presentation
	result := report.Result{
		Policy: t.owner.resultName, Rule: t.rule, Category: shown.Category, Severity: shown.Severity,
		Timestamp: &metav1.Timestamp{Seconds: int64(r.changed)}, Result: r.text.shown(), Scored: new(shown.Scored),
		Message: t.message, Properties: shared.properties(r.record),
		Resources: []report.ObjectReference{{
			APIVersion: reference.APIVersion, Kind: reference.Kind,
			Namespace: reference.Namespace, Name: reference.Name, UID: reference.UID,
		}},
	}
	if shown.Source != "" {
		result.Source = new(shown.Source)
	}
	return result
}
