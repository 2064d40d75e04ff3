// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	pagedObjects = 5
	pageSize     = 2
	// mostPages is more than a server needs that has empty pages, too.
	mostPages = 20
)

// noPages is why checks of pages are left out.
const noPages = "the server shows everything at once, whatever limit says"

// firstPage asks for the first page of what the probe has made, with at most so many objects.
func firstPage(p *runner.Probe, limit int) *listed {
	return readOurs(p, "limit", fmt.Sprint(limit))
}

// pageAfter returns the next page. It is nil if the server has the state of the list no more.
func pageAfter(p *runner.Probe, page *listed, limit int) *listed {
	response := p.Send(runner.Get(p.Collection(), ours(p, "limit", fmt.Sprint(limit), "continue", page.token())...))
	switch {
	case response.Code == http.StatusGone:
		return nil
	case !response.OK():
		response.Fail("the next page, or 410 Gone")
	}
	return listOf(response)
}

var listsPages = []runner.Check{
	{
		ID: "list-pages", Area: areaLists, PerResource: true, Verbs: []string{"get", "list"},
		Rule:      "A page of a list has at most limit items, all pages together have each object once, and the last one has no continue token.",
		Detail:    "Lists five objects with limit=2; those that are there where clients don't create any. The server may ignore limit if it then returns everything.",
		Reference: apiConcepts + chunksAnchor,
		Run: func(p *runner.Probe) {
			names := some(p, pagedObjects)
			seen, last := readPages(p, names)
			if p.Resource.ShownOnly() {
				// What has gone meanwhile need not be on any page.
				names = stillShown(p, names)
			}
			for _, name := range names {
				if !seen[name] {
					last.Fail("%s on one of the pages; this is the last one", name)
				}
			}
		},
	},
	{
		ID: "list-snapshot", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list", "delete"},
		Rule:      "All pages of a list show the same state, whatever is created or deleted in the meantime.",
		Detail:    "Creates and deletes an object after the first page. All pages must have the same resourceVersion, unless the server returns 410 because it no longer has that state.",
		Reference: apiConcepts + chunksAnchor,
		Run: func(p *runner.Probe) {
			names := makeSome(p, pagedObjects)
			first := firstPage(p, pageSize)
			later := slices.DeleteFunc(names, func(name string) bool { return first.item(name) != nil })
			if first.token() == "" || len(later) == 0 {
				runner.Leave(noPages)
			}
			deleted := later[len(later)-1]
			p.Prepare("delete the object", runner.Delete(p.Path(deleted), runner.DeleteNow()))
			created := p.Make()
			shown := false
			page := first
			for count := 1; page.token() != "" && count < mostPages; count++ {
				if page = snapshotPage(p, page); page == nil {
					return
				}
				if page.version() != first.version() {
					page.FailBecause(fmt.Sprintf("it is %q", page.version()), "a page with the metadata.resourceVersion of the first one, %s", first.version())
				}
				if page.item(created.GetName()) != nil {
					page.Fail("a page without %s, which was created after the first page was shown", created.GetName())
				}
				shown = shown || page.item(deleted) != nil
			}
			if !shown && page.token() == "" {
				page.Fail("%s on one of the pages, because it was deleted after the first page was shown; this is the last one", deleted)
			}
		},
	},
	{
		ID: "list-remaining", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A list has remainingItemCount only if there are more pages and no selector.",
		Detail:    "Lists with and without limit and selector. The server may omit the count, and it may be an estimate.",
		Reference: listMetaPage,
		Run: func(p *runner.Probe) {
			makeSome(p, 2)
			for _, query := range [][]string{nil, {"limit", "1"}} {
				selected := readOurs(p, query...)
				if count, ok := selected.metadata["remainingItemCount"]; ok && count != nil {
					selected.FailBecause(fmt.Sprintf("it is %v", count), "a list without metadata.remainingItemCount, because it has selected objects only")
				}
			}
			all := readList(p, p.Collection(), "limit", "1")
			count, ok := all.metadata["remainingItemCount"]
			if !ok || count == nil {
				return
			}
			if all.token() == "" {
				all.FailBecause(fmt.Sprintf("it is %v", count), "a list without metadata.remainingItemCount, because there is no metadata.continue")
			}
			if number, err := strconv.ParseFloat(jsonOf(count), 64); err != nil || number < 1 {
				all.FailBecause(fmt.Sprintf("it is %v", count), "a list whose metadata.remainingItemCount is a number of at least 1, because there is metadata.continue")
			}
		},
	},
	{
		ID: "list-continue-invalid", Area: areaLists, PerResource: true, Verbs: []string{"create", "get", "list"},
		Rule:      "A continue token that the server did not issue gets 400, 410, or 422, never a list.",
		Detail:    "Sends malformed tokens. Does not apply to servers without pages.",
		Reference: apiConcepts + chunksAnchor,
		Run: func(p *runner.Probe) {
			makeSome(p, pageSize+1)
			first := firstPage(p, pageSize)
			if first.token() == "" {
				runner.Leave(noPages)
			}
			// The second one is {} in base64.
			for _, token := range []string{"conformance", "e30"} {
				p.Send(runner.Get(p.Collection(), ours(p, "limit", fmt.Sprint(pageSize), "continue", token)...)).WantStatus("", http.StatusBadRequest, http.StatusGone, http.StatusUnprocessableEntity)
			}
		},
	},
}

// readPages returns the names on all pages, and the last page. No name is on two pages. There are some objects.
func readPages(p *runner.Probe, names []string) (seen map[string]bool, last *listed) {
	limit := max(pageSize, len(names)/pagedObjects)
	page := firstPage(p, limit)
	if page.token() == "" && len(page.items) == len(names) {
		runner.Leave(noPages)
	}
	seen = map[string]bool{}
	for count := 1; ; count++ {
		if len(page.items) > limit {
			page.FailBecause(fmt.Sprintf("it has %d", len(page.items)), "a page of at most %d items", limit)
		}
		for _, name := range page.names() {
			if seen[name] {
				page.Fail("a page without %s, which was on a page before", name)
			}
			seen[name] = true
		}
		if page.token() == "" {
			return seen, page
		}
		if count == mostPages {
			page.Fail("a page without metadata.continue: %d pages have shown %d objects", count, len(seen))
		}
		page = pageAfter(p, page, limit)
		if page == nil {
			runner.Leave("the continue token has expired")
		}
	}
}

// stillShown returns those of names that are still shown.
func stillShown(p *runner.Probe, names []string) []string {
	now := sets.New(shown(p)...)
	return slices.DeleteFunc(names, func(name string) bool { return !now.Has(name) })
}

// snapshotPage is pageAfter, but leaves out what another check finds wrong with pages.
func snapshotPage(p *runner.Probe, page *listed) (next *listed) {
	err := runner.Try(func() { next = pageAfter(p, page, pageSize) })
	var failure *runner.Failure
	if errors.As(err, &failure) {
		runner.Leave("there is no further page: %s", failure)
	}
	runner.StopOn(err)
	return next
}
