// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

var deletes = []runner.Check{
	{
		ID: "delete-removes", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "An object that nothing holds is gone within seconds of a successful DELETE.",
		Detail:    "Deletes one object with options and one without. Finalizers and grace periods may hold objects longer.",
		Reference: apiConcepts + "#resource-deletion",
		Run: func(p *runner.Probe) {
			for _, options := range []any{runner.DeleteNow(), nil} {
				object := p.Make()
				name := object.GetName()
				p.Prepare("delete the object", runner.Delete(p.Path(name), options))
				last := outlives(p, name)
				if last == nil || holder(last) == graceHolder {
					continue // The server that runs it may take its time.
				}
				if by := holder(last); by != "" {
					runner.Leave("objects of the resource are held when they are deleted: %s", by)
				}
				last.Fail("404 Not Found within %s, because the object was deleted and nothing holds it", deletePatience)
			}
		},
	},
	{
		ID: "delete-missing", Area: areaDeletes, PerResource: true, Verbs: []string{"delete"},
		Rule:      "DELETE of an object that does not exist gets 404 and a Status with reason NotFound.",
		Detail:    "Deletes a name that does not exist.",
		Reference: apiConventions + "#http-status-codes",
		Run: func(p *runner.Probe) {
			p.Send(runner.Delete(p.Path(p.Name()), runner.DeleteNow())).WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound)
		},
	},
	{
		ID: "delete-answer", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "DELETE returns a Status of success or the object.",
		Detail:    "Deletes an object. Whether it is gone afterwards is not checked.",
		Reference: apiConventions + "#response-status-kind",
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
	},
	{
		ID: "delete-uid-precondition", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "DELETE with the uid of another object as a precondition gets 409 and changes nothing.",
		Detail:    "Deletes an object with an unknown uid in preconditions.uid, then with its own, which must succeed.",
		Reference: deleteOptionsPage,
		Run: func(p *runner.Probe) {
			object := p.Make()
			name := object.GetName()
			deleteConflicts(p, name, map[string]any{"uid": uuid.NewUUID()})
			if object.GetUID() == "" {
				return
			}
			own := map[string]any{"uid": object.GetUID()}
			p.Send(runner.Delete(p.Path(name), deleteWith("preconditions", own))).WantSuccess("success, because the precondition has the uid of the object")
		},
	},
	{
		ID: "delete-version-precondition", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
		Rule:      "DELETE with an old resourceVersion as a precondition gets 409 and changes nothing.",
		Detail:    "Changes a label, deletes with the previous resourceVersion in preconditions.resourceVersion, then with the current one, which must succeed.",
		Reference: deleteOptionsPage,
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
	},
	{
		ID: "delete-propagation-unknown", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "DELETE with an unknown propagationPolicy gets 400 or 422, and changes nothing.",
		Detail:    "Sends propagationPolicy: Sideways. A server that falls back to its default deletes what should have been kept.",
		Reference: deleteOptionsPage,
		Run: func(p *runner.Probe) {
			name := p.Make().GetName()
			p.Send(runner.Delete(p.Path(name), deleteWith("propagationPolicy", "Sideways"))).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
			keeps(p, name, afterRefusal)
		},
	},
	{
		ID: "delete-finalizers", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
		Rule:      "An object with a finalizer stays when it is deleted, with metadata.deletionTimestamp set, and is removed with its last finalizer.",
		Detail:    "Removes the finalizer with PUT and with PATCH.",
		Reference: finalizersPage,
		Run: func(p *runner.Probe) {
			deleteHeld(p, removeByPut)
			if p.Resource.Has("patch") {
				deleteHeld(p, removeByPatch)
			}
		},
	},
	{
		ID: "delete-final", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
		Rule:      "An object that is being deleted can't be restored, and can't get further finalizers.",
		Detail:    "Clears metadata.deletionTimestamp and adds a finalizer with PUT, which the server may refuse or ignore.",
		Reference: finalizersPage,
		Run: func(p *runner.Probe) {
			doomed := makeDoomed(p)
			name := doomed.GetName()
			p.Change(name, func(object *unstructured.Unstructured) {
				object.SetDeletionTimestamp(nil)
				object.SetDeletionGracePeriodSeconds(nil)
			})
			response, object := p.Look(name)
			if object == nil {
				return
			}
			if deletionOf(object) == "" {
				response.Fail("the object with metadata.deletionTimestamp: a PUT without it does not bring back what is being deleted")
			}
			p.Change(name, func(object *unstructured.Unstructured) {
				object.SetFinalizers(append(object.GetFinalizers(), lateFinalizer))
			})
			response, object = p.Look(name)
			if object == nil {
				return
			}
			if slices.Contains(object.GetFinalizers(), lateFinalizer) {
				response.Fail("the object without the finalizer %s, which was added when it was already being deleted", lateFinalizer)
			}
		},
	},
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

// goes fails the check unless an object goes. Others may hold it with finalizers of theirs.
func goes(p *runner.Probe, name, because string) {
	if last := outlives(p, name); last != nil && holder(last) == "" {
		last.Fail("404 Not Found, %s", because)
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
	if period := object.GetDeletionGracePeriodSeconds(); period != nil && *period > 0 {
		return graceHolder
	}
	return ""
}

// keeps fails the check unless an object is there and not being deleted.
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

// deleteConflicts deletes an object with preconditions that do not hold.
func deleteConflicts(p *runner.Probe, name string, preconditions map[string]any) {
	p.Send(runner.Delete(p.Path(name), deleteWith("preconditions", preconditions))).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
	keeps(p, name, afterRefusal)
}

const (
	finalizersPage = "https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/#how-finalizers-work"
	// lateFinalizer is one that must not get onto an object.
	lateFinalizer = runner.Finalizer + "-longer"
	// nextSecond is more than the least that times in objects differ by.
	nextSecond = 1100 * time.Millisecond
)

// makeHeld makes an object that a finalizer holds.
func makeHeld(p *runner.Probe) *unstructured.Unstructured {
	object := p.New()
	object.SetFinalizers(append(object.GetFinalizers(), runner.Finalizer))
	return p.Create(object)
}

// makeDoomed makes an object that a finalizer holds, deletes it, and returns it as it is then. The
// check is left out if the server does it otherwise: another one says so.
func makeDoomed(p *runner.Probe) *unstructured.Unstructured {
	held := makeHeld(p)
	p.Prepare("delete the object", runner.Delete(p.Path(held.GetName()), runner.DeleteNow()))
	_, doomed := p.Look(held.GetName())
	if doomed == nil || deletionOf(doomed) == "" {
		runner.Leave("no object is being deleted for long: the server ignores finalizers")
	}
	return doomed
}

// deletionOf returns the time of an object's deletion as it is written; empty if there is none.
func deletionOf(object *unstructured.Unstructured) string {
	deletion, _, _ := unstructured.NestedString(object.Object, "metadata", "deletionTimestamp")
	return deletion
}

// deleteHeld deletes an object with a finalizer, which remove removes.
func deleteHeld(p *runner.Probe, remove func(*runner.Probe, string) *runner.Response) {
	held := makeHeld(p)
	name := held.GetName()
	p.Send(runner.Delete(p.Path(name), runner.DeleteNow())).WantSuccess("success: the object is to be deleted once its finalizer is removed")
	response, object := p.Look(name)
	switch {
	case object == nil:
		response.Fail("the object, which had the finalizer %s when it was deleted", runner.Finalizer)
	case deletionOf(object) == "":
		response.Fail("the object with metadata.deletionTimestamp, because it was deleted")
	case !slices.Contains(object.GetFinalizers(), runner.Finalizer):
		response.Fail("the object with its finalizer %s, which nobody has removed", runner.Finalizer)
	}
	response = remove(p, name)
	response.WantSuccess("success: the finalizer %s may be removed", runner.Finalizer)
	goes(p, name, "because the object was deleted and has no finalizers any more")
}

// removeByPut removes the finalizer of checks. The answer is the last one.
func removeByPut(p *runner.Probe, name string) *runner.Response {
	_, response := p.Change(name, func(object *unstructured.Unstructured) { object.SetFinalizers(withoutOurs(object)) })
	return response
}

func removeByPatch(p *runner.Probe, name string) *runner.Response {
	object := p.Read(name)
	metadata := map[string]any{"finalizers": nil}
	if others := withoutOurs(object); len(others) > 0 {
		metadata["finalizers"] = others
	}
	return p.Send(runner.Patch(p.Path(name), types.MergePatchType, map[string]any{"metadata": metadata}))
}

func withoutOurs(object *unstructured.Unstructured) []string {
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(finalizer string) bool { return finalizer == runner.Finalizer })
}
