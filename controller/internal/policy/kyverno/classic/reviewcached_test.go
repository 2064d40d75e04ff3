// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestReviewReadsTheContextCache promises that rules about requests see the entries, also while the
// engine looks at the old object, and that what is wrong with an entry denies.
func TestReviewReadsTheContextCache(t *testing.T) {
	t.Parallel()
	for name, fields := range enginetest.CachedRules {
		entries := enginetest.NewFakeEntries(t)
		text := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(strings.ReplaceAll(fields, "FORM", enginetest.CachedForms["cachedContextEntry"]))))
		p := withEntries(t, entries).Compile(enginetest.Object(t, text), nil)
		if p.Problem() != nil {
			t.Fatal(p.Problem())
		}
		if _, got := enginetest.Review(t, p, enginetest.Create(t, enginetest.BadPod)); len(got) != 1 || got[0] != "r:fail!" {
			t.Errorf("%s: creation: %v", name, got)
		}
		// With preconditions or variables Kyverno does not look at the old object as it does here.
		if name != "preconditions" && name != "variable of it" {
			enginetest.WantVerdicts(t, p, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod), "r:skip")
			enginetest.WantVerdicts(t, p, enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod), "r:fail!")
		}
		entries.Failure = map[policy.Entry]error{{Kind: policy.CachedContextEntry, Name: "settings"}: errors.New("forbidden")}
		verdicts, got := enginetest.Review(t, p, enginetest.Create(t, enginetest.GoodPod))
		if len(got) != 1 || got[0] != "r:error!" || !strings.Contains(verdicts[0].Message, "forbidden") {
			t.Errorf("%s: failing entry: %+v", name, verdicts)
		}
	}
	byUser := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`
context: [{name: c, cachedContextEntry: {name: settings, jmesPath: "items[?data.deny=='{{ request.userInfo.username }}'].metadata.name"}}]
validate: {message: "{{ c[0] }}", deny: {conditions: {any: [{key: "{{ length(c) }}", operator: GreaterThan, value: 0}]}}}
`)))
	p := withEntries(t, enginetest.NewFakeEntries(t)).Compile(enginetest.Object(t, byUser), nil)
	enginetest.WantVerdicts(t, p, enginetest.Create(t, enginetest.GoodPod), "r:pass")
	for _, r := range []*policy.Request{enginetest.Create(t, enginetest.GoodPod), enginetest.Request(t, admissionv1.Delete, "", enginetest.GoodPod)} {
		r.UserInfo.Username = "worse"
		if verdicts := enginetest.WantVerdicts(t, p, r, "r:fail!"); len(verdicts) == 1 && verdicts[0].Message != "second" {
			t.Errorf("message %q", verdicts[0].Message)
		}
	}
}
