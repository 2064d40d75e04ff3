// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func appliesConflictsRules() []rule {
	return []rule{applyConflict{}, applyForce{}, applyRemoves{}, applyNeedsManager{}, applyNoChange{}}
}

type applyConflict struct{}

func (r applyConflict) check() runner.Check {
	return runner.Check{
		ID: "apply-conflict", Area: areaApplies,
		Rule:        "Applying a different value to a field of another manager gets 409 and a Status that names the field in a cause of type FieldManagerConflict. It changes nothing.",
		Detail:      "Two managers apply different values to the same annotation.",
		Reference:   applyDoc + "#conflicts",
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (applyConflict) run(p *runner.Probe) {
	name := makeNoted(p)
	applyFirst(p, name, noteOne, "first")
	response := send(p, apply(p, secondManager, name, noteOne, "second"), status(metav1.StatusReasonConflict, http.StatusConflict))
	status, _ := response.Status()
	names := func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeFieldManagerConflict && strings.Contains(cause.Field, noteOne)
	}
	if status.Details == nil || !slices.ContainsFunc(status.Details.Causes, names) {
		response.Fail("a Status that has a cause in details.causes whose reason is FieldManagerConflict and whose field is .metadata.annotations.%s", noteOne)
	}
	wantNotes(p, response, name, noteOne, "first")
}

func (applyConflict) broken() broken.Server {
	return broken.That("forces every apply", broken.OnRequest(applying, func(r *http.Request) { broken.SetQuery(r, "force", "true") }))
}

type applyForce struct{}

func (r applyForce) check() runner.Check {
	return runner.Check{
		ID: "apply-force", Area: areaApplies,
		Rule:        "With force=true, an apply takes over fields from other managers.",
		Detail:      "The second manager forces its value on an annotation. The annotation must stay when the first manager then applies a configuration without it.",
		Reference:   applyDoc + "#conflicts",
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (applyForce) run(p *runner.Probe) {
	name := makeNoted(p)
	applyFirst(p, name, noteOne, "first")
	request := apply(p, secondManager, name, noteOne, "second")
	request.Query.Set("force", "true")
	response := send(p, request, ok)
	wantNotes(p, response, name, noteOne, "second")
	// What the first manager gives up now is not its own any more.
	response = applyFirst(p, name)
	wantNotes(p, response, name, noteOne, "second")
}

func (applyForce) broken() broken.Server {
	return broken.That("does not look at force", broken.WithoutQuery(applying, "force"))
}

type applyRemoves struct{}

func (r applyRemoves) check() runner.Check {
	return runner.Check{
		ID: "apply-removes", Area: areaApplies,
		Rule:        "A field is removed when its only manager no longer applies it.",
		Detail:      "One manager applies two annotations, then only one of them.",
		Reference:   applyDoc + "#merge-strategy",
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (applyRemoves) run(p *runner.Probe) {
	name := makeNoted(p)
	applyFirst(p, name, noteOne, "first", noteTwo, "first")
	response := applyFirst(p, name, noteOne, "first")
	wantNotes(p, response, name, noteOne, "first", noteTwo, "")
}

func (applyRemoves) broken() broken.Server {
	return broken.That("keeps labels and annotations that are not applied any more", broken.Instead(applying, keepApplied))
}

// keepApplied puts back what an apply has removed from the metadata.
func keepApplied(w http.ResponseWriter, r *http.Request, next http.Handler) {
	before := broken.Also(next, r, http.MethodGet, "", "", nil)
	a := broken.Ask(next, r)
	if !before.OK() || !a.OK() || broken.HasQuery("dryRun")(r) {
		a.Send(w)
		return
	}
	old, now := before.Object(), a.Object()
	kept := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		for key, value := range broken.FieldsOf(broken.FieldsOf(old, "metadata"), name) {
			if _, has := broken.FieldsOf(broken.FieldsOf(now, "metadata"), name)[key]; !has {
				broken.FieldsOf(kept, name)[key] = value
			}
		}
	}
	if len(kept) > 0 {
		a = broken.Also(next, r, http.MethodPatch, "", broken.MergePatch, map[string]any{"metadata": kept})
	}
	a.Send(w)
}

type applyNeedsManager struct{}

func (r applyNeedsManager) check() runner.Check {
	return runner.Check{
		ID: "apply-needs-manager", Area: areaApplies,
		Rule:        "An apply without fieldManager gets 422 and a Status, and changes nothing.",
		Detail:      "Applies an annotation to an object. 400 is accepted, too.",
		Reference:   applyDoc + "#managers",
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (applyNeedsManager) run(p *runner.Probe) {
	name := makeNoted(p)
	request := apply(p, "", name, noteOne, "nobody")
	request.Query.Del("fieldManager")
	response := send(p, request, status("", http.StatusUnprocessableEntity, http.StatusBadRequest))
	wantNotes(p, response, name, noteOne, "")
}

func (applyNeedsManager) broken() broken.Server {
	return broken.That("has a name for managers without one", broken.OnRequest(broken.And(applying, broken.QueryIs("fieldManager", "")), func(r *http.Request) { broken.SetQuery(r, "fieldManager", "unknown") }))
}

type applyNoChange struct{}

func (r applyNoChange) check() runner.Check {
	return runner.Check{
		ID: "apply-no-change", Area: areaApplies,
		Rule:        "Applying the same configuration again does not change the object: its resourceVersion stays the same.",
		Detail:      "Applies the same annotation again a second later; the times in managedFields must not change either. Tries several times, because others may change the object.",
		Reference:   applyDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Slow: true, Run: r.run,
	}
}

func (applyNoChange) run(p *runner.Probe) {
	name := makeNoted(p)
	applyFirst(p, name, noteOne, "first")
	for try := 1; ; try++ {
		before := p.Read(name)
		if err := p.Pause(p.Context, applyTick); err != nil {
			runner.Stop(err)
		}
		response := applyFirst(p, name, noteOne, "first")
		after := p.Read(name)
		switch is, was := after.GetResourceVersion(), before.GetResourceVersion(); {
		case is == was:
			return
		case try == attempts:
			response.FailBecause(fmt.Sprintf("it was %s and is now %s, each of %d times", was, is, try), "that the resourceVersion of the object stays")
		}
	}
}

func (applyNoChange) broken() broken.Server {
	return broken.That("notes when an object was last applied", func(next http.Handler) http.Handler {
		var count atomic.Int64
		return broken.Instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := broken.Ask(next, r)
			if a.OK() && !broken.HasQuery("dryRun")(r) {
				a = annotate(next, r, map[string]any{"last-applied": strconv.FormatInt(count.Add(1), 10)})
			}
			a.Send(w)
		})(next)
	})
}

// annotate sets annotations of the object that a request is about, and returns the answer.
func annotate(next http.Handler, r *http.Request, annotations map[string]any) *broken.Answer {
	return broken.Also(next, r, http.MethodPatch, "", broken.MergePatch, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}
