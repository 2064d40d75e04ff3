// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

// deleteOurs deletes what is selected of what the probe has made.
func deleteOurs(p *runner.Probe, options any, query ...string) *runner.Response {
	return p.Send(runner.Delete(p.Collection(), options, ours(p, query...)...))
}

var deletesMany = []runner.Check{
	{
		ID: "delete-again", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete"}, Slow: true,
		Rule:      "Deleting an object that is already being deleted changes nothing: the object and its metadata.deletionTimestamp stay.",
		Detail:    "Deletes an object with a finalizer twice, a second apart. The second DELETE may succeed or conflict.",
		Reference: finalizersPage,
		Run: func(p *runner.Probe) {
			doomed := makeDoomed(p)
			name := doomed.GetName()
			runner.StopOn(p.Pause(p.Context, nextSecond))
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
	},
	{
		ID: "delete-propagation", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "The propagationPolicy Orphan adds the finalizer orphan to an object, Foreground adds foregroundDeletion, and Background adds neither.",
		Detail:    "Deletes objects that have a finalizer with each policy. A server without a garbage collector may use neither finalizer, but not just one of them.",
		Reference: "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion",
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
	},
	{
		ID: "deletecollection-selector", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
		Rule:      "DELETE of a collection deletes what labelSelector and fieldSelector select, and nothing else.",
		Detail:    "Deletes by label, then by metadata.name, and checks what is left.",
		Reference: apiConventions + "#verbs-on-resources",
		Run: func(p *runner.Probe) {
			red := makeLabelled(p, map[string]string{colorLabel: "red"})
			blue := makeLabelled(p, map[string]string{colorLabel: "blue"})
			plain := makeSome(p, 2)
			byLabel := p.Selector() + "," + colorLabel + "=red"
			p.Prepare("delete by label", runner.Delete(p.Collection(), runner.DeleteNow(), "labelSelector", byLabel))
			goesAlone(p, red, blue, plain[0], plain[1])
			byName := ours(p, "fieldSelector", "metadata.name="+plain[0])
			p.Prepare("delete by name", runner.Delete(p.Collection(), runner.DeleteNow(), byName...))
			goesAlone(p, plain[0], blue, plain[1])
		},
	},
	{
		ID: "deletecollection-selector-invalid", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
		Rule:      "DELETE of a collection with a selector that the server does not understand gets 400 or 422, and deletes nothing.",
		Detail:    "Sends a fieldSelector for an unknown field, and a malformed labelSelector. A server that ignores them deletes everything.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#supported-fields",
		Run: func(p *runner.Probe) {
			object := p.Make()
			for _, query := range [][]string{ours(p, "fieldSelector", noSuchField+"=1"), {"labelSelector", p.Selector() + "," + malformedSelectors[0]}} {
				p.Send(runner.Delete(p.Collection(), runner.DeleteNow(), query...)).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
				keeps(p, object.GetName(), afterRefusal)
			}
		},
	},
	{
		ID: "deletecollection-dry-run", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
		Rule:      "DELETE of a collection with dryRun=All deletes nothing.",
		Detail:    "Sends dryRun in the body, then as a parameter. The server may refuse dry runs.",
		Reference: apiConcepts + "#dry-run",
		Run: func(p *runner.Probe) {
			names := makeSome(p, 2)
			dry := []string{metav1.DryRunAll}
			for _, send := range []func() *runner.Response{
				func() *runner.Response { return deleteOurs(p, deleteWith("dryRun", dry)) },
				func() *runner.Response { return deleteOurs(p, nil, "dryRun", metav1.DryRunAll) },
			} {
				send()
				for _, name := range names {
					keeps(p, name, "because it was deleted in a dry run only")
				}
			}
		},
	},
	{
		ID: "deletecollection-answer", Area: areaDeletes, PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
		Rule:      "DELETE of a collection returns a Status of success or a list.",
		Detail:    "Deletes two objects at once. What the list contains is not checked.",
		Reference: apiConventions + "#response-status-kind",
		Run: func(p *runner.Probe) {
			makeSome(p, 2)
			response := deleteOurs(p, runner.DeleteNow())
			if !response.OK() {
				response.Unprepared("delete two objects")
			}
			const expected = "a Status whose status is Success, or a list"
			if status, _ := response.Status(); status != nil {
				if status.Status != metav1.StatusSuccess {
					response.Fail(expected)
				}
				return
			}
			value := response.Fields()
			kind, _ := value["kind"].(string)
			if _, isList := value["items"].([]any); !isList || !strings.HasSuffix(kind, "List") {
				response.Fail(expected)
			}
		},
	},
}

// goesAlone fails the check unless one object goes and the others stay.
func goesAlone(p *runner.Probe, one string, others ...string) {
	for _, other := range others {
		keeps(p, other, "because the selector does not select it")
	}
	goes(p, one, "because the selector selects the object")
}

// marks are the finalizers by which policies are carried out.
var marks = map[metav1.DeletionPropagation]string{
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
