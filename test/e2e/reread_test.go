// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/crddiff"
	"github.com/docket-project/docket/test/e2e/harness"
)

// rereadCases are run on each engine if DOCKET_CRDDIFF_TIME does not say for how long.
const rereadCases = 500

// TestReread: reports that go out as they are stored have the same bytes as those that are decoded first, whatever
// is written, and however it is read. Requests are random, as those of TestCRDDiff, with the same variables.
func TestReread(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	kinds := kindsOf(t, publishedDefinitions(t))
	work := crddiffWorkOf(t)
	for engine, arguments := range map[string]func() []string{
		"sqlite":   func() []string { return nil },
		"postgres": func() []string { return []string{"--database", testenv.Postgres(t).Database(t)} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			reader := &crddiff.Rereader{Target: upTarget(t, harness.Up(t, arguments()...)), Namespace: crddiffNamespace}
			started, number := time.Now(), uint64(0)
			more := func() bool {
				if work.duration > 0 {
					return time.Since(started) < work.duration
				}
				return number < rereadCases
			}
			for ; more(); number++ {
				found := testkit.Must(reader.Run(t.Context(), crddiff.NewCase(kinds[number%uint64(len(kinds))], work.seed, number)))(t)
				for _, difference := range found {
					t.Error(difference)
				}
			}
			t.Logf("%s=%d: %d cases, %d pairs of answers", crddiffSeedVariable, work.seed, number, reader.Compared())
		})
	}
}

// upTarget returns a server of its own, with the namespace of cases in it.
func upTarget(t *testing.T, server *harness.Server) *crddiff.Target {
	t.Helper()
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", server.Kubeconfig()))(t)
	client := testkit.Must(kubernetes.NewForConfig(config))(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: crddiffNamespace}}
	made := testkit.Must(client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))(t)
	return testkit.Must(crddiff.NewTarget("docket", config, string(made.UID)))(t)
}
