// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// spec is what the test's policies say: rules ask for labels.
type spec struct {
	Targets []policy.Target `json:"targets"`
	Rules   []rule          `json:"rules"`
	// NamespaceLabel has the policy match only in namespaces with that label.
	NamespaceLabel string `json:"namespaceLabel,omitempty"`
	// Doubt is what users should know.
	Doubt string `json:"doubt,omitempty"`
	// NamespaceAnnotation does the same with annotations.
	NamespaceAnnotation string `json:"namespaceAnnotation,omitempty"`
	// ReadsStatus has subjects come with their status.
	ReadsStatus bool `json:"readsStatus,omitempty"`
	// Admission has the policy not be for existing resources, Requests be for admission requests.
	Admission bool `json:"admission,omitempty"`
	Requests  bool `json:"requests,omitempty"`
	// Entries are what the policy reads.
	Entries []policy.Entry `json:"entries,omitempty"`
	Problem string         `json:"problem,omitempty"`
}

type rule struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// compiler makes fake policies, and counts.
type compiler struct {
	mu sync.Mutex
	// compiled has the annotations of each policy when it was compiled last.
	compiled map[string]map[string]string
	// evaluated counts evaluations by policy and subject.
	evaluated map[string]map[string]int
	// hold, if not nil, is received from before each evaluation by the policy heldPolicy.
	hold       chan struct{}
	heldPolicy string
}

func newCompiler() *compiler {
	return &compiler{compiled: map[string]map[string]string{}, evaluated: map[string]map[string]int{}}
}

func (c *compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &fakePolicy{
		compiler:     c,
		id:           policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()},
		presentation: policy.Presentation{Source: "fake", Category: object.GetAnnotations()["category"], Scored: true},
		except:       map[string]bool{},
	}
	_, p.unreported = object.GetLabels()[policy.DisabledLabel]
	c.compiled[p.id.String()] = object.GetAnnotations()
	fields, _, err := unstructured.NestedMap(object.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &p.spec)
	}
	p.problem = err
	if p.spec.Problem != "" {
		p.problem = errors.New(p.spec.Problem)
	}
	for _, exception := range exceptions {
		of, _, _ := unstructured.NestedString(exception.Object, "spec", "policy")
		name, _, _ := unstructured.NestedString(exception.Object, "spec", "name")
		if of == p.id.Name {
			p.except[name] = true
		}
	}
	text, err := json.Marshal([]any{p.id, p.spec, slices.Sorted(maps.Keys(p.except))})
	if err != nil {
		panic(err)
	}
	p.fingerprint = string(text)
	return p
}

// count returns how many evaluations there were for policies and subjects with these prefixes.
func (c *compiler) count(id, subject string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for p, subjects := range c.evaluated {
		for s, n := range subjects {
			if strings.HasPrefix(p, id) && strings.HasPrefix(s, subject) {
				sum += n
			}
		}
	}
	return sum
}

// release lets one evaluation by the held policy go on, once there is one.
func (c *compiler) release(tb testing.TB) {
	tb.Helper()
	select {
	case c.hold <- struct{}{}:
	case <-time.After(patience):
		tb.Fatal("nothing is evaluated")
	}
}

func (c *compiler) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evaluated = map[string]map[string]int{}
}

// annotation returns that of a policy when it was compiled last.
func (c *compiler) annotation(id policy.Identity, name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compiled[id.String()][name]
}

type fakePolicy struct {
	compiler     *compiler
	id           policy.Identity
	spec         spec
	presentation policy.Presentation
	fingerprint  string
	problem      error
	unreported   bool
	except       map[string]bool
}

func (p *fakePolicy) Identity() policy.Identity         { return p.id }
func (p *fakePolicy) Presentation() policy.Presentation { return p.presentation }
func (p *fakePolicy) Fingerprint() string               { return p.fingerprint }
func (p *fakePolicy) Background() bool                  { return !p.spec.Admission }
func (p *fakePolicy) Targets() []policy.Target          { return p.spec.Targets }
func (p *fakePolicy) Problem() error                    { return p.problem }
func (p *fakePolicy) Admission() policy.Admission {
	return policy.Admission{Enabled: p.spec.Requests}
}
func (p *fakePolicy) Entries() []policy.Entry { return p.spec.Entries }
func (p *fakePolicy) LeftOut() []string       { return nil }

func (p *fakePolicy) Doubt() error {
	if p.spec.Doubt == "" {
		return nil
	}
	return errors.New(p.spec.Doubt)
}
func (p *fakePolicy) Reported() bool       { return !p.unreported }
func (p *fakePolicy) ReadsStatus() bool    { return p.spec.ReadsStatus }
func (p *fakePolicy) ReadsNamespace() bool { return p.spec.NamespaceAnnotation != "" }
func (p *fakePolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, errors.New("not for requests")
}

func (p *fakePolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if p.compiler.hold != nil && p.id.Name == p.compiler.heldPolicy {
		select {
		case <-p.compiler.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.compiler.saw(p.id, subject)
	if err := p.problem; err != nil {
		return []policy.Result{{Outcome: report.OutcomeError, Message: err.Error()}}, ctx.Err()
	}
	if p.spec.NamespaceLabel != "" {
		if _, ok := subject.NamespaceLabels[p.spec.NamespaceLabel]; !ok {
			return nil, nil
		}
	}
	if name := p.spec.NamespaceAnnotation; name != "" && subject.NamespaceObject.Annotations[name] == "" {
		return nil, nil
	}
	results := make([]policy.Result, 0, len(p.spec.Rules))
	for _, r := range p.spec.Rules {
		result := policy.Result{Rule: r.Name, Outcome: report.OutcomeFail}
		if _, ok := subject.Object.GetLabels()[r.Label]; ok {
			result.Outcome = report.OutcomePass
		}
		if p.except[subject.Object.GetName()] {
			result.Outcome = report.OutcomeSkip
		}
		results = append(results, result)
	}
	return results, nil
}

func (c *compiler) saw(id policy.Identity, subject policy.Subject) {
	name := subjectKey(policy.ReferenceTo(subject.Object))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.evaluated[id.String()] == nil {
		c.evaluated[id.String()] = map[string]int{}
	}
	c.evaluated[id.String()][name]++
}

func subjectKey(r policy.Reference) string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// results is a report of all results.
type results struct {
	mu sync.Mutex
	// current has outcomes by policy, and by subject, as "rule=outcome …".
	current map[policy.Identity]map[policy.Reference]string
	// loaded are the results of an earlier process which nobody has set since.
	loaded  map[policy.Identity]map[policy.Reference]string
	present map[policy.Identity][]policy.Presentation
	// changes counts calls that changed something, pruned those of PruneUnseen.
	changes, pruned int
	// faults are calls that must not be.
	faults []string
}

func newResults() *results {
	return &results{
		current: map[policy.Identity]map[policy.Reference]string{}, loaded: map[policy.Identity]map[policy.Reference]string{},
		present: map[policy.Identity][]policy.Presentation{},
	}
}

// load adds a result that an earlier process left.
func (r *results) load(id policy.Identity, subject policy.Reference, text string) {
	for _, to := range []map[policy.Identity]map[policy.Reference]string{r.current, r.loaded} {
		if to[id] == nil {
			to[id] = map[policy.Reference]string{}
		}
		to[id][subject] = text
	}
}

func (r *results) Present(id policy.Identity, presentation policy.Presentation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.present[id] = append(r.present[id], presentation)
}

func (r *results) Set(id policy.Identity, subject policy.Reference, list []policy.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.present[id]) == 0 {
		r.faults = append(r.faults, fmt.Sprintf("Set of %s before Present", id))
	}
	delete(r.loaded[id], subject)
	words := make([]string, 0, len(list))
	for _, result := range list {
		words = append(words, result.Rule+"="+string(result.Outcome))
	}
	text := strings.Join(words, " ")
	if r.current[id][subject] == text {
		return
	}
	r.changes++
	if text == "" {
		delete(r.current[id], subject)
		return
	}
	if r.current[id] == nil {
		r.current[id] = map[policy.Reference]string{}
	}
	r.current[id][subject] = text
}

func (r *results) RemovePolicy(id policy.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	delete(r.current, id)
	delete(r.loaded, id)
	delete(r.present, id)
}

// Kinds, SetRules, Adopt and RemoveRules are for policies that others evaluate, too. These fakes have none.
func (r *results) Kinds() map[policy.Identity][]schema.GroupVersionKind { return nil }

func (r *results) SetRules(policy.Identity, policy.Reference, []policy.Result, func(string) bool) {
	panic("no rules of others")
}

func (r *results) Adopt(policy.Identity, policy.Reference, []policy.Result, func(string) bool, time.Time) {
	panic("nothing to adopt")
}

func (r *results) RemoveRules(policy.Identity, func(string) bool) { panic("no rules of others") }

func (r *results) PruneUnseen(keep func(policy.Identity, policy.Reference, string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pruned++
	for id, subjects := range r.loaded {
		for subject := range subjects {
			if !keep(id, subject, "") {
				r.changes++
				delete(r.current[id], subject)
				delete(subjects, subject)
			}
		}
	}
}

// lines returns the results whose line has the prefix, sorted, as
// "policy kind/namespace/name rule=outcome …".
func (r *results) lines(prefix string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for id, subjects := range r.current {
		for subject, text := range subjects {
			if line := id.String() + " " + subjectKey(subject) + " " + text; strings.HasPrefix(line, prefix) {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func (r *results) presentations(id policy.Identity) []policy.Presentation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.present[id])
}

func (r *results) counts() (changes, pruned int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes, r.pruned
}
