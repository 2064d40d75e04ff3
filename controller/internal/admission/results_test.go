// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestWhatIsHandedOver: results that only admission finds, about objects that can be told from others.
func TestWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	fails := says(policy.Verdict{Result: policy.Result{Rule: "r", Outcome: report.OutcomeFail}})
	onEphemeral := func(p *fakePolicy) {
		p.admission.Targets = []policy.Target{
			{Group: "*", Version: "*", Kind: "Pod", Subresource: "ephemeralcontainers"}, {Group: "*", Version: "*", Kind: "Pod", Subresource: "status"},
			{Group: "*", Version: "*", Kind: "Pod", Subresource: "eviction"},
		}
	}
	policies := []policy.Policy{
		newPolicy("fails", fails, onEphemeral),
		newPolicy("silent", says(), onEphemeral),
		newPolicy("unreported", enforces, fails, func(p *fakePolicy) { p.unreported = true }),
		newPolicy("scanned", background, enforces, fails),
		newPolicy("elsewhere", fails, func(p *fakePolicy) { p.id.Namespace = "other" }),
		newPolicy("closed", closed, fails),
		newPolicy("deletion", fails, func(p *fakePolicy) { p.admission.Operations = []admissionv1.Operation{admissionv1.Delete} }),
	}
	without := func(field string) *unstructured.Unstructured {
		o := pod("default", "a")
		unstructured.RemoveNestedField(o.Object, "metadata", field)
		return o
	}
	on := func(subresource, kind string) func(*admissionv1.AdmissionRequest) {
		return func(r *admissionv1.AdmissionRequest) {
			r.SubResource, r.Kind.Kind, r.Operation = subresource, kind, admissionv1.Update
		}
	}
	deletion := request(nil, func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.Name, r.Namespace, r.OldObject = admissionv1.Delete, "a", "default", raw(pod("default", "a"))
	})
	for name, test := range map[string]struct {
		path string
		r    *admissionv1.AdmissionRequest
		want string
	}{
		"creation":            {PathIgnore, request(pod("default", "a")), "fails1 silent0"},
		"creation, closed":    {PathFail, request(pod("default", "a")), "closed1"},
		"dry run":             {PathIgnore, request(pod("default", "a"), func(r *admissionv1.AdmissionRequest) { r.DryRun = new(true) }), ""},
		"not a dry run":       {PathIgnore, request(pod("default", "a"), func(r *admissionv1.AdmissionRequest) { r.DryRun = new(false) }), "fails1 silent0"},
		"no name yet":         {PathIgnore, request(without("name")), ""},
		"no uid":              {PathIgnore, request(without("uid")), ""},
		"deletion":            {PathIgnore, deletion, "deletion0 fails0 silent0 closed0"},
		"deletion, closed":    {PathFail, deletion, ""},
		"ephemeral container": {PathIgnore, request(pod("default", "a"), on("ephemeralcontainers", "Pod")), "fails1"},
		"status":              {PathIgnore, request(pod("default", "a"), on("status", "Pod")), ""},
		"eviction":            {PathIgnore, request(pod("default", "a"), on("eviction", "Eviction")), ""},
	} {
		u := newUnit(t, nil, policies...)
		index := u.index()
		m := index.match(test.r, test.path == PathFail)
		parsed := testkit.Must(parseObjects(test.r))(t)
		var candidates []candidate
		for _, c := range m.reviewed {
			if c.inNamespace(test.r) {
				candidates = append(candidates, c)
			}
		}
		var findings []finding
		if len(candidates) > 0 {
			findings = evaluate(t.Context(), t.Context(), parsed, time.Now(), candidates, func() {})
		}
		begin := time.Now()
		items := testkit.Must(itemsOf(parsed, m, findings, begin))(t)
		var got []string
		for _, item := range items {
			got = append(got, item.Policy.Name+fmt.Sprint(len(item.Results)))
			content, err := policy.ContentOf(pod("default", "a"))
			if err != nil || item.Content != content || item.Subject.UID != "uid-of-a" || item.Resource.Resource != "pods" || item.Time != begin ||
				item.Fingerprint != "print-"+item.Policy.Name || item.Presentation.Source != "fake" {
				t.Errorf("%s: handed over is %+v", name, item)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: handed over are %q, want %q", name, got, test.want)
		}
	}
}

func FuzzReview(f *testing.F) {
	data := encodeReview(f, request(pod("default", "a")))
	f.Add(data)
	f.Add(encodeReview(f, request(nil, func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.OldObject, r.DryRun = admissionv1.Delete, raw(pod("default", "a")), new(true)
	})))
	f.Add([]byte(strings.Replace(string(data), `"metadata":{`, `"metadata":[{`, 1)))
	f.Add([]byte(strings.Replace(string(data), `"labels":{`, `"labels":5,"x":{`, 1)))
	f.Add([]byte(strings.Replace(string(data), `"object":{`, `"object":null,"x":{`, 1)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"` + strings.Repeat("x", 100) + `"}}`))
	p := newPolicy("p", func(p *fakePolicy) {
		p.targets, p.admission.Operations = []policy.Target{{Group: "*", Version: "*", Kind: "*"}}, operations
	})
	u := newUnit(f, nil, p)
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseReview(body)
		if err != nil {
			if r != nil {
				t.Error("a request and an error")
			}
			return
		}
		if r.UID == "" || r.Kind.Kind == "" || r.Resource.Resource == "" {
			t.Errorf("taken is %+v", r)
		}
		// Whatever it says, the rest works. The fake API would keep all that it is asked.
		testkit.NoError(t, u.namespaces.Replace([]any{namespaceNamed(r.Namespace, nil)}, ""))
		if answer := u.post(t, PathIgnore, body); answer.Code != 200 && answer.Code != 400 {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
	})
}
