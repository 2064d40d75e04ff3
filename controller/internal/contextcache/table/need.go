// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "github.com/kyverno/go-jmespath"

// need is what an expression looks at in a value: some members of objects, those of all members of
// an array alike; or nil for all of it. An expression can't tell an object that lacks what it doesn't
// need from the whole one.
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
	root := &place{}
	root.follow(n).use()
	return root.need()
}

// place is where in an object the value of an expression is; nil for one that is not in it. An array
// and its members are in one place.
type place struct {
	// whole: all that is there is needed.
	whole   bool
	members map[string]*place
}

func (p *place) use() {
	if p != nil {
		p.whole = true
	}
}

func (p *place) member(name string) *place {
	if p == nil {
		return nil
	}
	member, ok := p.members[name]
	if !ok {
		member = &place{}
		if p.members == nil {
			p.members = map[string]*place{}
		}
		p.members[name] = member
	}
	return member
}

func (p *place) need() *need {
	if p.whole {
		return nil
	}
	n := &need{members: make(map[string]*need, len(p.members))}
	for name, member := range p.members {
		n.members[name] = member.need()
	}
	return n
}

// follow returns the place of an expression that is evaluated at p.
func (p *place) follow(n node) *place {
	switch n.NodeType {
	case jmespath.ASTCurrentNode, jmespath.ASTIdentity, jmespath.ASTIndex, jmespath.ASTSlice:
		return p
	case jmespath.ASTField:
		if name, ok := n.Value.(string); ok {
			return p.member(name)
		}
	case jmespath.ASTSubexpression, jmespath.ASTIndexExpression, jmespath.ASTProjection, jmespath.ASTPipe:
		return p.follow(n.Children[0]).follow(n.Children[1])
	case jmespath.ASTFlatten:
		return p.follow(n.Children[0])
	case jmespath.ASTFilterProjection:
		array := p.follow(n.Children[0])
		array.follow(n.Children[2]).use()
		return array.follow(n.Children[1])
	case jmespath.ASTValueProjection:
		p.follow(n.Children[0]).use()
		return nil
	case jmespath.ASTLiteral, jmespath.ASTExpRef: // The latter is evaluated over another argument.
		return nil
	case jmespath.ASTComparator, jmespath.ASTFunctionExpression, jmespath.ASTKeyValPair, jmespath.ASTMultiSelectHash,
		jmespath.ASTMultiSelectList, jmespath.ASTOrExpression, jmespath.ASTAndExpression, jmespath.ASTNotExpression:
		for _, child := range n.Children {
			p.follow(child).use()
		}
		return nil
	default:
	}
	p.use()
	return nil
}
