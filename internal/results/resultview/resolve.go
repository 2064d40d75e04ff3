// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// mostValues is how many values of a field are compared with what somebody typed.
const mostValues = 1000

// Resolve returns the selection with names as results have them. Sources, policies and categories are compared without
// case, then by how they begin; the rule without case; kinds may be plural, or short as in kubectl. The error is an
// [UnknownError] for what no result has.
func (c *Client) Resolve(ctx context.Context, in Extent, by Selection) (Selection, error) {
	for _, part := range []struct {
		field string
		texts *[]string
	}{{"source", &by.Sources}, {"policy", &by.Policies}, {"category", &by.Categories}} {
		var found []string
		for _, text := range *part.texts {
			values, err := c.resolve(ctx, in, part.field, text)
			if err != nil {
				return by, err
			}
			found = append(found, values...)
		}
		*part.texts = found
	}
	if by.Rule != "" {
		values, err := c.resolve(ctx, in, "rule", by.Rule)
		if err != nil {
			return by, err
		}
		by.Rule = values[0]
	}
	var err error
	by.Subject, err = c.resolveSubject(ctx, in, by.Subject)
	return by, err
}

// resolve returns the values of a field that a text means, at least one.
func (c *Client) resolve(ctx context.Context, in Extent, field, text string) ([]string, error) {
	exact, err := c.values(ctx, in, field, field+" == "+literal(text))
	if err != nil || len(exact) > 0 {
		return exact, err
	}
	known, err := c.Values(ctx, in, field)
	if err != nil {
		return nil, err
	}
	lower := strings.ToLower(text)
	for _, matches := range []func(string) bool{
		func(value string) bool { return strings.ToLower(value) == lower },
		func(value string) bool {
			return text != "" && field != "rule" && strings.HasPrefix(strings.ToLower(value), lower)
		},
	} {
		if found := slices.DeleteFunc(slices.Clone(known), func(value string) bool { return !matches(value) }); len(found) > 0 {
			return found, nil
		}
	}
	return nil, &UnknownError{Field: field, Text: text, Known: nearest(text, known), In: in.String()}
}

// Values returns the values that a field has in results, the most frequent first.
func (c *Client) Values(ctx context.Context, in Extent, field string) ([]string, error) {
	return c.values(ctx, in, field, field+` != ""`)
}

// values returns the values that a field has in results that a filter selects, the most frequent first.
func (c *Client) values(ctx context.Context, in Extent, field, filter string) ([]string, error) {
	status, err := c.Query(ctx, in, v1alpha1.ResultQuerySpec{Filter: filter, GroupBy: []string{field}, OrderBy: "results", Descending: true, Limit: mostValues})
	if err != nil {
		return nil, err
	}
	var values []string
	for i := range status.Groups {
		values = append(values, status.Groups[i].By[field])
	}
	return values, nil
}

// resolveSubject returns a subject with its kind as results have it. A word without capitals is a name if results have
// it, else a kind.
func (c *Client) resolveSubject(ctx context.Context, in Extent, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	kind, name, both := strings.Cut(text, "/")
	if !both && strings.ToLower(text) == text {
		names, err := c.values(ctx, in, "subject.name", "subject.name == "+literal(text))
		if err != nil || len(names) > 0 {
			return text, err
		}
	}
	known, err := c.Values(ctx, in, "subject.kind")
	if err != nil {
		return "", err
	}
	found, ok := kindIn(known, kind)
	if !ok {
		found, ok = c.discoveredKind(kind)
	}
	switch {
	case !ok && both || !ok && strings.ToLower(text) != text:
		return "", &UnknownError{Field: "subject", Text: kind, Known: nearest(kind, known), In: in.String()}
	case !ok:
		return "", c.unknownName(ctx, in, "", text)
	case both:
		found += "/" + name
	}
	return found, nil
}

// unknownName returns the error for a name that no result has, of a kind if that is not empty.
func (c *Client) unknownName(ctx context.Context, in Extent, kind, name string) error {
	filter := `subject.name != ""`
	if kind != "" {
		filter += " && subject.kind == " + literal(kind)
		name = kind + "/" + name
	}
	names, err := c.values(ctx, in, "subject.name", filter)
	if err != nil {
		return err
	}
	if kind != "" {
		for i := range names {
			names[i] = kind + "/" + names[i]
		}
	}
	return &UnknownError{Field: "subject", Text: name, Known: nearest(name, names), In: in.String()}
}

// kindIn returns the kind that a word means among those that are known: without case, in the plural, or by the short
// name that kubectl has for it.
func kindIn(known []string, word string) (string, bool) {
	lower, _, _ := strings.Cut(strings.ToLower(word), ".")
	for _, kind := range known {
		plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		if kind == word || lower == singular.Resource || lower == plural.Resource {
			return kind, true
		}
	}
	kind, ok := map[string]string{
		"cj": "CronJob", "cm": "ConfigMap", "deploy": "Deployment", "ds": "DaemonSet", "ep": "Endpoints", "hpa": "HorizontalPodAutoscaler",
		"ing": "Ingress", "netpol": "NetworkPolicy", "no": "Node", "ns": "Namespace", "pdb": "PodDisruptionBudget", "po": "Pod", "pv": "PersistentVolume",
		"pvc": "PersistentVolumeClaim", "quota": "ResourceQuota", "rc": "ReplicationController", "rs": "ReplicaSet", "sa": "ServiceAccount",
		"sc": "StorageClass", "sts": "StatefulSet", "svc": "Service",
	}[lower]
	return kind, ok
}

// discoveredKind returns the kind that the cluster knows by a word. Nothing is found where the cluster does not answer.
func (c *Client) discoveredKind(word string) (string, bool) {
	lists, err := discovery.NewDiscoveryClient(c.rest).ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return "", false
	}
	lower, _, _ := strings.Cut(strings.ToLower(word), ".")
	for _, list := range lists {
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if strings.ToLower(r.Kind) == lower || r.Name == lower || slices.Contains(r.ShortNames, lower) {
				return r.Kind, true
			}
		}
	}
	return "", false
}

// offered is how many names are offered instead of a wrong one.
const offered = 8

// nearest returns those names that are most like a text, the nearest first.
func nearest(text string, names []string) []string {
	far := map[string]int{}
	lower := strings.ToLower(text)
	for _, name := range names {
		if known := strings.ToLower(name); known != "" {
			far[name] = edits(lower, known)
			if strings.Contains(known, lower) {
				far[name] = 0
			}
		}
	}
	sorted := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	slices.SortStableFunc(sorted, func(a, b string) int { return far[a] - far[b] })
	return sorted[:min(len(sorted), offered)]
}

// edits returns how many characters have to be added, left out or changed to make b of a (Levenshtein).
func edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j := range to {
			change := diagonal
			if from[i] != to[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
