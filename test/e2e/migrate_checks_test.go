// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// all returns the reports that nobody changes, as clients see them: by kind and key,
// without the fields about storage.
func (m *migration) all(t *testing.T) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, kind := range m.kinds {
		list := m.list(t, kind)
		for i := range list.Items {
			object := &list.Items[i]
			if object.GetNamespace() == writtenNamespace {
				continue
			}
			object.SetResourceVersion("")
			annotations := object.GetAnnotations()
			delete(annotations, "docket.dev/imported")
			if len(annotations) == 0 {
				annotations = nil
			}
			object.SetAnnotations(annotations)
			found[kind.Kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
		}
	}
	return found
}

// list lists a kind. A kube-apiserver that has just seen a change of a CRD asks clients
// to come again.
func (m *migration) list(t *testing.T, kind sample.Kind) *unstructured.UnstructuredList {
	t.Helper()
	var list *unstructured.UnstructuredList
	testkit.NoError(t, wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		list, err = m.client(t).Resource(resourceOf(kind)).List(ctx, metav1.ListOptions{})
		if err != nil && retriable(err) {
			return false, nil
		}
		return err == nil, err
	}))
	return list
}

// withoutAssigned drops what an API server decides about new objects.
func withoutAssigned(all map[string]map[string]any) map[string]map[string]any {
	for _, content := range all {
		object := &unstructured.Unstructured{Object: content}
		object.SetUID("")
		object.SetCreationTimestamp(metav1.Time{})
		object.SetGeneration(0)
		object.SetManagedFields(nil)
	}
	return all
}

// count returns the number of reports that clients see.
func (m *migration) count(t *testing.T) int {
	t.Helper()
	n := 0
	for _, kind := range m.kinds {
		list := m.list(t, kind)
		n += len(list.Items)
	}
	return n
}

// wantCounts compares the numbers of reports that nobody changes.
func (m *migration) wantCounts(t *testing.T, want int) {
	t.Helper()
	if n := len(m.all(t)); n != want {
		t.Errorf("%d reports, want %d", n, want)
	}
}

// inEtcd counts the reports in etcd itself.
func (m *migration) inEtcd(t *testing.T) int {
	t.Helper()
	var answer struct {
		Count string `json:"count"`
	}
	// The range of all keys that begin with the prefix.
	m.etcd(t, "/v3/kv/range", map[string]any{
		"key": []byte("/registry/" + m.group() + "/"), "range_end": []byte("/registry/" + m.group() + "0"), "count_only": true,
	}, &answer)
	if answer.Count == "" {
		return 0
	}
	return testkit.Must(strconv.Atoi(answer.Count))(t)
}

// etcdInUse compacts etcd and returns how many bytes it has in use then.
func (m *migration) etcdInUse(t *testing.T) int64 {
	t.Helper()
	var status struct {
		InUse  string `json:"dbSizeInUse"`
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	m.etcd(t, "/v3/maintenance/status", map[string]any{}, &status)
	m.etcd(t, "/v3/kv/compaction", map[string]any{"revision": status.Header.Revision, "physical": true}, &struct{}{})
	m.etcd(t, "/v3/maintenance/defragment", map[string]any{}, &struct{}{})
	m.etcd(t, "/v3/maintenance/status", map[string]any{}, &status)
	return testkit.Must(strconv.ParseInt(status.InUse, 10, 64))(t)
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// etcd calls its JSON API.
func (m *migration) etcd(t *testing.T, path string, body, into any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.cluster.EtcdURL()+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // It was read to its end.
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(answer, into)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("etcd %s: %s %s %v", path, response.Status, answer, err)
	}
}

// wantLocal wants the APIServices to be the cluster's own again, or those of Docket.
func (m *migration) wantLocal(t *testing.T, local bool) {
	t.Helper()
	for _, version := range m.versions {
		service := testkit.Must(m.cluster.Aggregator(t).ApiregistrationV1().APIServices().Get(t.Context(), version+"."+m.group(), metav1.GetOptions{}))(t)
		managed := service.Labels["kube-aggregator.kubernetes.io/automanaged"] == "true"
		if (service.Spec.Service == nil) != local || managed != local {
			t.Errorf("the APIService is %+v", service)
		}
	}
}

// wantVersions wants the CRDs to have the usual versions only, all of them served: operators look for them.
func (m *migration) wantVersions(t *testing.T) {
	t.Helper()
	want := strings.Join(m.versions, " ") + strings.Repeat(" true", len(m.versions))
	for _, kind := range m.kinds {
		versions := m.cluster.Kubectl(t, "default").Run(t, "get", "crd", kind.Resource+"."+m.group(), "-o", "jsonpath={.spec.versions[*].name} {.spec.versions[*].served}")
		if versions != want {
			t.Errorf("CRD of %s has versions %s, want %s", kind.Resource, versions, want)
		}
	}
}

// reader gets reports that were acknowledged, again and again: each must be there.
type reader struct {
	mu       sync.Mutex // guards the fields below
	reads    int
	slowest  time.Duration
	problems []string
}

func startReader(t *testing.T, l *ledger) *reader {
	t.Helper()
	r := &reader{}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for ctx.Err() == nil {
				r.read(ctx, l)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return r
}

// read gets one report, of those that are not deleted later.
func (r *reader) read(ctx context.Context, l *ledger) {
	name, want := l.youngest()
	if name == "" {
		return
	}
	start := time.Now()
	object, err := l.reports.Get(ctx, name, metav1.GetOptions{})
	took := time.Since(start)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	r.slowest = max(r.slowest, took)
	switch {
	case apierrors.IsNotFound(err):
		r.problems = append(r.problems, fmt.Sprintf("%s %s was acknowledged, and a get says: %v", time.Now().Format("15:04:05.000"), name, err))
	case err != nil && !retriable(err):
		r.problems = append(r.problems, fmt.Sprintf("get %s: %v", name, err))
	case err == nil && counterOf(object) < want:
		r.problems = append(r.problems, fmt.Sprintf("%s %s was acknowledged with counter %d, and a get shows %d",
			time.Now().Format("15:04:05.000"), name, want, counterOf(object)))
	}
}

func (r *reader) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d reads, the slowest took %s", r.reads, r.slowest)
	for _, problem := range r.problems[:min(len(r.problems), 10)] {
		t.Error(problem)
	}
	r.slowest = 0
}

// youngest returns one of the reports that were written last, and its counter. It
// leaves out those that writers delete: see ledger.write.
func (l *ledger) youngest() (name string, counter int) {
	const deletedRemainder = 4
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	for candidate, value := range l.counters {
		_, number, _ := strings.Cut(candidate, "-")
		n, err := strconv.Atoi(number)
		if err == nil && n%10 != deletedRemainder && n > best {
			name, counter, best = candidate, value, n
		}
	}
	return name, counter
}
