// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// Numbers of groups in an answer, and of fields that they are made by.
const (
	defaultGroups = 100
	maxGroups     = 1000
	maxGroupBy    = 8
)

// What a question can ask for beside the number of results.
const (
	askSubjects   = "subjects"
	askNamespaces = "namespaces"
	askPolicies   = "policies"
	askSources    = "sources"
	askClusters   = "clusters"
	askOldest     = "oldest"
	askNewest     = "newest"
)

func aggregates() []string {
	return []string{askSubjects, askNamespaces, askPolicies, askSources, askClusters, askOldest, askNewest}
}

// queryStorage answers resultqueries, localresultqueries, or fleetqueries.
type queryStorage struct {
	resource

	source *source
	// fleet says that questions are about all clusters of the database.
	fleet bool
}

var _ rest.Creater = &queryStorage{}

// Create implements rest.Creater: the answer is the question with its status, and nothing is stored.
func (r *queryStorage) Create(
	ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	if validate != nil {
		if err := validate(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	in := scope{namespaced: true, global: !r.namespaced, namespace: request.NamespaceValue(ctx)}
	spec, status := questionOf(object)
	if spec == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a question of this API: %T", object))
	}
	answer, err := r.answer(ctx, spec, in)
	if err != nil {
		return nil, err
	}
	*status = *answer
	return object, nil
}

// questionOf returns what all kinds of questions have; nil for anything else.
func questionOf(object runtime.Object) (*v1alpha1.ResultQuerySpec, *v1alpha1.ResultQueryStatus) {
	switch query := object.(type) {
	case *v1alpha1.ResultQuery:
		return &query.Spec, &query.Status
	case *v1alpha1.LocalResultQuery:
		return &query.Spec, &query.Status
	case *v1alpha1.FleetQuery:
		return &query.Spec, &query.Status
	}
	return nil, nil
}

func (r *queryStorage) answer(ctx context.Context, spec *v1alpha1.ResultQuerySpec, in scope) (*v1alpha1.ResultQueryStatus, error) {
	if spec.Results != nil {
		return r.first(ctx, spec, in)
	}
	q, errs := countQuery(spec, time.Now())
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind(r.kind).GroupKind(), "", errs)
	}
	q.Kinds, q.Namespace = in.kinds(r.source), in.only()
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	if r.fleet || asksForClusters(spec, &q) {
		return r.fleetAnswer(ctx, spec, q)
	}
	counts, err := r.source.questions.Count(ctx, q)
	if err != nil {
		return nil, store.APIError("answer the question", err)
	}
	return answerOf(spec, counts), nil
}

// countQuery returns what a question asks an engine for.
func countQuery(spec *v1alpha1.ResultQuerySpec, now time.Time) (engine.CountQuery, field.ErrorList) {
	q := engine.CountQuery{OrderBy: groupField(spec.OrderBy), Descending: spec.Descending, Limit: int(spec.Limit)}
	at := field.NewPath("spec")
	var errs field.ErrorList
	filter, err := compileFilter(at.Child("filter"), spec.Filter, now)
	if err != nil {
		errs = append(errs, err)
	}
	q.Filter = filter
	for i, name := range spec.GroupBy {
		err := checkGroup(at.Child("groupBy").Index(i), name)
		switch {
		case i == maxGroupBy:
			errs = append(errs, field.TooMany(at.Child("groupBy"), len(spec.GroupBy), maxGroupBy))
		case err != nil:
			errs = append(errs, err)
		case slices.Contains(spec.GroupBy[:i], name):
			errs = append(errs, field.Duplicate(at.Child("groupBy").Index(i), name))
		}
		q.By = append(q.By, groupField(name))
	}
	for i, name := range spec.Aggregates {
		if !slices.Contains(aggregates(), name) {
			errs = append(errs, field.NotSupported(at.Child("aggregates").Index(i), name, aggregates()))
		}
	}
	q.Subjects, q.Namespaces = slices.Contains(spec.Aggregates, askSubjects), slices.Contains(spec.Aggregates, askNamespaces)
	q.Policies, q.Sources = slices.Contains(spec.Aggregates, askPolicies), slices.Contains(spec.Aggregates, askSources)
	q.Times = slices.Contains(spec.Aggregates, askOldest) || slices.Contains(spec.Aggregates, askNewest)
	if len(spec.Having) > maxExpression {
		errs = append(errs, field.TooLong(at.Child("having"), "", maxExpression))
	} else if having, err := compileHaving(spec.Having, spec.Aggregates); err != nil {
		errs = append(errs, field.Invalid(at.Child("having"), spec.Having, err.Error()))
	} else {
		q.Having = having
	}
	if orders := slices.Concat(spec.GroupBy, spec.Aggregates, []string{string(engine.OrderResults)}); spec.OrderBy != "" && !slices.Contains(orders, spec.OrderBy) {
		errs = append(errs, field.NotSupported(at.Child("orderBy"), spec.OrderBy, orders))
	}
	switch {
	case spec.Limit < 0 || spec.Limit > maxGroups:
		errs = append(errs, field.Invalid(at.Child("limit"), spec.Limit, fmt.Sprintf("must be from 0 to %d", maxGroups)))
	case spec.Limit == 0:
		q.Limit = defaultGroups
	}
	return q, errs
}

func answerOf(spec *v1alpha1.ResultQuerySpec, counts engine.Counts) *v1alpha1.ResultQueryStatus {
	status := &v1alpha1.ResultQueryStatus{ResourceVersion: revision(counts.State), More: counts.More}
	for i := range counts.Counts {
		count := &counts.Counts[i]
		group := v1alpha1.ResultGroup{Results: count.Results}
		for at, name := range spec.GroupBy {
			if group.By == nil {
				group.By = map[string]string{}
			}
			group.By[name] = count.Values[at]
		}
		for _, name := range spec.Aggregates {
			switch name {
			case askSubjects:
				group.Subjects = &count.Subjects
			case askNamespaces:
				group.Namespaces = &count.Namespaces
			case askPolicies:
				group.Policies = &count.Policies
			case askSources:
				group.Sources = &count.Sources
			case askClusters:
				group.Clusters = &count.Clusters
			case askOldest:
				group.Oldest = timeOf(count.Oldest)
			case askNewest:
				group.Newest = timeOf(count.Newest)
			}
		}
		status.Groups = append(status.Groups, group)
	}
	return status
}

func timeOf(seconds int64) *metav1.Time {
	if seconds == 0 {
		return nil
	}
	at := metav1.Unix(seconds, 0)
	return &at
}

// queryTable prints the answer to a question: a row for each group, with the question's columns, or for each result.
type queryTable string

// ConvertToTable implements rest.TableConvertor.
func (kind queryTable) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	spec, status := questionOf(object)
	if spec == nil {
		return nil, fmt.Errorf("print %T: it is not a %s", object, string(kind))
	}
	if spec.Results != nil {
		return orderedTable(ctx, status, options)
	}
	out := &metav1.Table{Rows: []metav1.TableRow{}}
	out.ResourceVersion = status.ResourceVersion
	if o, ok := options.(*metav1.TableOptions); !ok || o == nil || !o.NoHeaders {
		for _, name := range slices.Concat(spec.GroupBy, []string{string(engine.OrderResults)}, spec.Aggregates) {
			out.ColumnDefinitions = append(out.ColumnDefinitions, metav1.TableColumnDefinition{
				Name: head(name), Type: "string", Description: "Of the results that agree in the fields of spec.groupBy.",
			})
		}
	}
	for i := range status.Groups {
		out.Rows = append(out.Rows, metav1.TableRow{Cells: cells(spec, &status.Groups[i]), Object: runtime.RawExtension{Object: &metav1.PartialObjectMetadata{}}})
	}
	return out, nil
}

func cells(spec *v1alpha1.ResultQuerySpec, group *v1alpha1.ResultGroup) []any {
	var out []any
	for _, name := range spec.GroupBy {
		out = append(out, group.By[name])
	}
	out = append(out, strconv.FormatInt(group.Results, 10))
	for _, name := range spec.Aggregates {
		switch name {
		case askSubjects:
			out = append(out, number(group.Subjects))
		case askNamespaces:
			out = append(out, number(group.Namespaces))
		case askPolicies:
			out = append(out, number(group.Policies))
		case askSources:
			out = append(out, number(group.Sources))
		case askClusters:
			out = append(out, number(group.Clusters))
		case askOldest:
			out = append(out, age(group.Oldest))
		case askNewest:
			out = append(out, age(group.Newest))
		}
	}
	return out
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
