// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// fredsRights: fred may do everything except create, in one namespace.
const fredsRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: fred, namespace: fred}
rules:
- {apiGroups: [wgpolicyk8s.io], resources: [policyreports], verbs: [get, list, watch, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fred, namespace: fred}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: fred}
subjects: [{kind: ServiceAccount, name: fred, namespace: fred}]
`

func reportsOf(t *testing.T, config *rest.Config, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	return client.Resource(schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}).Namespace(namespace)
}

func emptyReport(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": name},
	}}
}

// questions is how often a replica has asked the cluster about what somebody may do.
func questions(t *testing.T, replica *harness.Replica) int {
	t.Helper()
	return int(harness.SumMetric(t, replica.Metrics(t), "apiserver_delegated_authz_request_total", nil))
}

// TestProxiedRequests: nobody may do more than their rights, whichever way they come; and what the
// cluster's API server has authorized is not asked about again, unless that is wanted.
func TestProxiedRequests(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	kubectl := c.Kubectl(t, "fred")
	kubectl.Run(t, "create", "namespace", "fred")
	kubectl.Run(t, "create", "serviceaccount", "fred")
	kubectl.RunInput(t, fredsRights, "apply", "-f", "-")
	token := strings.TrimSpace(kubectl.Run(t, "create", "token", "fred", "--duration=1h"))
	proxied := c.RESTConfig(t)
	proxied = &rest.Config{Host: proxied.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: c.AuthorityFile()}, QPS: -1}
	const reports = 30
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("authorized again: %t", again), func(t *testing.T) {
			replica := c.Serve(t, fmt.Sprintf("--authorize-proxied-requests=%t", again))
			c.Register(t, replica.Port)
			direct := replica.RESTConfig()
			direct.BearerToken = token
			for i := range reports {
				testkit.Must(reportsOf(t, c.RESTConfig(t), "fred").Create(t.Context(), emptyReport(fmt.Sprint("r-", i)), metav1.CreateOptions{}))(t)
			}
			before := questions(t, replica)
			own := reportsOf(t, proxied, "fred")
			for i := range reports {
				if _, err := own.Get(t.Context(), fmt.Sprint("r-", i), metav1.GetOptions{}); err != nil {
					t.Error(err)
				}
			}
			if asked := questions(t, replica) - before; asked >= reports != again {
				t.Errorf("%d questions for %d reports", asked, reports)
			}
			for way, config := range map[string]*rest.Config{"proxied": proxied, "direct": direct, "with forged headers": forged(direct)} {
				checkFredsRights(t, way, config)
			}
		})
	}
}

// forged says to be somebody else, as a front proxy does.
func forged(config *rest.Config) *rest.Config {
	forged := rest.CopyConfig(config)
	forged.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("X-Remote-User", "admin")
			r.Header.Set("X-Remote-Group", "system:masters")
			return next.RoundTrip(r)
		})
	})
	return forged
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func checkFredsRights(t *testing.T, way string, config *rest.Config) {
	t.Helper()
	own, others := reportsOf(t, config, "fred"), reportsOf(t, config, "default")
	apply := metav1.ApplyOptions{FieldManager: "fred", Force: true}
	for what, do := range map[string]func(ctx context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := own.Create(ctx, emptyReport("new"), metav1.CreateOptions{})
			return err
		},
		"apply what is not there": func(ctx context.Context) error {
			_, err := own.Apply(ctx, "new", emptyReport("new"), apply)
			return err
		},
		"read another namespace": func(ctx context.Context) error {
			_, err := others.List(ctx, metav1.ListOptions{})
			return err
		},
		"read all namespaces": func(ctx context.Context) error {
			_, err := reportsOf(t, config, "").List(ctx, metav1.ListOptions{})
			return err
		},
		"delete many": func(ctx context.Context) error {
			return own.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"be somebody else": func(ctx context.Context) error {
			config := rest.CopyConfig(config)
			config.Impersonate = rest.ImpersonationConfig{UserName: "admin", Groups: []string{"system:masters"}}
			_, err := reportsOf(t, config, "fred").List(ctx, metav1.ListOptions{})
			return err
		},
	} {
		if err := do(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s, %s: %v", way, what, err)
		}
	}
	for what, do := range map[string]func(ctx context.Context) error{
		"apply": func(ctx context.Context) error {
			_, err := own.Apply(ctx, "r-0", emptyReport("r-0"), apply)
			return err
		},
		"list": func(ctx context.Context) error {
			list, err := own.List(ctx, metav1.ListOptions{})
			if err == nil && len(list.Items) == 0 {
				return errors.New("the list is empty")
			}
			return err
		},
	} {
		if err := do(t.Context()); err != nil {
			t.Errorf("%s, %s: %v", way, what, err)
		}
	}
}
