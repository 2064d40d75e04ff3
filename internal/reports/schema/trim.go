// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxProblems is how many values that are wrong are shown to the library, which compares each of its errors with
// all before it: 30,000 results without a policy, a body of 90 KB, kept a processor busy for ten seconds.
const maxProblems = 1000

// trimmer copies content up to a number of problems: it leaves out the items of lists and members of maps
// that come later. The rest keeps its paths.
type trimmer struct {
	// left is how many problems may still come.
	left int
	// trimmed says that something was left out.
	trimmed bool
}

// trimmed judges content without all that follows so many problems, if that is enough to refuse it. Rules in CEL could
// need the whole, and are not asked then. It judges all of content if something of old is a problem already, which may
// be passed over only where it has not changed.
func (s *Schema) trimmed(most int, content, old map[string]any, judge func(*strategies, map[string]any) field.ErrorList) field.ErrorList {
	if shown := s.trim(most, content); shown != nil && (old == nil || s.problems(old) == 0) {
		if errs := judge(s.plain, shown); len(errs) > 0 {
			return errs
		}
	}
	return judge(s.full, content)
}

// trim returns a copy of content without all that follows so many problems, nil if there are fewer.
func (s *Schema) trim(most int, content map[string]any) map[string]any {
	if s.root.kind != object || s.root.whole {
		return nil
	}
	t := trimmer{left: most}
	shown := t.object(s.root, content)
	if !t.trimmed {
		return nil
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if value, ok := content[name]; ok {
			shown[name] = value
		}
	}
	return shown
}

// problems counts what is wrong with content, as far as it can be seen without the library.
func (s *Schema) problems(content map[string]any) int {
	counter := trimmer{left: math.MaxInt}
	counter.object(s.root, content)
	return math.MaxInt - counter.left
}

// value copies a value, whatever it is.
func (t *trimmer) value(n *node, value any) any {
	if value == nil && n.nullable || n.whole {
		return value
	}
	switch n.kind {
	case object:
		if members, ok := value.(map[string]any); ok {
			return t.object(n, members)
		}
	case array:
		if items, ok := value.([]any); ok {
			return t.array(n, items)
		}
	case text, integer, number, boolean, intOrString:
		if n.holds(value) {
			return value
		}
	case unknown, anything:
		return value
	}
	t.left--
	return value
}

// array keeps as many items as there must be.
func (t *trimmer) array(n *node, all []any) []any {
	kept := make([]any, 0, len(all))
	for _, item := range all {
		if t.left <= 0 && len(kept) >= n.size.low {
			t.trimmed = true
			break
		}
		kept = append(kept, t.value(n.items, item))
	}
	return kept
}

// object keeps members that the schema names, without which it could lack one that it must have, and as many as there
// must be.
func (t *trimmer) object(n *node, members map[string]any) map[string]any {
	kept := make(map[string]any, len(members))
	for i := range n.members {
		m := &n.members[i]
		if value, ok := members[m.name]; ok {
			kept[m.name] = t.value(m.node, value)
		} else if m.required {
			t.left--
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, ok := kept[name]; ok {
			continue
		}
		if n.others == nil {
			kept[name] = members[name] // All others were pruned.
			continue
		}
		if t.left <= 0 && len(kept) >= n.size.low {
			t.trimmed = true
			break
		}
		kept[name] = t.value(n.others.node, members[name])
	}
	return kept
}

// holds says whether a value that is no object and no array is what n describes.
func (n *node) holds(value any) bool {
	switch v := value.(type) {
	case string:
		return (n.kind == text || n.kind == intOrString) && n.lists(quote(v)) && n.allows([]byte(v))
	case bool:
		return n.kind == boolean
	case int64:
		return n.kind != text && n.kind != boolean && v >= n.low && v <= n.high
	case float64:
		const largest = 1<<53 - 1 // That JSON has of whole numbers.
		isWhole := v == math.Trunc(v) && math.Abs(v) <= largest
		return n.kind == number || isWhole && (n.kind == integer || n.kind == intOrString) && int64(v) >= n.low && int64(v) <= n.high
	}
	return false
}
