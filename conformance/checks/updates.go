// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaUpdates = "Updating"

	// otherUID is that of no object.
	otherUID = "11111111-2222-4333-8444-555555555555"
)

// makeAndLabel makes an object and sets a label with the PUT that a check is about. It returns the
// object as it was before.
func makeAndLabel(p *runner.Probe) (*unstructured.Unstructured, *runner.Response) {
	object := p.Make()
	return p.Change(object.GetName(), setLabel("changed"))
}

var updates = []runner.Check{
	{
		ID: "update-status-code", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT of an object that exists returns 200.",
		Detail:    "Changes a label. Only the code is checked.",
		Reference: apiConventions + "#success-codes",
		Run: func(p *runner.Probe) {
			_, response := makeAndLabel(p)
			response.Want(http.StatusOK)
		},
	},
	{
		ID: "update-answer", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT returns the updated object.",
		Detail:    "The answer must have the changed label, and the kind, apiVersion, name, and namespace.",
		Reference: apiConventions + "#resources",
		Run: func(p *runner.Probe) {
			before, response := makeAndLabel(p)
			response.WantOK()
			wantIdentity(p, response, before.GetName())
			answer := response.JSON()
			if (&unstructured.Unstructured{Object: answer}).GetLabels()[testLabel] != "changed" {
				response.Fail("the object with the label %s=changed", testLabel)
			}
		},
	},
	{
		ID: "update-conflict", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT with an outdated resourceVersion gets 409 and a Status with reason Conflict, and changes nothing.",
		Detail:    "Changes an object, then sends its previous state with a different label.",
		Reference: apiConventions + "#concurrency-control-and-consistency",
		Run: func(p *runner.Probe) {
			stale := p.Make()
			p.Label(stale.GetName(), testLabel, "first")
			setLabel("second")(stale)
			response := p.Send(runner.Put(p.Path(stale.GetName()), stale)).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
			after := p.Read(stale.GetName())
			if after.GetLabels()[testLabel] == "second" {
				response.FailBecause("the object has been changed", "that the object stays as it is")
			}
		},
	},
	{
		ID: "update-missing", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT with the uid and the resourceVersion of an object that does not exist does not create one.",
		Detail:    "The answer must be 404, or 409 because of the uid. Whether PUT without them may create objects is not checked.",
		Reference: apiConventions + "#verbs-on-resources",
		Run: func(p *runner.Probe) {
			object := p.Make()
			name := p.Name()
			object.SetName(name)
			response := p.Send(runner.Put(p.Path(name), object)).WantStatus("", http.StatusNotFound, http.StatusConflict)
			wantNotStored(p, response, name)
		},
	},
	{
		ID: "update-name-mismatch", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT of an object whose name is not the one in the URL gets 400.",
		Detail:    "Changes a label of an object and sends it with a different name.",
		Reference: apiConventions + "#error-codes",
		Run: func(p *runner.Probe) {
			object := p.Make()
			path := p.Path(object.GetName())
			object.SetName(p.Name())
			setLabel("changed")(object)
			p.Send(runner.Put(path, object)).WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
		},
	},
	{
		ID: "update-uid", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT with the uid of another object is refused, and the object keeps its own.",
		Detail:    "The answer must be 409 or 422.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#uids",
		Run: func(p *runner.Probe) {
			object := p.Make()
			name := object.GetName()
			object.SetUID(otherUID)
			setLabel("changed")(object)
			response := p.Send(runner.Put(p.Path(name), object)).WantStatus("", http.StatusConflict, http.StatusUnprocessableEntity)
			after := p.Read(name)
			if after.GetUID() == otherUID {
				response.FailBecause("the object has the uid of the client", "that the object keeps its uid")
			}
		},
	},
	{
		ID: "update-immutable-metadata", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT can't set the creationTimestamp, generation, and deletionTimestamp of an object.",
		Detail:    "Sends an object with different values, one field at a time. The server may refuse or ignore them.",
		Reference: apiConventions + "#metadata",
		Run: func(p *runner.Probe) {
			object := p.Make()
			past := "2001-02-03T04:05:06Z"
			sent := map[string]any{"creationTimestamp": past, "generation": int64(1 << 20), "deletionTimestamp": past}
			for _, field := range []string{"creationTimestamp", "generation", "deletionTimestamp"} {
				_, response := p.Change(object.GetName(), func(object *unstructured.Unstructured) {
					unstructured.SetNestedField(object.Object, sent[field], "metadata", field) //nolint:errcheck // Objects have metadata.
				})
				if !declined(response) && !response.OK() {
					response.Fail("that metadata.%s is refused or ignored", field)
				}
				after := p.Send(runner.Get(p.Path(object.GetName())))
				if after.Code == http.StatusNotFound {
					response.FailBecause("the object is gone", "that metadata.%s is refused or ignored", field)
				}
				read := after.JSON()
				if metadataOf(read, field) == jsonOf(sent[field]) {
					response.FailBecause("the object has the value of the client", "that metadata.%s is refused or ignored", field)
				}
			}
		},
	},
	{
		ID: "update-no-change", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "PUT that changes nothing does not change the resourceVersion.",
		Detail:    "Sends an object as it was read; tries again if others change it.",
		Reference: "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
		Run: func(p *runner.Probe) {
			object := p.Make()
			for try := 1; ; try++ {
				before, response := p.Change(object.GetName(), func(*unstructured.Unstructured) {})
				response.WantOK()
				switch after := p.Read(object.GetName()); {
				case after.GetResourceVersion() == before.GetResourceVersion():
					return
				case try == attempts:
					response.FailBecause(fmt.Sprintf("it is %q then", after.GetResourceVersion()), "that the resourceVersion stays %q", before.GetResourceVersion())
				}
			}
		},
	},
	{
		ID: "update-resource-version", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "Each update gives an object a new resourceVersion, and PUT returns it.",
		Detail:    "Changes a label twice, and compares with GET.",
		Reference: "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions",
		Run: func(p *runner.Probe) {
			object := p.Make()
			seen, confirmed := []string{}, 0
			fail := func() {}
			for i := range attempts {
				before, response := p.Change(object.GetName(), setLabel(strconv.Itoa(i)))
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
	},
	{
		ID: "update-generation", Area: areaUpdates, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "If a kind has metadata.generation, a change of the desired state increases it and a change of labels does not.",
		Detail:    "Changes a label, then the content. Skipped if objects have no generation, if their content can't be changed, and for kinds of Kubernetes itself without a spec: some of them differ.",
		Reference: customResources + "#status-subresource",
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
	},
}

// labelsKeepGeneration fails the check if each change of a label raises the generation: others may
// change the object at the same time.
func labelsKeepGeneration(p *runner.Probe, name string) {
	for try := 1; ; try++ {
		before, response := p.Change(name, setLabel(strconv.Itoa(try)))
		switch after := p.Read(name); {
		case generationOf(after) == generationOf(before):
			return
		case try == attempts:
			response.FailBecause(fmt.Sprintf("it is %d then", generationOf(after)), "that metadata.generation stays %d", generationOf(before))
		}
	}
}

// generationOf returns 0 if there is none. Numbers may be of any type.
func generationOf(object *unstructured.Unstructured) int64 {
	number, err := strconv.ParseInt(metadataOf(object.Object, "generation"), 10, 64)
	if err != nil {
		return 0
	}
	return number
}
