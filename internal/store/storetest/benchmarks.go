// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"github.com/docket-project/docket/internal/store"
)

// Sizes of the data that lists are measured on.
const (
	benchNamespaces = 20
	benchPods       = 500 // a namespace
	benchNodes      = 100
)

// Benchmark runs the benchmarks of k8s.io/apiserver/pkg/storage/testing.
func Benchmark(b *testing.B, open Open) {
	ctx := context.Background()
	for _, match := range []metav1.ResourceVersionMatch{metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan} {
		b.Run("ListCreate/RV="+string(match), func(b *testing.B) {
			storagetesting.RunBenchmarkStoreListCreate(ctx, b, newBenchPods(b, open), match)
		})
	}
	data := storagetesting.PrepareBenchchmarkData(benchNamespaces, benchPods, benchNodes)
	p := newBenchPods(b, open)
	for _, pod := range data.Pods {
		key := fmt.Sprintf("%s%s/%s", podKeyRoot, pod.Namespace, pod.Name)
		if err := p.Create(ctx, key, pod, &example.Pod{}, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("List", func(b *testing.B) { storagetesting.RunBenchmarkStoreList(ctx, b, p, data, true) })
	b.Run("Stats", func(b *testing.B) { storagetesting.RunBenchmarkStoreStats(ctx, b, p) })
}

// newBenchPods is newPods with an index on the node, and without a transformer.
func newBenchPods(b *testing.B, open Open) storage.Interface {
	b.Helper()
	p := newPods(b, open, func(o *store.Options) { o.IndexedFields = []string{"spec.nodeName"} })
	p.transformer.set(identity.NewEncryptCheckTransformer())
	return p
}
