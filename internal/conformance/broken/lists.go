// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

func lists() []Breakage {
	return slices.Concat(listsAtOnce(), listsInPages(), listsOfSelected(), listsOfVersions())
}

// onLists has edit change lists, if nothing but lists of whole objects is accepted.
func onLists(match Match, edit func(list map[string]any, items []any)) func(http.Handler) http.Handler {
	whole := func(r *http.Request) bool { return !strings.Contains(r.Header.Get("Accept"), "as=") }
	return OnAnswered(And(Listing, whole, match), func(list map[string]any) {
		if items, ok := list["items"].([]any); ok {
			edit(list, items)
		}
	})
}

// onItems has edit change the items of lists of whole objects.
func onItems(edit func(item map[string]any)) func(http.Handler) http.Handler {
	return onLists(And(), func(_ map[string]any, items []any) {
		for _, one := range items {
			if item, ok := one.(map[string]any); ok {
				edit(item)
			}
		}
	})
}

// everywhere matches requests about the objects of all namespaces.
func everywhere(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && p.Namespace == ""
}

func listsAtOnce() []Breakage {
	return []Breakage{
		{
			Check: "list-kind", What: "answers null for the items of an empty list",
			Break: onLists(And(), func(list map[string]any, items []any) {
				if len(items) == 0 {
					list["items"] = nil
				}
			}),
		},
		{
			Check: "list-kind", What: "answers with lists of the kind List",
			Break: onLists(And(), func(list map[string]any, _ []any) { list["kind"] = "List" }),
		},
		{
			Check: "list-resource-version", What: "has no resourceVersion for lists over all namespaces",
			Break: onLists(everywhere, func(list map[string]any, _ []any) { delete(FieldsOf(list, "metadata"), "resourceVersion") }),
		},
		{
			Check: "list-resource-version", What: "has an old resourceVersion for lists over all namespaces",
			Break: onLists(everywhere, func(list map[string]any, _ []any) { FieldsOf(list, "metadata")["resourceVersion"] = "1" }),
		},
		{
			Check: "list-complete", What: "lists objects without their spec",
			Break: onItems(func(item map[string]any) { delete(item, "spec") }),
		},
		{
			Check: "list-items", What: "lists objects without their uid",
			Break: onItems(func(item map[string]any) { delete(FieldsOf(item, "metadata"), "uid") }),
		},
		{
			Check: "list-all-namespaces", What: "lists the objects of one namespace where those of all are wanted",
			Break: onLists(everywhere, func(list map[string]any, items []any) {
				namespace := func(item any) any {
					object, _ := item.(map[string]any)
					return FieldsOf(object, "metadata")["namespace"]
				}
				list["items"] = slices.DeleteFunc(items, func(item any) bool { return namespace(item) != namespace(items[0]) })
			}),
		},
	}
}

func listsInPages() []Breakage {
	return []Breakage{
		{
			Check: "list-pages", What: "shows one item more on a page than limit allows",
			Break: OnRequest(And(Listing, HasQuery("limit")), func(r *http.Request) {
				if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && limit > 0 {
					SetQuery(r, "limit", strconv.Itoa(limit+1))
				}
			}),
		},
		{
			Check: "list-snapshot", What: "shows on further pages what is there by then",
			Break: OnRequest(And(Listing, HasQuery("continue")), func(r *http.Request) {
				SetQuery(r, "continue", tokenOfNow(r.URL.Query().Get("continue")))
			}),
		},
		{
			Check: "list-remaining", What: "counts what the selector does not select as remaining",
			Break: onLists(And(HasQuery("limit"), HasQuery("labelSelector")), func(list map[string]any, _ []any) {
				if metadata := FieldsOf(list, "metadata"); metadata["continue"] != nil {
					metadata["remainingItemCount"] = 1000
				}
			}),
		},
		{
			Check: "list-continue-invalid", What: "begins again when a continue token makes no sense",
			Break: AgainIf(And(Listing, HasQuery("continue")), IsBadRequest, "continue"),
		},
	}
}

func listsOfSelected() []Breakage {
	return []Breakage{
		{
			Check: "list-label-selector", What: "does not select objects without the label with !=",
			Break: OnRequest(And(Listing, HasQuery("labelSelector")), func(r *http.Request) {
				selector := r.URL.Query().Get("labelSelector")
				for _, term := range strings.Split(selector, ",") {
					if key, _, found := strings.Cut(term, "!="); found {
						selector += "," + key
					}
				}
				SetQuery(r, "labelSelector", selector)
			}),
		},
		{
			Check: "list-field-selector", What: "ignores != in a fieldSelector",
			Break: OnRequest(And(Listing, HasQuery("fieldSelector")), func(r *http.Request) {
				terms := strings.Split(r.URL.Query().Get("fieldSelector"), ",")
				terms = slices.DeleteFunc(terms, func(term string) bool { return strings.Contains(term, "!=") })
				SetQuery(r, "fieldSelector", strings.Join(terms, ","))
			}),
		},
		{
			Check: "list-field-selector-unknown", What: "ignores a fieldSelector about a field that it does not know",
			Break: AgainIf(And(Listing, func(r *http.Request) bool { return isFieldSelector(r.URL.Query().Get("fieldSelector")) }), IsBadRequest, "fieldSelector"),
		},
		{
			Check: "list-selector-malformed", What: "ignores a labelSelector that it does not understand",
			Break: WithoutQuery(And(Listing, func(r *http.Request) bool {
				_, err := labels.Parse(r.URL.Query().Get("labelSelector"))
				return err != nil
			}), "labelSelector"),
		},
	}
}

// isFieldSelector tells whether a text can be parsed.
func isFieldSelector(text string) bool {
	selector, err := fields.ParseSelector(text)
	return err == nil && !selector.Empty()
}
