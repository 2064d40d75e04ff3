// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func deletesPropagationRules() []rule {
	return []rule{deleteAgain{}, deletePropagation{}}
}

type deleteAgain struct{}

func (r deleteAgain) check() runner.Check {
	return runner.Check{
		ID: "delete-again", Area: areaDeletes,
		Rule:        "Deleting an object that is already being deleted changes nothing: the object and its metadata.deletionTimestamp stay.",
		Detail:      "Deletes an object that has a finalizer twice, more than a second apart. The second DELETE may succeed or conflict.",
		Reference:   finalizersPage,
		PerResource: true, Verbs: []string{"create", "get", "delete"}, Slow: true, Run: r.run,
	}
}

func (deleteAgain) run(p *runner.Probe) {
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
}

func (deleteAgain) broken() broken.Server {
	return broken.That("begins anew when what is being deleted is deleted again", deleteAnew)
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

// deleteAnew shows the time of the last deletion instead of that of the first one.
func deleteAnew(next http.Handler) http.Handler {
	var times sync.Map // by uid
	return broken.Instead(broken.Single, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch {
		case r.Method == http.MethodDelete && isReal(r):
			if metadata := broken.FieldsOf(presentOrNone(next, r), "metadata"); metadata["deletionTimestamp"] != nil {
				times.Store(metadata["uid"], time.Now().UTC().Format(time.RFC3339))
			}
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet && !broken.Watching(r):
			a := broken.Ask(next, r)
			if object := a.Object(); object != nil {
				metadata := broken.FieldsOf(object, "metadata")
				if last, ok := times.Load(metadata["uid"]); ok {
					metadata["deletionTimestamp"] = last
					a.Set(object)
				}
			}
			a.Send(w)
		default:
			next.ServeHTTP(w, r)
		}
	})(next)
}

func presentOrNone(next http.Handler, r *http.Request) map[string]any {
	if object := present(next, r); object != nil {
		return object
	}
	return map[string]any{}
}

type deletePropagation struct{}

func (r deletePropagation) check() runner.Check {
	return runner.Check{
		ID: "delete-propagation", Area: areaDeletes,
		Rule:        "The propagationPolicy Orphan adds the finalizer orphan to an object, Foreground adds foregroundDeletion, and Background adds neither.",
		Detail:      "Deletes objects that have a finalizer with each policy. A server without a garbage collector may use neither finalizer, but not just one of them.",
		Reference:   "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#foreground-deletion",
		PerResource: true, Verbs: []string{"create", "get", "delete"}, Run: r.run,
	}
}

func (deletePropagation) run(p *runner.Probe) {
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
}

func (deletePropagation) broken() broken.Server {
	return broken.That("knows Orphan, but not Foreground", onDeletedWith("Orphan", "orphan"))
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

// onDeletedWith adds a finalizer to the object that DELETE with a propagation policy answers.
func onDeletedWith(policy, finalizer string) func(http.Handler) http.Handler {
	match := func(r *http.Request) bool {
		var options map[string]any
		return json.Unmarshal(broken.BodyOf(r), &options) == nil && options["propagationPolicy"] == policy
	}
	return broken.OnAnswered(broken.And(broken.Method(http.MethodDelete), broken.Single, match), func(object map[string]any) {
		metadata := broken.FieldsOf(object, "metadata")
		if finalizers, ok := metadata["finalizers"].([]any); ok {
			metadata["finalizers"] = append(finalizers, finalizer)
		}
	})
}
