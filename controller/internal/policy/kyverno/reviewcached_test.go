// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy"
)

// TestReviewReadsTheContextCache promises that rules about requests see the entries, also while the
// engine looks at the old object, and that what is wrong with an entry denies.
func TestReviewReadsTheContextCache(t *testing.T) {
	t.Parallel()
	for name, fields := range cachedRules {
		entries := newFakeEntries(t)
		text := enforcing(clusterPolicy(podRule(strings.ReplaceAll(fields, "FORM", cachedForms["cachedContextEntry"]))))
		p := withEntries(t, entries).Compile(object(t, text), nil)
		if p.Problem() != nil {
			t.Fatal(p.Problem())
		}
		if _, got := review(t, p, create(t, badPod)); len(got) != 1 || got[0] != "r:fail!" {
			t.Errorf("%s: creation: %v", name, got)
		}
		// With preconditions or variables Kyverno does not look at the old object as it does here.
		if name != "preconditions" && name != "variable of it" {
			wantVerdicts(t, p, request(t, admissionv1.Update, badPod, badPod), "r:skip")
			wantVerdicts(t, p, request(t, admissionv1.Update, badPod, goodPod), "r:fail!")
		}
		entries.failure = map[policy.Entry]error{{Kind: policy.CachedContextEntry, Name: "settings"}: errors.New("forbidden")}
		verdicts, got := review(t, p, create(t, goodPod))
		if len(got) != 1 || got[0] != "r:error!" || !strings.Contains(verdicts[0].Message, "forbidden") {
			t.Errorf("%s: failing entry: %+v", name, verdicts)
		}
	}
	byUser := enforcing(clusterPolicy(podRule(`
context: [{name: c, cachedContextEntry: {name: settings, jmesPath: "items[?data.deny=='{{ request.userInfo.username }}'].metadata.name"}}]
validate: {message: "{{ c[0] }}", deny: {conditions: {any: [{key: "{{ length(c) }}", operator: GreaterThan, value: 0}]}}}
`)))
	p := withEntries(t, newFakeEntries(t)).Compile(object(t, byUser), nil)
	wantVerdicts(t, p, create(t, goodPod), "r:pass")
	for _, r := range []*policy.Request{create(t, goodPod), request(t, admissionv1.Delete, "", goodPod)} {
		r.UserInfo.Username = "worse"
		if verdicts := wantVerdicts(t, p, r, "r:fail!"); len(verdicts) == 1 && verdicts[0].Message != "second" {
			t.Errorf("message %q", verdicts[0].Message)
		}
	}
}
