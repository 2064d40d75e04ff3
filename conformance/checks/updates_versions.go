// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

func updatesVersionsRules() []runner.Check {
	return []runner.Check{updateNoChange(), updateResourceVersion(), updateGeneration()}
}

func updateNoChange() runner.Check {
	return runner.Check{
		ID: "update-no-change", Area: areaUpdates,
		Rule:        "PUT that changes nothing does not change the resourceVersion.",
		Detail:      "Sends an object as it was read; tries again if others change it.",
		Reference:   "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			fail := func() {}
			for range attempts {
				before, response := sendChanged(p, object.GetName(), func(*unstructured.Unstructured) {})
				response.WantOK()
				after := p.Read(object.GetName())
				if after.GetResourceVersion() == before.GetResourceVersion() {
					return
				}
				fail = func() {
					response.FailBecause("it is "+strconv.Quote(after.GetResourceVersion())+" then",
						"that the resourceVersion stays %q", before.GetResourceVersion())
				}
			}
			fail()
		},
	}
}

func updateResourceVersion() runner.Check {
	return runner.Check{
		ID: "update-resource-version", Area: areaUpdates,
		Rule:        "Each update gives an object a new resourceVersion, and PUT returns it.",
		Detail:      "Changes a label twice, and compares with GET.",
		Reference:   "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			seen, confirmed := []string{}, 0
			fail := func() {}
			for i := range attempts {
				before, response := sendChanged(p, object.GetName(), setLabel(strconv.Itoa(i)))
				response.WantOK()
				answer := response.JSON()
				version := (&unstructured.Unstructured{Object: answer}).GetResourceVersion()
				if seen = append(seen, before.GetResourceVersion()); slices.Contains(seen, version) {
					response.FailBecause(fmt.Sprintf("the object had %q before the change", version), "another resourceVersion")
				}
				after := p.Read(object.GetName())
				if after.GetResourceVersion() == version {
					if confirmed++; confirmed == 2 {
						return
					}
					continue
				}
				fail = func() { response.Fail("the resourceVersion that GET shows then, %q", after.GetResourceVersion()) }
			}
			fail()
		},
	}
}

func updateGeneration() runner.Check {
	return runner.Check{
		ID: "update-generation", Area: areaUpdates,
		Rule:        "If a kind has metadata.generation, a change of the desired state increases it and a change of labels does not.",
		Detail:      "Changes a label, then the content. Skipped if objects have no generation, if their content can't be changed, and for kinds of Kubernetes itself without a spec: some of them differ.",
		Reference:   customResources + "#status-subresource",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			if generationOf(object) == 0 {
				runner.Leave("the objects have no metadata.generation")
			}
			// What the generation of a kind without a spec counts is laid down only for custom resources.
			group := p.GroupVersion.Group
			if builtIn := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"); builtIn && object.Object["spec"] == nil {
				runner.Leave("the objects have no spec")
			}
			labelsKeepGeneration(p, object.GetName())
			for i := 0; ; i++ {
				before := p.Read(object.GetName())
				_, response := sendChoice(p, object.GetName(), p.Resource.Maker.ContentChanges, i)
				if response == nil {
					runner.Leave(noContentChange)
				}
				after := p.Read(object.GetName())
				if maps.Equal(leavesOf(contentFields(before)), leavesOf(contentFields(after))) {
					continue // Refused or without effect.
				}
				if generationOf(after) <= generationOf(before) {
					response.FailBecause(fmt.Sprintf("it is %d then", generationOf(after)), "that metadata.generation increases from %d", generationOf(before))
				}
				return
			}
		},
	}
}

// labelsKeepGeneration returns a failure if each change of a label raises the generation: others may
// change the object at the same time.
func labelsKeepGeneration(p *runner.Probe, name string) {
	fail := func() {}
	for i := range attempts {
		before, response := sendChanged(p, name, setLabel(strconv.Itoa(i)))
		after := p.Read(name)
		if generationOf(after) == generationOf(before) {
			return
		}
		fail = func() {
			response.FailBecause(fmt.Sprintf("it is %d then", generationOf(after)), "that metadata.generation stays %d", generationOf(before))
		}
	}
	fail()
}

// generationOf returns 0 if there is none. Numbers may be of any type.
func generationOf(object *unstructured.Unstructured) int64 {
	number, err := strconv.ParseInt(metadataOf(object.Object, "generation"), 10, 64)
	if err != nil {
		return 0
	}
	return number
}
