// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"strings"
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
	p := picker{data: members}
	if end := p.members(1, 0, &keep); end != len(members) {
		return nil, false
	}
	return p.out, true
}

// picker copies what is kept while it scans JSON. Its methods take where something begins and return where it ends, -1
// if it isn't in canonical form: members in order, so that no name occurs twice, no space.
type picker struct {
	data, out []byte
}

// byte returns what is at a place, 0 after the end.
func (p *picker) byte(at int) byte {
	if at < len(p.data) {
		return p.data[at]
	}
	return 0
}

// members scans an object from its first member on, and copies what keep keeps of it; nothing if it is nil.
func (p *picker) members(at, depth int, keep *Paths) int {
	if keep != nil {
		p.out = append(p.out, '{')
	}
	var before []byte
	for first := true; ; first = false {
		end := p.text(at)
		if end < 0 || p.byte(end) != ':' {
			return -1
		}
		name := p.data[at+1 : end-1]
		if !first && bytes.Compare(before, name) >= 0 || bytes.IndexByte(name, '\\') >= 0 {
			return -1
		}
		before = name
		inner := keep
		if keep != nil && keep.members != nil {
			inner = keep.members[string(name)]
		}
		if inner == nil {
			end = p.value(end+1, depth)
		} else {
			end = p.keep(at, end+1, depth, inner)
		}
		if end < 0 {
			return -1
		}
		switch at = end + 1; p.byte(end) {
		case ',':
		case '}':
			if keep != nil {
				p.out = append(p.out, '}')
			}
			return at
		default:
			return -1
		}
	}
}

// keep copies a member, whose name is at a place, and what keep keeps of its value.
func (p *picker) keep(name, at, depth int, keep *Paths) int {
	if p.out[len(p.out)-1] != '{' {
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, p.data[name:at]...)
	if keep.members != nil && p.byte(at) == '{' && p.byte(at+1) != '}' && depth < maxDepth {
		return p.members(at+1, depth+1, keep)
	}
	end := p.value(at, depth)
	if end >= 0 {
		p.out = append(p.out, p.data[at:end]...)
	}
	return end
}

func (p *picker) items(at, depth int) int {
	if p.byte(at+1) == ']' {
		return at + 2
	}
	for {
		end := p.value(at+1, depth)
		if end < 0 {
			return -1
		}
		switch at = end; p.byte(at) {
		case ',':
		case ']':
			return at + 1
		default:
			return -1
		}
	}
}

func (p *picker) value(at, depth int) int {
	switch c := p.byte(at); c {
	case '"':
		return p.text(at)
	case '{', '[':
		if depth++; depth > maxDepth {
			return -1
		}
		if c == '[' {
			return p.items(at, depth)
		}
		if p.byte(at+1) == '}' {
			return at + 2
		}
		return p.members(at+1, depth, nil)
	case 't':
		return p.word(at, "true")
	case 'f':
		return p.word(at, "false")
	case 'n':
		return p.word(at, "null")
	}
	end, _ := numberEnd(p.data, at)
	return end
}

func (p *picker) word(at int, word string) int {
	if bytes.HasPrefix(p.data[at:], []byte(word)) {
		return at + len(word)
	}
	return -1
}

// text scans a string. Of escapes of four digits it knows those of control characters: others are not needed.
func (p *picker) text(at int) int {
	if p.byte(at) != '"' {
		return -1
	}
	for at++; ; at++ {
		if at = special(p.data, at); p.byte(at) != '\\' {
			break
		}
		if at++; p.byte(at) != 'u' {
			if strings.IndexByte(`"\/bfnrt`, p.byte(at)) < 0 {
				return -1
			}
			continue
		}
		if p.word(at, "u00") < 0 || !isHex(p.byte(at+3)) || !isHex(p.byte(at+4)) {
			return -1
		}
		at += 4
	}
	if p.byte(at) != '"' {
		return -1
	}
	return at + 1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
