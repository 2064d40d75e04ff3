// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

func deletesPropagationRules() []runner.Check {
	return []runner.Check{deleteAgain(), deletePropagation()}
}

func deleteAgain() runner.Check {
	return runner.Check{
		ID: "delete-again", Area: areaDeletes,
		Rule:        "Deleting an object that is already being deleted changes nothing: the object and its metadata.deletionTimestamp stay.",
		Detail:      "Deletes an object with a finalizer twice, a second apart. The second DELETE may succeed or conflict.",
		Reference:   finalizersPage,
		PerResource: true, Verbs: []string{"create", "get", "delete"}, Slow: true,
		Run: func(p *runner.Probe) {
			doomed := makeDoomed(p)
			name := doomed.GetName()
			if err := p.Pause(p.Context, nextSecond); err != nil {
				runner.Stop(err)
			}
			response := p.Send(runner.Delete(p.Path(name), runner.DeleteNow()))
			if !response.OK() && response.Code != http.StatusConflict {
				response.Fail("success or 409 Conflict, because the object is still there and being deleted")
			}
			response, object := p.Look(name)
			switch {
			case object == nil:
				response.Fail("the object, which still has the finalizer %s", runner.Finalizer)
			case deletionOf(object) != deletionOf(doomed):
				response.Fail("metadata.deletionTimestamp to stay %s", deletionOf(doomed))
			}
		},
	}
}

// marks are the finalizers by which policies are carried out.
var marks = map[metav1.DeletionPropagation]string{ //nolint:gochecknoglobals // A constant.
	metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
	metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
	metav1.DeletePropagationBackground: "",
}

// marked is how an object was deleted with a policy.
type marked struct {
	*runner.Response

	policy metav1.DeletionPropagation
	// shown reports whether DELETE answered with the object: what GET shows later may have changed.
	shown      bool
	finalizers []string
}

// done reports whether the object has got the finalizer of the policy.
func (m *marked) done() bool { return slices.Contains(m.finalizers, marks[m.policy]) }

func deletePropagation() runner.Check {
	return runner.Check{
		ID: "delete-propagation", Area: areaDeletes,
		Rule:        "The propagationPolicy Orphan adds the finalizer orphan to an object, Foreground adds foregroundDeletion, and Background adds neither.",
		Detail:      "Deletes objects that have a finalizer with each policy. A server without a garbage collector may use neither finalizer, but not just one of them.",
		Reference:   "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion",
		PerResource: true, Verbs: []string{"create", "get", "delete"},
		Run: func(p *runner.Probe) {
			if p.Resource.Kind == "Event" {
				runner.Leave("nothing belongs to Events")
			}
			var results []*marked
			for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground, metav1.DeletePropagationBackground} {
				result := deleteMarked(p, policy)
				for _, finalizer := range result.finalizers {
					for other, mark := range marks {
						if finalizer == mark && other != policy {
							result.Fail("the finalizers of the object to be without %s: it was deleted with the propagationPolicy %s", mark, policy)
						}
					}
				}
				results = append(results, result)
			}
			orphan, foreground := results[0], results[1]
			switch {
			case !orphan.done() && !foreground.done():
				runner.Leave("the server has no garbage collector, or ignores the propagationPolicy: neither Orphan nor Foreground is marked by a finalizer")
			case !orphan.done() && orphan.shown:
				orphan.Fail("the object with the finalizer %s, because Foreground is marked by a finalizer, too", marks[orphan.policy])
			case !foreground.done() && foreground.shown:
				foreground.Fail("the object with the finalizer %s, because Orphan is marked by a finalizer, too", marks[foreground.policy])
			}
		},
	}
}

// deleteMarked deletes an object with a policy.
func deleteMarked(p *runner.Probe, policy metav1.DeletionPropagation) *marked {
	held := makeHeld(p)
	response := p.Prepare("delete the object", runner.Delete(p.Path(held.GetName()), deleteWith("propagationPolicy", policy)))
	result := &marked{Response: response, policy: policy}
	if answered := response.ObjectOrNil(); answered != nil && answered.GetName() == held.GetName() {
		result.shown, result.finalizers = true, answered.GetFinalizers()
	}
	_, object := p.Look(held.GetName())
	if object != nil {
		result.finalizers = append(result.finalizers, object.GetFinalizers()...)
	}
	return result
}
