// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestConfigurationFollowsPoliciesAndIsPutRight(t *testing.T) {
	t.Parallel()
	const name, group = "follows", "follows"
	client := cluster(t)
	s := newSituation(t, enforcing(true, gadgets(group)))
	s.known = false
	ship(t, client, name)
	background(t, NewRegistrar(s.config(client, name)).Run)
	s.set(func(s *situation) { s.known = true })
	const rule = "follows.example.com/v1 gadgets CREATE,UPDATE"
	awaitHooks(t, client, name, is("fail Fail "+rule))

	s.set(func(s *situation) {
		s.policies = []policy.Policy{enforcing(true, gadgets(group)), enforcing(false, gadgets("other"))}
	})
	both := "fail Fail " + rule + " | igno Ignore other.example.com/v1 gadgets CREATE,UPDATE"
	awaitHooks(t, client, name, is(both))

	// Others change and delete it.
	have := testkit.Must(read(t.Context(), client, name))(t)
	wanted := have.DeepCopy()
	have.Labels["others"], have.Webhooks[0].ClientConfig.CABundle = "stay", nil
	have.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
	have.Webhooks = append(have.Webhooks, *have.Webhooks[0].DeepCopy())
	have.Webhooks[2].Name = "third.example.com"
	hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	testkit.Must(hooks.Update(t.Context(), have, metav1.UpdateOptions{}))(t)
	awaitHooks(t, client, name, func(have *admissionregistrationv1.ValidatingWebhookConfiguration) string {
		if have.Labels["others"] != "stay" {
			return "a label of others is gone"
		}
		return cmp.Diff(wanted.Webhooks, have.Webhooks)
	})
	testkit.NoError(t, hooks.Delete(t.Context(), name, metav1.DeleteOptions{}))
	ship(t, client, name)
	awaitHooks(t, client, name, is(both))

	bundle := testBundle(t)
	s.set(func(s *situation) { s.bundle = bundle })
	awaitHooks(t, client, name, func(have *admissionregistrationv1.ValidatingWebhookConfiguration) string {
		if !bytes.Equal(have.Webhooks[0].ClientConfig.CABundle, bundle) || !bytes.Equal(have.Webhooks[1].ClientConfig.CABundle, bundle) {
			return "the bundle is still the old one"
		}
		return ""
	})
	s.set(func(s *situation) { s.policies = nil })
	awaitHooks(t, client, name, is(""))
}

// TestUnchangedConfigurationIsNotWritten: the server's defaults are no difference, and neither do
// two registrars of one mind take turns.
func TestUnchangedConfigurationIsNotWritten(t *testing.T) {
	t.Parallel()
	client := cluster(t)
	p := enforcing(true, gadgets("unchanged"), policy.Target{Group: "z.example.com", Version: "*", Resource: "gadgets", Subresource: "*"})
	q := p
	q.admission.Closed, q.background = false, false
	s, s2 := newSituation(t, p, q), newSituation(t, p, q)
	s2.bundle = s.bundle
	config := s.config(client, "unchanged")
	config.URL, config.ExcludeNamespaces, config.ExcludeUsers = "", []string{"b", "a", "a"}, []string{"me", "system:node:*"}
	config.Service = types.NamespacedName{Namespace: "a", Name: "s"}
	second := s2.config(client, "unchanged")
	second.URL, second.ExcludeNamespaces, second.ExcludeUsers, second.Service = "", config.ExcludeNamespaces, config.ExcludeUsers, config.Service
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "a", Name: "s-1", Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}
	namespace(t, client, "a")
	testkit.Must(client.DiscoveryV1().EndpointSlices("a").Create(t.Context(), slice, metav1.CreateOptions{}))(t)
	ship(t, client, "unchanged")
	one, other := NewRegistrar(config), NewRegistrar(second)
	if err := one.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := read(t.Context(), client, "unchanged")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Registrar{one, other, one} {
		testkit.NoError(t, r.reconcile(t.Context()))
	}
	after, err := read(t.Context(), client, "unchanged")
	if err != nil || after.ResourceVersion != before.ResourceVersion || len(after.Webhooks) != 2 {
		t.Errorf("%d webhooks, version %s instead of %s, %v", len(after.Webhooks), after.ResourceVersion, before.ResourceVersion, err)
	}
}

func TestForeignConfigurationIsNotTouched(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}})
	s := newSituation(t, enforcing(true, gadgets("foreign")))
	err := NewRegistrar(s.config(client, "theirs")).reconcile(t.Context())
	if !errors.Is(err, errForeign) {
		t.Errorf("error %v", err)
	}
	if have, err := read(t.Context(), client, "theirs"); err != nil || len(have.Webhooks)+len(have.Labels) != 0 {
		t.Errorf("it is now %+v, %v", have, err)
	}
}

// TestNothingIsRegisteredBeforeSomebodyAnswers: and nothing before what there is is known.
func TestNothingIsRegisteredBeforeSomebodyAnswers(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(shipped("early"))
	s := newSituation(t, enforcing(true, gadgets("early")))
	config := s.config(client, "early")
	config.URL, config.Service, config.ExcludeNamespaces = "", types.NamespacedName{Namespace: "n", Name: "s"}, []string{"n"}
	r := NewRegistrar(config)
	nothing := func(when string, want error) {
		t.Helper()
		if err := r.reconcile(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: error %v", when, err)
		}
		if have, err := read(t.Context(), client, "early"); err != nil || len(have.Webhooks) > 0 {
			t.Errorf("%s: it was written, or %v", when, err)
		}
	}
	s.known = false
	nothing("policies are not known", nil)
	s.known, s.catalog = true, nil
	nothing("kinds are not known", nil)
	s.catalog, s.serving = testCatalog(t), errors.New("no certificate")
	nothing("no certificate", errWaiting)
	s.serving = nil
	nothing("no endpoint", errWaiting)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s-1", Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
		Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}},
	}
	testkit.Must(client.DiscoveryV1().EndpointSlices("n").Create(t.Context(), slice, metav1.CreateOptions{}))(t)
	nothing("endpoint not ready", errWaiting)
	slice.Endpoints[0].Conditions.Ready = new(true)
	testkit.Must(client.DiscoveryV1().EndpointSlices("n").Update(t.Context(), slice, metav1.UpdateOptions{}))(t)
	testkit.NoError(t, r.reconcile(t.Context()))
	awaitHooks(t, client, "early", is("fail Fail early.example.com/v1 gadgets CREATE,UPDATE"))

	// Once it is there, a replica that does not serve can still take all away, and nothing else.
	s.policies, s.serving = []policy.Policy{enforcing(true, gadgets("more"))}, errors.New("ending")
	if err := r.reconcile(t.Context()); !errors.Is(err, errWaiting) {
		t.Errorf("error %v", err)
	}
	s.policies = nil
	if err := r.reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	awaitHooks(t, client, "early", is(""))
}

// TestMissingConfigurationIsMissed: it is never made, and as long as policies ask for it, log, Event,
// metric and readiness say so.
func TestMissingConfigurationIsMissed(t *testing.T) {
	t.Parallel()
	client, events := fake.NewClientset(), record.NewFakeRecorder(10)
	s := newSituation(t)
	config := s.config(client, "none")
	config.Recorder = events
	r := NewRegistrar(config)
	if err := errors.Join(r.reconcile(t.Context()), r.Ready()); err != nil {
		t.Errorf("without policies: %v", err)
	}
	s.policies = []policy.Policy{enforcing(true, gadgets("missed"))}
	last := ""
	for range 2 {
		err := r.reconcile(t.Context())
		if !errors.Is(err, errMissing) || !errors.Is(r.Ready(), errMissing) || !strings.Contains(r.Ready().Error(), "none") {
			t.Errorf("with policies: %v, %v", err, r.Ready())
		}
		last = r.report(t.Context(), err, last)
	}
	if len(events.Events) != 1 {
		t.Fatalf("%d Events", len(events.Events))
	}
	if got := <-events.Events; !strings.Contains(got, "NotRegistered it does not exist") || !strings.Contains(got, "helm upgrade") {
		t.Errorf("the Event is %q", got)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" {
			t.Errorf("the registrar does %s", action.GetVerb())
		}
	}
	ship(t, client, "none")
	if err := errors.Join(r.reconcile(t.Context()), r.Ready()); err != nil {
		t.Errorf("once it is there: %v", err)
	}
	awaitHooks(t, client, "none", is("fail Fail missed.example.com/v1 gadgets CREATE,UPDATE"))
}

// TestLabelsOfInstallersStay: who installs the object has labels of its own on it, such as Helm.
func TestLabelsOfInstallersStay(t *testing.T) {
	t.Parallel()
	object := shipped("helm")
	object.Labels[managedByLabel] = "Helm"
	before := object.DeepCopy().Labels
	client := fake.NewClientset(object)
	s := newSituation(t, enforcing(true, gadgets("helm")))
	if err := NewRegistrar(s.config(client, "helm")).reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	have, err := read(t.Context(), client, "helm")
	if diff := cmp.Diff(before, have.Labels); err != nil || diff != "" || len(have.Webhooks) != 1 {
		t.Errorf("%v, %d webhooks, labels (-before +after):\n%s", err, len(have.Webhooks), diff)
	}
}

// TestQuarrelIsSlow: with one who changes back all that is put right, the API server is written to
// less and less often, until there is peace.
func TestQuarrelIsSlow(t *testing.T) {
	t.Parallel()
	client, now := fake.NewClientset(shipped("quarrel")), clocktesting.NewFakeClock(time.Now())
	s := newSituation(t, enforcing(true, gadgets("quarrel")))
	config := s.config(client, "quarrel")
	config.Clock = now
	r := NewRegistrar(config)
	var pauses []string
	for i := range 8 {
		testkit.NoError(t, r.reconcile(t.Context()))
		pauses = append(pauses, r.soon().String())
		now.Step(r.soon())
		have := testkit.Must(read(t.Context(), client, "quarrel"))(t)
		have.Webhooks[0].FailurePolicy, have.ResourceVersion = new(admissionregistrationv1.Ignore), fmt.Sprint(i)
		testkit.Must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(t.Context(), have, metav1.UpdateOptions{}))(t)
	}
	if got := strings.Join(pauses, " "); got != "500ms 1s 2s 4s 8s 16s 30s 30s" {
		t.Error(got)
	}
	now.Step(2 * contestWindow)
	if got := r.soon(); got != gather {
		t.Errorf("after the quarrel: %s", got)
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}
	client := fake.NewClientset(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: "owned", Labels: map[string]string{managedByLabel: ownName}, OwnerReferences: []metav1.OwnerReference{other},
	}})
	config := newSituation(t, enforcing(true, gadgets("owned"))).config(client, "owned")
	config.OwnerClusterRole = "docket:controller"
	r := NewRegistrar(config)
	for _, uid := range []types.UID{"", "first", "second"} {
		if uid != "" {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "docket:controller", UID: uid}}
			_ = client.Tracker().Delete(rbacv1.SchemeGroupVersion.WithResource("clusterroles"), "", role.Name)
			testkit.NoError(t, client.Tracker().Add(role))
		}
		testkit.NoError(t, r.reconcile(t.Context()))
		want := []metav1.OwnerReference{other}
		if uid != "" {
			want = append(want, metav1.OwnerReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "docket:controller", UID: uid})
		}
		have, err := read(t.Context(), client, "owned")
		if diff := cmp.Diff(want, have.OwnerReferences); err != nil || diff != "" {
			t.Errorf("owner %q: %v\n%s", uid, err, diff)
		}
	}
}

// TestOldServerIsNotWrittenToForEver: one that drops fields would look different each time.
func TestOldServerIsNotWrittenToForEver(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(shipped("old"))
	var writes atomic.Int32
	drop := func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(interface{ GetObject() runtime.Object }).GetObject().(*admissionregistrationv1.ValidatingWebhookConfiguration)
		for i := range object.Webhooks {
			object.Webhooks[i].MatchConditions = nil
		}
		object.ResourceVersion = fmt.Sprint(writes.Add(1))
		return false, nil, nil
	}
	client.PrependReactor("create", "validatingwebhookconfigurations", drop)
	client.PrependReactor("update", "validatingwebhookconfigurations", drop)
	s := newSituation(t, enforcing(true, gadgets("old")))
	config := s.config(client, "old")
	config.ExcludeUsers = []string{"me"}
	r := NewRegistrar(config)
	if err := r.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := writes.Load()
	for range 3 {
		if err := r.reconcile(t.Context()); !errors.Is(err, errDropped) {
			t.Errorf("error %v", err)
		}
	}
	if got := writes.Load(); got != before {
		t.Errorf("%d more writes", got-before)
	}
	s.policies = nil
	if err := r.reconcile(t.Context()); err != nil {
		t.Errorf("a real change: %v", err)
	}
}
