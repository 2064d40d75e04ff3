// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

func loaded(t *testing.T, client *fake.Clientset) (*State, bool) {
	t.Helper()
	return testkit.Must2(loadState(t.Context(), client, "docket", testRetrier()))(t)
}

// begun returns the state of a process that works on a migration.
func begin(t *testing.T, client *fake.Clientset) *State {
	t.Helper()
	s, _ := loaded(t, client)
	testkit.NoError(t, s.begin(t.Context(), ToDocket, []string{"wgpolicyk8s.io", "openreports.io"}))
	return s
}

// TestState: another process finds all that was advanced, and the checkpoints that
// were saved.
func TestState(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	s := begin(t, client)
	kind := imports.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "openreports.io"}, Resource: "reports"}
	s.setCheckpoint(kind, "41")
	testkit.NoError(t, s.save(t.Context()))
	s.setCheckpoint(kind, "42") // It dies before this one is saved.
	if again, _ := loaded(t, client); again.checkpoint(kind) != "41" {
		t.Errorf("checkpoint %q", again.checkpoint(kind))
	}
	if err := s.advance(t.Context(), held, "openreports.io"); err != nil {
		t.Fatal(err)
	}
	again, found := loaded(t, client)
	if !found || again.direction() != ToDocket || again.group("openreports.io") != held || again.group("wgpolicyk8s.io") != begun ||
		again.checkpoint(kind) != "42" || again.allDone() {
		t.Errorf("found is %t: %+v", found, again.data)
	}
	for _, group := range again.groups() {
		if err := again.advance(t.Context(), done, group); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.advance(t.Context(), begun, "openreports.io"); err != nil {
		t.Fatal(err)
	}
	if last, _ := loaded(t, client); !last.allDone() {
		t.Errorf("not done: %+v", last.data)
	}
	testkit.NoError(t, again.remove(t.Context()))
	if _, found := loaded(t, client); found {
		t.Error("the state is still there")
	}
}

// TestStateOfTwoProcesses: who was overtaken by another process ends; who only missed
// the answer to its own write goes on.
func TestStateOfTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		overtake func(t *testing.T, client *fake.Clientset)
		want     error
	}{
		"overtaken":     {func(t *testing.T, client *fake.Clientset) { t.Helper(); begin(t, client) }, errOther},
		"answer missed": {func(t *testing.T, _ *fake.Clientset) { t.Helper() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			s := begin(t, client)
			c.overtake(t, client)
			conflicts := 1
			client.PrependReactor("update", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
				if conflicts--; conflicts < 0 {
					return false, nil, nil
				}
				return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, ConfigMapName, errors.New("old"))
			})
			err := s.advance(t.Context(), released, "openreports.io")
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if again, _ := loaded(t, client); again.group("openreports.io").reached(released) != (c.want == nil) {
				t.Errorf("stored: %+v", again.data.Groups["openreports.io"])
			}
		})
	}
}

func TestStateThatIsBroken(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: "docket"}, Data: map[string]string{stateKey: "{"},
	})
	if _, _, err := loadState(t.Context(), client, "docket", testRetrier()); err == nil || !strings.Contains(err.Error(), "--abort") {
		t.Errorf("got %v", err)
	}
}

// TestRetry: what passes is retried, what doesn't ends it.
func TestRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		tries int
	}{
		"unavailable": {apierrors.NewServiceUnavailable("x"), 2},
		"too many":    {apierrors.NewTooManyRequests("x", 0), 2},
		"again":       {errAgain, 2},
		"forbidden":   {apierrors.NewForbidden(schema.GroupResource{}, "x", nil), 1},
		"gone":        {apierrors.NewResourceExpired("x"), 1},
		"other":       {errors.New("x"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			err := testRetrier().do(t.Context(), "x", func() error {
				if tries++; tries == 1 {
					return c.err
				}
				return nil
			})
			if tries != c.tries || (err == nil) != (c.tries == 2) {
				t.Errorf("%d tries, %v", tries, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := testRetrier().do(ctx, "x", func() error { return apierrors.NewServiceUnavailable("x") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}
