// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// processProperty is the property of results that comes from the presentation of the policy.
const processProperty = "process"

// policyState is a policy that has results or a presentation.
type policyState struct {
	id           policy.Identity
	resultName   string
	presentation policy.Presentation
	// size is the number of bytes that the presentation adds to each result.
	size int
	// presented is true once the presentation was set; learned, once it was taken from a stored result.
	presented, learned bool
}

func newPolicyState(id policy.Identity) *policyState {
	// Until the policy is presented, its failures are shown as failures.
	p := &policyState{id: id, resultName: id.ResultName()}
	p.present(policy.Presentation{Scored: true})
	return p
}

func (p *policyState) present(presentation policy.Presentation) {
	p.presentation = presentation
	p.size = quoted(presentation.Source) + quoted(presentation.Category) + len(presentation.Severity) +
		quoted(processProperty) + quoted(presentation.Process) + 2
}

// fitPresentation limits the length of texts that users choose.
func fitPresentation(p policy.Presentation) policy.Presentation {
	p.Source, p.Category, p.Process = fit(p.Source, longText), fit(p.Category, longText), fit(p.Process, longText)
	if !slices.Contains(report.Severities(), p.Severity) {
		p.Severity = ""
	}
	return p
}

// shown returns an outcome as reports show it.
func (p *policyState) shown(outcome report.Outcome) report.Outcome {
	if outcome == report.OutcomeFail && !p.presentation.Scored {
		return report.OutcomeWarn
	}
	return outcome
}

// subjectKey identifies a resource. There may be hundreds of thousands, so that they share what many have in common.
type subjectKey struct {
	place unique.Handle[place]
	name  string
	uid   types.UID
}

// place is where a resource is: what all of a kind in a namespace have in common.
type place struct{ apiVersion, kind, namespace string }

func keyOfSubject(r policy.Reference) subjectKey {
	return subjectKey{place: unique.Make(place{r.APIVersion, r.Kind, r.Namespace}), name: r.Name, uid: r.UID}
}

func (k *subjectKey) namespace() string { return k.place.Value().namespace }

func (k *subjectKey) reference() policy.Reference {
	at := k.place.Value()
	return policy.Reference{APIVersion: at.apiVersion, Kind: at.kind, Namespace: at.namespace, Name: k.name, UID: k.uid}
}

// subject is a resource that has results.
type subject struct {
	subjectKey
	self handle
	// records are those of all policies, those of one policy in the order of its results.
	records []handle
	size    int
}

// addSubject adds a resource, for results to be about.
func (l *Layout) addSubject(reference policy.Reference) *subject {
	s := &subject{subjectKey: keyOfSubject(reference), size: quoted(reference.APIVersion) + quoted(reference.Kind) +
		quoted(reference.Namespace) + quoted(reference.Name) + quoted(string(reference.UID))}
	s.self = l.arena.subjects.add(s)
	l.subjects[s.subjectKey] = s
	return s
}

// add adds records. The list has no more room than that, since there is one for each resource.
func (s *subject) add(records []handle) {
	if len(records) == 0 {
		return
	}
	all := make([]handle, 0, len(s.records)+len(records))
	s.records = append(append(all, s.records...), records...)
}

// fitReference limits the length of texts from files. Names of objects in a cluster are short enough.
func fitReference(r policy.Reference) policy.Reference {
	for _, text := range []*string{&r.APIVersion, &r.Kind, &r.Namespace, &r.Name} {
		*text = strings.ToValidUTF8(shorten(*text, longText/2), "\ufffd")
	}
	r.UID = types.UID(shorten(string(r.UID), longText/2))
	return r
}

// text is the content of a result of a policy.
type text struct {
	owner         *policyState
	rule, message string
	// properties are JSON; empty if there are none.
	properties string
	outcome    report.Outcome
	// size is what the text adds to the upper bound of a record's size as JSON, in bytes.
	size int32
}

// sharedText is a text. Equal ones share memory: most results say the same as thousands of others.
type sharedText struct{ unique.Handle[text] }

// shown returns the outcome as reports have it.
func (s sharedText) shown() report.Outcome {
	t := s.Value()
	return t.owner.shown(t.outcome)
}

// fitText shortens a result so that a report with only this result is within maxBytes.
func fitText(owner *policyState, result policy.Result, maxBytes int) sharedText {
	limit := maxBytes - reserve
	outcome := result.Outcome
	if !slices.Contains(report.Outcomes(), outcome) {
		outcome = report.OutcomeError
	}
	properties := result.Properties
	if _, ok := properties[processProperty]; ok {
		properties = maps.Clone(properties)
		delete(properties, processProperty)
	}
	data := fitProperties(properties, limit/2)
	t := text{
		owner:      owner,
		rule:       fit(shorten(result.Rule, longText/2), longText),
		message:    fit(result.Message, limit-len(data)),
		properties: data,
		outcome:    outcome,
	}
	t.size = int32(frame + quoted(t.rule) + quoted(t.message) + len(data) + quoted(owner.resultName))
	return sharedText{unique.Make(t)}
}

// origin says where a record comes from.
type origin uint8

const (
	// set by the scanner.
	set origin = iota
	// loaded from the stored report that it is in.
	loaded
	// inherited from a stored report of another layout or API.
	inherited
)

// record is a result. It belongs to one chunk. There may be millions: it takes 24 bytes.
type record struct {
	text    sharedText
	subject handle
	chunk   handle
	// changed is when the text changed last, in seconds since 1970. It lasts until 2106.
	changed uint32
	// index is the position in the chunk.
	index  uint16
	origin origin
	// unscored is true for a loaded warning that may have been an unscored failure.
	unscored bool
}

func (r *record) owner() *policyState { return r.text.Value().owner }

func (r *record) rule() string { return r.text.Value().rule }

// shown returns the outcome as reports have it.
func (r *record) shown() report.Outcome { return r.text.shown() }

// says reports whether the record has this text already. A warning of a stored report may be an unscored
// failure.
func (r *record) says(t sharedText) bool {
	if r.text == t {
		return true
	}
	if !r.unscored || t.Value().outcome != report.OutcomeFail {
		return false
	}
	same := r.text.Value()
	same.outcome = report.OutcomeFail
	return same == t.Value()
}

// seconds converts seconds since 1970. What can't be is 0: somebody else has changed the report.
func seconds(since1970 int64) uint32 {
	if since1970 < 0 || since1970 > math.MaxUint32 {
		return 0
	}
	return uint32(since1970)
}

// OutcomeNames returns the values of a list of allowed results, in the order in which Kyverno has
// them.
func OutcomeNames() []string {
	return []string{
		string(report.OutcomePass), string(report.OutcomeFail), string(report.OutcomeError),
		string(report.OutcomeWarn), string(report.OutcomeSkip),
	}
}

// ParseOutcomes returns what [Options.Allowed] takes: nil if all are named. The error says what is
// none of them, or that nothing is named.
func ParseOutcomes(names []string) ([]report.Outcome, error) {
	all := OutcomeNames()
	if len(names) == 0 {
		return nil, errors.New("is empty; name one of " + strings.Join(all, ", ") + " or more")
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%q is not one of %s", name, strings.Join(all, ", "))
		}
	}
	var allowed []report.Outcome
	for _, name := range all {
		if slices.Contains(names, name) {
			allowed = append(allowed, report.Outcome(name))
		}
	}
	if len(allowed) == len(all) {
		return nil, nil
	}
	return allowed, nil
}
