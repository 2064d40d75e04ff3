// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "github.com/kyverno/go-jmespath"

// need is the part of a value that an expression reads: some members of an object, and the same of each
// element of an array; nil is everything. The result is the same over an object without the other
// members.
type need struct{ members map[string]*need }

// member reports whether a member is needed, and what of it.
func (n *need) member(name string) (*need, bool) {
	if n == nil {
		return nil, true
	}
	member, ok := n.members[name]
	return member, ok
}

// needOf returns what an expression needs of an object, and of all members of an array of them.
func needOf(n node) *need {
	root := &location{}
	root.follow(n).use()
	return root.need()
}

// location is where in an object the value of an expression comes from; nil if it is computed. An array
// and its elements have the same location.
type location struct {
	// all: everything there is needed.
	all     bool
	members map[string]*location
}

func (l *location) use() {
	if l != nil {
		l.all = true
	}
}

func (l *location) member(name string) *location {
	if l == nil {
		return nil
	}
	member, ok := l.members[name]
	if !ok {
		member = &location{}
		if l.members == nil {
			l.members = map[string]*location{}
		}
		l.members[name] = member
	}
	return member
}

func (l *location) need() *need {
	if l.all {
		return nil
	}
	n := &need{members: make(map[string]*need, len(l.members))}
	for name, member := range l.members {
		n.members[name] = member.need()
	}
	return n
}

// follow returns the location of an expression that is evaluated at l.
func (l *location) follow(n node) *location {
	switch n.NodeType {
	case jmespath.ASTCurrentNode, jmespath.ASTIdentity, jmespath.ASTIndex, jmespath.ASTSlice:
		return l
	case jmespath.ASTField:
		if name, ok := n.Value.(string); ok {
			return l.member(name)
		}
	case jmespath.ASTSubexpression, jmespath.ASTIndexExpression, jmespath.ASTProjection, jmespath.ASTPipe:
		return l.follow(n.Children[0]).follow(n.Children[1])
	case jmespath.ASTFlatten:
		return l.follow(n.Children[0])
	case jmespath.ASTFilterProjection:
		array := l.follow(n.Children[0])
		array.follow(n.Children[2]).use()
		return array.follow(n.Children[1])
	case jmespath.ASTValueProjection:
		l.follow(n.Children[0]).use()
		return nil
	case jmespath.ASTLiteral, jmespath.ASTExpRef: // The latter is evaluated over another argument.
		return nil
	case jmespath.ASTComparator, jmespath.ASTFunctionExpression, jmespath.ASTKeyValPair, jmespath.ASTMultiSelectHash,
		jmespath.ASTMultiSelectList, jmespath.ASTOrExpression, jmespath.ASTAndExpression, jmespath.ASTNotExpression:
		for _, child := range n.Children {
			l.follow(child).use()
		}
		return nil
	default:
	}
	l.use()
	return nil
}
