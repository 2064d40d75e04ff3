// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// defaultOrdered is how many results an answer has at most if the question has no limit.
const defaultOrdered = 100

// first answers a question for results in an order.
func (r *queryStorage) first(ctx context.Context, spec *v1alpha1.ResultQuerySpec, in scope) (*v1alpha1.ResultQueryStatus, error) {
	q, errs := orderQuery(spec, time.Now())
	if r.fleet {
		errs = append(errs, noPages(spec)...)
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind(r.kind).GroupKind(), "", errs)
	}
	q.Kinds, q.Namespace = in.kinds(r.source), in.only()
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	if r.fleet {
		return r.firstOfFleet(ctx, q)
	}
	q.Filter = q.Filter.Of(r.source.cluster)
	page, err := r.source.questions.First(ctx, q)
	if err != nil {
		return nil, store.APIError("answer the question", err)
	}
	status := &v1alpha1.ResultQueryStatus{ResourceVersion: revision(page.State), More: page.More}
	if page.More {
		last := &page.Rows[len(page.Rows)-1]
		if status.Continue, err = orderToken(&q, last); err != nil {
			return nil, err
		}
	}
	if status.Results, err = r.source.orderedResults(&page); err != nil {
		return nil, store.APIError("name the results", err)
	}
	return status, nil
}

// orderQuery returns what a question asks an engine for.
func orderQuery(spec *v1alpha1.ResultQuerySpec, now time.Time) (engine.OrderQuery, field.ErrorList) {
	order, at := spec.Results, field.NewPath("spec")
	errs := alone(spec, at)
	filter, err := compileFilter(at.Child("filter"), spec.Filter, now)
	if err != nil {
		errs = append(errs, err)
	}
	at = at.Child("results")
	q := engine.OrderQuery{
		Filter: filter, OrderBy: engine.Field(order.OrderBy), Descending: order.Descending, Limit: cmp.Or(int(order.Limit), defaultOrdered),
	}
	switch {
	case order.OrderBy == "" && order.Descending:
		errs = append(errs, field.Invalid(at.Child("descending"), true, "needs orderBy; without it, the newest are first"))
	case order.OrderBy == "":
		q.OrderBy, q.Descending = engine.FieldSeconds, true
	case !slices.Contains(engine.Orders(), q.OrderBy):
		errs = append(errs, field.NotSupported(at.Child("orderBy"), q.OrderBy, engine.Orders()))
	}
	if order.Limit < 0 || order.Limit > engine.MaxOrdered {
		errs = append(errs, field.Invalid(at.Child("limit"), order.Limit, fmt.Sprintf("must be from 0 to %d", engine.MaxOrdered)))
	}
	if len(errs) > 0 {
		return q, errs // And nothing about the token: it may be one of another order for that reason.
	}
	if q.After, err = orderPlaceOf(at.Child("continue"), order.Continue, &q); err != nil {
		errs = append(errs, err)
	}
	return q, errs
}

// alone returns an error for each field that says something about groups, which a question for results does not have.
func alone(spec *v1alpha1.ResultQuerySpec, at *field.Path) field.ErrorList {
	var set map[string]any
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if name != "filter" && name != "results" {
			errs = append(errs, field.Forbidden(at.Child(name), "is for groups, and spec.results asks for results; leave one of them out"))
		}
	}
	return errs
}

// compileFilter returns what an expression selects.
func compileFilter(at *field.Path, text string, now time.Time) (*engine.Filter, *field.Error) {
	if len(text) > maxExpression {
		return nil, field.TooLong(at, "", maxExpression)
	}
	filter, err := compileExpression(text, now)
	if err != nil {
		return nil, field.Invalid(at, text, err.Error())
	}
	return filter, nil
}

// orderedResults returns the rows of a page for clients, in their order.
func (s *source) orderedResults(page *engine.RowPage) ([]v1alpha1.OrderedResult, error) {
	ordered := make([]v1alpha1.OrderedResult, 0, len(page.Rows))
	for i := range page.Rows {
		row := &page.Rows[i]
		object, err := s.object(&namedRow{*row, nameOf(row)})
		if err != nil {
			return nil, err
		}
		ordered = append(ordered, v1alpha1.OrderedResult{Namespace: object.Namespace, Name: object.Name, Result: object.Result})
	}
	return ordered, nil
}

// orderedTable prints results in an order, as lists of them are printed.
func orderedTable(ctx context.Context, status *v1alpha1.ResultQueryStatus, options runtime.Object) (*metav1.Table, error) {
	list := &v1alpha1.PolicyResultList{
		ListMeta: metav1.ListMeta{ResourceVersion: status.ResourceVersion, Continue: status.Continue},
		Items:    make([]v1alpha1.PolicyResult, len(status.Results)),
	}
	for i := range status.Results {
		r := &status.Results[i]
		list.Items[i] = v1alpha1.PolicyResult{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}, Result: r.Result}
	}
	return resultTable("PolicyResult").ConvertToTable(ctx, list, options)
}
