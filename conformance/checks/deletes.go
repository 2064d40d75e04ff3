// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaDeletes = "Deleting"

	deleteOptionsPage = "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/"

	// deletePatience is how long what was deleted may still be shown.
	deletePatience = 10 * time.Second
	deletePoll     = 50 * time.Millisecond
)

// deleteWith returns options that do not give pods and their like time to end, with one more.
func deleteWith(option string, value any) map[string]any {
	options := runner.DeleteNow()
	options[option] = value
	return options
}

func deletes() []runner.Check {
	return slices.Concat([]runner.Check{
		deleteRemoves(),
		deleteMissing(),
		deleteAnswer(),
		deleteUIDPrecondition(),
		deleteVersionPrecondition(),
		deletePropagationUnknown(),
	}, deletesHeldRules(), deletesPropagationRules(), deletesManyRules())
}

func deleteRemoves() runner.Check {
	return runner.Check{
		ID: "delete-removes", Area: areaDeletes,
		Rule:        "An object that nothing holds is gone within seconds of a successful DELETE.",
		Detail:      "Deletes one object with options and one without. Finalizers and grace periods may hold objects longer.",
		Reference:   apiConcepts + "#resource-deletion",
		PerResource: true, Verbs: []string{"create", "get", "delete"},
		Run: func(p *runner.Probe) {
			for _, options := range []any{runner.DeleteNow(), nil} {
				object := p.Make()
				name := object.GetName()
				p.Prepare("delete the object", runner.Delete(p.Path(name), options))
				last := outlives(p, name)
				if last == nil || holder(last) == graceHolder {
					continue // Whoever runs it may take its time.
				}
				if by := holder(last); by != "" {
					runner.Leave("objects of the resource are held when they are deleted: %s", by)
				}
				last.Fail("404 Not Found within %s, because the object was deleted and nothing holds it", deletePatience)
			}
		},
	}
}

// outlives waits for an object to go. It returns what GET answers at last if the object stays or is
// in a grace period, and nil if it is gone.
func outlives(p *runner.Probe, name string) *runner.Response {
	patience, cancel := runner.Within(p.Context, deletePatience)
	defer cancel()
	for {
		response, object := p.Look(name)
		if object == nil {
			return nil
		}
		if holder(response) == graceHolder {
			return response
		}
		if p.Pause(patience, deletePoll) != nil {
			runner.StopOn(p.Context.Err())
			return response
		}
	}
}

const graceHolder = "a grace period"

// holder says what keeps an object that is being deleted; empty if nothing does.
func holder(response *runner.Response) string {
	object := response.ObjectOrNil()
	if object == nil || object.GetDeletionTimestamp() == nil {
		return ""
	}
	ofNamespace, _, _ := unstructured.NestedSlice(object.Object, "spec", "finalizers")
	if len(object.GetFinalizers()) > 0 || len(ofNamespace) > 0 {
		return "finalizers"
	}
	period, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "deletionGracePeriodSeconds")
	if number, _ := numberIn(period); number > 0 {
		return graceHolder
	}
	return ""
}

func deleteMissing() runner.Check {
	return runner.Check{
		ID: "delete-missing", Area: areaDeletes,
		Rule:        "DELETE of an object that does not exist gets 404 and a Status with reason NotFound.",
		Detail:      "Deletes a name that does not exist.",
		Reference:   apiConventions + "#http-status-codes",
		PerResource: true, Verbs: []string{"delete"},
		Run: func(p *runner.Probe) {
			p.Send(runner.Delete(p.Path(p.Name()), runner.DeleteNow())).WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound)
		},
	}
}

func deleteAnswer() runner.Check {
	return runner.Check{
		ID: "delete-answer", Area: areaDeletes,
		Rule:        "DELETE returns a Status of success or the object.",
		Detail:      "Deletes an object. Whether it is gone afterwards is not checked.",
		Reference:   apiConventions + "#response-status-kind",
		PerResource: true, Verbs: []string{"create", "get", "delete"},
		Run: func(p *runner.Probe) {
			made := p.Make()
			response := p.Prepare("delete the object", runner.Delete(p.Path(made.GetName()), runner.DeleteNow()))
			const expected = "a Status whose status is Success, or the object that was deleted"
			if status, _ := response.Status(); status != nil {
				if status.Status != metav1.StatusSuccess {
					response.Fail(expected)
				}
				return
			}
			value := response.Fields()
			answered := &unstructured.Unstructured{Object: value}
			if answered.GroupVersionKind() != p.Resource.GVK() || answered.GetName() != made.GetName() || answered.GetUID() != made.GetUID() {
				response.Fail(expected)
			}
		},
	}
}

// keeps returns a failure unless an object is there and not being deleted.
func keeps(p *runner.Probe, name, because string) {
	response, object := p.Look(name)
	switch {
	case object == nil:
		response.Fail("the object, %s", because)
	case object.GetDeletionTimestamp() != nil:
		response.Fail("the object without metadata.deletionTimestamp, %s", because)
	}
}

const afterRefusal = "because its deletion was refused"

func deleteUIDPrecondition() runner.Check {
	return runner.Check{
		ID: "delete-uid-precondition", Area: areaDeletes,
		Rule:        "DELETE with the uid of another object as a precondition gets 409 and changes nothing.",
		Detail:      "Deletes an object with an unknown uid in preconditions.uid, then with its own, which must succeed.",
		Reference:   deleteOptionsPage,
		PerResource: true, Verbs: []string{"create", "get", "delete"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			name := object.GetName()
			deleteConflicts(p, name, map[string]any{"uid": uuid.NewUUID()})
			if object.GetUID() == "" {
				return
			}
			own := map[string]any{"uid": object.GetUID()}
			response := p.Send(runner.Delete(p.Path(name), deleteWith("preconditions", own)))
			if !response.OK() {
				response.Fail("success, because the precondition has the uid of the object")
			}
		},
	}
}

// deleteConflicts deletes an object with preconditions that do not hold.
func deleteConflicts(p *runner.Probe, name string, preconditions map[string]any) {
	p.Send(runner.Delete(p.Path(name), deleteWith("preconditions", preconditions))).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
	keeps(p, name, afterRefusal)
}

func deleteVersionPrecondition() runner.Check {
	return runner.Check{
		ID: "delete-version-precondition", Area: areaDeletes,
		Rule:        "DELETE with an old resourceVersion as a precondition gets 409 and changes nothing.",
		Detail:      "Changes a label, deletes with the previous resourceVersion in preconditions.resourceVersion, then with the current one, which must succeed.",
		Reference:   deleteOptionsPage,
		PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
		Run: func(p *runner.Probe) {
			object := p.Make()
			name, old := object.GetName(), object.GetResourceVersion()
			changed := p.Label(name, colorLabel, "red")
			if old == "" || changed.GetResourceVersion() == old {
				runner.Leave("the resourceVersion of an object does not tell whether it was changed")
			}
			deleteConflicts(p, name, map[string]any{"resourceVersion": old})
			for try := 1; ; try++ {
				present := p.Read(name)
				version := map[string]any{"resourceVersion": present.GetResourceVersion()}
				response := p.Send(runner.Delete(p.Path(name), deleteWith("preconditions", version)))
				if response.OK() {
					return
				}
				after := p.Read(name)
				if after.GetResourceVersion() == present.GetResourceVersion() || try == attempts {
					response.Fail("success, because the precondition has the resourceVersion of the object")
				}
			}
		},
	}
}

func deletePropagationUnknown() runner.Check {
	return runner.Check{
		ID: "delete-propagation-unknown", Area: areaDeletes,
		Rule:        "DELETE with an unknown propagationPolicy gets 400 or 422, and changes nothing.",
		Detail:      "Sends propagationPolicy: Sideways. A server that falls back to its default deletes what should have been kept.",
		Reference:   deleteOptionsPage,
		PerResource: true, Verbs: []string{"create", "get", "delete"},
		Run: func(p *runner.Probe) {
			name := makeName(p)
			p.Send(runner.Delete(p.Path(name), deleteWith("propagationPolicy", "Sideways"))).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
			keeps(p, name, afterRefusal)
		},
	}
}
