// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// announcing returns a change of a server that tells an API of denied requests.
func announcing(api *kubernetes.Clientset) func(*Config) {
	return func(c *Config) {
		c.Events = api.CoreV1()
		c.About = func(id policy.Identity) (corev1.ObjectReference, bool) {
			return corev1.ObjectReference{APIVersion: "kyverno.io/v1", Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, UID: "policy"}, true
		}
	}
}

// announce runs what sends Events until the test ends.
func (u *unit) announce(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.announcer.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func eventsOf(t *testing.T, api *kubernetes.Clientset) []corev1.Event {
	t.Helper()
	list := testkit.Must(api.CoreV1().Events("").List(t.Context(), metav1.ListOptions{}))(t)
	return list.Items
}

// TestDeniedRequestsAreEvents: each rule that denies a request gives an Event on its policy, with what
// programs that know Kyverno's select it by and read in it.
func TestDeniedRequestsAreEvents(t *testing.T) {
	t.Parallel()
	api := kubernetes.NewClientset()
	u := newUnit(t, announcing(api),
		newPolicy("p", enforces, denies("no latest", "the tag is latest")),
		newPolicy("own", enforces, func(p *fakePolicy) {
			p.id = policy.Identity{Kind: policy.NamespacedValidatingPolicy, Namespace: "default", Name: "own"}
		},
			denies("", strings.Repeat("ä", maxNote))),
		newPolicy("audits", says(policy.Verdict{Result: policy.Result{Rule: "r", Outcome: report.OutcomeFail}})),
	)
	u.announce(t)
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"dry run": request(pod("default", "dry"), func(r *admissionv1.AdmissionRequest) { r.DryRun = new(true) }),
		"no name": request(func() *unstructured.Unstructured {
			o := pod("default", "")
			o.SetGenerateName("a-")
			return o
		}()),
	} {
		if u.ask(t, PathIgnore, r).Allowed {
			t.Errorf("%s: it is allowed", name)
		}
	}
	if u.ask(t, PathIgnore, request(pod("default", "a"))).Allowed {
		t.Fatal("the request is allowed")
	}
	// They come in the order of the denials: those of the requests before would be there by now.
	testkit.Eventually(t, "there are the Events of the last request", func() bool {
		return slices.ContainsFunc(eventsOf(t, api), func(e corev1.Event) bool { return e.Related.Name == "a" && e.InvolvedObject.Name == "own" })
	})
	found := map[string]corev1.Event{}
	for _, event := range eventsOf(t, api) {
		found[event.InvolvedObject.Name] = event
		if event.Related.Name != "a" {
			t.Errorf("an Event about %q", event.Related.Name)
		}
	}
	got := found["p"]
	wantRelated := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "a", UID: "uid-of-a"}
	if got.Message != "Pod default/a: [no latest] fail (blocked); the tag is latest" || *got.Related != wantRelated {
		t.Errorf("the Event says %q about %+v", got.Message, got.Related)
	}
	if got.Reason != "PolicyViolation" || got.Type != "Warning" || got.Action != "Resource Blocked" || got.ReportingController != "kyverno-admission" ||
		got.EventTime.IsZero() || got.ReportingInstance == "" || got.Namespace != "default" || !strings.HasPrefix(got.Name, "p.") {
		t.Errorf("the Event is %+v", got)
	}
	if got.InvolvedObject.Kind != policy.ClusterPolicy || got.InvolvedObject.UID != "policy" {
		t.Errorf("the Event is on %+v", got.InvolvedObject)
	}
	long := found["own"].Message
	if !strings.HasPrefix(long, "Pod default/a: fail (blocked); ää") || len(long) > maxNote {
		t.Errorf("the message of a policy without rules has %d bytes: %.40s", len(long), long)
	}
}

// TestEventsDontHoldUpAnswers: an API that does not take Events, and more denials than may be told
// of, change no answer.
func TestEventsDontHoldUpAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testEventsDontHoldUpAnswers)
}

func testEventsDontHoldUpAnswers(t *testing.T) {
	api := kubernetes.NewClientset()
	const asked = 3 * eventBurst
	held, sent := make(chan struct{}), make(chan struct{}, asked)
	api.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-held
		sent <- struct{}{}
		return true, &corev1.Event{}, nil
	})
	u := newUnit(t, announcing(api), newPolicy("p", enforces, denies("r", "m")))
	u.announce(t)
	for range asked {
		if u.ask(t, PathIgnore, request(pod("default", "a"))).Allowed {
			t.Fatal("the request is allowed")
		}
	}
	close(held)
	synctest.Wait()
	if n := len(sent); n != eventBurst { // No time has passed.
		t.Errorf("%d Events about %d denials", n, asked)
	}
}
