// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

// farFuture is how many writes a server does not do before a check ends.
const farFuture = 1 << 32

func listsVersionsRules() []runner.Check {
	return []runner.Check{
		listVersionAny(),
		listVersionExact(),
		listVersionNotOlder(),
		listVersionFuture(),
		listVersionMalformed(),
		listMatchWithoutVersion(),
	}
}

func listVersionAny() runner.Check {
	return runner.Check{
		ID: "list-version-any", Area: areaLists,
		Rule:        "A list with resourceVersion=0 returns a list, of any age.",
		Detail:      "Lists with and without resourceVersionMatch=NotOlderThan.",
		Reference:   apiConcepts + listVersionsAnchor,
		PerResource: true, Verbs: []string{"list"},
		Run: func(p *runner.Probe) {
			for _, query := range [][]string{{"resourceVersion", "0"}, {"resourceVersion", "0", "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)}} {
				response := p.Send(runner.Get(p.Collection(), ours(p, query...)...))
				if !response.OK() {
					response.Fail("a list")
				}
				listOf(response)
			}
		},
	}
}

func listVersionExact() runner.Check {
	return runner.Check{
		ID: "list-version-exact", Area: areaLists,
		Rule:        "A list with resourceVersionMatch=Exact shows the state at that resourceVersion, or gets 410.",
		Detail:      "Lists, changes one object and creates another, then lists again with the resourceVersion of the first list.",
		Reference:   apiConcepts + listVersionsAnchor,
		PerResource: true, Verbs: []string{"create", "get", "list", "update"},
		Run: func(p *runner.Probe) {
			made := p.Make()
			before := readOurs(p)
			old := before.item(made.GetName())
			if version := before.version(); old == nil || version == "" || version == "0" {
				runner.Leave("there is no list with a resourceVersion and the object that was made before")
			}
			p.Label(made.GetName(), colorLabel, "red")
			later := p.Make()
			query := ours(p, "resourceVersion", before.version(), "resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
			response := p.Send(runner.Get(p.Collection(), query...))
			if response.Code == http.StatusGone {
				return
			}
			if !response.OK() {
				response.Fail("a list, or 410 Gone")
			}
			list := listOf(response)
			if list.version() != before.version() {
				list.FailBecause(fmt.Sprintf("it is %q", list.version()), "a list whose metadata.resourceVersion is %s, as asked for", before.version())
			}
			if list.item(later.GetName()) != nil {
				list.Fail("a list without %s, which was created later", later.GetName())
			}
			item := list.item(made.GetName())
			if item == nil {
				list.Fail("a list with %s, which existed at that resourceVersion", made.GetName())
			}
			if item.GetLabels()[colorLabel] != "" {
				list.Fail("%s without the label %s, which it got later", made.GetName(), colorLabel)
			}
		},
	}
}

func listVersionNotOlder() runner.Check {
	return runner.Check{
		ID: "list-version-not-older", Area: areaLists,
		Rule:        "A list with resourceVersionMatch=NotOlderThan shows what was written at that resourceVersion.",
		Detail:      "Changes an object, and lists with its new resourceVersion.",
		Reference:   apiConcepts + listVersionsAnchor,
		PerResource: true, Verbs: []string{"create", "get", "list", "update"},
		Run: func(p *runner.Probe) {
			made := p.Make()
			changed := p.Label(made.GetName(), colorLabel, "red")
			if changed.GetResourceVersion() == "" {
				runner.Leave("objects have no resourceVersion")
			}
			query := ours(p, "resourceVersion", changed.GetResourceVersion(), "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
			response := askWhenThere(p, query...)
			if !response.OK() {
				response.Fail("a list: the resourceVersion is from an object that was just read")
			}
			list := listOf(response)
			item := list.item(made.GetName())
			if item == nil || item.GetLabels()[colorLabel] != "red" {
				list.Fail("a list with %s, and its label %s, which was written at that resourceVersion", made.GetName(), colorLabel)
			}
		},
	}
}

// askWhenThere asks for a list again while a server that is behind says so.
func askWhenThere(p *runner.Probe, query ...string) *runner.Response {
	for try := 1; ; try++ {
		response := p.Send(runner.Get(p.Collection(), query...))
		if response.Code != http.StatusGatewayTimeout || try == attempts {
			return response
		}
	}
}

func listVersionFuture() runner.Check {
	return runner.Check{
		ID: "list-version-future", Area: areaLists,
		Rule:        "A list with a resourceVersion that does not exist yet gets an error, never an older list.",
		Detail:      "Adds a large number to the resourceVersion of a list. The server may wait before it answers.",
		Reference:   apiConcepts + "#unavailable-resource-versions",
		PerResource: true, Verbs: []string{"list"}, Slow: true,
		Run: func(p *runner.Probe) {
			present := presentVersion(p)
			query := ours(p, "resourceVersion", strconv.FormatUint(present+farFuture, 10), "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
			response := p.Send(runner.Get(p.Collection(), query...))
			if status, _ := response.Status(); response.Code >= http.StatusBadRequest && status != nil && status.Status == metav1.StatusFailure {
				return
			}
			response.Fail("an error, as 504 Gateway Timeout with a Status, because the resourceVersion is far ahead of %d", present)
		},
	}
}

// presentVersion returns the resourceVersion of a list. Checks are left out if it is no number that
// can still grow.
func presentVersion(p *runner.Probe) uint64 {
	list := readOurs(p)
	number, err := strconv.ParseUint(list.version(), 10, 64)
	if err != nil || number > math.MaxInt64-farFuture {
		runner.Leave("the resourceVersions of the server are not increasing numbers (%q)", list.version())
	}
	return number
}

func listVersionMalformed() runner.Check {
	return runner.Check{
		ID: "list-version-malformed", Area: areaLists,
		Rule:        "A list with a malformed resourceVersion gets 400 or 422.",
		Detail:      "Sends resourceVersion=abc, if the resourceVersions of the server are numbers.",
		Reference:   apiConcepts + "#resource-versions",
		PerResource: true, Verbs: []string{"list"},
		Run: func(p *runner.Probe) {
			presentVersion(p)
			wantNoList(p, ours(p, "resourceVersion", "abc")...)
		},
	}
}

func listMatchWithoutVersion() runner.Check {
	return runner.Check{
		ID: "list-match-without-version", Area: areaLists,
		Rule:        "A list with resourceVersionMatch but no resourceVersion gets 400 or 422.",
		Detail:      "Sends both matches that exist, and a match that does not exist with a resourceVersion.",
		Reference:   apiConcepts + listVersionsAnchor,
		PerResource: true, Verbs: []string{"list"},
		Run: func(p *runner.Probe) {
			for _, query := range [][]string{
				{"resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)},
				{"resourceVersionMatch", string(metav1.ResourceVersionMatchExact)},
				{"resourceVersionMatch", "Roughly", "resourceVersion", "0"},
			} {
				wantNoList(p, ours(p, query...)...)
			}
		},
	}
}
