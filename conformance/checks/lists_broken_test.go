// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenLists are servers that break the rules of this area.
func brokenLists() map[string]broken.Server {
	return map[string]broken.Server{
		"list-kind":             broken.That("answers with lists of the kind List", onLists(broken.And(), func(list map[string]any, _ []any) { list["kind"] = "List" })),
		"list-resource-version": broken.That("has an old resourceVersion for lists over all namespaces", onLists(everywhere, func(list map[string]any, _ []any) { broken.FieldsOf(list, "metadata")["resourceVersion"] = "1" })),
		"list-complete":         broken.That("lists objects without their spec", onItems(func(item map[string]any) { delete(item, "spec") })),
		"list-items":            broken.That("lists objects without their uid", onItems(func(item map[string]any) { delete(broken.FieldsOf(item, "metadata"), "uid") })),
		"list-all-namespaces": broken.That("lists the objects of one namespace where those of all are wanted", onLists(everywhere, func(list map[string]any, items []any) {
			namespace := func(item any) any {
				object, _ := item.(map[string]any)
				return broken.FieldsOf(object, "metadata")["namespace"]
			}
			list["items"] = slices.DeleteFunc(items, func(item any) bool { return namespace(item) != namespace(items[0]) })
		})),
		"list-pages": broken.That("shows one item more on a page than limit allows", broken.OnRequest(broken.And(broken.Listing, broken.HasQuery("limit")), func(r *http.Request) {
			if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && limit > 0 {
				broken.SetQuery(r, "limit", strconv.Itoa(limit+1))
			}
		})),
		"list-snapshot": broken.That("shows on further pages what is there by then", broken.OnRequest(broken.And(broken.Listing, broken.HasQuery("continue")), func(r *http.Request) {
			broken.SetQuery(r, "continue", tokenOfNow(r.URL.Query().Get("continue")))
		})),
		"list-remaining": broken.That("counts what the selector does not select as remaining", onLists(broken.And(broken.HasQuery("limit"), broken.HasQuery("labelSelector")), func(list map[string]any, _ []any) {
			if metadata := broken.FieldsOf(list, "metadata"); metadata["continue"] != nil {
				metadata["remainingItemCount"] = 1000
			}
		})),
		"list-continue-invalid": broken.That("begins again when a continue token makes no sense", broken.AgainIf(broken.And(broken.Listing, broken.HasQuery("continue")), broken.IsBadRequest, "continue")),
		"list-label-selector": broken.That("does not select objects without the label with !=", broken.OnRequest(broken.And(broken.Listing, broken.HasQuery("labelSelector")), func(r *http.Request) {
			selector := r.URL.Query().Get("labelSelector")
			for _, term := range strings.Split(selector, ",") {
				if key, _, found := strings.Cut(term, "!="); found {
					selector += "," + key
				}
			}
			broken.SetQuery(r, "labelSelector", selector)
		})),
		"list-field-selector": broken.That("ignores != in a fieldSelector", broken.OnRequest(broken.And(broken.Listing, broken.HasQuery("fieldSelector")), func(r *http.Request) {
			terms := strings.Split(r.URL.Query().Get("fieldSelector"), ",")
			terms = slices.DeleteFunc(terms, func(term string) bool { return strings.Contains(term, "!=") })
			broken.SetQuery(r, "fieldSelector", strings.Join(terms, ","))
		})),
		"list-field-selector-unknown": broken.That("ignores a fieldSelector about a field that it does not know", broken.AgainIf(broken.And(broken.Listing, func(r *http.Request) bool { return isFieldSelector(r.URL.Query().Get("fieldSelector")) }), broken.IsBadRequest, "fieldSelector")),
		"list-selector-malformed": broken.That("ignores a labelSelector that it does not understand", broken.WithoutQuery(broken.And(broken.Listing, func(r *http.Request) bool {
			_, err := labels.Parse(r.URL.Query().Get("labelSelector"))
			return err != nil
		}), "labelSelector")),
		"list-version-any": broken.That("takes the resourceVersion 0 for one that has expired", broken.OnAnswer(broken.And(broken.Listing, broken.QueryIs("resourceVersion", "0")), func(_ *http.Request, a *broken.Answer) {
			if a.OK() {
				a.Status(http.StatusGone, "Expired", "too old resource version: 0")
			}
		})),
		"list-version-exact":     broken.That("shows the present state where that of a resourceVersion is wanted", broken.WithoutQuery(broken.And(broken.Listing, broken.QueryIs("resourceVersionMatch", "Exact"), broken.HasQuery("resourceVersion")), "resourceVersionMatch", "resourceVersion")),
		"list-version-not-older": broken.That("lists from a cache that is one write behind", onLateLists),
		"list-version-future":    broken.That("ignores a resourceVersion that it does not have yet", broken.AgainIf(broken.And(broken.Listing, broken.HasQuery("resourceVersion")), func(a *broken.Answer) bool { return a.Code == http.StatusGatewayTimeout }, "resourceVersion", "resourceVersionMatch")),
		"list-version-malformed": broken.That("ignores a resourceVersion that is no number", broken.WithoutQuery(broken.And(broken.Listing, func(r *http.Request) bool {
			_, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
			return err != nil
		}), "resourceVersion")),
		"list-match-without-version": broken.That("ignores resourceVersionMatch without a resourceVersion", broken.WithoutQuery(broken.And(broken.Listing, func(r *http.Request) bool { return !r.URL.Query().Has("resourceVersion") }), "resourceVersionMatch")),
	}
}

// onLists has edit change lists, if the request accepts only lists of whole objects.
func onLists(match broken.Match, edit func(list map[string]any, items []any)) func(http.Handler) http.Handler {
	whole := func(r *http.Request) bool { return !strings.Contains(r.Header.Get("Accept"), "as=") }
	return broken.OnAnswered(broken.And(broken.Listing, whole, match), func(list map[string]any) {
		if items, ok := list["items"].([]any); ok {
			edit(list, items)
		}
	})
}

// onItems has edit change the items of lists of whole objects.
func onItems(edit func(item map[string]any)) func(http.Handler) http.Handler {
	return onLists(broken.And(), func(_ map[string]any, items []any) {
		for _, one := range items {
			if item, ok := one.(map[string]any); ok {
				edit(item)
			}
		}
	})
}

// tokenOfNow returns a continue token of the library of API servers without its resourceVersion.
func tokenOfNow(token string) string {
	var content map[string]any
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(data, &content) != nil || content["rv"] == nil {
		return token
	}
	content["rv"] = -1
	if data, err = json.Marshal(content); err != nil {
		return token
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// isFieldSelector reports whether a text can be parsed.
func isFieldSelector(text string) bool {
	selector, err := fields.ParseSelector(text)
	return err == nil && !selector.Empty()
}

// onLateLists leaves out what was written at the resourceVersion that a list is not to be older than.
func onLateLists(next http.Handler) http.Handler {
	return broken.OnAnswer(broken.And(broken.Listing, broken.QueryIs("resourceVersionMatch", "NotOlderThan")), func(r *http.Request, a *broken.Answer) {
		a.Edit(func(list map[string]any) {
			items, _ := list["items"].([]any)
			kept := []any{}
			for _, one := range items {
				item, _ := one.(map[string]any)
				if item != nil && broken.FieldsOf(item, "metadata")["resourceVersion"] != r.URL.Query().Get("resourceVersion") {
					kept = append(kept, item)
				}
			}
			if items != nil {
				list["items"] = kept
			}
		})
	})(next)
}

// everywhere matches requests about the objects of all namespaces.
func everywhere(r *http.Request) bool {
	p := broken.PlaceOf(r)
	return p != nil && p.Namespace == ""
}
