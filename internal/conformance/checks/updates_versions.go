// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
)

// updatesVersions are about what counts the changes of objects.
func updatesVersions() []conformance.Check {
	return []conformance.Check{
		{
			ID:        "update-no-change",
			Rule:      "PUT that changes nothing leaves the resourceVersion of the object as it is.",
			Detail:    "Sends an object as it was read; again if somebody else seems to have changed it at the same time.",
			Reference: "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
			Run:       updateNoChange,
		},
		{
			ID:        "update-resource-version",
			Rule:      "Each change gives an object another resourceVersion, and the answer to PUT has it already.",
			Detail:    "Changes a label twice. The resourceVersion has to be another one each time, and that which GET shows.",
			Reference: "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
			Run:       updateResourceVersion,
		},
		{
			ID:        "update-generation",
			Rule:      "If a kind has metadata.generation, a change of what is wanted raises it and a change of labels does not.",
			Detail:    "Changes a label and then the content. Is left out if objects have no generation, if their content may not be changed, and for kinds of Kubernetes itself that have no spec: some of them differ.",
			Reference: customResources + "#status-subresource",
			Run:       updateGeneration,
		},
	}
}

func updateNoChange(ctx context.Context, p *conformance.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	var failure error
	for range attempts {
		before, response, err := sendChanged(ctx, p, object.GetName(), func(*unstructured.Unstructured) {})
		if err != nil {
			return err
		}
		if err := response.WantOK(); err != nil {
			return err
		}
		after, err := p.Read(ctx, object.GetName())
		if err != nil || after.GetResourceVersion() == before.GetResourceVersion() {
			return err
		}
		failure = response.FailBecause("it is "+strconv.Quote(after.GetResourceVersion())+" then",
			"that the resourceVersion stays %q", before.GetResourceVersion())
	}
	return failure
}

func updateResourceVersion(ctx context.Context, p *conformance.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	seen, confirmed := []string{}, 0
	var failure error
	for i := range attempts {
		before, response, err := sendChanged(ctx, p, object.GetName(), setLabel(strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if err := response.WantOK(); err != nil {
			return err
		}
		answer, err := response.JSON()
		if err != nil {
			return err
		}
		version := (&unstructured.Unstructured{Object: answer}).GetResourceVersion()
		if seen = append(seen, before.GetResourceVersion()); slices.Contains(seen, version) {
			return response.FailBecause(fmt.Sprintf("the object had %q before the change", version), "another resourceVersion")
		}
		after, err := p.Read(ctx, object.GetName())
		if err != nil {
			return err
		}
		if after.GetResourceVersion() == version {
			if confirmed++; confirmed == 2 {
				return nil
			}
			continue
		}
		failure = response.Fail("the resourceVersion that GET shows then, %q", after.GetResourceVersion())
	}
	return failure
}

func updateGeneration(ctx context.Context, p *conformance.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if generationOf(object) == 0 {
		return conformance.Leave("the objects have no metadata.generation")
	}
	// What the generation of a kind without a spec counts is laid down only for custom resources.
	group := p.GroupVersion.Group
	if builtIn := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"); builtIn && object.Object["spec"] == nil {
		return conformance.Leave("the objects have no spec")
	}
	if err := labelsKeepGeneration(ctx, p, object.GetName()); err != nil {
		return err
	}
	for i := 0; ; i++ {
		before, err := p.Read(ctx, object.GetName())
		if err != nil {
			return err
		}
		_, response, err := sendChoice(ctx, p, object.GetName(), p.Resource.Maker.ContentChanges, i)
		if err != nil {
			return err
		}
		if response == nil {
			return conformance.Leave(noContentChange)
		}
		after, err := p.Read(ctx, object.GetName())
		if err != nil {
			return err
		}
		if maps.Equal(leavesOf(contentFields(before)), leavesOf(contentFields(after))) {
			continue // Refused or without effect.
		}
		if generationOf(after) <= generationOf(before) {
			return response.FailBecause(fmt.Sprintf("it is %d then", generationOf(after)), "that metadata.generation rises from %d", generationOf(before))
		}
		return nil
	}
}

// labelsKeepGeneration returns a failure if each change of a label raises the generation: others may
// change the object at the same time.
func labelsKeepGeneration(ctx context.Context, p *conformance.Probe, name string) (failure error) {
	for i := range attempts {
		before, response, err := sendChanged(ctx, p, name, setLabel(strconv.Itoa(i)))
		if err != nil {
			return err
		}
		after, err := p.Read(ctx, name)
		if err != nil || generationOf(after) == generationOf(before) {
			return err
		}
		failure = response.FailBecause(fmt.Sprintf("it is %d then", generationOf(after)), "that metadata.generation stays %d", generationOf(before))
	}
	return failure
}

// generationOf returns 0 if there is none. Numbers may be of any type.
func generationOf(object *unstructured.Unstructured) int64 {
	number, err := strconv.ParseInt(metadataOf(object.Object, "generation"), 10, 64)
	if err != nil {
		return 0
	}
	return number
}
