// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func updatesVersionsRules() []rule {
	return []rule{updateNoChange{}, updateResourceVersion{}, updateGeneration{}}
}

type updateNoChange struct{}

func (r updateNoChange) check() runner.Check {
	return runner.Check{
		ID: "update-no-change", Area: areaUpdates,
		Rule:        "PUT that changes nothing does not change the resourceVersion.",
		Detail:      "Sends an object as it was read; tries again if others seem to have changed it at the same time.",
		Reference:   "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateNoChange) run(p *runner.Probe) {
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
}

func (updateNoChange) broken() broken.Server {
	return broken.That("stores objects anew that have not changed", touch(puts))
}

// touch changes objects a little that are sent without a change.
func touch(match broken.Match) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		before := broken.Current(next, r)
		a := broken.Ask(next, r)
		if object := broken.Current(next, r); a.OK() && before != nil && object != nil {
			metadata, version := broken.FieldsOf(object, "metadata"), broken.FieldsOf(before, "metadata")["resourceVersion"]
			if metadata["resourceVersion"] == version && metadata["deletionTimestamp"] == nil {
				broken.FieldsOf(metadata, "annotations")["example.com/stored-from"] = version
				a = broken.Also(next, r, http.MethodPut, r.URL.Path, broken.JSONType, object)
			}
		}
		a.Send(w)
	})
}

type updateResourceVersion struct{}

func (r updateResourceVersion) check() runner.Check {
	return runner.Check{
		ID: "update-resource-version", Area: areaUpdates,
		Rule:        "Each update gives an object a new resourceVersion, and PUT returns it.",
		Detail:      "Changes a label twice. Each update must return a new resourceVersion, equal to the one GET returns.",
		Reference:   "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateResourceVersion) run(p *runner.Probe) {
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
}

func (updateResourceVersion) broken() broken.Server {
	return broken.That("answers changed objects with the resourceVersion that they had before", echoVersion(puts))
}

func echoVersion(match broken.Match) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(broken.BodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := broken.Ask(next, r)
		if version := broken.FieldsOf(sent, "metadata")["resourceVersion"]; a.OK() && version != nil {
			a.Edit(func(object map[string]any) { broken.FieldsOf(object, "metadata")["resourceVersion"] = version })
		}
		a.Send(w)
	})
}

type updateGeneration struct{}

func (r updateGeneration) check() runner.Check {
	return runner.Check{
		ID: "update-generation", Area: areaUpdates,
		Rule:        "If a kind has metadata.generation, a change of the desired state increases it and a change of labels does not.",
		Detail:      "Changes a label, then the content. Skipped if objects have no generation, if their content can't be changed, and for kinds of Kubernetes itself without a spec: some of them differ.",
		Reference:   customResources + "#status-subresource",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateGeneration) run(p *runner.Probe) {
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
}

func (updateGeneration) broken() broken.Server {
	return broken.That("does not count generations", broken.InAnswers(`\bgeneration("?): ?[0-9]+`, `generation${1}: 1`))
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
