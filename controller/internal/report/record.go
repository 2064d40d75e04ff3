// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
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

// subject is a resource that has results.
type subject struct {
	reference policy.Reference
	// records are those of all policies, those of one policy in the order of its results.
	records []*record
	size    int
}

func newSubject(reference policy.Reference) *subject {
	return &subject{reference: reference, size: quoted(reference.APIVersion) + quoted(reference.Kind) +
		quoted(reference.Namespace) + quoted(reference.Name) + quoted(string(reference.UID))}
}

// fitReference limits the length of texts from files. Names of objects in a cluster are short enough.
func fitReference(r policy.Reference) policy.Reference {
	for _, text := range []*string{&r.APIVersion, &r.Kind, &r.Namespace, &r.Name} {
		*text = strings.ToValidUTF8(shorten(*text, longText/2), "\ufffd")
	}
	r.UID = types.UID(shorten(string(r.UID), longText/2))
	return r
}

// text is the content of a result. Equal strings share memory.
type text struct {
	rule, message unique.Handle[string]
	// properties are JSON; empty if there are none.
	properties unique.Handle[string]
	outcome    report.Outcome
}

// fitText shortens a result so that a report with only this result is within maxBytes.
func fitText(result policy.Result, maxBytes int) text {
	limit := maxBytes - reserve
	outcome := result.Outcome
	if !slices.Contains(report.Outcomes(), outcome) {
		outcome = report.OutcomeError
	}
	properties := result.Properties
	if _, ok := properties[processProperty]; ok {
		properties = without(properties, processProperty)
	}
	data := fitProperties(properties, limit/2)
	return text{
		rule:       unique.Make(fit(shorten(result.Rule, longText/2), longText)),
		message:    unique.Make(fit(result.Message, limit-len(data))),
		properties: unique.Make(data),
		outcome:    outcome,
	}
}

func without(properties map[string]string, key string) map[string]string {
	rest := make(map[string]string, len(properties))
	for k, v := range properties {
		if k != key {
			rest[k] = v
		}
	}
	return rest
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

// record is a result. It belongs to one chunk.
type record struct {
	text
	owner   *policyState
	subject *subject
	chunk   *chunk
	// changed is when the text changed last, in seconds since 1970.
	changed int64
	// size is an upper bound of the size as JSON in bytes, without the presentation of the policy.
	size int32
	// index is the position in the chunk.
	index  int32
	origin origin
	// unscored is true for a loaded warning that may have been an unscored failure.
	unscored bool
}

func (r *record) measure() int32 {
	return int32(frame + quoted(r.rule.Value()) + quoted(r.message.Value()) + len(r.properties.Value()) +
		quoted(r.owner.resultName) + r.subject.size)
}

// says reports whether the record has this text already. A warning of a stored report may be an unscored
// failure.
func (r *record) says(t text) bool {
	if r.text == t {
		return true
	}
	same := r.text
	if r.unscored && t.outcome == report.OutcomeFail {
		same.outcome = t.outcome
	}
	return same == t
}
