// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

func appliesConflictsRules() []runner.Check {
	return []runner.Check{applyConflict(), applyForce(), applyRemoves(), applyNeedsManager(), applyNoChange()}
}

func applyConflict() runner.Check {
	return runner.Check{
		ID: "apply-conflict", Area: areaApplies,
		Rule:        "Applying a different value to a field of another manager gets 409 and a Status that names the field in a cause of type FieldManagerConflict. It changes nothing.",
		Detail:      "Two managers apply different values to the same annotation.",
		Reference:   applyDoc + "#conflicts",
		PerResource: true, Verbs: []string{"create", "get", "patch"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			response := p.Send(apply(p, secondManager, name, noteOne, "second")).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
			status, _ := response.Status()
			names := func(cause metav1.StatusCause) bool {
				return cause.Type == metav1.CauseTypeFieldManagerConflict && strings.Contains(cause.Field, noteOne)
			}
			if status.Details == nil || !slices.ContainsFunc(status.Details.Causes, names) {
				response.Fail("a Status that has a cause in details.causes whose reason is FieldManagerConflict and whose field is .metadata.annotations.%s", noteOne)
			}
			wantNotes(p, response, name, noteOne, "first")
		},
	}
}

func applyForce() runner.Check {
	return runner.Check{
		ID: "apply-force", Area: areaApplies,
		Rule:        "With force=true, an apply takes over fields from other managers.",
		Detail:      "The second manager forces its value on an annotation. The annotation must stay when the first manager then applies a configuration without it.",
		Reference:   applyDoc + "#conflicts",
		PerResource: true, Verbs: []string{"create", "get", "patch"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			request := apply(p, secondManager, name, noteOne, "second")
			request.Query.Set("force", "true")
			response := p.Send(request).WantOK()
			wantNotes(p, response, name, noteOne, "second")
			// What the first manager gives up now is not its own any more.
			response = applyFirst(p, name)
			wantNotes(p, response, name, noteOne, "second")
		},
	}
}

func applyRemoves() runner.Check {
	return runner.Check{
		ID: "apply-removes", Area: areaApplies,
		Rule:        "A field is removed when its only manager no longer applies it.",
		Detail:      "One manager applies two annotations, then only one of them.",
		Reference:   applyDoc + "#merge-strategy",
		PerResource: true, Verbs: []string{"create", "get", "patch"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first", noteTwo, "first")
			wantNotes(p, applyFirst(p, name, noteOne, "first"), name, noteOne, "first", noteTwo, "")
		},
	}
}

func applyNeedsManager() runner.Check {
	return runner.Check{
		ID: "apply-needs-manager", Area: areaApplies,
		Rule:        "An apply without fieldManager gets 422 and a Status, and changes nothing.",
		Detail:      "Applies an annotation to an object. 400 is accepted, too.",
		Reference:   applyDoc + "#managers",
		PerResource: true, Verbs: []string{"create", "get", "patch"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			request := apply(p, "", name, noteOne, "nobody")
			request.Query.Del("fieldManager")
			wantNotes(p, p.Send(request).WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest), name, noteOne, "")
		},
	}
}

func applyNoChange() runner.Check {
	return runner.Check{
		ID: "apply-no-change", Area: areaApplies,
		Rule:        "Applying the same configuration again does not change the object: its resourceVersion stays the same.",
		Detail:      "Applies an annotation again a second later; the times in managedFields must not change either. Tries several times.",
		Reference:   applyDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Slow: true,
		Run: func(p *runner.Probe) {
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
		},
	}
}
