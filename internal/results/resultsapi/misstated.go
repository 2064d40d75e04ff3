// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// misstatedStorage serves misstatedreports, or clustermisstatedreports.
type misstatedStorage struct {
	resource

	source *source
}

var (
	_ rest.Getter = &misstatedStorage{}
	_ rest.Lister = &misstatedStorage{}
)

func misstatedReports(s *source) served {
	return &misstatedStorage{source: s, resource: resource{
		kind: "MisstatedReport", plural: "misstatedreports", singular: "misstatedreport", namespaced: true,
		newObject: func() runtime.Object { return &v1alpha1.MisstatedReport{} },
		newList:   func() runtime.Object { return &v1alpha1.MisstatedReportList{} },
		fields:    reportFields(), TableConvertor: misstatedTable[*v1alpha1.MisstatedReport]("MisstatedReport"),
	}}
}

func clusterMisstatedReports(s *source) served {
	return &misstatedStorage{source: s, resource: resource{
		kind: "ClusterMisstatedReport", plural: "clustermisstatedreports", singular: "clustermisstatedreport",
		newObject: func() runtime.Object { return &v1alpha1.ClusterMisstatedReport{} },
		newList:   func() runtime.Object { return &v1alpha1.ClusterMisstatedReportList{} },
		fields:    reportFields(), TableConvertor: misstatedTable[*v1alpha1.ClusterMisstatedReport]("ClusterMisstatedReport"),
	}}
}

// reportFields are those of a report.
func reportFields() []selectable { return selectables(engine.FieldReportKind, engine.FieldReport) }

// misstatedObject is of either kind.
type misstatedObject interface {
	metav1.Object
	runtime.Object
	GetMisstatement() *v1alpha1.Misstatement
}

func misstatedTable[O misstatedObject](kind string) rest.TableConvertor {
	name := kinds.NameColumn[O]("Kind and name of the report.")
	differing := func(of func(*v1alpha1.Misstatement) v1alpha1.Outcomes) func(O) string {
		return func(o O) string { return differingOutcomes(o.GetMisstatement(), of(o.GetMisstatement())) }
	}
	return table(kind, []kinds.Column[O]{
		name,
		textColumn("Stated", "What the summary says, where it is wrong.", differing(func(m *v1alpha1.Misstatement) v1alpha1.Outcomes { return m.Stated })),
		textColumn("Held", "What the results say, where the summary is wrong.", differing(func(m *v1alpha1.Misstatement) v1alpha1.Outcomes { return m.Held })),
	})
}

// differingOutcomes returns the numbers of some outcomes, for people, where a summary is wrong: "2 fail, 0 warn".
func differingOutcomes(report *v1alpha1.Misstatement, of v1alpha1.Outcomes) string {
	counts := func(of engine.Outcomes) []engine.OutcomeCount { return of.Counts() }
	stated, held := counts(engine.Outcomes(report.Stated)), counts(engine.Outcomes(report.Held))
	var texts []string
	for i, outcome := range counts(engine.Outcomes(of)) {
		if *stated[i].Count != *held[i].Count {
			texts = append(texts, fmt.Sprint(*outcome.Count, " ", outcome.Outcome))
		}
	}
	return strings.Join(texts, ", ")
}

// misstatedName is the name of the object about a report: KIND.NAME, which is unique in a namespace.
func misstatedName(kind, name string) string { return strings.ToLower(kind) + "." + name }

// misstatedFilter selects the report that the object with a name is about.
func misstatedFilter(reports []engine.ReportKind, name string) *engine.Filter {
	kind, report, _ := strings.Cut(name, ".")
	for _, known := range reports {
		if strings.ToLower(known.Kind) == kind {
			return engine.Both(engine.Equal(engine.FieldReportKind, known.Kind), engine.Equal(engine.FieldReport, report))
		}
	}
	return &engine.Filter{Operator: engine.Any}
}

// Get implements rest.Getter.
func (r *misstatedStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	in := r.scope(ctx)
	reports := in.kinds(r.source)
	page, err := r.source.questions.Misstated(ctx, engine.MisstatedQuery{
		Kinds: reports, Namespace: in.only(), Filter: misstatedFilter(reports, name), Limit: 1,
	})
	switch {
	case err != nil:
		return nil, store.APIError("get "+r.plural, err)
	case len(page.Reports) == 0:
		return nil, apierrors.NewNotFound(v1alpha1.Resource(r.plural), name)
	}
	object := r.source.misstated(&page.Reports[0])
	if r.namespaced {
		return &object, nil
	}
	global := v1alpha1.ClusterMisstatedReport(object)
	return &global, nil
}

// NewList implements rest.Lister.
func (r *misstatedStorage) NewList() runtime.Object { return r.newList() }

// List implements rest.Lister. Its pages are as of now.
func (r *misstatedStorage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	ctx, cancel := r.source.bounded(ctx)
	defer cancel()
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	page, err := r.page(ctx, options)
	if err != nil {
		return nil, store.APIError("list "+r.plural, err)
	}
	if err := checkRevision(options, page.State); err != nil {
		return nil, err
	}
	meta := metav1.ListMeta{ResourceVersion: revision(page.State)}
	if page.More {
		last := page.Reports[len(page.Reports)-1].ReportRow
		meta.Continue, err = place{
			Revision: page.State.Revision, Namespace: last.Namespace, Kind: last.Kind, Report: last.Name, Name: misstatedName(last.Kind, last.Name),
		}.token()
		warnOfMore(ctx, options, "reports")
	}
	return r.list(meta, page.Reports), err
}

// page returns the reports that options select.
func (r *misstatedStorage) page(ctx context.Context, options *metainternalversion.ListOptions) (engine.MisstatedPage, error) {
	choice, in, err := r.source.choose(ctx, options, r.fields, r.scope(ctx))
	if err != nil {
		return engine.MisstatedPage{}, err
	}
	selected, err := r.selectedWithoutLabels(options)
	if err != nil {
		return engine.MisstatedPage{}, err
	}
	after, err := placeOf(options.Continue)
	if err != nil {
		return engine.MisstatedPage{}, err
	}
	q := engine.MisstatedQuery{Kinds: in.kinds(r.source), Namespace: in.only(), Filter: choice.filter, After: after.report(), Limit: pageLimit(options)}
	switch {
	case choice.nothing, !selected:
		q.Filter = &engine.Filter{Operator: engine.Any}
	case choice.name != "":
		q.Filter = engine.Both(q.Filter, misstatedFilter(q.Kinds, choice.name))
	}
	if err := q.Check(); err != nil {
		return engine.MisstatedPage{}, apierrors.NewBadRequest("continue: " + err.Error())
	}
	return r.source.questions.Misstated(ctx, q)
}

func (r *misstatedStorage) list(meta metav1.ListMeta, reports []engine.Misstated) runtime.Object {
	items := make([]v1alpha1.MisstatedReport, len(reports))
	for i := range reports {
		items[i] = r.source.misstated(&reports[i])
	}
	if r.namespaced {
		return &v1alpha1.MisstatedReportList{ListMeta: meta, Items: items}
	}
	global := make([]v1alpha1.ClusterMisstatedReport, len(items))
	for i := range items {
		global[i] = v1alpha1.ClusterMisstatedReport(items[i])
	}
	return &v1alpha1.ClusterMisstatedReportList{ListMeta: meta, Items: global}
}

func (s *source) misstated(report *engine.Misstated) v1alpha1.MisstatedReport {
	return v1alpha1.MisstatedReport{
		ObjectMeta: s.metadata(&report.ReportRow, misstatedName(report.Kind, report.Name)),
		Misstatement: v1alpha1.Misstatement{
			Report: v1alpha1.ReportName{Kind: report.Kind, Name: report.Name},
			Stated: v1alpha1.Outcomes(report.Stated), Held: v1alpha1.Outcomes(report.Held),
		},
	}
}
