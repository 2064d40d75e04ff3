// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store/engine"
)

// indexer turns labels and indexed fields into index terms, and selectors into conditions on them. Every selector is
// checked again on the decoded object: the index only narrows.
type indexer struct {
	fields sets.Set[string]
}

func newIndexer(indexedFields []string) *indexer { return &indexer{sets.New(indexedFields...)} }

// terms of an object. They are sorted, so that equal sets compare equal.
func (x *indexer) terms(l labels.Set, f fields.Set) []engine.Term {
	terms := make([]engine.Term, 0, len(l)+len(x.fields))
	for name, value := range l {
		terms = append(terms, engine.Term{Name: labelName(name), Value: hash(value)})
	}
	for name := range x.fields {
		if value := f.Get(name); value != "" {
			for _, term := range fieldNames(name) {
				terms = append(terms, engine.Term{Name: term, Value: hash(value)})
			}
		}
	}
	slices.SortFunc(terms, func(a, b engine.Term) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	return slices.Compact(terms)
}

// maxConditions is how many conditions of a selector engines get: their statements grow with each, and SQLite refuses
// those of some hundreds. One or two narrow a list enough.
const maxConditions = 16

// conditions returns what of a predicate an index can serve, those that name values first.
func (x *indexer) conditions(p storage.SelectionPredicate) []engine.Condition {
	conditions := x.allConditions(p)
	slices.SortStableFunc(conditions, func(a, b engine.Condition) int {
		return cmp.Compare(min(1, len(b.Values)), min(1, len(a.Values)))
	})
	return conditions[:min(len(conditions), maxConditions)]
}

func (x *indexer) allConditions(p storage.SelectionPredicate) []engine.Condition {
	var conditions []engine.Condition
	if p.Label != nil {
		requirements, selectable := p.Label.Requirements()
		if selectable {
			for _, r := range requirements {
				conditions = appendLabelCondition(conditions, r)
			}
		}
	}
	if p.Field != nil {
		for _, r := range p.Field.Requirements() {
			equal := r.Operator == selection.Equals || r.Operator == selection.DoubleEquals
			// A missing field equals "", and isn't in the index.
			if x.fields.Has(r.Field) && equal && r.Value != "" {
				names := fieldNames(r.Field)
				conditions = append(conditions, engine.Condition{Name: names[len(names)-1], Values: []int64{hash(r.Value)}})
			}
		}
	}
	return conditions
}

func appendLabelCondition(conditions []engine.Condition, r labels.Requirement) []engine.Condition {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		values := make([]int64, 0, r.Values().Len())
		for value := range r.Values() {
			values = append(values, hash(value))
		}
		return append(conditions, engine.Condition{Name: labelName(r.Key()), Values: values})
	case selection.Exists:
		return append(conditions, engine.Condition{Name: labelName(r.Key())})
	case selection.NotEquals, selection.NotIn, selection.DoesNotExist:
		// They select most objects.
	case selection.GreaterThan, selection.LessThan:
		// Hashes have no order.
	}
	return conditions
}

// labelName and fieldName keep labels and fields of the same name apart.
func labelName(name string) int64 { return hash("label\x00" + name) }
func fieldName(name string) int64 { return hash("field\x00" + name) }

// hash is stored: it must stay the same forever.
func hash(s string) int64 { return int64(xxhash.Sum64String(s)) }
