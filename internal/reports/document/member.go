// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/reports/schema"
)

// TakeMember replaces a member of the body by that of another object, or takes it away if the other one is nil or has
// none.
func (o *Object) TakeMember(name string, from *Object) {
	var taken []byte
	if from != nil {
		taken = memberOf(from.Body(), name)
	}
	body := o.Body()
	if bytes.Equal(memberOf(body, name), taken) {
		return
	}
	content := &Content{json: withMember(body, name, taken)}
	if o.Content != nil {
		content.valid = o.Content.valid && (from == nil || from.Content == nil || from.Content.valid)
		if o.Content.tree != nil {
			content.tree = runtime.DeepCopyJSON(o.Content.tree)
			delete(content.tree, name)
			if taken != nil {
				content.tree[name], _ = schema.ParseValue(taken) // It is JSON by construction.
			}
		}
	}
	o.Content = content
}

// memberOf returns the value of a member of an object in canonical form, nil if there is none.
func memberOf(body []byte, name string) (found []byte) {
	ok := schema.Split(body, func(member, value []byte) bool {
		if string(member) == name {
			found = value
		}
		return found == nil
	})
	if ok || found != nil || len(body) == 0 || body[0] != '{' {
		return found
	}
	// Some name has an escape.
	tree, err := schema.Parse(body)
	if err != nil || tree[name] == nil {
		return nil
	}
	single, err := schema.Canonical(map[string]any{name: tree[name]})
	if err != nil {
		return nil
	}
	return memberOf(single, name)
}

// withMember returns a body with another value of a member, nil for none. Members are ordered by their names.
func withMember(body []byte, name string, value []byte) []byte {
	out := make([]byte, 0, len(body)+len(name)+len(value)+4)
	out = append(out, '{')
	add := func(member, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, '"'), member...)
		out = append(append(out, '"', ':'), value...)
	}
	placed := value == nil
	whole := schema.Split(body, func(member, of []byte) bool {
		if !placed && string(member) >= name {
			add([]byte(name), value)
			placed = true
		}
		if string(member) != name {
			add(member, of)
		}
		return true
	})
	if !whole {
		return rewritten(body, name, value)
	}
	if !placed {
		add([]byte(name), value)
	}
	return append(out, '}')
}

// rewritten is withMember for a body whose names have escapes.
func rewritten(body []byte, name string, value []byte) []byte {
	tree, err := schema.Parse(body)
	if err != nil {
		return body // It is JSON by construction.
	}
	delete(tree, name)
	if value != nil {
		tree[name], _ = schema.ParseValue(value) // The same.
	}
	if canonical, err := schema.Canonical(tree); err == nil {
		return canonical
	}
	return body
}
