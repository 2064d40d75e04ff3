// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"

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
	return sendChanged(p, object.GetName(), setLabel("changed"))
}

func updates() []runner.Check {
	return slices.Concat([]runner.Check{
		updateStatusCode(),
		updateAnswer(),
		updateConflict(),
		updateMissing(),
		updateNameMismatch(),
		updateUID(),
		updateImmutableMetadata(),
	}, updatesVersionsRules())
}

func updateStatusCode() runner.Check {
	return runner.Check{
		ID: "update-status-code", Area: areaUpdates,
		Rule:        "PUT of an object that exists returns 200.",
		Detail:      "Changes a label. Only the code is checked.",
		Reference:   apiConventions + "#success-codes",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			_, response := makeAndLabel(p)
			response.Want(http.StatusOK)
		},
	}
}

func updateAnswer() runner.Check {
	return runner.Check{
		ID: "update-answer", Area: areaUpdates,
		Rule:        "PUT returns the updated object.",
		Detail:      "The answer must have the changed label, and the kind, apiVersion, name, and namespace.",
		Reference:   apiConventions + "#resources",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			before, response := makeAndLabel(p)
			response.WantOK()
			wantIdentity(p, response, before.GetName())
			answer := response.JSON()
			if (&unstructured.Unstructured{Object: answer}).GetLabels()[testLabel] != "changed" {
				response.Fail("the object with the label %s=changed", testLabel)
			}
		},
	}
}

func updateConflict() runner.Check {
	return runner.Check{
		ID: "update-conflict", Area: areaUpdates,
		Rule:        "PUT with an outdated resourceVersion gets 409 and a Status with reason Conflict, and changes nothing.",
		Detail:      "Changes an object, then sends its previous state with a different label.",
		Reference:   apiConventions + "#concurrency-control-and-consistency",
		PerResource: true, Verbs: []string{"create", "get", "update"},
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
	}
}

func updateMissing() runner.Check {
	return runner.Check{
		ID: "update-missing", Area: areaUpdates,
		Rule:        "PUT with the uid and the resourceVersion of an object that does not exist does not create one.",
		Detail:      "The answer must be 404, or 409 because of the uid. Whether PUT without them may create objects is not checked.",
		Reference:   apiConventions + "#verbs-on-resources",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			name := p.Name()
			object.SetName(name)
			response := p.Send(runner.Put(p.Path(name), object)).WantStatus("", http.StatusNotFound, http.StatusConflict)
			wantNotStored(p, response, name)
		},
	}
}

func updateNameMismatch() runner.Check {
	return runner.Check{
		ID: "update-name-mismatch", Area: areaUpdates,
		Rule:        "PUT of an object whose name is not the one in the URL gets 400.",
		Detail:      "Changes a label of an object and sends it with a different name.",
		Reference:   apiConventions + "#error-codes",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			path := p.Path(object.GetName())
			object.SetName(p.Name())
			setLabel("changed")(object)
			p.Send(runner.Put(path, object)).WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
		},
	}
}

func updateUID() runner.Check {
	return runner.Check{
		ID: "update-uid", Area: areaUpdates,
		Rule:        "PUT with the uid of another object is refused, and the object keeps its own.",
		Detail:      "The answer must be 409 or 422.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#uids",
		PerResource: true, Verbs: []string{"create", "get", "update"},
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
	}
}

func updateImmutableMetadata() runner.Check {
	return runner.Check{
		ID: "update-immutable-metadata", Area: areaUpdates,
		Rule:        "PUT can't set the creationTimestamp, generation, and deletionTimestamp of an object.",
		Detail:      "Sends an object with different values, one field at a time. The server may refuse or ignore them.",
		Reference:   apiConventions + "#metadata",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			past := "2001-02-03T04:05:06Z"
			for _, set := range []struct {
				field string
				value any
			}{{"creationTimestamp", past}, {"generation", int64(1 << 20)}, {"deletionTimestamp", past}} {
				_, response := sendChanged(p, object.GetName(), func(object *unstructured.Unstructured) {
					unstructured.SetNestedField(object.Object, set.value, "metadata", set.field) //nolint:errcheck // Objects have metadata.
				})
				if !declined(response) && !response.OK() {
					response.Fail("that metadata.%s is refused or ignored", set.field)
				}
				after := p.Send(runner.Get(p.Path(object.GetName())))
				if after.Code == http.StatusNotFound {
					response.FailBecause("the object is gone", "that metadata.%s is refused or ignored", set.field)
				}
				read := after.JSON()
				if metadataOf(read, set.field) == jsonOf(set.value) {
					response.FailBecause("the object has the value of the client", "that metadata.%s is refused or ignored", set.field)
				}
			}
		},
	}
}
