// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// MaxPage is the largest number of results in an answer, and what an answer has for clients that give no limit.
const MaxPage = 5000

// resultStorage serves policyresults, or clusterpolicyresults.
type resultStorage struct {
	resource

	source *source
}

var (
	_ rest.Getter = &resultStorage{}
	_ rest.Lister = &resultStorage{}
)

// Get implements rest.Getter.
func (r *resultStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	rows, err := r.source.find(ctx, r.scope(ctx), name)
	if err != nil {
		return nil, store.APIError("get "+r.plural, err)
	}
	if len(rows.rows) == 0 {
		return nil, apierrors.NewNotFound(v1alpha1.Resource(r.plural), name)
	}
	result, err := r.source.object(&rows.rows[0])
	if err != nil {
		return nil, err
	}
	if r.namespaced {
		return &result, nil
	}
	global := v1alpha1.ClusterPolicyResult(result)
	return &global, nil
}

// find returns the row that has a name, or none.
func (s *source) find(ctx context.Context, in scope, name string) (namedPage, error) {
	parsed, ok := parseName(name)
	if !ok {
		return namedPage{}, nil
	}
	if parsed.about {
		rows, err := s.questions.RowsAbout(ctx, in.namespace, in.kinds(s), parsed.subject)
		if err != nil {
			return namedPage{}, err
		}
		return withName(rows, name), nil
	}
	q := engine.RowQuery{
		Kinds: in.kinds(s), Namespace: &in.namespace, Limit: MaxPage,
		Filter: engine.Both(engine.Equal(engine.FieldSubjectKind, ""), engine.Equal(engine.FieldSubjectName, ""), engine.Equal(engine.FieldSubjectUID, "")),
	}
	for {
		rows, err := s.questions.Rows(ctx, q)
		if err != nil {
			return namedPage{}, err
		}
		found := withName(rows, name)
		if len(found.rows) > 0 || !rows.More || len(rows.Rows) == 0 {
			return found, nil
		}
		q.After = rows.Rows[len(rows.Rows)-1].Report.ReportPlace
	}
}

// withName returns the one of some rows that has a name.
func withName(rows engine.RowPage, name string) namedPage {
	page := namedPage{state: rows.State}
	for i := range rows.Rows {
		if row := &rows.Rows[i]; nameOf(row) == name {
			page.rows = []namedRow{{*row, name}}
		}
	}
	return page
}

// NewList implements rest.Lister.
func (r *resultStorage) NewList() runtime.Object { return r.newList() }

// List implements rest.Lister.
func (r *resultStorage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	page, err := r.list(ctx, options)
	if err != nil {
		return nil, store.APIError("list "+r.plural, err)
	}
	items := make([]v1alpha1.PolicyResult, len(page.rows))
	for i := range page.rows {
		if items[i], err = r.source.object(&page.rows[i]); err != nil {
			return nil, err
		}
	}
	if r.namespaced {
		return &v1alpha1.PolicyResultList{ListMeta: page.meta, Consistency: page.consistency, Items: items}, nil
	}
	global := make([]v1alpha1.ClusterPolicyResult, len(items))
	for i := range items {
		global[i] = v1alpha1.ClusterPolicyResult(items[i])
	}
	return &v1alpha1.ClusterPolicyResultList{ListMeta: page.meta, Consistency: page.consistency, Items: global}, nil
}

// listedPage is a page with what the list says of it.
type listedPage struct {
	namedPage

	meta        metav1.ListMeta
	consistency v1alpha1.Consistency
}

func (r *resultStorage) list(ctx context.Context, options *metainternalversion.ListOptions) (listedPage, error) {
	var out listedPage
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	choice, in, err := r.source.choose(ctx, options, resultFields(), r.scope(ctx))
	if err != nil {
		return out, err
	}
	after, err := placeOf(options.Continue)
	if err != nil {
		return out, err
	}
	limit := pageLimit(options)
	if out.namedPage, err = r.read(ctx, choice, in, after, limit); err != nil {
		return out, err
	}
	if err := checkRevision(options, out.state); err != nil {
		return out, err
	}
	out.meta.ResourceVersion = revision(out.state)
	first := after.Revision
	if first == 0 {
		first = out.state.Revision
	}
	changed := after.Changed || out.changed || first != out.state.Revision
	out.consistency = v1alpha1.ConsistencySnapshot
	if changed {
		out.consistency = v1alpha1.ConsistencyStable
	}
	if !out.more {
		return out, nil
	}
	warnOfMore(ctx, options)
	last := out.rows[len(out.rows)-1]
	out.meta.Continue, err = place{
		Revision: first, Changed: changed,
		Namespace: last.Report.Namespace, Kind: last.Report.Kind, Report: last.Report.Name, Name: last.name,
	}.token()
	return out, err
}

// read returns what selectors chose.
func (r *resultStorage) read(ctx context.Context, choice chosen, in scope, after place, limit int) (namedPage, error) {
	s := r.source
	switch {
	case choice.nothing:
		choice.filter = &engine.Filter{Operator: engine.Any}
	case choice.name != "" && (in.namespace != "" || !in.namespaced):
		return s.findChosen(ctx, choice, in)
	case choice.name != "":
		return namedPage{}, apierrors.NewBadRequest("fieldSelector: " + nameField + " needs a namespace, since names are unique in one only")
	}
	return s.page(ctx, engine.RowQuery{Kinds: in.kinds(s), Namespace: in.only(), Filter: choice.filter}, after, limit)
}

// findChosen is find for a list, with further conditions.
func (s *source) findChosen(ctx context.Context, choice chosen, in scope) (namedPage, error) {
	page, err := s.find(ctx, in, choice.name)
	if err == nil && len(page.rows) == 0 && page.state.Revision == 0 {
		// A name that no result can have: the state is asked for by itself.
		var none engine.RowPage
		none, err = s.questions.Rows(ctx, engine.RowQuery{
			Kinds: in.kinds(s), Namespace: in.only(), Filter: &engine.Filter{Operator: engine.Any}, Limit: 1,
		})
		page.state = none.State
	}
	if err != nil || len(page.rows) == 0 {
		return page, err
	}
	row := &page.rows[0]
	if !choice.filter.Match(textOf(&row.ResultRow), row.Seconds) {
		page.rows = nil
	}
	return page, nil
}

// pageLimit returns how many objects a list may have.
func pageLimit(options *metainternalversion.ListOptions) int {
	if options.Limit <= 0 {
		return MaxPage
	}
	return int(min(options.Limit, MaxPage))
}

// warnOfMore tells clients that give no limit, and may not look for a token, that a list has not all there is.
func warnOfMore(ctx context.Context, options *metainternalversion.ListOptions) {
	if options.Limit == 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("these are the first %d results, there are more: use a limit and go on with the continue token", MaxPage))
	}
}

// checkRevision returns an error if a list is not as new as the client asks for. Only the present can be listed.
func checkRevision(options *metainternalversion.ListOptions, state engine.State) error {
	if options.ResourceVersion == "" || options.ResourceVersion == "0" {
		return nil
	}
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		return apierrors.NewBadRequest("resourceVersionMatch: Exact is not possible: results are listed as they are now; leave it out")
	}
	wanted, err := storage.APIObjectVersioner{}.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	if engine.Revision(wanted) > state.Revision {
		return storage.NewTooLargeResourceVersionError(wanted, uint64(state.Revision), 1)
	}
	return nil
}
