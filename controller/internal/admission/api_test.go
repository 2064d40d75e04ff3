// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// recorder is a policy that keeps what it sees last.
type recorder struct {
	*fakePolicy

	mu   sync.Mutex
	seen *policy.Request
}

func newRecorder(change ...func(*fakePolicy)) *recorder {
	r := &recorder{fakePolicy: newPolicy("recorder", change...)}
	r.review = func(_ context.Context, request *policy.Request) ([]policy.Verdict, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = request
		return nil, nil
	}
	return r
}

func (r *recorder) last() *policy.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// TestLabelsOfNamespaces: those of a namespace that was just created, and those that it has by now.
func TestLabelsOfNamespaces(t *testing.T) {
	t.Parallel()
	p := newRecorder(background, enforces)
	c := newConnected(t, p)
	labels := func() map[string]string {
		c.ask(t, PathIgnore, request(pod("labels", "a")))
		return p.last().NamespaceLabels
	}
	c.namespace(t, "labels", map[string]any{"team": "a"})
	if got := labels(); got["team"] != "a" {
		t.Errorf("of a new namespace: %v", got)
	}
	patch := []byte(`{"metadata":{"labels":{"team":"b"}}}`)
	testkit.Must(c.api.Resource(namespaceResource.GroupVersionResource).Patch(t.Context(), "labels", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	testkit.Eventually(t, "the new labels are seen", func() bool { return labels()["team"] == "b" })
}

// TestNamespaceObjects: policies see all of the namespace of a request, as it is by now.
func TestNamespaceObjects(t *testing.T) {
	t.Parallel()
	p := newRecorder(background, enforces)
	c := newConnected(t, p)
	owner := func() string {
		c.ask(t, PathIgnore, request(pod("objects", "a")))
		if space := p.last().NamespaceObject; space != nil && space.Name == "objects" && space.UID != "" {
			return space.Annotations["owner"]
		}
		return "unknown"
	}
	if got := owner(); got != "unknown" {
		t.Errorf("a namespace that does not exist has the owner %q", got)
	}
	c.namespace(t, "objects", nil)
	patch := func(owner string) {
		data := []byte(`{"metadata":{"annotations":{"owner":"` + owner + `"}}}`)
		testkit.Must(c.api.Resource(namespaceResource.GroupVersionResource).Patch(t.Context(), "objects", types.MergePatchType, data, metav1.PatchOptions{}))(t)
	}
	for _, name := range []string{"a", "b"} {
		patch(name)
		testkit.Eventually(t, "the owner "+name+" is seen", func() bool { return owner() == name })
	}
}

// TestRolesOfUsers are watched once a policy reads them.
func TestRolesOfUsers(t *testing.T) {
	t.Parallel()
	p := newRecorder(background, enforces)
	c := newConnected(t, p)
	if c.bindings.Load() != nil {
		t.Error("role bindings are watched that no policy reads")
	}
	for _, name := range []string{"roles-a", "roles-b"} {
		c.namespace(t, name, nil)
	}
	bind := func(namespace, name, kind, role string, subject map[string]any) {
		resource, object := bindingResources[0], "RoleBinding"
		metadata := map[string]any{"name": name, "namespace": namespace}
		if namespace == "" {
			resource, object, metadata = bindingResources[1], "ClusterRoleBinding", map[string]any{"name": name}
		}
		c.create(t, resource.GroupVersionResource, map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": object, "metadata": metadata, "subjects": []any{subject},
			"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
		})
	}
	group := map[string]any{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "robots-of-test"}
	user := map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "someone else"}
	bind("roles-a", "one", "Role", "reader", map[string]any{"kind": "ServiceAccount", "name": "robot", "namespace": "roles-a"})
	bind("roles-b", "two", "Role", "writer", group)
	bind("roles-a", "three", "ClusterRole", "here", group)
	bind("roles-b", "four", "ClusterRole", "elsewhere", group)
	bind("", "roles-five", "ClusterRole", "everywhere", group)
	bind("", "roles-six", "ClusterRole", "not-mine", user)
	p = newRecorder(background, enforces, func(p *fakePolicy) { p.admission.Roles = true })
	c.policies.put(p)
	testkit.Eventually(t, "the server is ready again", func() bool { return c.Ready() == nil })
	roles := func() string {
		c.ask(t, PathIgnore, request(pod("roles-a", "a"), func(r *admissionv1.AdmissionRequest) {
			r.UserInfo.Username, r.UserInfo.Groups = "system:serviceaccount:roles-a:robot", []string{"robots-of-test"}
		}))
		roles, clusterRoles, err := p.last().Roles()
		if err != nil {
			t.Error(err)
		}
		return strings.Join(roles, " ") + ", " + strings.Join(clusterRoles, " ")
	}
	if got := roles(); got != "roles-a:reader roles-b:writer, everywhere here" {
		t.Errorf("the roles are %s", got)
	}
	testkit.NoError(t, c.api.Resource(bindingResources[1].GroupVersionResource).Delete(t.Context(), "roles-five", metav1.DeleteOptions{}))
	testkit.Eventually(t, "the deletion of a binding is seen", func() bool { return roles() == "roles-a:reader roles-b:writer, here" })
}

// reader is a leader.
type reader struct {
	mu    sync.Mutex
	items []policy.Admitted
}

func (r *reader) take(items []policy.Admitted, decided func()) {
	r.mu.Lock()
	r.items = append(r.items, items...)
	r.mu.Unlock()
	decided()
}

// of returns what was said about subjects in a namespace, in order: tests share the control plane.
func (r *reader) of(namespace string) []policy.Admitted {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []policy.Admitted
	for _, item := range r.items {
		if item.Subject.Namespace == namespace {
			found = append(found, item)
		}
	}
	return found
}

func (r *reader) run(t *testing.T, c *connected) {
	t.Helper()
	inbox := handoff.NewInbox(handoff.InboxConfig{Client: c.api, Sink: r.take, Flushed: func(context.Context) error { return nil }})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- inbox.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (c *connected) ephemeral(t *testing.T, namespace string) int {
	t.Helper()
	gvr := schema.GroupVersionResource{Group: "reports.kyverno.io", Version: "v1", Resource: "ephemeralreports"}
	list := testkit.Must(c.api.Resource(gvr).Namespace(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: handoff.Selector}))(t)
	return len(list.Items)
}

// TestFromRequestToLeader: results reach the leader by EphemeralReports, which then go. It can't run beside
// others, whose reports its leader would take.
func TestFromRequestToLeader(t *testing.T) {
	p := newPolicy("admission-only")
	c := newConnected(t, p)
	c.namespace(t, "handed", nil)
	create := request(pod("handed", "a"))
	c.ask(t, PathIgnore, create)
	testkit.Eventually(t, "an EphemeralReport is there", func() bool { return c.ephemeral(t, "handed") == 1 })
	leader := &reader{}
	leader.run(t, c)
	testkit.Eventually(t, "the leader has it", func() bool { return len(leader.of("handed")) == 1 })
	content, err := policy.ContentOf(pod("handed", "a"))
	got := leader.of("handed")[0]
	if err != nil || got.Policy != p.Identity() || got.Fingerprint != p.Fingerprint() || got.Content != content ||
		got.Subject != policy.ReferenceTo(pod("handed", "a")) || len(got.Results) != 1 || got.Results[0].Message != "fine" {
		t.Errorf("the leader has %+v", got)
	}
	c.ask(t, PathIgnore, request(nil, func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.Name, r.Namespace, r.OldObject = admissionv1.Delete, "a", "handed", raw(pod("handed", "a"))
	}))
	testkit.Eventually(t, "the leader learns of the deletion", func() bool { return len(leader.of("handed")) == 2 })
	if got := leader.of("handed")[1]; len(got.Results) != 0 {
		t.Errorf("a deleted object has %+v", got)
	}
	// Neither one that is dry, nor one in a namespace that does not exist holds anything up.
	c.ask(t, PathIgnore, request(pod("handed", "dry"), func(r *admissionv1.AdmissionRequest) { r.DryRun = new(true) }))
	c.ask(t, PathIgnore, request(pod("nowhere", "lost")))
	for i := range 100 {
		c.ask(t, PathIgnore, request(pod("handed", fmt.Sprint("many-", i))))
	}
	testkit.Eventually(t, "the leader has all", func() bool { return len(subjects(leader.of("handed"))) == 101 })
	testkit.Eventually(t, "all EphemeralReports are gone", func() bool { return c.ephemeral(t, "handed") == 0 })
	if got := leader.of("nowhere"); len(got) != 0 {
		t.Errorf("the leader has %+v", got)
	}
	for _, item := range leader.of("handed") {
		if item.Subject.Name == "dry" || time.Since(item.Time) > 10*patience {
			t.Errorf("the leader has %+v", item)
		}
	}
}

// TestLeaderReadsWhatWaits, however much that is, in pages.
func TestLeaderReadsWhatWaits(t *testing.T) { // Its leader takes all reports.
	c := newConnected(t, newPolicy("admission-only"))
	c.namespace(t, "waiting", nil)
	const count = 250
	for i := range count {
		c.ask(t, PathIgnore, request(pod("waiting", fmt.Sprint("many-", i))))
	}
	testkit.Eventually(t, "all is written", func() bool { return c.ephemeral(t, "waiting") == count })
	leader := &reader{}
	leader.run(t, c)
	testkit.Eventually(t, "the leader has all", func() bool { return len(leader.of("waiting")) == count })
	testkit.Eventually(t, "all EphemeralReports are gone", func() bool { return c.ephemeral(t, "waiting") == 0 })
	if got := subjects(leader.of("waiting")); len(got) != count {
		t.Errorf("the leader has %d subjects", len(got))
	}
}

func subjects(items []policy.Admitted) map[string]bool {
	found := map[string]bool{}
	for _, item := range items {
		found[item.Subject.Name] = true
	}
	return found
}
