// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

const (
	// Objects of a sequence have these labels; the second one comes and goes.
	groupLabel = "group"
	tierLabel  = "tier"
	endLabel   = "end"
	// Sequences are about so many objects.
	sequenceObjects = 4
)

// RunSequence runs random operations on a few objects while clients watch in different ways, and
// compares answers, lists and the events of each watch.
func (r *Runner) RunSequence(ctx context.Context, kind Kind, seed, number uint64) (*Finding, error) {
	s := newSequence(r, kind, seed, number)
	finding := &Finding{Case: Case{Kind: kind, Seed: seed, Number: number}, Known: map[string]int{}}
	note := func(step Step, differences []Difference, a, b *Answer) {
		for _, d := range differences {
			seen := Seen{d, kind, step, [2]*Answer{a, b}}
			if known := r.known(seen); known != "" {
				finding.Known[known]++
				continue
			}
			finding.Differences = append(finding.Differences, seen)
		}
	}
	watches, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer watches.close()
	for _, operation := range append(s.operations(), s.last()) {
		finding.Case.Steps = append(finding.Case.Steps, operation.step)
		finding.Step = len(finding.Case.Steps) - 1
		a, b, err := s.do(ctx, operation)
		if err != nil {
			return nil, err
		}
		note(operation.step, Compare(a, b), a, b)
		if a.Code != b.Code {
			return finding, s.clean(ctx)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	for _, w := range watches {
		note(w.step, w.compare(waiting), nil, nil)
	}
	return finding, s.clean(ctx)
}

// sequence is what is known of the objects, on each server by the end of their names.
type sequence struct {
	*generator

	runner      *Runner
	kind        Kind
	group       string
	final       *Value // the last object that is written, by which all watches know that there is no more
	selector    string // by a selectable field, which the last object matches; empty if the kind has none
	left, right map[string]*state
}

// operation is a request about one of the objects.
type operation struct {
	step   Step
	object string
}

func newSequence(r *Runner, kind Kind, seed, number uint64) *sequence {
	s := &sequence{
		generator: newGenerator(seed, number), runner: r, kind: kind, group: r.newName("sequence"),
		left: map[string]*state{}, right: map[string]*state{},
	}
	s.final = (&generator{Rand: s.Rand, common: true}).plain(kind)
	if len(kind.Selectable) > 0 {
		field := pick(s.generator, kind.Selectable...)
		value := valueAt(s.plain(kind), field)
		if value == valueAt(s.final, field) {
			value = "nothing"
		}
		s.selector = strings.TrimPrefix(field, ".") + "!=" + fields.EscapeValue(value)
	}
	for i := range sequenceObjects {
		suffix := fmt.Sprint(i)
		for target, states := range map[*Target]map[string]*state{r.Left: s.left, r.Right: s.right} {
			name := s.group + "-" + suffix
			states[suffix] = &state{name: name, object: name, namespace: r.Namespace, group: s.group, owner: target.owner}
		}
	}
	return s
}

func (s *sequence) do(ctx context.Context, o operation) (left, right *Answer, err error) {
	l, r := s.left[o.object], s.right[o.object]
	a, b, err := s.runner.both(ctx, l.request(s.kind, o.step), r.request(s.kind, o.step))
	if err != nil {
		return nil, nil, err
	}
	l.learn(o.step, a)
	r.learn(o.step, b)
	return a.comparable(""), b.comparable(""), nil
}

// operations returns what is done in between.
func (s *sequence) operations() []operation {
	var all []operation
	for range 15 + s.IntN(15) {
		o := operation{object: fmt.Sprint(s.IntN(sequenceObjects))}
		labels := Object(groupLabel, groupMark)
		if s.chance(0.6) {
			labels.Set(tierLabel, String(pick(s.generator, "gold", "gold", "iron")))
		}
		body := s.plain(s.kind)
		body.Get("metadata").Set("labels", labels)
		selected := Step{Method: http.MethodGet, Collection: true}.with("labelSelector", groupLabel+"="+groupMark)
		switch s.IntN(12) {
		case 0, 1, 2:
			o.step = post(body)
		case 3, 4:
			o.step = put(body)
		case 5:
			o.step = patch(typeMerge, Object("metadata", Object("labels", Object(tierLabel, pick(s.generator, String("gold"), Null())))))
		case 6:
			o.step = patch(typeMerge, must(pick(s.generator, `{"metadata":{"finalizers":["example.com/a"]}}`, `{"metadata":{"finalizers":null}}`, `{}`)))
		case 7:
			o.step = patch(typeApply, body).with("fieldManager", "one", "force", "true")
		case 8, 9:
			o.step = remove(nil)
		case 10:
			o.step = selected
			o.step.Method = http.MethodDelete
			o.step.Query.Set("labelSelector", groupLabel+"="+groupMark+","+tierLabel+"=iron")
		default:
			o.step = s.view(selected)
		}
		all = append(all, o)
	}
	return all
}

// last returns the operation by which all watches know that there is no more.
func (s *sequence) last() operation {
	s.final.Get("metadata").Set("labels", Object(groupLabel, groupMark, tierLabel, "gold", endLabel, "true"))
	return operation{object: "0", step: patch(typeApply, s.final).with("fieldManager", "last", "force", "true")}
}

func (s *sequence) clean(ctx context.Context) error {
	var all []error
	for suffix := range s.left {
		all = append(all, s.runner.Left.clean(ctx, s.kind, s.left[suffix]), s.runner.Right.clean(ctx, s.kind, s.right[suffix]))
	}
	return errors.Join(all...)
}
