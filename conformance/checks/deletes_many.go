// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

// deleteOurs deletes what is selected of what the probe has made.
func deleteOurs(p *runner.Probe, options any, query ...string) *runner.Response {
	return p.Send(runner.Delete(p.Collection(), options, ours(p, query...)...))
}

func deletesManyRules() []runner.Check {
	return []runner.Check{deleteCollectionSelector(), deleteCollectionSelectorInvalid(), deleteCollectionDryRun(), deleteCollectionAnswer()}
}

func deleteCollectionSelector() runner.Check {
	return runner.Check{
		ID: "deletecollection-selector", Area: areaDeletes,
		Rule:        "DELETE of a collection deletes what labelSelector and fieldSelector select, and nothing else.",
		Detail:      "Deletes by label, then by metadata.name, and checks what is left.",
		Reference:   apiConventions + "#verbs-on-resources",
		PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
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
	}
}

// goesAlone returns a failure unless one object goes and the others stay.
func goesAlone(p *runner.Probe, one string, others ...string) {
	for _, other := range others {
		keeps(p, other, "because the selector does not select it")
	}
	last := outlives(p, one)
	if last == nil || holder(last) != "" {
		return
	}
	last.Fail("404 Not Found, because the selector selects the object")
}

func deleteCollectionSelectorInvalid() runner.Check {
	return runner.Check{
		ID: "deletecollection-selector-invalid", Area: areaDeletes,
		Rule:        "DELETE of a collection with a selector that the server does not understand gets 400 or 422, and deletes nothing.",
		Detail:      "Sends a fieldSelector for an unknown field, and a malformed labelSelector. A server that ignores them deletes everything.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#supported-fields",
		PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
		Run: func(p *runner.Probe) {
			object := p.Make()
			for _, query := range [][]string{ours(p, "fieldSelector", noSuchField+"=1"), {"labelSelector", p.Selector() + "," + malformedSelectors[0]}} {
				p.Send(runner.Delete(p.Collection(), runner.DeleteNow(), query...)).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
				keeps(p, object.GetName(), afterRefusal)
			}
		},
	}
}

func deleteCollectionDryRun() runner.Check {
	return runner.Check{
		ID: "deletecollection-dry-run", Area: areaDeletes,
		Rule:        "DELETE of a collection with dryRun=All deletes nothing.",
		Detail:      "Sends dryRun in the body, then as a parameter. The server may refuse dry runs.",
		Reference:   apiConcepts + "#dry-run",
		PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
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
	}
}

func deleteCollectionAnswer() runner.Check {
	return runner.Check{
		ID: "deletecollection-answer", Area: areaDeletes,
		Rule:        "DELETE of a collection returns a Status of success or a list.",
		Detail:      "Deletes two objects at once. What the list contains is not checked.",
		Reference:   apiConventions + "#response-status-kind",
		PerResource: true, Verbs: []string{"create", "get", "delete", "deletecollection"}, Isolated: true,
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
	}
}
