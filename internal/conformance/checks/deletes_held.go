// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	finalizersPage = "https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/#how-finalizers-work"
	// lateFinalizer is one that must not get onto an object.
	lateFinalizer = conformance.Finalizer + "-longer"
	// nextSecond is more than the least that times in objects differ by.
	nextSecond = 1100 * time.Millisecond
)

func deletesOfHeld() []conformance.Check {
	return []conformance.Check{
		{
			ID: "delete-finalizers", Area: areaDeletes,
			Rule:        "An object with a finalizer stays when it is deleted, with metadata.deletionTimestamp, and goes once its last finalizer is removed.",
			Detail:      "Makes objects with a finalizer, deletes and reads them, and removes the finalizer by PUT and by PATCH.",
			Reference:   finalizersPage,
			PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
			Run: deleteFinalizers,
		},
		{
			ID: "delete-final", Area: areaDeletes,
			Rule:        "What is being deleted can't be brought back, and gets no more finalizers.",
			Detail:      "Clears metadata.deletionTimestamp and adds a finalizer by PUT, which the server may refuse or ignore.",
			Reference:   finalizersPage,
			PerResource: true, Verbs: []string{"create", "get", "update", "delete"},
			Run: deleteFinal,
		},
		{
			ID: "delete-again", Area: areaDeletes,
			Rule:        "Deleting what is already being deleted changes nothing: the object stays, and its metadata.deletionTimestamp.",
			Detail:      "Deletes an object that has a finalizer twice, more than a second apart. The second DELETE may succeed or conflict.",
			Reference:   finalizersPage,
			PerResource: true, Verbs: []string{"create", "get", "delete"}, Slow: true,
			Run: deleteAgain,
		},
		{
			ID: "delete-propagation", Area: areaDeletes,
			Rule:        "The propagationPolicy Orphan gives an object the finalizer orphan, Foreground gives it foregroundDeletion, and Background neither.",
			Detail:      "Deletes objects that have a finalizer with each policy. A server without a garbage collector may use neither finalizer, but not one of them.",
			Reference:   "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion",
			PerResource: true, Verbs: []string{"create", "get", "delete"},
			Run: deletePropagation,
		},
	}
}

// makeHeld makes an object that a finalizer holds.
func makeHeld(ctx context.Context, p *conformance.Probe) (*unstructured.Unstructured, error) {
	object := p.New()
	object.SetFinalizers(append(object.GetFinalizers(), conformance.Finalizer))
	return p.Create(ctx, object)
}

// makeDoomed makes an object that a finalizer holds, deletes it, and returns it as it is then. The
// check is left out if the server does it otherwise: another one says so.
func makeDoomed(ctx context.Context, p *conformance.Probe) (*unstructured.Unstructured, error) {
	held, err := makeHeld(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, err := p.Prepare(ctx, "delete the object", conformance.Delete(p.Path(held.GetName()), conformance.DeleteNow())); err != nil {
		return nil, err
	}
	_, doomed, err := look(ctx, p, held.GetName())
	if err == nil && (doomed == nil || deletionOf(doomed) == "") {
		err = conformance.Leave("no object is being deleted for long: the server does not care for finalizers")
	}
	return doomed, err
}

// deletionOf returns the time of an object's deletion as it is written; empty if there is none.
func deletionOf(object *unstructured.Unstructured) string {
	deletion, _, _ := unstructured.NestedString(object.Object, "metadata", "deletionTimestamp")
	return deletion
}

func deleteFinalizers(ctx context.Context, p *conformance.Probe) error {
	if err := deleteHeld(ctx, p, removeByPut); err != nil || !p.Resource.Has("patch") {
		return err
	}
	return deleteHeld(ctx, p, removeByPatch)
}

// deleteHeld deletes an object with a finalizer, which remove removes.
func deleteHeld(ctx context.Context, p *conformance.Probe, remove func(context.Context, *conformance.Probe, string) (*conformance.Response, error)) error {
	held, err := makeHeld(ctx, p)
	if err != nil {
		return err
	}
	name := held.GetName()
	response, err := p.Send(ctx, conformance.Delete(p.Path(name), conformance.DeleteNow()))
	if err != nil {
		return err
	}
	if !response.OK() {
		return response.Fail("success: the object is to be deleted once its finalizer is removed")
	}
	response, object, err := look(ctx, p, name)
	switch {
	case err != nil:
		return err
	case object == nil:
		return response.Fail("the object, which had the finalizer %s when it was deleted", conformance.Finalizer)
	case deletionOf(object) == "":
		return response.Fail("the object with metadata.deletionTimestamp, because it was deleted")
	case !slices.Contains(object.GetFinalizers(), conformance.Finalizer):
		return response.Fail("the object with its finalizer %s, which nobody has removed", conformance.Finalizer)
	}
	response, err = remove(ctx, p, name)
	if err != nil {
		return err
	}
	if !response.OK() {
		return response.Fail("success: the finalizer %s may be removed", conformance.Finalizer)
	}
	last, err := outlives(ctx, p, name)
	if err != nil || last == nil || holder(last) != "" {
		return err // Others may have added finalizers of theirs.
	}
	return last.Fail("404 Not Found, because the object was deleted and has no finalizers any more")
}

// removeByPut removes the finalizer of checks. The answer is the last one.
func removeByPut(ctx context.Context, p *conformance.Probe, name string) (*conformance.Response, error) {
	_, response, err := sendChanged(ctx, p, name, func(object *unstructured.Unstructured) { object.SetFinalizers(withoutOurs(object)) })
	return response, err
}

func removeByPatch(ctx context.Context, p *conformance.Probe, name string) (*conformance.Response, error) {
	object, err := p.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"finalizers": nil}
	if others := withoutOurs(object); len(others) > 0 {
		metadata["finalizers"] = others
	}
	return p.Send(ctx, conformance.Patch(p.Path(name), types.MergePatchType, map[string]any{"metadata": metadata}))
}

func withoutOurs(object *unstructured.Unstructured) []string {
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(finalizer string) bool { return finalizer == conformance.Finalizer })
}

func deleteFinal(ctx context.Context, p *conformance.Probe) error {
	doomed, err := makeDoomed(ctx, p)
	if err != nil {
		return err
	}
	name := doomed.GetName()
	if _, _, err := sendChanged(ctx, p, name, func(object *unstructured.Unstructured) {
		object.SetDeletionTimestamp(nil)
		object.SetDeletionGracePeriodSeconds(nil)
	}); err != nil {
		return err
	}
	response, object, err := look(ctx, p, name)
	if err != nil || object == nil {
		return err
	}
	if deletionOf(object) == "" {
		return response.Fail("the object with metadata.deletionTimestamp: a PUT without it does not bring back what is being deleted")
	}
	if _, _, err := sendChanged(ctx, p, name, func(object *unstructured.Unstructured) {
		object.SetFinalizers(append(object.GetFinalizers(), lateFinalizer))
	}); err != nil {
		return err
	}
	response, object, err = look(ctx, p, name)
	if err != nil || object == nil {
		return err
	}
	if slices.Contains(object.GetFinalizers(), lateFinalizer) {
		return response.Fail("the object without the finalizer %s, which was added when it was already being deleted", lateFinalizer)
	}
	return nil
}

func deleteAgain(ctx context.Context, p *conformance.Probe) error {
	doomed, err := makeDoomed(ctx, p)
	if err != nil {
		return err
	}
	name := doomed.GetName()
	if err := p.Pause(ctx, nextSecond); err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Delete(p.Path(name), conformance.DeleteNow()))
	if err != nil {
		return err
	}
	if !response.OK() && response.Code != http.StatusConflict {
		return response.Fail("success or 409 Conflict, because the object is still there and being deleted")
	}
	response, object, err := look(ctx, p, name)
	switch {
	case err != nil:
		return err
	case object == nil:
		return response.Fail("the object, which still has the finalizer %s", conformance.Finalizer)
	case deletionOf(object) != deletionOf(doomed):
		return response.Fail("metadata.deletionTimestamp to be %s still", deletionOf(doomed))
	}
	return nil
}

// marks are the finalizers by which policies are carried out.
var marks = map[metav1.DeletionPropagation]string{ //nolint:gochecknoglobals // A constant.
	metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
	metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
	metav1.DeletePropagationBackground: "",
}

// marked is how an object was deleted with a policy.
type marked struct {
	*conformance.Response

	policy metav1.DeletionPropagation
	// shown tells whether DELETE answered with the object: what GET shows later may have changed.
	shown      bool
	finalizers []string
}

// done tells whether the object has got the finalizer of the policy.
func (m *marked) done() bool { return slices.Contains(m.finalizers, marks[m.policy]) }

func deletePropagation(ctx context.Context, p *conformance.Probe) error {
	if p.Resource.Kind == "Event" {
		return conformance.Leave("nothing belongs to Events")
	}
	var results []*marked
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground, metav1.DeletePropagationBackground} {
		result, err := deleteMarked(ctx, p, policy)
		if err != nil {
			return err
		}
		for _, finalizer := range result.finalizers {
			for other, mark := range marks {
				if finalizer == mark && other != policy {
					return result.Fail("the finalizers of the object to be without %s: it was deleted with the propagationPolicy %s", mark, policy)
				}
			}
		}
		results = append(results, result)
	}
	orphan, foreground := results[0], results[1]
	switch {
	case !orphan.done() && !foreground.done():
		return conformance.Leave("the server has no garbage collector, or ignores the propagationPolicy: neither Orphan nor Foreground is marked by a finalizer")
	case !orphan.done() && orphan.shown:
		return orphan.Fail("the object with the finalizer %s, because Foreground is marked by a finalizer, too", marks[orphan.policy])
	case !foreground.done() && foreground.shown:
		return foreground.Fail("the object with the finalizer %s, because Orphan is marked by a finalizer, too", marks[foreground.policy])
	}
	return nil
}

// deleteMarked deletes an object with a policy.
func deleteMarked(ctx context.Context, p *conformance.Probe, policy metav1.DeletionPropagation) (*marked, error) {
	held, err := makeHeld(ctx, p)
	if err != nil {
		return nil, err
	}
	response, err := p.Prepare(ctx, "delete the object", conformance.Delete(p.Path(held.GetName()), deleteWith("propagationPolicy", policy)))
	if err != nil {
		return nil, err
	}
	result := &marked{Response: response, policy: policy}
	if answered, err := response.Object(); err == nil && answered.GetName() == held.GetName() {
		result.shown, result.finalizers = true, answered.GetFinalizers()
	}
	_, object, err := look(ctx, p, held.GetName())
	if object != nil {
		result.finalizers = append(result.finalizers, object.GetFinalizers()...)
	}
	return result, err
}
