// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strconv"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// maxChunk bounds the numbers that stored reports may have.
const maxChunk = 1 << 20

// stored is a report that a server has, as the layout sees it.
type stored struct {
	object report.Accessor
	key    reportKey
	// group and number say which chunk it is, if it is one of this layout and API.
	group   groupKey
	number  int
	current bool
	ids     map[named]policy.Identity
}

// load takes the results of a stored report. It reports whether the report is one of this layout
// and API; others are obsolete, and are loaded last, so that they add only what is not there.
// What was set already is not changed.
func (l *Layout) load(object report.Accessor, api API) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.classify(object, api)
	results := object.GetResults()
	for i := range results {
		l.seed(&s, &results[i])
	}
	return s.current
}

func (l *Layout) classify(object report.Accessor, api API) stored {
	s := stored{object: object, key: reportKey{namespace: object.GetNamespace(), name: object.GetName()}}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	s.group.namespace = s.key.namespace
	id := noPolicy
	split := labels[LayoutLabel] == LayoutSplit
	if split {
		parsed, err := policy.ParseIdentity(annotations[PolicyAnnotation])
		if err != nil {
			return s // Somebody has removed what it is about: it is of no use.
		}
		id = parsed
		s.group.owner = l.policy(id)
	} else {
		s.ids = parsePolicies(annotations[PoliciesAnnotation])
	}
	number, err := strconv.Atoi(labels[ChunkLabel])
	s.number = number
	s.current = err == nil && number >= 0 && number < maxChunk &&
		api == l.options.API && split == l.options.Split && s.key.name == reportName(id, s.key.namespace, number)
	return s
}

// owner returns the policy of a stored result, or nil if that can't be known.
func (l *Layout) owner(s *stored, result *report.Result) *policyState {
	if s.group.owner != nil {
		if result.Policy != s.group.owner.resultName {
			return nil
		}
		return s.group.owner
	}
	id, ok := s.ids[named{source: listedSource(result.GetSource()), policy: result.Policy}]
	if !ok {
		return nil
	}
	return l.policy(id)
}

// seed takes one stored result.
func (l *Layout) seed(s *stored, result *report.Result) {
	p := l.owner(s, result)
	if p == nil || len(result.Resources) != 1 {
		return
	}
	resource := &result.Resources[0]
	reference := fitReference(policy.Reference{
		APIVersion: resource.APIVersion, Kind: resource.Kind,
		Namespace: resource.Namespace, Name: resource.Name, UID: resource.UID,
	})
	if reference.Namespace != s.key.namespace {
		return
	}
	unscored := result.Result == report.OutcomeWarn && result.Scored != nil && !*result.Scored
	if !l.options.allows(result.Result) && !(unscored && l.options.allows(report.OutcomeFail)) {
		return
	}
	l.learn(p, result)
	t := fitText(policy.Result{Rule: result.Rule, Outcome: result.Result, Message: result.Message, Properties: result.Properties}, l.options.MaxBytes)
	about := l.subjects[reference]
	if about == nil {
		about = newSubject(reference)
		l.subjects[reference] = about
	}
	r := &record{text: t, owner: p, subject: about, origin: inherited}
	if s.current {
		r.origin = loaded
	}
	if result.Timestamp != nil {
		r.changed = result.Timestamp.Seconds
	}
	r.unscored = unscored
	if about.has(r) {
		return
	}
	about.records = append(about.records, r)
	r.size = r.measure()
	if s.current {
		if c := l.group(r).chunkNumber(s.number); c.fits(r) {
			l.addToChunk(r, c)
			return
		}
	}
	l.assignChunk(r, nil)
}

// has reports whether the subject has a record that stands for r. A rule may have several
// results; those of current reports are the same only if they say the same.
func (s *subject) has(r *record) bool {
	return slices.ContainsFunc(s.records, func(earlier *record) bool {
		return earlier.owner == r.owner && earlier.rule == r.rule &&
			(r.origin == inherited || earlier.origin != loaded || earlier.text == r.text)
	})
}

// learn takes the presentation of a policy from a stored result until the policy is presented.
func (l *Layout) learn(p *policyState, result *report.Result) {
	if p.presented || p.learned {
		return
	}
	p.learned = true
	presentation := fitPresentation(policy.Presentation{
		Source: result.GetSource(), Category: result.Category, Severity: result.Severity,
		Scored: result.Scored == nil || *result.Scored, Process: result.Properties[processProperty],
	})
	if p.presentation != presentation {
		l.present(p, presentation)
	}
}
