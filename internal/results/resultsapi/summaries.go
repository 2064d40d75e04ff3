// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// maxCounts bounds the counters that summaries are made of: namespaces × policies × outcomes.
const maxCounts = 1_000_000

// summary is one of any kind, before it is an object.
type summary struct {
	namespace, name, source, policy string
	// subject of a summary of a resource.
	subject v1alpha1.Subject
	// cluster of a summary of one.
	cluster engine.Cluster
	// groups and failing are the numbers of what is counted separately within: namespaces, or policies.
	groups, failing int64
	counts          v1alpha1.Counts
}

// summaryStorage serves one kind of summaries.
type summaryStorage struct {
	resource

	source *source
	// by are the fields whose values are counted separately, beside those that every counter has.
	by []engine.Field
	// about selects the results that are counted; nil for all.
	about *engine.Filter
	// read replaces the counters of the server's own cluster; nil for these.
	read func(context.Context) ([]summary, engine.State, error)
	// group says what a counter belongs to: the summary, by its fields, and what is counted separately within.
	group func(counter) (of summary, within string)
	// list makes a list of summaries.
	list func(metav1.ListMeta, []summary) runtime.Object
	// item makes an object of one.
	item func(summary) runtime.Object
}

var (
	_ rest.Getter = &summaryStorage{}
	_ rest.Lister = &summaryStorage{}
)

// counter is a number of results that agree in these fields.
type counter struct {
	namespace, source, policy, result, severity string
	// subject is set where summaries are those of resources.
	subject v1alpha1.Subject
	results int64
}

// NewList implements rest.Lister.
func (r *summaryStorage) NewList() runtime.Object { return r.newList() }

// Get implements rest.Getter.
func (r *summaryStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	all, _, err := r.summaries(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].name == name {
			return r.item(all[i]), nil
		}
	}
	return nil, apierrors.NewNotFound(v1alpha1.Resource(r.plural), name)
}

// List implements rest.Lister. Its pages are as of now: a summary is in exactly one, with the numbers of that moment.
func (r *summaryStorage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	all, state, err := r.summaries(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := checkRevision(options, state); err != nil {
		return nil, err
	}
	meta := metav1.ListMeta{ResourceVersion: revision(state)}
	if options.Continue != "" {
		after, err := base64.RawURLEncoding.DecodeString(options.Continue)
		if err != nil {
			return nil, apierrors.NewBadRequest("continue: this is no token of a list of this resource; begin without one")
		}
		n, found := slices.BinarySearchFunc(all, string(after), func(s summary, key string) int { return strings.Compare(s.key(), key) })
		if found {
			n++
		}
		all = all[n:]
	}
	if limit := int(options.Limit); limit > 0 && len(all) > limit {
		rest := int64(len(all) - limit)
		all = all[:limit]
		meta.Continue, meta.RemainingItemCount = base64.RawURLEncoding.EncodeToString([]byte(all[limit-1].key())), &rest
	}
	return r.list(meta, all), nil
}

// key orders summaries.
func (s summary) key() string { return s.namespace + "\x00" + s.name }

// summaries returns those that options select, in the order of their keys.
func (r *summaryStorage) summaries(ctx context.Context, options *metainternalversion.ListOptions) ([]summary, engine.State, error) {
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	in := scope{namespaced: true, global: !r.namespaced, namespace: request.NamespaceValue(ctx)}
	choice, in, err := r.source.choose(ctx, options, r.fields, in)
	if err != nil {
		return nil, engine.State{}, store.APIError("list "+r.plural, err)
	}
	selected, err := r.selectedWithoutLabels(options)
	if err != nil {
		return nil, engine.State{}, err
	}
	if choice.nothing || !selected {
		choice.filter = &engine.Filter{Operator: engine.Any}
	}
	all, state, err := r.count(ctx, in, choice.filter)
	if err != nil {
		return nil, state, store.APIError("list "+r.plural, err)
	}
	if choice.name != "" {
		all = slices.DeleteFunc(all, func(s summary) bool { return s.name != choice.name })
	}
	return all, state, nil
}

func (r *summaryStorage) count(ctx context.Context, in scope, filter *engine.Filter) ([]summary, engine.State, error) {
	if r.read != nil {
		all, state, err := r.read(ctx)
		if filter.Never() {
			all = nil
		}
		return all, state, err
	}
	counters, state, err := r.source.counters(ctx, "", in, engine.Both(filter, r.about), r.by)
	return sum(counters, r.group), state, err
}

// subjectFields identify a resource, whatever UID it has, in the order in which counters has them.
func subjectFields() []engine.Field {
	return []engine.Field{engine.FieldSubjectAPIVersion, engine.FieldSubjectKind, engine.FieldSubjectNamespace, engine.FieldSubjectName}
}

// aboutSomething selects the results that are about a resource.
func aboutSomething() *engine.Filter {
	return engine.Negate(engine.Both(engine.Equal(engine.FieldSubjectKind, ""), engine.Equal(engine.FieldSubjectName, "")))
}

// counters reads what summaries are made of, of a cluster: "" for the server's own. by are subjectFields, or none.
func (s *source) counters(ctx context.Context, cluster string, in scope, filter *engine.Filter, by []engine.Field) ([]counter, engine.State, error) {
	counts, err := s.questions.Count(ctx, engine.CountQuery{
		Cluster: cluster, Kinds: in.kinds(s), Namespace: in.only(), Filter: filter, Limit: maxCounts,
		By: append([]engine.Field{engine.FieldNamespace, engine.FieldSource, engine.FieldPolicy, engine.FieldResult, engine.FieldSeverity}, by...),
	})
	if err != nil {
		return nil, engine.State{}, err
	}
	if counts.More {
		return nil, counts.State, apierrors.NewBadRequest("there are too many policies, namespaces and resources to count at once; ask for one namespace")
	}
	counters := make([]counter, len(counts.Counts))
	for i, c := range counts.Counts {
		counters[i] = counter{namespace: c.Values[0], source: c.Values[1], policy: c.Values[2], result: c.Values[3], severity: c.Values[4], results: c.Results}
		if of := c.Values[5:]; len(of) > 0 {
			counters[i].subject = v1alpha1.Subject{APIVersion: of[0], Kind: of[1], Namespace: of[2], Name: of[3]}
		}
	}
	return counters, counts.State, nil
}

// sum adds counters up, in the order of the summaries' keys.
func sum(counters []counter, group func(counter) (summary, string)) []summary {
	type total struct {
		summary

		within map[string]bool // What is counted separately within, and whether it fails.
	}
	totals := map[string]*total{}
	for _, c := range counters {
		of, within := group(c)
		t := totals[of.key()]
		if t == nil {
			t = &total{of, map[string]bool{}}
			totals[of.key()] = t
		}
		if within != "" {
			t.within[within] = t.within[within] || c.result == resultFail
		}
		add(&t.counts, c)
	}
	all := make([]summary, 0, len(totals))
	for _, t := range totals {
		for _, fails := range t.within {
			t.groups++
			if fails {
				t.failing++
			}
		}
		all = append(all, t.summary)
	}
	slices.SortFunc(all, func(a, b summary) int { return strings.Compare(a.key(), b.key()) })
	return all
}

// What results say.
const (
	resultPass  = "pass"
	resultFail  = "fail"
	resultWarn  = "warn"
	resultError = "error"
	resultSkip  = "skip"
)

// noSeverity counts failures without one.
const noSeverity = "none"

func add(to *v1alpha1.Counts, c counter) {
	to.Total += c.results
	switch c.result {
	case resultPass:
		to.Pass += c.results
	case resultFail:
		to.Fail += c.results
		if to.FailBySeverity == nil {
			to.FailBySeverity = map[string]int64{}
		}
		severity := c.severity
		if severity == "" {
			severity = noSeverity
		}
		to.FailBySeverity[severity] += c.results
	case resultWarn:
		to.Warn += c.results
	case resultError:
		to.Error += c.results
	case resultSkip:
		to.Skip += c.results
	}
}

// resourceName returns the name of the summary of a resource: KIND-NAME-HASH where that is a name, else the hash alone.
func resourceName(of *v1alpha1.Subject) string {
	hash := encode(hashOf(of.APIVersion, of.Kind, of.Namespace, of.Name))
	if name := strings.ToLower(of.Kind) + "-" + of.Name + "-" + hash; len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	return hash
}

// policyName returns the name of the summary of a policy: SOURCE.POLICY where that is a name, else one with a hash.
func policyName(source, policy string) string {
	name := policy
	if source != "" {
		name = source + "." + policy
	}
	// A source with a dot could be taken for a shorter one and the beginning of a policy.
	if !strings.Contains(source, ".") && source != "" && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	hashed := strings.ToLower(v1alpha1.LabelValue(source + "/" + policy))
	return strings.ReplaceAll(hashed, "_", "-")
}
