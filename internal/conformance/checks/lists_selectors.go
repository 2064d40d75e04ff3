// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"

	"github.com/docket-project/docket/internal/conformance"
)

// noSuchField is one that no kind has.
const noSuchField = "spec.conformanceNoSuchField"

// malformedSelectors are no label selectors.
var malformedSelectors = []string{colorLabel + " in (red", colorLabel + "=red=blue", "!!"} //nolint:gochecknoglobals // A constant.

func listLabelSelector(ctx context.Context, p *conformance.Probe) error {
	red, err := makeLabelled(ctx, p, map[string]string{colorLabel: "red", sizeLabel: "large"})
	if err != nil {
		return err
	}
	blue, err := makeLabelled(ctx, p, map[string]string{colorLabel: "blue"})
	if err != nil {
		return err
	}
	plain, err := makeLabelled(ctx, p, nil)
	if err != nil {
		return err
	}
	for _, test := range []struct {
		selector string
		names    []string
	}{
		{colorLabel + "=red", []string{red}},
		{colorLabel + "==blue", []string{blue}},
		{colorLabel + "=green", nil},
		{colorLabel + "!=red", []string{blue, plain}},
		{colorLabel + " in (red, green)", []string{red}},
		{colorLabel + " in (red,blue)", []string{red, blue}},
		{colorLabel + " notin (red)", []string{blue, plain}},
		{colorLabel, []string{red, blue}},
		{"!" + colorLabel, []string{plain}},
		{colorLabel + "," + sizeLabel + "=large", []string{red}},
	} {
		query := []string{"labelSelector", p.Selector() + "," + test.selector}
		if err := wantNames(ctx, p, p.Collection(), query, test.names...); err != nil {
			return err
		}
	}
	return nil
}

func listFieldSelector(ctx context.Context, p *conformance.Probe) error {
	names, err := makeSome(ctx, p, 2)
	if err != nil {
		return err
	}
	type selected struct {
		selector string
		names    []string
	}
	tests := []selected{
		{"metadata.name=" + names[0], names[:1]},
		{"metadata.name!=" + names[0], names[1:]},
		{"metadata.name=" + p.Name(), nil},
	}
	if p.Namespace != "" {
		tests = append(tests,
			selected{"metadata.namespace=" + p.Namespace, names},
			selected{"metadata.namespace!=" + p.Namespace, nil},
			selected{"metadata.namespace=" + p.Namespace + ",metadata.name=" + names[1], names[1:]},
		)
	}
	for _, test := range tests {
		if err := wantNames(ctx, p, p.Collection(), ours(p, "fieldSelector", test.selector), test.names...); err != nil {
			return err
		}
	}
	return nil
}

func listFieldSelectorUnknown(ctx context.Context, p *conformance.Probe) error {
	return wantNoList(ctx, p, ours(p, "fieldSelector", noSuchField+"=1")...)
}

func listSelectorMalformed(ctx context.Context, p *conformance.Probe) error {
	for _, selector := range malformedSelectors {
		if err := wantNoList(ctx, p, "labelSelector", selector); err != nil {
			return err
		}
	}
	return wantNoList(ctx, p, ours(p, "fieldSelector", "metadata.name")...)
}

// wantNoList returns a failure unless a list is refused as a mistake of the client.
func wantNoList(ctx context.Context, p *conformance.Probe, query ...string) error {
	response, err := p.Send(ctx, conformance.Get(p.Collection(), query...))
	if err != nil {
		return err
	}
	return response.WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
}
