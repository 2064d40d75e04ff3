// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/broken"
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

func updates() []rule {
	return slices.Concat([]rule{
		updateStatusCode{},
		updateAnswer{},
		updateConflict{},
		updateMissing{},
		updateNameMismatch{},
		updateUID{},
		updateImmutableMetadata{},
	}, updatesVersionsRules())
}

type updateStatusCode struct{}

func (r updateStatusCode) check() runner.Check {
	return runner.Check{
		ID: "update-status-code", Area: areaUpdates,
		Rule:        "PUT of an object that exists returns 200.",
		Detail:      "Changes a label. Only the code is checked.",
		Reference:   apiConventions + "#success-codes",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateStatusCode) run(p *runner.Probe) {
	_, response := makeAndLabel(p)
	response.Want(http.StatusOK)
}

func (updateStatusCode) broken() broken.Server {
	return broken.That("answers 201 to objects that it changes", broken.OnAnswer(puts, func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusOK {
			a.Code = http.StatusCreated
		}
	}))
}

// puts matches requests that change objects.
func puts(r *http.Request) bool { return broken.Storing(http.MethodPut, broken.Single)(r) }

type updateAnswer struct{}

func (r updateAnswer) check() runner.Check {
	return runner.Check{
		ID: "update-answer", Area: areaUpdates,
		Rule:        "PUT returns the updated object.",
		Detail:      "Changes a label. The answer must have the label, and the kind, apiVersion, name, and namespace of the object.",
		Reference:   apiConventions + "#resources",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateAnswer) run(p *runner.Probe) {
	before, response := makeAndLabel(p)
	response.WantOK()
	wantIdentity(p, response, before.GetName())
	answer := response.JSON()
	if (&unstructured.Unstructured{Object: answer}).GetLabels()[testLabel] != "changed" {
		response.Fail("the object with the label %s=changed", testLabel)
	}
}

func (updateAnswer) broken() broken.Server {
	return broken.That("answers changed objects without their namespace", broken.OnAnswered(puts, func(object map[string]any) { delete(broken.FieldsOf(object, "metadata"), "namespace") }))
}

type updateConflict struct{}

func (r updateConflict) check() runner.Check {
	return runner.Check{
		ID: "update-conflict", Area: areaUpdates,
		Rule:        "PUT with an outdated resourceVersion gets 409 and a Status with reason Conflict, and changes nothing.",
		Detail:      "Changes an object, then sends its previous state with a different label.",
		Reference:   apiConventions + "#concurrency-control-and-consistency",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateConflict) run(p *runner.Probe) {
	stale := p.Make()
	p.Label(stale.GetName(), testLabel, "first")
	setLabel("second")(stale)
	response := send(p, runner.Put(p.Path(stale.GetName()), stale), status(metav1.StatusReasonConflict, http.StatusConflict))
	after := p.Read(stale.GetName())
	if after.GetLabels()[testLabel] == "second" {
		response.FailBecause("the object has been changed", "that the object stays as it is")
	}
}

func (updateConflict) broken() broken.Server {
	return broken.That("does not look at the resourceVersion of objects that are sent: who comes last wins", broken.KeepCurrent(puts, "resourceVersion"))
}

type updateMissing struct{}

func (r updateMissing) check() runner.Check {
	return runner.Check{
		ID: "update-missing", Area: areaUpdates,
		Rule:        "PUT with the uid and the resourceVersion of an object that does not exist does not create one.",
		Detail:      "Sends an object to a name that does not exist. The answer must be 404, or 409 because of the uid. Whether PUT without uid and resourceVersion may create objects is not checked.",
		Reference:   apiConventions + "#verbs-on-resources",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateMissing) run(p *runner.Probe) {
	object := p.Make()
	name := p.Name()
	object.SetName(name)
	response := send(p, runner.Put(p.Path(name), object), status("", http.StatusNotFound, http.StatusConflict))
	wantNotStored(p, response, name)
}

func (updateMissing) broken() broken.Server {
	return broken.That("creates objects that are not there, whatever their uid", createMissing(puts))
}

func createMissing(match broken.Match) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := broken.BodyOf(r)
		a := broken.Ask(next, r)
		var object map[string]any
		if a.Code == http.StatusNotFound && json.Unmarshal(body, &object) == nil {
			metadata := broken.FieldsOf(object, "metadata")
			delete(metadata, "uid")
			delete(metadata, "resourceVersion")
			a = broken.Also(next, r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/"+broken.PlaceOf(r).Name), broken.JSONType, object)
		}
		a.Send(w)
	})
}

type updateNameMismatch struct{}

func (r updateNameMismatch) check() runner.Check {
	return runner.Check{
		ID: "update-name-mismatch", Area: areaUpdates,
		Rule:        "PUT of an object whose name is not the one in the URL gets 400.",
		Detail:      "Changes a label of an object and sends it with a different name.",
		Reference:   apiConventions + "#error-codes",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateNameMismatch) run(p *runner.Probe) {
	object := p.Make()
	path := p.Path(object.GetName())
	object.SetName(p.Name())
	setLabel("changed")(object)
	send(p, runner.Put(path, object), status(metav1.StatusReasonBadRequest, http.StatusBadRequest))
}

func (updateNameMismatch) broken() broken.Server {
	return broken.That("changes the object that the URL names, whatever the name in the body", broken.OnBody(puts, func(r *http.Request, object map[string]any) bool {
		metadata, name := broken.FieldsOf(object, "metadata"), any(broken.PlaceOf(r).Name)
		same := metadata["name"] == name
		metadata["name"] = name
		return !same
	}))
}

type updateUID struct{}

func (r updateUID) check() runner.Check {
	return runner.Check{
		ID: "update-uid", Area: areaUpdates,
		Rule:        "PUT with the uid of another object is refused, and the object keeps its own.",
		Detail:      "Changes a label of an object and sends it with a different uid. The answer must be 409 or 422.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#uids",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateUID) run(p *runner.Probe) {
	object := p.Make()
	name := object.GetName()
	object.SetUID(otherUID)
	setLabel("changed")(object)
	response := send(p, runner.Put(p.Path(name), object), status("", http.StatusConflict, http.StatusUnprocessableEntity))
	after := p.Read(name)
	if after.GetUID() == otherUID {
		response.FailBecause("the object has the uid of the client", "that the object keeps its uid")
	}
}

func (updateUID) broken() broken.Server {
	return broken.That("ignores the uid of objects that are sent", broken.KeepCurrent(puts, "uid"))
}

type updateImmutableMetadata struct{}

func (r updateImmutableMetadata) check() runner.Check {
	return runner.Check{
		ID: "update-immutable-metadata", Area: areaUpdates,
		Rule:        "PUT can't set the creationTimestamp, generation, and deletionTimestamp of an object.",
		Detail:      "Sends an object with different values, one field at a time. The server may refuse or ignore them.",
		Reference:   apiConventions + "#metadata",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (updateImmutableMetadata) run(p *runner.Probe) {
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
}

func (updateImmutableMetadata) broken() broken.Server {
	return broken.That("stores the creationTimestamp of objects that are sent", broken.TakeOver(puts, "creationTimestamp"))
}
