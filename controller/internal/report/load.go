// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strconv"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// maxChunk bounds the chunk numbers of stored reports.
const maxChunk = 1 << 20

// stored is a report of a server and what the layout makes of it.
type stored struct {
	object report.Accessor
	key    reportKey
	// group and number identify its chunk, if it is current: of this layout and API.
	group   groupKey
	number  int
	current bool
	ids     map[named]policy.Identity
}

// load adds the results of a stored report, and reports whether it is current. Obsolete reports must be loaded
// last, so that they add only what is missing. What was set already is not changed.
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
			return s // The annotation was removed, so its subject is unknown.
		}
		id = parsed
		s.group.owner = l.policy(id)
	} else {
		s.ids = parsePolicies(annotations[PoliciesAnnotation])
	}
	number, err := strconv.Atoi(labels[ChunkLabel])
	s.number = number
	s.current = err == nil && number >= 0 && number < maxChunk &&
		api == l.options.API && split == l.options.Split && s.key.name == reportName(l.options.Instance, id, s.key.namespace, number)
	return s
}

// owner returns the policy of a stored result; nil if it is not known.
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

// seed adds one stored result.
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
	t := fitText(p, policy.Result{Rule: result.Rule, Outcome: result.Result, Message: result.Message, Properties: result.Properties}, l.options.MaxBytes)
	about := l.subjects[keyOfSubject(reference)]
	if about == nil {
		about = l.addSubject(reference)
	}
	r := record{text: t, subject: about.self, origin: inherited}
	if s.current {
		r.origin = loaded
	}
	if result.Timestamp != nil {
		r.changed = seconds(result.Timestamp.Seconds)
	}
	r.unscored = unscored
	if l.isKnown(&r) {
		return
	}
	h := l.arena.records.add(r)
	about.add([]handle{h})
	if s.current {
		if c := l.group(&r).chunkNumber(s.number); c.fits(&r) {
			l.addToChunk(h, c)
			return
		}
	}
	l.assignChunk(h, nil)
}

// isKnown reports whether the subject of r has a record for the same result already. A rule may have several
// results; two from current reports are the same one only if they are equal.
func (l *Layout) isKnown(r *record) bool {
	return slices.ContainsFunc(l.arena.subject(r).records, func(h handle) bool {
		earlier := l.arena.records.at(h)
		return earlier.owner() == r.owner() && earlier.rule() == r.rule() &&
			(r.origin == inherited || earlier.origin != loaded || earlier.text == r.text)
	})
}

// learn takes the presentation of a policy from a stored result, for as long as it is not known.
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
