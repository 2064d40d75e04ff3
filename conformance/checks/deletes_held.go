// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

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

func deletesHeldRules() []runner.Check {
	return []runner.Check{deleteFinalizers(), deleteFinal()}
}

func deleteFinalizers() runner.Check {
	return runner.Check{
		ID: "delete-finalizers", Area: areaDeletes,
		Rule:        "An object with a finalizer stays when it is deleted, with metadata.deletionTimestamp set, and is removed with its last finalizer.",
		Detail:      "Removes the finalizer with PUT and with PATCH.",
		Reference:   finalizersPage,
		PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
		Run: func(p *runner.Probe) {
			deleteHeld(p, removeByPut)
			if !p.Resource.Has("patch") {
				return
			}
			deleteHeld(p, removeByPatch)
		},
	}
}

// deleteHeld deletes an object with a finalizer, which remove removes.
func deleteHeld(p *runner.Probe, remove func(*runner.Probe, string) *runner.Response) {
	held := makeHeld(p)
	name := held.GetName()
	response := p.Send(runner.Delete(p.Path(name), runner.DeleteNow()))
	if !response.OK() {
		response.Fail("success: the object is to be deleted once its finalizer is removed")
	}
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
	if !response.OK() {
		response.Fail("success: the finalizer %s may be removed", runner.Finalizer)
	}
	last := outlives(p, name)
	if last == nil || holder(last) != "" {
		return // Others may have added finalizers of theirs.
	}
	last.Fail("404 Not Found, because the object was deleted and has no finalizers any more")
}

// removeByPut removes the finalizer of checks. The answer is the last one.
func removeByPut(p *runner.Probe, name string) *runner.Response {
	_, response := sendChanged(p, name, func(object *unstructured.Unstructured) { object.SetFinalizers(withoutOurs(object)) })
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

func deleteFinal() runner.Check {
	return runner.Check{
		ID: "delete-final", Area: areaDeletes,
		Rule:        "An object that is being deleted can't be restored, and can't get further finalizers.",
		Detail:      "Clears metadata.deletionTimestamp and adds a finalizer with PUT, which the server may refuse or ignore.",
		Reference:   finalizersPage,
		PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
		Run: func(p *runner.Probe) {
			doomed := makeDoomed(p)
			name := doomed.GetName()
			sendChanged(p, name, func(object *unstructured.Unstructured) {
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
			sendChanged(p, name, func(object *unstructured.Unstructured) {
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
	}
}
