// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"unicode/utf8"

	"k8s.io/client-go/util/jsonpath"
)

// Paths are the parts of an object that somebody reads, as a tree of names of members.
type Paths struct {
	// members that are read; none stands for the whole value.
	members map[string]*Paths
}

// CompilePaths returns the paths that expressions like those of printer columns follow. A part that an expression
// reads in another way than by the name of a member is kept as a whole. Expressions are without braces.
func CompilePaths(jsonPaths []string) Paths {
	root := &Paths{members: map[string]*Paths{}}
	for _, path := range jsonPaths {
		parser, err := jsonpath.Parse("path", "{"+path+"}")
		if err != nil || len(parser.Root.Nodes) != 1 {
			return Paths{}
		}
		list, ok := parser.Root.Nodes[0].(*jsonpath.ListNode)
		if !ok {
			return Paths{}
		}
		root.add(list.Nodes)
	}
	return *root
}

// Members returns the names that an expression follows from member to member, nil if it says anything else.
func Members(jsonPath string) []string {
	parser, err := jsonpath.Parse("path", "{"+jsonPath+"}")
	if err != nil || len(parser.Root.Nodes) != 1 {
		return nil
	}
	list, ok := parser.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok {
		return nil
	}
	var names []string
	for _, node := range list.Nodes {
		name, ok := node.(*jsonpath.FieldNode)
		if !ok || name.Value == "" {
			return nil
		}
		names = append(names, name.Value)
	}
	return names
}

func (p *Paths) add(nodes []jsonpath.Node) {
	if p.members == nil {
		return // It is kept as a whole.
	}
	if len(nodes) == 0 {
		p.members = nil
		return
	}
	name, ok := nodes[0].(*jsonpath.FieldNode)
	if !ok || name.Value == "" {
		p.members = nil
		return
	}
	next, ok := p.members[name.Value]
	if !ok {
		next = &Paths{members: map[string]*Paths{}}
		p.members[name.Value] = next
	}
	next.add(nodes[1:])
}

// Only returns the parts of a body that are in paths, as JSON. The members are in the form of [Parts] and follow the
// metadata in an object: a comma, if there is anything, the members, and the brace.
//
// It reads each byte about once. It returns false for a body that is not in that form.
func Only(members []byte, keep Paths) ([]byte, bool) {
	if string(members) == "}" {
		return []byte("{}"), true
	}
	if len(members) == 0 || members[0] != ',' || !utf8.Valid(members) {
		return nil, false
	}
	p := picker{scanner: scanner{data: members, anyNumber: true}}
	if end := p.members(1, 0, &keep); end != len(members) {
		return nil, false
	}
	return p.out, true
}

// picker copies what is kept while it scans.
type picker struct {
	scanner

	out []byte
}

// members is scanner.members for an object of which keep is kept.
func (p *picker) members(at, depth int, keep *Paths) int {
	p.out = append(p.out, '{')
	first := true
	end := p.scanner.members(at, depth, func(name []byte, at, depth int) int {
		inner := keep
		if keep.members != nil {
			if inner = keep.members[string(name)]; inner == nil {
				return p.value(at, depth)
			}
		}
		if !first {
			p.out = append(p.out, ',')
		}
		first = false
		p.out = append(p.out, p.data[at-len(name)-3:at]...) // The name, its quotes and the colon.
		if inner.members != nil && p.byte(at) == '{' && p.byte(at+1) != '}' && depth < maxDepth {
			return p.members(at+1, depth+1, inner)
		}
		end := p.value(at, depth)
		if end >= 0 {
			p.out = append(p.out, p.data[at:end]...)
		}
		return end
	})
	p.out = append(p.out, '}')
	return end
}
