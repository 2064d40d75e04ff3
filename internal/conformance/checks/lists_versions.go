// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/conformance"
)

// farFuture is how many writes a server does not do before a check ends.
const farFuture = 1 << 32

func listVersionAny(ctx context.Context, p *conformance.Probe) error {
	for _, query := range [][]string{{"resourceVersion", "0"}, {"resourceVersion", "0", "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)}} {
		response, err := p.Send(ctx, conformance.Get(p.Collection(), ours(p, query...)...))
		if err != nil {
			return err
		}
		if !response.OK() {
			return response.Fail("a list")
		}
		if _, err := listOf(response); err != nil {
			return err
		}
	}
	return nil
}

func listVersionExact(ctx context.Context, p *conformance.Probe) error {
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	before, err := readOurs(ctx, p)
	if err != nil {
		return err
	}
	old := before.item(made.GetName())
	if version := before.version(); old == nil || version == "" || version == "0" {
		return conformance.Leave("there is no list with a resourceVersion and the object that was made before")
	}
	if _, err := p.Label(ctx, made.GetName(), colorLabel, "red"); err != nil {
		return err
	}
	later, err := p.Make(ctx)
	if err != nil {
		return err
	}
	query := ours(p, "resourceVersion", before.version(), "resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	response, err := p.Send(ctx, conformance.Get(p.Collection(), query...))
	if err != nil || response.Code == http.StatusGone {
		return err
	}
	if !response.OK() {
		return response.Fail("a list, or 410 Gone")
	}
	list, err := listOf(response)
	if err != nil {
		return err
	}
	if list.version() != before.version() {
		return list.FailBecause(fmt.Sprintf("it is %q", list.version()), "a list whose metadata.resourceVersion is %s, as asked for", before.version())
	}
	if list.item(later.GetName()) != nil {
		return list.Fail("a list without %s, which was created later", later.GetName())
	}
	item := list.item(made.GetName())
	if item == nil {
		return list.Fail("a list with %s, which existed at that resourceVersion", made.GetName())
	}
	if item.GetLabels()[colorLabel] != "" {
		return list.Fail("%s without the label %s, which it got later", made.GetName(), colorLabel)
	}
	return nil
}

func listVersionNotOlder(ctx context.Context, p *conformance.Probe) error {
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	changed, err := p.Label(ctx, made.GetName(), colorLabel, "red")
	if err != nil {
		return err
	}
	if changed.GetResourceVersion() == "" {
		return conformance.Leave("objects have no resourceVersion")
	}
	query := ours(p, "resourceVersion", changed.GetResourceVersion(), "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	response, err := askWhenThere(ctx, p, query...)
	if err != nil {
		return err
	}
	if !response.OK() {
		return response.Fail("a list: the resourceVersion is that of an object which was just read")
	}
	list, err := listOf(response)
	if err != nil {
		return err
	}
	item := list.item(made.GetName())
	if item == nil || item.GetLabels()[colorLabel] != "red" {
		return list.Fail("a list with %s, and its label %s, which was written at that resourceVersion", made.GetName(), colorLabel)
	}
	return nil
}

// askWhenThere asks for a list again while a server that is behind says so.
func askWhenThere(ctx context.Context, p *conformance.Probe, query ...string) (*conformance.Response, error) {
	for try := 1; ; try++ {
		response, err := p.Send(ctx, conformance.Get(p.Collection(), query...))
		if err != nil || response.Code != http.StatusGatewayTimeout || try == attempts {
			return response, err
		}
	}
}

func listVersionFuture(ctx context.Context, p *conformance.Probe) error {
	present, err := presentVersion(ctx, p)
	if err != nil {
		return err
	}
	query := ours(p, "resourceVersion", strconv.FormatUint(present+farFuture, 10), "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	response, err := p.Send(ctx, conformance.Get(p.Collection(), query...))
	if err != nil {
		return err
	}
	if status, _ := response.Status(); response.Code >= http.StatusBadRequest && status != nil && status.Status == metav1.StatusFailure {
		return nil
	}
	return response.Fail("an error, as 504 Gateway Timeout with a Status, because the resourceVersion is far ahead of %d", present)
}

// presentVersion returns the resourceVersion of a list. Checks are left out if it is no number that
// can still grow.
func presentVersion(ctx context.Context, p *conformance.Probe) (uint64, error) {
	list, err := readOurs(ctx, p)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(list.version(), 10, 64)
	if err != nil || number > math.MaxInt64-farFuture {
		return 0, conformance.Leave("the resourceVersions of the server are no numbers that rise (%q)", list.version())
	}
	return number, nil
}

func listVersionMalformed(ctx context.Context, p *conformance.Probe) error {
	if _, err := presentVersion(ctx, p); err != nil {
		return err
	}
	return wantNoList(ctx, p, ours(p, "resourceVersion", "abc")...)
}

func listMatchWithoutVersion(ctx context.Context, p *conformance.Probe) error {
	for _, query := range [][]string{
		{"resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)},
		{"resourceVersionMatch", string(metav1.ResourceVersionMatchExact)},
		{"resourceVersionMatch", "Roughly", "resourceVersion", "0"},
	} {
		if err := wantNoList(ctx, p, ours(p, query...)...); err != nil {
			return err
		}
	}
	return nil
}
